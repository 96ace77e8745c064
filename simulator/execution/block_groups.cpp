// Runners that run several threads at a time: one after another, or groups together (jit/thread_groups.h).
#include "simulator/execution/block_run.h"
#include "simulator/execution/worker.h"
#include "simulator/jit/group_code.h"

namespace cudasim::execution {

/// The runner keeps only the thread, or the group of threads, it is running; those behind it in its range are
/// not started after all, and get their turns next. Whether there are any.
bool BlockRun::cut(Runner* runner) {
    const std::uint32_t next = runner->thread + runner->group, end = runner->end;
    if (next == end) return false;
    if (coroutines_.lanes_meet())
        lanes_to_run_.push_back(next);
    else if (end == context_.thread_count - not_started_ || !run_before_.empty())
        not_started_ += end - next;
    else  // of a group that has yielded, and whose threads have gone different ways since
        alone_.emplace_back(next, end);
    runner->end = next;
    return true;
}

/// Has a fault that only the processor noticed ended a group of threads (jit/thread_groups.h)?
bool BlockRun::is_group(const Runner& runner) const {
    return runner.fault.source == Fault::Source::signal && launch_->kernel &&
           jit::runs_groups_at(*launch_->kernel, runner.fault.program_counter);
}

/// One of the group's threads is to blame. They run again, each by itself, before any others.
void BlockRun::run_one_by_one(Runner* runner) {
    const std::uint32_t first = runner->thread;
    runner->group = jit::threads_per_group;
    (void)cut(runner);
    alone_.emplace_back(first, first + jit::threads_per_group);
    worker_->runners().discard(runner);
    progress_ = true;
}

}  // namespace cudasim::execution
