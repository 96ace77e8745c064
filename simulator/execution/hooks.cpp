// What compiled code calls (simulator/jit/hooks.def). These run on simulated stacks: leaves that hold no
// lock, own nothing and allocate nothing; what takes more is left in the Runner for the scheduler.
#include "simulator/jit/hooks.h"

#include "simulator/execution/device.h"
#include "simulator/execution/interleaving.h"
#include "simulator/execution/runner.h"
#include "simulator/execution/shared_memory.h"
#include "simulator/execution/skipped_operations.h"
#include "simulator/execution/stop.h"
#include "simulator/execution/worker.h"
#include "simulator/memory/shadow.h"

namespace cudasim::execution {

using findings::FindingKind;
using jit::ThreadContext;

namespace {

Runner& runner_of(ThreadContext* context) {
    return *static_cast<Runner*>(context);
}

/// Apart from the hooks that call it: a thread that does not stop is not to save registers for a switch.
[[gnu::noinline]] void stop(Runner& runner, std::uint32_t site) {
    runner.site = site;
    runner.event = Event::stopped;
    runner.fiber.suspend();
}

/// It has been counted.
void warned(Runner& runner, std::uint32_t site, FindingKind kind, const WrappedIndex& index = {}) {
    if (!runner.launch->can_stop) return;
    CountedWarning warning;
    warning.kind = kind;
    warning.index = index;
    if (runner.launch->stops->warned(*runner.block, runner.thread, site, warning)) stop(runner, site);
}

[[noreturn]] void end(Runner& runner, std::uint32_t site, const Fault& fault) {
    runner.site = site;
    runner.fault = fault;
    runner.end_with_fault();
}

}  // namespace

extern "C" {

std::int32_t cudasim_hook_barrier(ThreadContext* context, std::int32_t kind, std::int32_t value,
                                  std::uint32_t site) {
    Runner& runner = runner_of(context);
    runner.arrive(static_cast<jit::BarrierKind>(kind), value != 0, site);
    runner.fiber.suspend();
    return runner.block->barrier_result;
}

std::int32_t cudasim_hook_named_barrier(ThreadContext* context, std::int32_t kind, std::uint32_t number,
                                        std::uint32_t threads, std::int32_t value, std::uint32_t site) {
    Runner& runner = runner_of(context);
    runner.site = site;
    runner.named = {static_cast<jit::BarrierKind>(kind), value != 0, number, threads, 0};
    runner.event = Event::at_named_barrier;
    runner.fiber.suspend();
    return runner.named.result;
}

std::uint64_t cudasim_hook_map_shared(ThreadContext* context, std::uint64_t address, std::uint32_t rank,
                                      std::uint32_t site) {
    const jit::BlockContext& block = *context->block;
    const std::int32_t owner = SharedMemory::rank_of(block, address);
    if (rank < block.cluster_blocks && owner >= 0)
        return address - reinterpret_cast<std::uint64_t>(block.cluster_shared_base[owner]) +
               reinterpret_cast<std::uint64_t>(block.cluster_shared_base[rank]);
    Fault fault;
    fault.kind = FindingKind::out_of_bounds_shared;
    fault.source = Fault::Source::cluster;
    fault.address = address;
    fault.index = rank;
    fault.size = block.cluster_blocks;
    end(runner_of(context), site, fault);
}

std::int32_t cudasim_hook_shared_rank(ThreadContext* context, std::uint64_t address, std::uint32_t) {
    return SharedMemory::rank_of(*context->block, address);
}

std::uint64_t cudasim_hook_warp(ThreadContext* context, std::int32_t kind, std::uint32_t mask,
                                std::uint64_t value, std::uint32_t operand, std::uint32_t site) {
    Runner& runner = runner_of(context);
    runner.site = site;
    runner.warp = {static_cast<jit::WarpKind>(kind), mask, operand, value, 0};
    runner.event = Event::in_warp;
    runner.fiber.suspend();
    return runner.warp.result;
}

void cudasim_hook_passes(ThreadContext* context, std::uint32_t operation, std::uint32_t) {
    runner_of(context).skipped->pass(context->thread, operation);
}

void cudasim_hook_yield(ThreadContext* context, std::uint32_t site) {
    Runner& runner = runner_of(context);
    // Each thread gets as many slices as it would have on a fiber of its own.
    if (runner.slices_of != runner.thread) {
        runner.slices_of = runner.thread;
        runner.slices = 0;
    }
    if (runner.launch->stops) runner.launch->stops->count_slice();
    if (++runner.slices >= slices_per_turn) cudasim_hook_sleep(context, site);
}

void cudasim_hook_yield_group(ThreadContext* context, std::uint32_t threads, std::uint32_t site) {
    Runner& runner = runner_of(context);
    runner.group = threads;
    cudasim_hook_yield(context, site);
    runner.group = 1;
}

void cudasim_hook_turn(ThreadContext* context, std::uint32_t site) {
    Runner& runner = runner_of(context);
    if (runner.interleaving != nullptr && runner.interleaving->gives_turn(runner.thread, site))
        cudasim_hook_sleep(context, site);
}

void cudasim_hook_sleep(ThreadContext* context, std::uint32_t site) {
    Runner& runner = runner_of(context);
    runner.site = site;
    runner.event = Event::yielded;
    runner.fiber.suspend();
}

void cudasim_hook_index_fault(ThreadContext* context, std::int64_t index, std::int64_t size,
                              std::int32_t axis, std::int32_t is_unsigned, std::uint32_t site) {
    Fault fault;
    fault.source = Fault::Source::index;
    fault.kind = FindingKind::out_of_bounds_index;
    fault.index = index;
    fault.size = size;
    fault.axis = axis;
    fault.is_unsigned = is_unsigned != 0;
    end(runner_of(context), site, fault);
}

void cudasim_hook_index_wraps(ThreadContext* context, std::int64_t index, std::int64_t size,
                              std::int32_t axis, std::uint32_t site) {
    Runner& runner = runner_of(context);
    if (runner.launch->options.wrap != Wrap::error) {
        Worker::current()->count_wrapped_index(runner, site, {index, size, axis});
        return warned(runner, site, FindingKind::negative_index, {index, size, axis});
    }
    Fault fault;
    fault.source = Fault::Source::index;
    fault.kind = FindingKind::negative_index;
    fault.index = index;
    fault.size = size;
    fault.axis = axis;
    end(runner, site, fault);
}

void cudasim_hook_access_check(ThreadContext* context, std::uint64_t address, std::uint64_t bytes,
                               std::uint32_t flags, std::uint32_t site) {
    const std::uint64_t alignment = flags >> 8;
    const bool aligned = alignment <= 1 || (address & (alignment - 1)) == 0;
    const bool write = (flags & (jit::access_write | jit::access_atomic)) != 0;
    if (aligned && memory::Shadow::instance().allows(address, bytes, write)) return;
    Fault fault;
    fault.source = Fault::Source::access;
    fault.address = address;
    fault.bytes = bytes;
    fault.flags = flags;
    end(runner_of(context), site, fault);
}

void cudasim_hook_fault(ThreadContext* context, std::int32_t kind, std::uint32_t site) {
    Fault fault;
    fault.kind = static_cast<FindingKind>(kind);
    end(runner_of(context), site, fault);
}

void cudasim_hook_raise(ThreadContext* context, std::int32_t exception, std::uint32_t site) {
    Fault fault;
    fault.source = Fault::Source::exception;
    fault.exception = exception;
    end(runner_of(context), site, fault);
}

void cudasim_hook_float_division(ThreadContext* context, std::uint32_t site) {
    Runner& runner = runner_of(context);
    if (!runner.launch->options.raise_float_division) {
        Worker::current()->count_arithmetic(runner, site, FindingKind::float_division);
        return warned(runner, site, FindingKind::float_division);
    }
    Fault fault;
    fault.kind = FindingKind::float_division;
    end(runner, site, fault);
}

void cudasim_hook_exit(ThreadContext* context, std::uint32_t site) {
    Runner& runner = runner_of(context);
    runner.site = site;
    runner.end_thread();
}

/// Formatting allocates and output takes locks: both are the worker's.
std::int32_t cudasim_hook_vprintf(ThreadContext* context, std::uint64_t format, std::uint64_t arguments,
                                  std::uint32_t site) {
    Runner& runner = runner_of(context);
    runner.site = site;
    runner.print.format = format;
    runner.print.arguments = arguments;
    runner.event = Event::printing;
    runner.fiber.suspend();
    return runner.print.result;
}

/// Allocating takes locks.
std::uint64_t cudasim_hook_heap_allocate(ThreadContext* context, std::uint64_t bytes, std::uint32_t site) {
    Runner& runner = runner_of(context);
    runner.site = site;
    runner.heap = {.is_free = false, .bytes = bytes, .address = 0};
    runner.event = Event::using_heap;
    runner.fiber.suspend();
    return runner.heap.address;
}

void cudasim_hook_heap_free(ThreadContext* context, std::uint64_t address, std::uint32_t site) {
    if (address == 0) return;
    Runner& runner = runner_of(context);
    runner.site = site;
    runner.heap = {.is_free = true, .bytes = 0, .address = address};
    runner.event = Event::using_heap;
    runner.fiber.suspend();
}

void cudasim_hook_assert_fail(ThreadContext* context, std::uint64_t expression, std::uint64_t file,
                              std::uint64_t function, std::uint32_t line, std::uint32_t site) {
    Fault fault;
    fault.source = Fault::Source::assertion;
    fault.kind = FindingKind::device_assert;
    fault.assertion = {expression, file, function, line};
    end(runner_of(context), site, fault);
}

void cudasim_hook_shift_range(ThreadContext* context, std::uint32_t site) {
    Worker::current()->count_arithmetic(runner_of(context), site, FindingKind::shift_out_of_range);
}

void cudasim_hook_float_to_integer(ThreadContext* context, std::uint32_t site) {
    Worker::current()->count_arithmetic(runner_of(context), site, FindingKind::float_to_integer);
}

void cudasim_hook_not_finite(ThreadContext* context, std::uint32_t site) {
    Worker::current()->count_arithmetic(runner_of(context), site, FindingKind::not_finite);
}

void cudasim_hook_stack_overflow(ThreadContext* context, std::uint32_t site) {
    Fault fault;
    fault.kind = FindingKind::stack_overflow;
    end(runner_of(context), site, fault);
}

std::int32_t cudasim_hook_is_local(ThreadContext* context, std::uint64_t address, std::uint32_t) {
    const Runner& runner = runner_of(context);
    const auto within = [&](const std::byte* low, const std::byte* end) {
        return address >= reinterpret_cast<std::uint64_t>(low) &&
               address < reinterpret_cast<std::uint64_t>(end);
    };
    const std::byte* frames = runner.block->thread_frames;
    const std::uint64_t frame_bytes =
        runner.launch->kernel ? runner.launch->kernel->coroutine_frame_bytes : 0;
    return within(runner.stack.low, runner.stack.top) ||
           within(frames, frames + frame_bytes * runner.block->thread_count);
}

void cudasim_hook_bad_call(ThreadContext* context, std::uint64_t handle, std::uint32_t site) {
    Fault fault;
    fault.source = Fault::Source::call;
    fault.address = handle;
    end(runner_of(context), site, fault);
}

void cudasim_hook_local_begin(ThreadContext* context, std::uint64_t address, std::uint64_t bytes,
                              std::uint32_t) {
    Runner& runner = runner_of(context);
    memory::Shadow::instance().set(address, bytes, memory::Access::read_write);
    if (runner.local_low == 0 || address < runner.local_low) runner.local_low = address & ~std::uint64_t{7};
}

void cudasim_hook_local_end(ThreadContext* context, std::uint64_t address, std::uint64_t bytes,
                            std::uint32_t) {
    memory::Shadow::instance().set(address, (bytes + 7) & ~std::uint64_t{7}, memory::Access::none);
}

void cudasim_hook_stop(ThreadContext* context, jit::FrameRecord* record, std::uint32_t place,
                       std::uint32_t site) {
    Runner& runner = runner_of(context);
    if (!runner.launch->can_stop) return;  // a launch without a handler may have this instrumentation, too
    jit::ThreadStop& here = runner.block->thread_stops[runner.thread];
    here.innermost = record;
    here.site = site;
    if (record != nullptr) record->place = place;
    if (runner.launch->stops->wants(here, *runner.block, runner.thread, site)) stop(runner, site);
}

void cudasim_hook_watched_access(ThreadContext* context, std::uint64_t address, std::uint64_t bytes,
                                 std::uint32_t flags, std::uint32_t site) {
    Runner& runner = runner_of(context);
    if (!runner.launch->can_stop) return;
    WatchHit access;
    access.address = address;
    access.bytes = bytes;
    access.site = site;
    if (runner.launch->stops->touched(*runner.block, runner.thread, access, flags)) stop(runner, site);
}

std::uint64_t cudasim_hook_clock(ThreadContext* context, std::uint64_t now, std::uint32_t) {
    const Runner& runner = runner_of(context);
    return runner.launch->stops ? runner.launch->stops->clock(now) : now;
}

void cudasim_hook_enter(ThreadContext* context, jit::FrameRecord* record, std::uint32_t) {
    Runner& runner = runner_of(context);
    if (!runner.launch->can_stop) return;
    jit::ThreadStop& here = runner.block->thread_stops[runner.thread];
    record->caller = here.innermost;
    record->place = ~std::uint32_t{0};
    here.innermost = record;
}

void cudasim_hook_leave(ThreadContext* context, jit::FrameRecord* record, std::uint32_t) {
    Runner& runner = runner_of(context);
    if (!runner.launch->can_stop) return;
    runner.block->thread_stops[runner.thread].innermost = record->caller;
    runner.launch->stops->frame_left(record);
}

void cudasim_hook_returned(ThreadContext* context, const void* value, std::uint32_t function,
                           std::uint32_t site) {
    Runner& runner = runner_of(context);
    if (!runner.launch->can_stop) return;
    const jit::ThreadStop& here = runner.block->thread_stops[runner.thread];
    if ((here.steps & jit::step_returns) != 0)
        runner.launch->stops->returns(here, *runner.block, runner.thread, value, function, site);
}

}  // extern "C"

}  // namespace cudasim::execution
