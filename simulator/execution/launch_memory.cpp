// See launch_memory.h.
#include "simulator/execution/launch_memory.h"

#include <algorithm>

#include "simulator/execution/fault_report.h"
#include "simulator/execution/launch.h"
#include "simulator/memory/host_memory.h"

namespace cudasim::execution {

namespace {

constexpr std::size_t page_bytes = 4096;
/// Hooks, libm and a lazily bound call may use this much below compiled frames.
constexpr std::size_t hook_margin = 12 * 1024;
constexpr std::size_t smallest_stack = 32 * 1024;
/// Stack of a thread of a recursive kernel; a GPU's default is 1 KiB (cudaLimitStackSize), x86 frames are
/// larger.
constexpr std::size_t recursive_stack = 256 * 1024;
/// What host code uses of its stack, as a rule: CPython with a few calls on it.
constexpr std::uint64_t usual_host_stack = 128 * 1024;
/// Memory that compiling a large kernel takes.
constexpr std::uint64_t compiler_need = 96 << 20;
/// Launches that need less do not ask the host.
constexpr std::uint64_t large_need = 64 << 20;

StackNeed compiled_need(const jit::CompiledKernel& kernel) {
    std::uint64_t needed = kernel.frame_bytes + hook_margin + sizeof(Runner) + page_bytes;
    if (kernel.recursive) needed += recursive_stack;
    std::uint64_t bytes = smallest_stack;
    while (bytes < needed) bytes *= 2;
    return {{bytes, std::max<std::uint64_t>(kernel.frame_bytes, 2 * page_bytes)}, false};
}

bool has_frames(const Launch& launch) {
    return launch.kernel && !launch.kernel->resume_points.empty();
}

/// The least number of threads of a block that each have a stack at the same time. Whether host code waits is
/// unknown.
std::uint64_t stacks_per_block(const Launch& launch) {
    const bool all = launch.kernel && launch.kernel->waits && !has_frames(launch);
    return all ? launch.configuration.block.volume() : 1;
}

/// What a block takes while it runs.
ThreadMemory memory_per_block(const Launch& launch) {
    if (!launch.kernel) return {};
    const std::uint64_t frames = launch.configuration.block.volume() * launch.kernel->coroutine_frame_bytes;
    const std::uint64_t stacks = stacks_per_block(launch);
    const StackNeed need = stack_need(launch);
    return {stacks * need.address + frames, stacks * need.touched + frames};
}

/// A cooperative launch has all its blocks at once, others have one for each worker.
std::uint64_t blocks_at_once(const Launch& launch, unsigned workers) {
    return launch.all_resident ? launch.block_count : workers;
}

ThreadMemory memory_there() {
    const std::uint64_t available = memory::host_memory_available();
    const auto limit = memory::address_limit();
    return {limit ? limit->left - std::min(limit->left, address_reserve) : ~std::uint64_t{0} >> 1,
            available - std::min(available, memory::host_reserve)};
}

}  // namespace

StackNeed stack_need(const Launch& launch) {
    if (launch.kernel) return compiled_need(*launch.kernel);
    const std::uint64_t bytes = launch.host_kernel->stack_bytes();
    return {{bytes, std::min(bytes, usual_host_stack)}, launch.host_kernel->guarded_stacks()};
}

std::uintptr_t stack_limit(const Launch& launch, std::uintptr_t low) {
    return low + hook_margin + (launch.kernel ? launch.kernel->frame_bytes : 0);
}

bool needs_much_memory(const Launch& launch, unsigned workers) {
    return memory_per_block(launch).address * blocks_at_once(launch, workers) >= large_need;
}

unsigned workers_with_memory(const Launch& launch, unsigned workers, const ThreadMemory& held) {
    const ThreadMemory block = memory_per_block(launch), there = memory_there();
    const std::uint64_t blocks = std::min((there.address + held.address) / block.address,
                                          (there.touched + held.touched) / block.touched);
    if (launch.all_resident) return blocks < launch.block_count ? 0 : workers;
    return static_cast<unsigned>(std::min<std::uint64_t>(workers, blocks));
}

std::string shortage_for_block(const Launch& launch) {
    const ThreadMemory block = memory_per_block(launch), there = memory_there();
    if (block.address <= there.address && block.touched <= there.touched) return {};
    return "its " + std::to_string(launch.configuration.block.volume()) + " threads take " +
           memory::bytes_text(std::max(block.address, block.touched)) + "; " + memory::describe_host_memory();
}

void require_memory_to_compile() {
    const auto limit = memory::address_limit();
    if (!limit || limit->left >= compiler_need) return;
    throw CudaError(CudaResult::out_of_memory, "compiling a kernel takes up to " +
                                                   memory::bytes_text(compiler_need) + " of memory; " +
                                                   memory::describe_host_memory());
}

findings::Finding describe_shortage(const Launch& launch) {
    const Shortage& shortage = launch.shortage;
    findings::Finding finding = finding_at(launch, findings::FindingKind::out_of_memory, shortage.thread, {});
    if (launch.kernel && launch.kernel->head.line != 0) finding.location = {launch.kernel->head};
    const std::uint64_t threads = launch.configuration.block.volume();
    std::string& text = finding.message;
    text = "out of memory: ";
    if (has_frames(launch)) {
        text += "each of the " + std::to_string(threads) + " threads of a block has a frame of " +
                memory::bytes_text(launch.kernel->coroutine_frame_bytes);
    } else {
        const StackNeed need = stack_need(launch);
        text += "each thread of a block of " + std::to_string(threads) + " that waits has a stack of " +
                memory::bytes_text(need.address);
    }
    if (launch.all_resident)
        text += ", and all " + std::to_string(launch.block_count) + " blocks are resident at once";
    text += "; ";
    if (shortage.stacks != 0) text += std::to_string(shortage.stacks) + " stacks were made; ";
    text += shortage.there;
    return finding;
}

}  // namespace cudasim::execution
