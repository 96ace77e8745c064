// The engine's side of host kernels: the loop over threads that compiled code has built in, and what a thread
// asks of its runner.
#include "simulator/execution/host_kernel.h"

#include "simulator/execution/interleaving.h"
#include "simulator/execution/launch.h"
#include "simulator/execution/runner.h"
#include "simulator/execution/stop.h"
#include "simulator/execution/worker.h"
#include "simulator/jit/hooks.h"

namespace cudasim::execution {

namespace {

Runner& runner_of(jit::ThreadContext* context) {
    return *static_cast<Runner*>(context);
}

}  // namespace

std::int32_t ThreadHandle::barrier(std::uint32_t site, jit::BarrierKind kind, std::int32_t value) {
    if (ending()) return 0;
    return jit::cudasim_hook_barrier(context_, static_cast<std::int32_t>(kind), value, site);
}

std::uint64_t ThreadHandle::warp(jit::WarpKind kind, std::uint32_t mask, std::uint64_t value,
                                 std::uint32_t operand, std::uint32_t site) {
    if (ending()) return 0;
    return jit::cudasim_hook_warp(context_, static_cast<std::int32_t>(kind), mask, value, operand, site);
}

void ThreadHandle::yield(std::uint32_t site) {
    if (ending()) return;
    jit::cudasim_hook_sleep(context_, site);
}

bool ThreadHandle::gives_turn(std::uint32_t site) {
    const Runner& runner = runner_of(context_);
    return runner.interleaving != nullptr && !ending() &&
           runner.interleaving->gives_turn(runner.thread, site);
}

bool ThreadHandle::has_stops() const {
    return runner_of(context_).launch->stops != nullptr;
}

bool ThreadHandle::wants_stop(const findings::SourceLocation& place) const {
    return has_stops() && !ending() &&
           runner_of(context_).launch->stops->wants(context_->block->thread_stops[context_->thread],
                                                    place.file, place.line);
}

void ThreadHandle::stop(const findings::SourceLocation& place, std::uint32_t site) {
    if (!wants_stop(place)) return;
    Runner& runner = runner_of(context_);
    context_->block->thread_stops[context_->thread].site = site;
    runner.site = site;
    runner.event = Event::stopped;
    runner.fiber.suspend();
}

const AccessObserverList* ThreadHandle::access_observers() const {
    const Runner& runner = runner_of(context_);
    const AccessObserverList& observers = runner.launch->options.access_observers;
    return observers.empty() && runner.interleaving == nullptr ? nullptr : &observers;
}

ValueObserver* ThreadHandle::value_observer() const {
    return runner_of(context_).launch->options.value_observer;
}

std::uint32_t ThreadHandle::site_here() {
    return runner_of(context_).launch->host_kernel->site_here();
}

findings::CallChain ThreadHandle::location(std::uint32_t site) const {
    return runner_of(context_).launch->location(site);
}

void ThreadHandle::fault(findings::FindingKind kind) {
    Runner& runner = runner_of(context_);
    runner.site = 0;
    runner.fault = {};
    runner.fault.kind = kind;
    runner.end_with_fault();
}

void ThreadHandle::fail(std::uint32_t site) {
    Runner& runner = runner_of(context_);
    runner.site = site;
    runner.fault = {};
    runner.fault.source = Fault::Source::host;
    failed_ = true;
}

bool ThreadHandle::float_division(std::uint32_t site) {
    Runner& runner = runner_of(context_);
    if (runner.launch->options.raise_float_division) return true;
    Worker::current()->count_arithmetic(runner, site, findings::FindingKind::float_division);
    return false;
}

bool ThreadHandle::wrapped_index(std::int64_t index, std::int64_t size, std::int32_t axis,
                                 std::uint32_t site) {
    Runner& runner = runner_of(context_);
    if (runner.launch->options.wrap == Wrap::error) return true;
    Worker::current()->count_wrapped_index(runner, site, {index, size, axis});
    return false;
}

bool ThreadHandle::checks_wraps() const {
    return runner_of(context_).launch->options.wrap != Wrap::allow;
}

void ThreadHandle::stop_launch(bool time_limit, findings::CallChain location) {
    Launch& launch = *runner_of(context_).launch;
    if (!launch.request_stop(time_limit ? Stop::time_limit : Stop::interrupted) || location.empty()) return;
    const findings::ThreadCoordinate here = coordinate();
    launch.stopped_by = {
        "running", std::move(location), here.block, here.ctaid, {{here.thread, here.thread}}};
}

bool ThreadHandle::ending() const {
    return runner_of(context_).ending;
}

std::span<std::byte> ThreadHandle::stack() const {
    const Runner& runner = runner_of(context_);
    const std::size_t guard = runner.launch->host_kernel->guarded_stacks() ? fiber::guard_bytes : 0;
    return {runner.stack.low + guard, runner.stack.top};
}

void run_host_threads(jit::ThreadContext* context) {
    Runner& runner = runner_of(context);
    const Dim3 extent{context->block->ntid[0], context->block->ntid[1], context->block->ntid[2]};
    for (; context->thread < context->end; ++context->thread) {
        context->tid[0] = context->thread % extent.x;
        context->tid[1] = context->thread / extent.x % extent.y;
        context->tid[2] = context->thread / extent.x / extent.y;
        ThreadHandle handle(context);
        runner.launch->host_kernel->run(handle);
        if (handle.failed() && !runner.ending) runner.end_with_fault();
        if (!runner.ending)
            Worker::current()->poll(*runner.launch);  // host code may take long and waits for nobody
        if (runner.launch->stopped()) context->end = context->thread + 1;
    }
}

}  // namespace cudasim::execution
