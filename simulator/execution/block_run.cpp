// The scheduler of a block.
#include "simulator/execution/block_run.h"

#include <algorithm>
#include <array>
#include <functional>
#include <new>
#include <utility>

#include "simulator/execution/worker.h"
#include "simulator/memory/arena.h"

namespace cudasim::execution {

using findings::Dim3;
using findings::FindingKind;

namespace {

// Threads that meet in a loop may wait for others there (do { seen = flag[0]; } while (__any_sync(~0u,
// !seen))). After so many passes over one warp the other warps of its block have their turn; after so many
// meetings of a block, completed barriers or passes over a warp, which take about 0.05 s, other blocks
// have theirs. Both numbers have many divisors: a loop that gets nowhere has come back to its beginning
// then (livelock.cpp).
constexpr std::uint32_t warp_passes_per_turn = 630;
constexpr std::uint32_t meetings_per_turn = 256 * warp_passes_per_turn, host_meetings_per_turn = 2520;
constexpr std::uint32_t later_meetings_per_turn = 8 * warp_passes_per_turn;

void store(std::uint32_t (&target)[3], const Dim3& value) {
    target[0] = value.x;
    target[1] = value.y;
    target[2] = value.z;
}

/// A switch touches a line of the Runner and a few of the saved stack, long since out of the first-level
/// cache: asking for them two switches ahead halves what a barrier costs at 256 threads.
void prefetch(const std::vector<Runner*>& batch, std::size_t next) {
    constexpr std::size_t runner_distance = 3, stack_lines = 7, line_bytes = 64;
    if (next + runner_distance < batch.size()) __builtin_prefetch(batch[next + runner_distance]);
    if (next >= batch.size()) return;
    const auto* stack = static_cast<const char*>(batch[next]->fiber.saved_position());
    for (std::size_t line = 0; line < stack_lines; ++line) __builtin_prefetch(stack + line * line_bytes);
}

}  // namespace

void BlockRun::start(Worker& worker, Launch& launch, std::uint64_t block, std::uint64_t turn,
                     std::span<std::byte* const> shared) {
    worker_ = &worker;
    launch_ = &launch;
    began_ = before_turn_ = false;
    block_ = block;
    turn_ = turn;
    store(context_.ctaid, unlinear(block, launch.configuration.grid));
    store(context_.ntid, launch.configuration.block);
    store(context_.nctaid, launch.configuration.grid);
    context_.thread_count = static_cast<std::uint32_t>(launch.configuration.block.volume());
    join_cluster(shared);
    context_.dynamic_shared_bytes = static_cast<std::uint32_t>(launch.configuration.dynamic_shared_bytes);
    context_.parameters = launch.parameters.data();
    context_.globals_base = reinterpret_cast<std::byte*>(launch.globals_base);
    context_.shadow_base = worker.shadow_base();
    context_.captured = worker.captured();
    context_.cooperative = launch.cooperative ? 1 : 0;
    context_.multiprocessors = launch.profile->multiprocessors;
    context_.multiprocessor = static_cast<std::uint32_t>(block % context_.multiprocessors);
    context_.launch_number = launch.number;
    std::ranges::fill(context_.check_states, nullptr);
    const bool is_compiled_for_stops = launch.kernel && !launch.kernel->stops.places.empty();
    if (launch.can_stop || !thread_stops_.empty() || is_compiled_for_stops) [[unlikely]]
        start_stops();
    if (launch.shared_bytes != 0) memory::fill_poison(context_.shared_base, launch.shared_bytes);
    if (launch.can_stop) [[unlikely]]
        launch.stops->block_begins(context_, block);
    coroutines_.start(launch.kernel.get(), context_.thread_count, context_);
    warps_.start(context_.thread_count, !coroutines_.active() && (!launch.kernel || launch.kernel->waits));
    skipped_.start(launch.kernel.get(), context_.thread_count);
    named_.start();
    // No list grows while threads run.
    for (auto* list : {&ready_, &waiting_, &spinning_}) list->reserve(context_.thread_count);
    if (warps_.tracks()) by_thread_.reserve(context_.thread_count);
    random_ = RandomNumbers(RandomNumbers(launch.options.seed).next() ^ block);
    order_ = ThreadOrder(launch.options.order(), context_.thread_count, 0);
    interleaving_.start(launch.options, block, launch.block_count, context_.thread_count);
    start_phase();
    if (!coroutines_.lanes_meet()) not_started_ = context_.thread_count;
    alone_.clear();
    over_ = faulted_ = idle_rounds_ = 0;
    last_warp_ = no_warp;
    passes_of_warp_ = named_turns_ = 0;
    gave_turn_up_ = gave_turns_up_ = false;
    in_turns_ = false;
    next_in_batch_ = 0;
    at_grid_ = abandoned_ = disordered_ = by_warp_ = false;
    tell_beginning();
}

void BlockRun::tell_beginning() {
    if (launch_->options.observers.empty()) [[likely]]
        return;
    began_ = true;
    ObservedBlock block_seen = observed();
    launch_->options.observers.block_begins(block_seen);
    std::ranges::copy(block_seen.check_states, context_.check_states);
}

ObservedBlock BlockRun::observed() const {
    return {block_,
            Dim3{context_.ctaid[0], context_.ctaid[1], context_.ctaid[2]},
            context_.thread_count,
            {context_.shared_base, launch_->shared_bytes},
            std::to_array(context_.check_states)};
}

void BlockRun::tell_end() {
    if (!began_) return;
    began_ = false;
    launch_->options.observers.block_ends(observed(), abandoned_ ? BlockEnd::given_up : BlockEnd::finished);
}

void BlockRun::move_to(Worker& worker) {
    worker_ = &worker;
    context_.captured = worker.captured();
}

/// Notes what complete_barrier() needs while the runner's line is in the cache.
[[gnu::always_inline]] inline void BlockRun::arrive(Runner* runner) {
    if (waiting_.empty()) {
        mixed_sites_ = false;
        votes_ = 0;
        barrier_kind_ = runner->barrier_kind;
    } else {
        const Runner* first = waiting_.front();
        mixed_sites_ |= runner->site != first->site || runner->barrier_kind != first->barrier_kind;
    }
    votes_ += runner->barrier_value;
    waiting_.push_back(runner);
}

[[gnu::always_inline]] inline void BlockRun::arrive_in_warp(Runner* runner) {
    disordered_ = true;
    if ((runner->warp.mask >> runner->thread % jit::warp_size & 1) != 0) [[likely]]
        warps_.arrive(runner, skipped_);
    else
        refuse_mask(runner);
    if (skipped_.any()) [[unlikely]]
        report_skipped_operation();
}

/// Inlined into the loop of advance(): a return between two switches would be mispredicted.
[[gnu::always_inline]] inline void BlockRun::resume(Runner* runner, std::size_t turn_in_batch) {
    runner->slices = 0;
    const std::uint32_t first = runner->thread;
    worker_->switch_to(runner);
    if (runner->event == Event::waiting && runner->thread == first && runner->end == first + 1) [[likely]] {
        arrive(runner);
        return;
    }
    if (runner->event == Event::in_warp && runner->thread == first && runner->end == first + 1) {
        progress_ = true;
        arrive_in_warp(runner);
        return;
    }
    if (turn_in_batch != 0) turn_in_batch_ = turn_in_batch;
    handle(runner, first);
}

BlockRun::State BlockRun::advance() {
    try {
        return run_threads();
    } catch (const std::bad_alloc&) {
        launch_->run_out_of_memory(
            coordinate(order_.thread(not_started_ == 0 ? 0 : context_.thread_count - not_started_)),
            worker_->runners().stacks());
    }
    collect_runners();
    return State::spinning;
}

/// Memory ran out somewhere in run_threads(): what it was about to resume, or to put into a list, joins those
/// that spin.
void BlockRun::collect_runners() {
    std::vector<Runner*>& batch = worker_->scratch();
    Runner* running = worker_->running();
    if (running && running->block == &context_ && std::ranges::find(batch, running) == batch.end())
        batch.push_back(running);
    const auto is_known = [&](const Runner* runner) {
        const auto in = [&](const std::vector<Runner*>& list) {
            return std::ranges::find(list, runner) != list.end();
        };
        return in(ready_) || in(waiting_) || in(spinning_) || in(held_) || in(faulting_) ||
               warps_.holds(runner) || named_.holds(runner) || worker_->runners().is_idle(runner);
    };
    for (Runner* runner : batch) {
        if (is_known(runner)) continue;
        if (runner->event == Event::finished)
            worker_->runners().release(runner);
        else if (runner->event == Event::faulted || runner->event == Event::exited)
            worker_->runners().discard(runner);
        else
            spinning_.push_back(runner);
    }
    batch.clear();
}

BlockRun::State BlockRun::run_threads() {
    std::size_t first = 0;
    if (in_turns_) [[unlikely]] {
        in_turns_ = false;
        first = std::exchange(next_in_batch_, 0);
    } else {
        progress_ = gave_turn_up_ = false;
        meetings_ = 0;
        waiting_before_ = waiting_.size();
        if (ready_.empty()) {
            ready_.swap(spinning_);
            by_warp_ = false;
        }
    }
    for (std::uint32_t rounds = 1;; ++rounds) {
        if (first == 0) worker_->round_begins(*launch_, rounds);
        if (first == 0 && (launch_->stopped() || worker_->leaves())) return State::spinning;
        if (meetings_ >= most_meetings() && first == 0 && ready_.empty()) [[unlikely]] {
            idle_rounds_ = idle_rounds_before_new_block;
            gave_turn_up_ = gave_turns_up_ = true;
            return State::spinning;
        }
        if (launch_->can_stop && first == 0) [[unlikely]]
            offer_checkpoint(0);
        if (!ready_.empty() || first != 0) {
            std::vector<Runner*>& batch = worker_->scratch();
            if (first == 0) {
                batch.swap(ready_);
                if (interleaving_.active()) [[unlikely]]
                    interleaving_.choose(batch, spinning_, worker_->others_can_go_on(*launch_, *this),
                                         idle_rounds_);
                // While nothing but spinning happens the order stays, so that a livelock is seen to repeat
                // itself.
                if (!by_warp_ && launch_->options.order() == Policy::random && idle_rounds_ == 0)
                    random_.shuffle(batch);
            }
            for (std::size_t i = std::exchange(first, 0); i < batch.size(); ++i) {
                prefetch(batch, i + 2);
                if (launch_->stopped()) {
                    ready_.push_back(batch[i]);
                    continue;
                }
                if (launch_->can_stop && i != 0) [[unlikely]]
                    offer_checkpoint(i);
                const std::uint32_t warp = batch[i]->thread / jit::warp_size;
                resume(batch[i], i + 1);
                if (by_warp_ && warps_.any_free() &&
                    (i + 1 == batch.size() || batch[i + 1]->thread / jit::warp_size != warp)) {
                    turn_in_batch_ = i + 1;
                    run_freed_lanes(warp);
                }
            }
            batch.clear();
            std::ranges::sort(lanes_to_run_, std::greater());
        } else if (!named_.free().empty() && !others_go_first()) {
            run_named();
        } else if (!run_before_.empty() && not_started_ != 0 && skip_threads_run_before()) {
            continue;
        } else if (has_threads_to_start()) {
            start_threads();
        } else if (warps_.any_free()) {
            run_freed_warps();
        } else if (interleaving_.any_at_access(spinning_)) {
            break;  // they may still come to a call of activemask
        } else if (warps_.answer_active()) {
            progress_ = true;
        } else if (spinning_.empty() && all_wait()) {
            if (!named_.cluster().waiting().empty()) break;  // the others may wait for one of these
            progress_ = true;
            if (lanes_waiting() != 0) {
                report_missing_lanes();
                abandon();
                return State::over;
            }
            if (named_.waiting_count() != 0) {
                if (faulted_ == 0) report_named_deadlock();  // else that is what there is to say
                abandon();
                return State::over;
            }
            const Completion completion = complete_barrier();
            if (completion == Completion::over) return State::over;
            if (completion == Completion::at_grid) return State::at_grid;
        } else {
            break;
        }
    }
    const bool at_cluster = !named_.cluster().waiting().empty();
    if (spinning_.empty() && !at_cluster) return State::over;
    if (waiting_.size() != waiting_before_ || interleaving_.has_moved()) progress_ = true;
    idle_rounds_ = progress_ ? 0 : idle_rounds_ + 1;
    return spinning_.empty() ? State::at_cluster : State::spinning;
}

/// Every thread of a coroutine kernel gets its turn, and those of the others that wait at the barrier.
void BlockRun::start_phase() {
    interleaving_.phase_begins();
    // Where threads meet again and again the order stays, so that a livelock is seen to repeat itself.
    const bool order_stays = gave_turns_up_ && launch_->host_kernel == nullptr;
    if (launch_->options.order() == Policy::random && !order_stays)
        order_ = ThreadOrder(Policy::random, context_.thread_count, random_.next());
    lanes_to_run_.clear();
    if (coroutines_.lanes_meet()) {
        coroutines_.release_all();
        not_started_ = 0;
        for (std::uint32_t end = context_.thread_count; end > 0;
             end = (end - 1) / jit::warp_size * jit::warp_size)
            lanes_to_run_.push_back((end - 1) / jit::warp_size * jit::warp_size);
    } else if (coroutines_.active()) {
        not_started_ = context_.thread_count;
        std::ranges::fill(run_before_, std::uint8_t{0});
    }
}

void BlockRun::put_in_order(std::vector<Runner*>& runners) {
    by_thread_.assign(context_.thread_count, nullptr);
    for (Runner* runner : runners) by_thread_[runner->thread] = runner;
    runners.clear();
    for (std::uint32_t turn = 0; turn < context_.thread_count; ++turn)
        if (Runner* runner = by_thread_[order_.thread(turn)]) runners.push_back(runner);
}

void BlockRun::start_threads() {
    if (coroutines_.lanes_meet()) {
        start_lanes();
        return;
    }
    if (!alone_.empty()) [[unlikely]] {
        start_alone();
        return;
    }
    const bool one_by_one =
        launch_->options.carrier == Carrier::fiber || launch_->options.policy != Policy::forward;
    Runner* runner = worker_->runners().acquire(*launch_, &context_, &skipped_);
    runner->thread = order_.thread(context_.thread_count - not_started_);
    const std::uint32_t warp = runner->thread / jit::warp_size;
    // A warp's lanes that were set free go on before the next warp starts.
    const std::uint32_t last = warps_.tracks() ? std::min(context_.thread_count, (warp + 1) * jit::warp_size)
                                               : context_.thread_count;
    runner->interleaving = interleaving_.active() ? &interleaving_ : nullptr;
    runner->end = one_by_one ? runner->thread + 1 : last;
    if (!run_before_.empty()) [[unlikely]]
        runner->end = first_run_before(runner->thread, runner->end);
    not_started_ -= runner->end - runner->thread;
    resume(runner);
    if (!run_before_.empty()) [[unlikely]]
        (void)skip_threads_run_before();
    if (warps_.any_free() &&
        (not_started_ == 0 || order_.thread(context_.thread_count - not_started_) / jit::warp_size != warp))
        run_freed_lanes(warp);
}

/// A runner of one thread runs no groups.
void BlockRun::start_alone() {
    Runner* runner = worker_->runners().acquire(*launch_, &context_, &skipped_);
    auto& [next, end] = alone_.back();
    runner->thread = next++;
    runner->end = next;
    runner->interleaving = nullptr;
    if (next == end) alone_.pop_back();
    resume(runner);
}

/// Passes over a warp until none of its lanes can go on, or others are to have their turn.
[[gnu::noinline]] void BlockRun::run_freed_lanes(std::uint32_t warp) {
    const std::uint32_t lanes = order_.lanes(warp);
    for (std::uint32_t passes = 0; passes < warp_passes_per_turn; ++passes, ++meetings_) {
        const std::uint32_t pass = warps_.free_lanes(warp);
        if (pass == 0) return;
        for (std::uint32_t turn = 0; turn < lanes; ++turn) {
            if (launch_->stopped()) return;
            const std::uint32_t lane = order_.lane(warp, turn);
            const std::uint32_t free =
                pass & warps_.free_lanes(warp);  // a stop's handler may have taken some
            if ((free >> lane & 1) != 0) resume(warps_.take(warp, lane));
        }
    }
}

/// Those of several warps, which threads that spun have set free, or the answer to activemask.
void BlockRun::run_freed_warps() {
    for (std::uint32_t turn = 0; turn < context_.thread_count && !launch_->stopped(); ++turn) {
        const std::uint32_t warp = order_.thread(turn) / jit::warp_size;
        if (warps_.free_lanes(warp) != 0) run_freed_lanes(warp);
    }
}

/// Lanes that wait stay where they are: the runner passes over them.
void BlockRun::start_lanes() {
    Runner* runner = worker_->runners().acquire(*launch_, &context_, &skipped_);
    runner->thread = lanes_to_run_.back();
    runner->end = std::min(context_.thread_count, (runner->thread / jit::warp_size + 1) * jit::warp_size);
    lanes_to_run_.pop_back();
    resume(runner);
}

/// A lane of this thread's warp has come to a wait, or to its end: may others go on?
void BlockRun::look_at_warp(std::uint32_t thread) {
    const std::uint32_t warp = thread / jit::warp_size;
    if (coroutines_.complete_warp(warp, skipped_)) {
        ++meetings_;
        passes_of_warp_ = warp == last_warp_ ? passes_of_warp_ + 1 : 0;
        last_warp_ = warp;
        const bool others_first = passes_of_warp_ + 1 >= warp_passes_per_turn;
        if (others_first) last_warp_ = no_warp;
        lanes_to_run_.insert(others_first ? lanes_to_run_.begin() : lanes_to_run_.end(),
                             warp * jit::warp_size);
    }
    if (skipped_.any()) [[unlikely]]
        report_skipped_operation();
}

/// What the runner came back for; `first` is the thread it ran first since it was resumed.
[[gnu::noinline]] void BlockRun::handle(Runner* runner, std::uint32_t first) {
    while (runner->event == Event::printing || runner->event == Event::using_heap ||
           runner->event == Event::stopped || runner->event == Event::at_named_barrier) {
        // A stop is nothing that the thread has done: other blocks begin as early as without it.
        if (runner->event != Event::stopped) progress_ = true;
        if (runner->event == Event::stopped) {
            if (!stop(runner, first)) return;
        } else if (runner->event == Event::at_named_barrier) {
            if (!arrive_at_named(runner, first)) {
                if (runner->event == Event::faulted) break;
                return;
            }
        } else if (runner->event == Event::using_heap) {
            if (!use_heap(*runner)) break;
        } else if (!print(*runner)) {
            break;
        }
        if (launch_->stopped()) break;
        worker_->switch_to(runner);
    }
    switch (runner->event) {
        case Event::printing:  // the launch ends while its thread prints, is stopped or arrives
        case Event::using_heap:
        case Event::stopped:
        case Event::at_named_barrier:
            ended(first, runner->thread);
            cut(runner);
            ready_.push_back(runner);
            break;
        case Event::finished:
            ended(first, runner->end);
            progress_ = true;
            if (coroutines_.lanes_meet()) look_at_warp(runner->end - 1);
            if (launch_->can_stop) [[unlikely]] {
                const std::uint32_t end = runner->end;
                worker_->runners().release(runner);
                tell_ends(first, end);
                break;
            }
            worker_->runners().release(runner);
            break;
        case Event::waiting:
            ended(first, runner->thread);
            cut(runner);
            progress_ = true;
            arrive(runner);
            break;
        case Event::in_warp:
            ended(first, runner->thread);
            cut(runner);
            progress_ = true;
            arrive_in_warp(runner);
            break;
        case Event::yielded:
            ended(first, runner->thread);
            cut(runner);
            disordered_ = true;
            if (coroutines_.lanes_meet()) coroutines_.set_carried(runner->thread);
            spinning_.push_back(runner);
            worker_->gives_up_turn(*launch_);
            break;
        case Event::exited: {
            const std::uint32_t thread = runner->thread;
            ended(first, thread + 1);
            const bool pass_goes_on = cut(runner);
            progress_ = true;
            if (coroutines_.active()) coroutines_.set_over(thread);
            if (coroutines_.lanes_meet() && !pass_goes_on) look_at_warp(thread);
            worker_->runners().discard(runner);
            if (launch_->can_stop) [[unlikely]]
                tell_ends(first, thread + 1);
            break;
        }
        case Event::faulted: {
            ended(first, runner->thread);
            if (is_group(*runner)) {
                run_one_by_one(runner);
                break;
            }
            const bool pass_goes_on = cut(runner);
            progress_ = true;
            ++faulted_;
            lanes_end(runner->thread, runner->thread + 1);
            if (coroutines_.active()) coroutines_.set_over(runner->thread);
            if (coroutines_.lanes_meet() && !pass_goes_on) look_at_warp(runner->thread);
            report_fault(runner);
            if (launch_->findings.faults() >= launch_->options.max_faults) launch_->no_new_blocks = true;
            break;
        }
    }
}

/// Of a turn.
std::uint32_t BlockRun::most_meetings() const {
    if (launch_->host_kernel != nullptr) return host_meetings_per_turn;
    return gave_turns_up_ ? later_meetings_per_turn : meetings_per_turn;
}

/// Whether threads that are not at barriers for some of the block have their turn before those that are.
bool BlockRun::others_go_first() {
    if (named_turns_ < warp_passes_per_turn) {
        ++named_turns_;
        return false;
    }
    if (!has_threads_to_start() && !warps_.any_free()) return false;
    named_turns_ = 0;
    return true;
}

/// Threads [first, last) ended by themselves.
void BlockRun::ended(std::uint32_t first, std::uint32_t last) {
    over_ += last - first;
    lanes_end(first, last);
}

void BlockRun::lanes_end(std::uint32_t first, std::uint32_t last) {
    if (!warps_.tracks()) return;
    warps_.end(first, last, skipped_);
    if (skipped_.any()) [[unlikely]]
        report_skipped_operation();
    if (!named_.in_use() && context_.cluster_blocks == 1) [[likely]]
        return;
    named_.threads_ended(first, last, warps_);
    complete_named();
    if (first != last) settle_cluster();
}

/// A lane that its own mask does not name has no meaning (PTX ISA: undefined behaviour).
void BlockRun::refuse_mask(Runner* runner) {
    runner->fault = {};
    runner->fault.kind = FindingKind::missing_lane;
    runner->event = Event::faulted;
    handle(runner, runner->thread);
}

/// Every thread has had its turn and none spins: do any wait?
bool BlockRun::all_wait() {
    if (!coroutines_.active()) {
        waiting_count_ = static_cast<std::uint32_t>(waiting_.size());
        return waiting_count_ != 0 || warps_.waiting_count() != 0 || named_.waiting_count() != 0;
    }
    const CoroutineThreads::Phase phase = coroutines_.phase();
    over_ = phase.over - faulted_;
    waiting_count_ = phase.waiting;
    mixed_sites_ = phase.mixed;
    votes_ = phase.votes;
    barrier_kind_ = phase.kind;
    coroutine_lanes_waiting_ = phase.in_warp;
    return waiting_count_ != 0 || coroutine_lanes_waiting_ != 0;
}

void BlockRun::abandon() {
    warps_.take_all(waiting_);
    named_.take_all(waiting_);
    for (auto* list : {&waiting_, &spinning_, &ready_, &held_}) {
        for (Runner* runner : *list) worker_->end(runner);
        list->clear();
    }
    forget_faulted_threads();
    not_started_ = 0;
    lanes_to_run_.clear();
    alone_.clear();
    abandoned_ = true;
}

findings::ThreadCoordinate BlockRun::coordinate(std::uint32_t thread) const {
    return {block_, thread, Dim3{context_.ctaid[0], context_.ctaid[1], context_.ctaid[2]},
            unlinear(thread, launch_->configuration.block)};
}

}  // namespace cudasim::execution
