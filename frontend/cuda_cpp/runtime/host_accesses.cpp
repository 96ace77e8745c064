// See host_accesses.h.
#include "frontend/cuda_cpp/runtime/host_accesses.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>

#include "frontend/cuda_cpp/host_code/call_labels.h"
#include "frontend/cuda_cpp/host_code/host_lines.h"
#include "simulator/driver/context.h"
#include "simulator/driver/memory.h"
#include "simulator/findings/writers.h"
#include "simulator/memory/host_guard.h"
#include "simulator/memory/signal_handlers.h"

namespace cudasim::cudart {
namespace {

struct sigaction previous{};
std::atomic<bool> reporting{false};

/// The report reads debug information and asks for memory, which may wait for what the interrupted code
/// holds.
constexpr unsigned most_seconds_for_report = 10;
constexpr std::size_t most_frames = 64;
/// Faults of a thread at one address that another thread has opened meanwhile.
constexpr unsigned most_repetitions = 1000;

struct Frames {
    std::array<void*, most_frames> addresses{};
    std::size_t count = 0;
};

std::uintptr_t program_counter_of(const void* context) {
    const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
    return static_cast<std::uintptr_t>(machine.gregs[REG_RIP]);
#else
    return machine.pc;
#endif
}

/// "reads", "writes"; "uses" where the processor does not say.
const char* kind_of_access([[maybe_unused]] const void* context) {
#if defined(__x86_64__)
    constexpr greg_t is_write = 2;
    return static_cast<const ucontext_t*>(context)->uc_mcontext.gregs[REG_ERR] & is_write ? "writes"
                                                                                          : "reads";
#else
    return "uses";
#endif
}

/// The instruction that faults, then return addresses, without the frames of the signal.
Frames frames_of(const void* context) {
    std::array<void*, most_frames> all{};
    const auto depth = static_cast<std::size_t>(std::max(0, backtrace(all.data(), most_frames)));
    const auto here = reinterpret_cast<void*>(program_counter_of(context));
    const auto* const first = std::find(all.data(), all.data() + depth, here);
    Frames frames;
    frames.addresses[frames.count++] = here;
    for (const auto* each = first; each < all.data() + depth; ++each)
        if (each != first) frames.addresses[frames.count++] = *each;
    return frames;
}

enum class CodeOf { system, ours, program };

CodeOf code_of(const void* address) {
    Dl_info info{};
    // Code without a file is that of kernels, which never run while the memory is closed.
    if (dladdr(address, &info) == 0 || info.dli_fname == nullptr) return CodeOf::ours;
    const std::string_view path = info.dli_fname;
    const std::string_view name = path.substr(path.rfind('/') + 1);
    for (const char* each : {"libcudasim.so", "libcudart.so"})
        if (name.starts_with(each)) return CodeOf::ours;
    for (const char* each : {"libc.so", "libc-", "libm.so", "libstdc++.so", "libgcc_s.so", "ld-linux"})
        if (name.starts_with(each)) return CodeOf::system;
    return CodeOf::program;
}

/// Whether the engine itself was at work, perhaps in a function of the C library.
bool is_of_engine(const Frames& frames) {
    for (std::size_t i = 0; i < frames.count; ++i)
        if (const CodeOf code = code_of(frames.addresses[i]); code != CodeOf::system)
            return code == CodeOf::ours;
    return false;
}

/// The allocation that an address is in, or behind, and what to do.
std::string object_text(std::uint64_t address) {
    const std::string advice = "  copy it with cudaMemcpy(), or allocate it with cudaMallocManaged()\n";
    for (const auto& context : driver::Context::all()) {
        const auto engine = context->engine();
        if (!engine || !engine->device.owns(address)) continue;
        const auto layout = engine->device.memory_layout();
        const auto holds = [&](const memory::Allocation& each) {
            return address >= each.address && address - each.address < each.bytes;
        };
        const auto describe = [&](const memory::Allocation& each) {
            return cuda_cpp::with_lines(each.label.empty() ? "an allocation" : each.label) + ", " +
                   std::to_string(each.bytes) + " bytes of global memory at " +
                   driver::hexadecimal(each.address) + "; the access is ";
        };
        const auto at_byte = [&](const memory::Allocation& each) {
            return describe(each) + "at byte " + std::to_string(address - each.address) + "\n";
        };
        if (const auto live = std::ranges::find_if(layout.live, holds); live != layout.live.end())
            return "  object: " + at_byte(*live) + advice;
        if (const auto freed = std::ranges::find_if(layout.freed, holds); freed != layout.freed.end())
            return "  object, which was freed: " + at_byte(*freed);
        const memory::Allocation* before = nullptr;
        for (const memory::Allocation& each : layout.live)
            if (each.address < address && (before == nullptr || each.address > before->address))
                before = &each;
        if (before == nullptr) return advice;
        return "  object: " + describe(*before) + std::to_string(address - before->address - before->bytes) +
               " bytes past its end\n";
    }
    return advice;
}

std::string place_text(const findings::SourceLocation& where) {
    std::string text = where.line == 0 ? "" : where.file + ":" + std::to_string(where.line);
    if (!where.function.empty()) text += (text.empty() ? "in " : ", in ") + where.function;
    return text;
}

std::string chain_text(const Frames& frames) {
    std::string text;
    for (std::size_t i = 0; i < frames.count; ++i) {
        const CodeOf code = code_of(frames.addresses[i]);
        if (code != CodeOf::program) continue;
        const auto lines = i == 0 ? cuda_cpp::host_lines_of_instruction(frames.addresses[i])
                                  : cuda_cpp::host_lines(frames.addresses[i]);
        for (const auto& line : lines) {
            const std::string place = place_text(line);
            // Without debug information: the start of the program.
            if (place.empty() || (line.line == 0 && !text.empty())) continue;
            const bool is_first = text.empty();
            text += (is_first ? "  " : "  called from ") + place + "\n";
            if (!is_first) continue;
            if (const std::string quoted = cuda_cpp::text_of_line(line); !quoted.empty())
                text += "    " + std::to_string(line.line) + " | " + quoted + "\n";
        }
    }
    return text;
}

void report(std::uint64_t address, const void* context, const Frames& frames) {
    std::string text = std::string("cudasim: error: host-access: host code ") + kind_of_access(context) +
                       " device memory at " + driver::hexadecimal(address) +
                       ", which is a segmentation fault on a GPU\n";
    // At once, should the rest not succeed.
    (void)!::write(STDERR_FILENO, text.data(), text.size());
    text = chain_text(frames) + object_text(address);
    (void)!::write(STDERR_FILENO, text.data(), text.size());
}

/// Whether the access is to be tried again, because another thread's engine work has opened the memory.
bool is_open_now(std::uint64_t address) {
    thread_local std::uint64_t last = 0;
    thread_local unsigned repetitions = 0;
    repetitions = last == address ? repetitions + 1 : 0;
    last = address;
    return memory::host_guard::is_open() && repetitions < most_repetitions;
}

void handle(int signal, siginfo_t* info, void* context) {
    const auto address = reinterpret_cast<std::uint64_t>(info->si_addr);
    if (info->si_code <= 0 || !memory::host_guard::protects(address))
        return memory::pass_on(previous, signal, info, context);
    if (is_open_now(address)) return;
    const Frames frames = frames_of(context);
    if (is_of_engine(frames)) return memory::host_guard::stop();
    if (reporting.exchange(true)) {
        // Another thread reports, and ends the process.
        ::sleep(most_seconds_for_report);
        return memory::pass_on(previous, signal, info, context);
    }
    struct sigaction by_default{};
    by_default.sa_handler = SIG_DFL;
    sigaction(SIGALRM, &by_default, nullptr);
    ::alarm(most_seconds_for_report);
    report(address, context, frames);
    ::alarm(0);
    memory::pass_on(previous, signal, info, context);
}

}  // namespace

void forbid_host_accesses() {
    // A library of a Python program: the interpreter and its packages may look at device memory.
    if (dlsym(RTLD_DEFAULT, "Py_IsInitialized") != nullptr) return;
    // The first call loads a library, which a signal handler must not.
    std::array<void*, 1> frame{};
    (void)backtrace(frame.data(), 1);
    const struct sigaction ours = memory::action_of(handle);
    if (sigaction(SIGSEGV, &ours, &previous) == 0) memory::host_guard::start();
}

}  // namespace cudasim::cudart
