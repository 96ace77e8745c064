// See process.h.
#include "frontend/cuda_cpp/runtime/process.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string>
#include <tuple>

#include "frontend/cuda_cpp/host_code/call_labels.h"
#include "frontend/cuda_cpp/runtime/environment_option.h"
#include "frontend/cuda_cpp/runtime/host_accesses.h"
#include "frontend/cuda_cpp/runtime/host_findings.h"
#include "frontend/cuda_cpp/runtime/launch_runner.h"
#include "frontend/cuda_cpp/runtime/memory_findings.h"
#include "frontend/cuda_cpp/runtime/unchecked_launches.h"
#include "simulator/driver/background_launch.h"
#include "simulator/driver/devices.h"
#include "simulator/driver/host_language.h"
#include "simulator/driver/kept_kernels.h"
#include "simulator/driver/launch_options.h"
#include "simulator/driver/options.h"
#include "simulator/driver/simulated_device.h"
#include "simulator/driver/stream_work.h"
#include "simulator/driver/visible_devices.h"
#include "simulator/execution/device_profile.h"
#include "simulator/findings/writers.h"

namespace cudasim::cudart {
namespace {

using driver::HostLanguage;

std::atomic<bool> errors_reported{false}, launches_run{false};

/// Kernels in the background may come to their end for so long when the program has.
constexpr auto grace_of_kernels = std::chrono::seconds(1);

void end_kernels_in_background() {
    auto& work = driver::StreamWork::of_this_process();
    if (work.in_background() == 0) return;
    work.drop({});
    if (driver::BackgroundLaunch::end_all({}, "the program ended", grace_of_kernels)) return;
    std::fprintf(stderr, "cudasim: a kernel still runs when the program has ended, and does not stop\n");
    Process::note_failure();
}

void end_of_program(int status, void*) {
    if (launches_run) {
        end_kernels_in_background();
        if (Process::get().has_made_devices()) {
            tell_stream_races();
            tell_memory_at_end();
        }
        LaunchRunner::of_this_process().finish();
    }
    const bool unchecked = report_unchecked_launches();
    if (status != 0 || (!errors_reported && !unchecked)) return;
    std::fflush(nullptr);
    _exit(1);
}

/// This library's constructors run before those of the program, so that the function runs after the
/// program's own atexit() functions and destructors.
[[gnu::constructor]] void note_end_of_program() {
    on_exit(&end_of_program, nullptr);
}

std::vector<std::string> parts_of(const std::string& text) {
    std::vector<std::string> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const auto end = std::min(text.find(',', begin), text.size());
        auto first = text.find_first_not_of(' ', begin), last = text.find_last_not_of(' ', end - 1);
        if (first == std::string::npos || first >= end) first = end, last = end - 1;
        parts.push_back(text.substr(first, last + 1 - first));
        begin = end + 1;
    }
    return parts;
}

execution::DeviceProfile profile_named(const std::string& key) {
    const auto* found = execution::find_profile(key);
    if (found != nullptr) return *found;
    std::string names;
    for (const auto& profile : execution::profiles()) names += (names.empty() ? "" : ", ") + profile.key;
    throw driver::OptionError("CUDASIM_DEVICE=" + key +
                              ": no such device for programs in CUDA C++; there are " + names +
                              ". A device that a file describes can be used from Python only");
}

execution::LaunchOptions options_of_environment() {
    execution::LaunchOptions options;
    // The compiler has marked what may be fused: nvcc's -fmad decides, which is on by default, unless the
    // user's option is set (NVIDIA CUDA Compiler Driver NVCC, "--fmad").
    options.compile.fma_contraction = true;
    options.cooperative_by_kernel = false;  // each launch says it
    for (const auto& row : driver::launch_option_table())
        for (const auto& option : driver::option_table()) {
            if (option.name != row.name) continue;
            const auto in_force = driver::option_from_environment(option);
            if (option.name == "fma" && !in_force.source.starts_with("environment")) continue;
            row.set(options, row.name, in_force.value);
        }
    options.write_output = [](std::string_view text) {
        if (auto* const host = HostLanguage::of_this_process()) {
            host->printed(text);
            return true;
        }
        return std::fwrite(text.data(), 1, text.size(), stdout) == text.size();
    };
    return options;
}

void keep_kernels() {
    const std::string problem =
        driver::keep_compiled_kernels({.wanted = environment_option<bool>("cache"),
                                       .folder = environment_option<std::string>("cache_dir"),
                                       .most_bytes = environment_option<std::uint64_t>("cache_size")});
    if (!problem.empty())
        std::fprintf(stderr, "cudasim: warning: the cache of compiled kernels is not used: %s\n",
                     problem.c_str());
}

/// Work runs in the call that enqueues it, unless it has to wait for a callback of the program's: the
/// call does not wait for that, as it would not on a GPU.
class HostProgram final : public driver::StreamHost {
  public:
    [[nodiscard]] bool deferred() const override { return driver::StreamWork::of_this_process().busy(); }
};

}  // namespace

Process::Process() {
    launches_run = true;
    try {
        options_ = options_of_environment();
        if (auto* const host = HostLanguage::of_this_process()) {
            host->make_device(0);
            return;
        }
        if (driver::Devices::of_this_process().count() != 0) return;
        keep_kernels();
        driver::StreamWork::set_host(std::make_shared<HostProgram>());
        make_devices();
    } catch (const driver::Error& error) {
        failed_.emplace(error);
    } catch (const driver::OptionError& error) {
        std::fprintf(stderr, "cudasim: %s\n", error.what());
        failed_.emplace("", driver::CudaResult::not_initialized, error.what());
    } catch (const std::exception& error) {  // of the host's language
        failed_.emplace("", driver::CudaResult::not_initialized, error.what());
    }
}

void Process::make_devices() {
    const auto keys = parts_of(environment_option<std::string>("device"));
    const auto memory = environment_option<std::uint64_t>("device_memory");
    const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES");
    positions_ = driver::require_visible_devices(
        visible ? std::optional<std::string_view>(visible) : std::nullopt, keys);
    std::vector<std::shared_ptr<driver::Context>> contexts;
    for (const std::size_t position : positions_) {
        auto profile = profile_named(keys[position]);
        if (memory != 0) profile.total_memory = memory;
        auto context = driver::Context::make(static_cast<int>(contexts.size()));
        context->set_engine(std::make_shared<driver::SimulatedDevice>(profile));
        track_memory(*context);
        contexts.push_back(std::move(context));
    }
    (void)driver::Devices::of_this_process().exchange(std::move(contexts));
    forbid_host_accesses();
}

Process& Process::get() {
    static Process& process = *new Process;  // used until the very end of the program
    return process;
}

int Process::device_count() const {
    if (failed_) throw driver::Error(*failed_);
    driver::ContextStack::of_this_thread().require_calls_allowed();
    return driver::Devices::of_this_process().count();
}

std::shared_ptr<driver::Context> Process::device(int ordinal, const char* call) const {
    (void)device_count();
    auto context = driver::Devices::of_this_process().get(ordinal, call);
    require_engine(*context);
    return context;
}

void Process::require_engine(const driver::Context& context) {
    if (context.engine()) return;
    if (auto* const host = HostLanguage::of_this_process()) host->make_device(context.device());
}

std::shared_ptr<driver::Context> Process::current() const {
    auto& stack = driver::ContextStack::of_this_thread();
    auto context = stack.current();
    if (!context) {
        context = device(0, "cudaSetDevice");
        stack.push(context);
    }
    require_engine(*context);
    context->activate();
    return context;
}

std::shared_ptr<driver::Context> Process::usable(const char* call) const {
    auto context = current();
    context->require_usable(call);
    return context;
}

void Process::set_device(int ordinal) const {
    const auto context = device(ordinal, "cudaSetDevice");
    driver::ContextStack::of_this_thread().set_current(context);
    context->activate();
}

std::size_t Process::position(int ordinal) const {
    const auto index = static_cast<std::size_t>(ordinal);
    return index < positions_.size() ? positions_[index] : index;
}

static void print_report(const findings::Finding& finding, std::span<const image::SourceFile> sources) {
    std::fflush(stdout);
    std::fputs(cuda_cpp::with_lines(findings::text_report(finding, sources)).c_str(), stderr);
}

void Process::report(const findings::Finding& finding, std::span<const image::SourceFile> sources) {
    errors_reported = true;
    print_report(finding, sources);
}

void Process::warn(const findings::Finding& finding, std::span<const image::SourceFile> sources) {
    static std::mutex mutex;
    static auto& told =
        *new std::set<std::tuple<findings::FindingKind, std::string, std::uint32_t, std::uint32_t>>;
    const findings::SourceLocation place =
        finding.location.empty() ? findings::SourceLocation{} : finding.location.front();
    const std::lock_guard lock(mutex);
    if (!told.emplace(finding.kind, place.line != 0 ? place.file : finding.kernel, place.line, place.column)
             .second)
        return;
    print_report(finding, sources);
}

void Process::note_failure() {
    errors_reported = true;
}

void Process::raise_unnoticed(const char* call) {
    if (unnoticed_.load(std::memory_order_relaxed) == 0) return;
    if (const int code = unnoticed_.exchange(0))
        throw driver::Error(call, static_cast<driver::CudaResult>(code), "an earlier launch ended with it");
}

}  // namespace cudasim::cudart
