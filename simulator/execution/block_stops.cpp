// Stops in a block (stop.h): where its threads are, and running one that the handler chooses.
//
// The handler is called from the middle of the scheduler, from handle(), for the runner that has just come
// back. As long as it chooses nobody, that runner keeps its place and its range of threads, and the order
// stays the policy's. When it chooses, the runner is cut down to its thread and held; threads are taken out
// of wherever their turn would come.
#include <algorithm>
#include <cstring>

#include "simulator/execution/block_run.h"
#include "simulator/execution/captured_values.h"
#include "simulator/execution/fault_report.h"
#include "simulator/execution/worker.h"
#include "simulator/memory/arena.h"
#include "simulator/memory/shadow.h"

namespace cudasim::execution {

namespace {

/// The same as assign(), but most of it is moved in large pieces: every block of a launch begins with it.
void fill(std::vector<jit::ThreadStop>& stops, std::size_t threads, const jit::ThreadStop& each) {
    stops.resize(threads);
    if (threads == 0) return;
    stops.front() = each;
    for (std::size_t done = 1; done < threads; done *= 2)
        std::memcpy(&stops[done], stops.data(), std::min(done, threads - done) * sizeof each);
}

}  // namespace

/// Code that is compiled for stops notes where its threads are, also where nobody looks.
void BlockRun::start_stops() {
    const bool notes = launch_->can_stop || (launch_->kernel && !launch_->kernel->stops.places.empty());
    const std::size_t threads = notes ? context_.thread_count : 0;
    stopped_ = nullptr;
    context_.watch_low = context_.watch_bytes = 0;
    if (!launch_->can_stop) {
        run_before_.clear();
        no_stop_flags_ = stop_flag_words(launch_->kernel ? launch_->kernel->sites.size() : 0);
        context_.stop_flags = stop_flags_in(no_stop_flags_);
    } else {
        context_.stop_flags = launch_->stops->flags();
    }
    steps_set_ = 0;
    fill(thread_stops_, threads, {nullptr, context_.stop_flags, 0, 0});
    context_.thread_stops = thread_stops_.data();
    if (!launch_->stops) return;
    if (const auto followed = launch_->stops->followed(); followed && followed->block == block_)
        set_steps(followed->thread, jit::step_followed);
    for (const std::uint32_t thread : launch_->stops->watches().threads_with_frames(block_))
        set_steps(thread, thread_stops_[thread].steps | jit::step_watches);
    run_before_.assign(threads, 0);
    held_.reserve(threads);
    faulting_.reserve(threads);
}

void BlockRun::set_steps(std::uint32_t thread, std::uint32_t steps) {
    const std::size_t flags = launch_->kernel ? launch_->kernel->sites.size() : 0;
    jit::ThreadStop& stop = thread_stops_[thread];
    steps_set_ += static_cast<std::uint32_t>(steps != 0) - static_cast<std::uint32_t>(stop.steps != 0);
    stop.steps = steps;
    stop.flags = context_.stop_flags + (steps != 0 ? flags : 0);
    if (Runner* runner = carrier_of(thread)) runner->flags = stop.flags;
}

/// The runner's thread has stopped. True: it goes on now. False: it is held, or has gone on meanwhile.
bool BlockRun::stop(Runner* runner, std::uint32_t& first) {
    StoppedLaunch& stops = *launch_->stops;
    if (stops.handler_is_at_work()) {
        stops.tell(*worker_, *this, runner->thread);
        held_.push_back(runner);
        if (coroutines_.lanes_meet()) coroutines_.set_carried(runner->thread);
        return false;
    }
    stopped_ = runner;
    stopped_first_ = first;
    const std::uint32_t thread = runner->thread;
    stops.tell(*worker_, *this, thread);
    if (stopped_ == runner) {
        stopped_ = nullptr;
        return true;
    }
    // It was held. Where it still is at a stop, it is the first to go on.
    const auto place = std::ranges::find(ready_, runner);
    if (place == ready_.end() || runner->event != Event::stopped || runner->thread != thread) return false;
    ready_.erase(place);
    first = thread;
    return true;
}

void BlockRun::hold_stopped_thread() {
    if (stopped_ == nullptr) return;
    Runner* runner = std::exchange(stopped_, nullptr);
    ended(stopped_first_, runner->thread);
    cut(runner);
    disordered_ = true;
    if (coroutines_.lanes_meet()) coroutines_.set_carried(runner->thread);
    held_.push_back(runner);
}

/// Their turn comes with that of threads for which the order was disturbed.
void BlockRun::let_held_threads_go() {
    forget_faulted_threads();
    ready_.insert(ready_.end(), held_.begin(), held_.end());
    held_.clear();
}

// Checkpoints ----------------------------------------------------------------------------------------------

/// No thread runs, and all that the block's future depends on is in its members, its runners, memory, and the
/// worker's batch.
void BlockRun::offer_checkpoint(std::size_t next_in_batch) {
    StoppedLaunch& stops = *launch_->stops;
    if (!stops.checkpoint_is_due()) return;
    in_turns_ = true;
    next_in_batch_ = next_in_batch;
    stops.between_turns(*worker_);
    in_turns_ = false;
    next_in_batch_ = 0;
}

std::vector<Runner*> BlockRun::carriers() const {
    std::vector<Runner*> all;
    for (const auto* list : {&ready_, &spinning_, &waiting_, &held_})
        all.insert(all.end(), list->begin(), list->end());
    if (next_in_batch_ != 0) {
        const std::vector<Runner*>& batch = worker_->scratch();
        all.insert(all.end(), batch.begin() + static_cast<std::ptrdiff_t>(next_in_batch_), batch.end());
    }
    if (!warps_.tracks()) return all;
    for (const std::vector<Runner*>& list :
         {warps_.free(), warps_.waiting(), named_.free(), named_.waiting()})
        all.insert(all.end(), list.begin(), list.end());
    return all;
}

std::uint64_t BlockRun::bytes_of_copy() const {
    const std::uint64_t of_each =
        sizeof(jit::ThreadStop) + sizeof(jit::LaneOperation) + sizeof(std::uint64_t);
    return sizeof(BlockRun) + coroutines_.frames().size() + of_each * context_.thread_count;
}

void BlockRun::is_restored() {
    for (std::uint32_t thread = 0; thread < context_.thread_count; ++thread)
        if (thread_stops_[thread].steps != 0) set_steps(thread, 0);
    if (const auto followed = launch_->stops->followed(); followed && followed->block == block_)
        set_steps(followed->thread, jit::step_followed);
    launch_->stops->block_begins(context_, block_);
    for (const std::uint32_t thread : launch_->stops->watches().threads_with_frames(block_)) {
        set_steps(thread, thread_stops_[thread].steps | jit::step_watches);
        if (site_of(thread)) launch_->stops->find_frames(*this, thread);
    }
    tell_beginning();
}

// What ends early
// ----------------------------------------------------------------------------------------------

void BlockRun::report_fault(Runner* runner) {
    // The processor does not say which statement it was; the thread has noted it.
    if (launch_->can_stop && launch_->kernel && runner->fault.source == Fault::Source::signal) {
        const jit::FrameRecord* record = thread_stops_[runner->thread].innermost;
        const std::vector<jit::StopPlace>& places = launch_->kernel->stops.places;
        if (record != nullptr && record->place < places.size()) runner->site = places[record->place].site;
    }
    findings::Finding finding = describe_fault(*launch_, *this, *runner);
    finding.variables = captured_values(*launch_, *this, *runner);
    if (launch_->stops) [[unlikely]] {
        faulting_.push_back(runner);
        launch_->findings.add(finding);
        launch_->stops->tell_fault(*worker_, *this, runner->thread, finding);
        if (!launch_->stops->handler_is_at_work()) forget_faulted_threads();
        return;
    }
    launch_->findings.add(std::move(finding));
    worker_->runners().discard(runner);
}

/// What ends the block although threads are left.
void BlockRun::report_end(findings::Finding finding) {
    if (launch_->stops) [[unlikely]]
        launch_->stops->tell_early_end(*worker_, *this, finding);
    launch_->findings.add(std::move(finding));
}

void BlockRun::forget_faulted_threads() {
    for (Runner* runner : faulting_) worker_->runners().discard(runner);
    faulting_.clear();
}

// The order that remains ------------------------------------------------------------------------------------

/// Threads that the handler let run have had the turn that would come next. Whether there were any.
bool BlockRun::skip_threads_run_before() {
    const std::uint32_t before = not_started_;
    while (not_started_ != 0 && run_before_[order_.thread(context_.thread_count - not_started_)] != 0)
        --not_started_;
    return not_started_ != before;
}

/// In [first + 1, end); else `end`. `first` has its turn now.
std::uint32_t BlockRun::first_run_before(std::uint32_t first, std::uint32_t end) const {
    if (first + 1 >= end) return end;
    const std::uint8_t* begin = run_before_.data() + first + 1;
    const void* found = std::memchr(begin, 1, end - first - 1);
    if (found == nullptr) return end;
    return first + 1 + static_cast<std::uint32_t>(static_cast<const std::uint8_t*>(found) - begin);
}

/// Without lanes that meet: it is not yet started, or has not yet been entered since the last barrier.
bool BlockRun::turn_is_to_come(std::uint32_t thread) const {
    if (run_before_[thread] != 0) return false;
    if (stopped_ != nullptr && thread > stopped_->thread && thread < stopped_->end) return true;
    for (std::uint32_t turn = context_.thread_count - not_started_; turn < context_.thread_count; ++turn)
        if (order_.thread(turn) == thread) return true;
    return false;
}

// Where threads are -----------------------------------------------------------------------------------------

namespace {

Runner* in_list(std::span<Runner* const> runners, std::uint32_t thread, const jit::BlockContext& block) {
    for (Runner* runner : runners)
        if (runner->thread == thread && runner->block == &block) return runner;
    return nullptr;
}

}  // namespace

/// Runners of this block's batch whose turn is still to come.
std::span<Runner* const> BlockRun::rest_of_batch() const {
    const std::vector<Runner*>& batch = worker_->scratch();
    return std::span(batch).subspan(std::min(turn_in_batch_, batch.size()));
}

ThreadState BlockRun::state(std::uint32_t thread) const {
    if (in_list(faulting_, thread, context_) != nullptr) return ThreadState::faulted;
    if (stopped_ != nullptr && stopped_->thread == thread) return ThreadState::stopped;
    if (in_list(held_, thread, context_) != nullptr) return ThreadState::stopped;
    if (in_list(rest_of_batch(), thread, context_) != nullptr || in_list(ready_, thread, context_) != nullptr)
        return ThreadState::can_run;
    if (in_list(spinning_, thread, context_) != nullptr) return ThreadState::spins;
    if (coroutines_.active()) return state_of_coroutine(thread);
    if (in_list(waiting_, thread, context_) != nullptr) return ThreadState::at_barrier;
    if (named_.in_use()) {
        if (in_list(named_.free(), thread, context_) != nullptr) return ThreadState::can_run;
        if (in_list(named_.waiting(), thread, context_) != nullptr) return ThreadState::at_barrier;
    }
    if (warps_.tracks()) {
        if ((warps_.free_lanes(thread / jit::warp_size) >> thread % jit::warp_size & 1) != 0)
            return ThreadState::can_run;
        if (in_list(warps_.waiting(), thread, context_) != nullptr) return ThreadState::in_warp;
    }
    return turn_is_to_come(thread) ? ThreadState::not_started : ThreadState::over;
}

ThreadState BlockRun::state_of_coroutine(std::uint32_t thread) const {
    const std::uint32_t state = coroutines_.states()[thread];
    if (state == jit::thread_over) return ThreadState::over;
    const bool goes_on =
        coroutines_.lanes_meet() ? (state & jit::thread_waits) == 0 : turn_is_to_come(thread);
    if (state == jit::thread_fresh) return goes_on ? ThreadState::not_started : ThreadState::over;
    if (goes_on) return ThreadState::can_run;
    return coroutines_.waits_in_warp(thread) ? ThreadState::in_warp : ThreadState::at_barrier;
}

std::optional<std::uint32_t> BlockRun::site_of(std::uint32_t thread) const {
    switch (state(thread)) {
        case ThreadState::not_started:
        case ThreadState::over:
        case ThreadState::absent:
            return std::nullopt;
        case ThreadState::stopped:
            return thread_stops_[thread].site;
        default:
            break;
    }
    if (const Runner* runner = carrier_of(thread)) return runner->site;
    return coroutines_.active() ? coroutines_.site_of(thread) : std::nullopt;
}

Runner* BlockRun::carrier_of(std::uint32_t thread) const {
    for (const std::span<Runner* const> list :
         {std::span<Runner* const>(&stopped_, stopped_ != nullptr ? 1 : 0),
          std::span<Runner* const>(faulting_), std::span<Runner* const>(held_), rest_of_batch(),
          std::span<Runner* const>(ready_), std::span<Runner* const>(spinning_),
          std::span<Runner* const>(waiting_)})
        if (Runner* runner = in_list(list, thread, context_)) return runner;
    if (!warps_.tracks()) return nullptr;
    for (const std::vector<Runner*>& list :
         {warps_.free(), warps_.waiting(), named_.free(), named_.waiting()})
        if (Runner* runner = in_list(list, thread, context_)) return runner;
    return nullptr;
}

bool BlockRun::accessible(std::uint32_t thread, std::uint64_t address, std::size_t bytes, bool write) const {
    if (bytes == 0) return true;
    if (contains(context_.shared_base, launch_->shared_bytes, address, bytes)) return true;
    for (const std::byte* shared : cluster_shared())
        if (contains(shared, launch_->shared_bytes, address, bytes))
            return memory::Shadow::instance().allows(address, bytes, write);
    const std::uint64_t frame = launch_->kernel ? launch_->kernel->coroutine_frame_bytes : 0;
    if (coroutines_.active() && contains(coroutines_.frames().data() + thread * frame, frame, address, bytes))
        return true;
    const Runner* runner = carrier_of(thread);
    if (runner != nullptr && stack_contains(*runner, address, bytes)) return true;
    if (address + bytes < address) return false;
    const std::lock_guard lock(*launch_->arena_mutex);
    const memory::Allocation* allocation = launch_->arena->containing(address, bytes);
    return allocation != nullptr && (!write || memory::Shadow::instance().allows(address, bytes, true));
}

std::optional<BlockRun::LocalOfAnother> BlockRun::local_of_another(std::uint64_t address) const {
    const std::vector<std::byte>& frames = coroutines_.frames();
    if (coroutines_.active() && contains(frames.data(), frames.size(), address, 1)) {
        const std::uint64_t offset = address - reinterpret_cast<std::uint64_t>(frames.data());
        const auto thread = static_cast<std::uint32_t>(offset / launch_->kernel->coroutine_frame_bytes);
        return LocalOfAnother{thread < context_.thread_count ? std::optional(thread) : std::nullopt};
    }
    for (const Runner* runner : carriers())
        if (runner->block == &context_ && stack_contains(*runner, address, 1))
            return LocalOfAnother{runner->thread};
    return worker_->runners().is_on_a_stack(address) ? std::optional<LocalOfAnother>(std::in_place)
                                                     : std::nullopt;
}

/// What state() and site_of() say, without looking through every list for every thread.
std::vector<ThreadPlace> BlockRun::places_of_threads() const {
    const std::uint32_t threads = context_.thread_count;
    std::vector<ThreadPlace> places(threads);
    std::vector<std::uint8_t> known(threads);
    const auto note = [&](const Runner* runner, ThreadState state) {
        if (runner->block != &context_ || known[runner->thread] != 0) return;
        known[runner->thread] = 1;
        const bool stopped = state == ThreadState::stopped;
        places[runner->thread] = {state, stopped ? thread_stops_[runner->thread].site : runner->site};
    };
    const auto note_all = [&](std::span<Runner* const> runners, ThreadState state) {
        for (const Runner* runner : runners) note(runner, state);
    };
    note_all(faulting_, ThreadState::faulted);
    if (stopped_ != nullptr) note(stopped_, ThreadState::stopped);
    note_all(held_, ThreadState::stopped);
    note_all(rest_of_batch(), ThreadState::can_run);
    note_all(ready_, ThreadState::can_run);
    note_all(spinning_, ThreadState::spins);
    if (!coroutines_.active()) {
        note_all(waiting_, ThreadState::at_barrier);
        note_all(named_.free(), ThreadState::can_run);
        note_all(named_.waiting(), ThreadState::at_barrier);
        if (warps_.tracks()) {
            note_all(warps_.free(), ThreadState::can_run);
            note_all(warps_.waiting(), ThreadState::in_warp);
        }
    }
    // Those that nobody carries: they have not started, are over, or wait in a coroutine's frame.
    std::vector<std::uint8_t> to_come(threads);
    if (stopped_ != nullptr)
        for (std::uint32_t thread = stopped_->thread + 1; thread < stopped_->end; ++thread)
            to_come[thread] = 1;
    for (std::uint32_t turn = threads - not_started_; turn < threads; ++turn)
        to_come[order_.thread(turn)] = 1;
    for (std::uint32_t thread = 0; thread < threads; ++thread) {
        if (known[thread] != 0) continue;
        if (coroutines_.active()) {
            places[thread].state = state_of_coroutine(thread);
            if (places[thread].state != ThreadState::not_started && places[thread].state != ThreadState::over)
                places[thread].site = coroutines_.site_of(thread).value_or(~std::uint32_t{0});
        } else if (to_come[thread] != 0 && run_before_[thread] == 0) {
            places[thread].state = ThreadState::not_started;
        }
    }
    return places;
}

/// Threads [first, last) have come to the end of their turn: those of them that are to stop and never will.
void BlockRun::tell_ends(std::uint32_t first, std::uint32_t last) {
    if (steps_set_ == 0 && !launch_->stops->repeats_an_end()) return;
    for (std::uint32_t thread = first; thread < last; ++thread) {
        const std::uint32_t steps = thread_stops_[thread].steps;
        const bool is_told = (steps & ~jit::step_followed) != 0;
        if (!is_told && !launch_->stops->repeats_end_of({block_, thread})) continue;
        if (state(thread) != ThreadState::over) continue;
        set_steps(thread, steps & jit::step_followed);
        launch_->stops->tell_end(*worker_, *this, thread);
    }
}

// Running one -----------------------------------------------------------------------------------------------

/// A runner for a thread that can run; from now on it is nowhere else. @throws std::bad_alloc
Runner* BlockRun::take(std::uint32_t thread) {
    for (std::vector<Runner*>* list : {&held_, &worker_->scratch(), &ready_, &spinning_}) {
        const std::size_t done = list == &worker_->scratch() ? std::min(turn_in_batch_, list->size()) : 0;
        Runner* runner = in_list(std::span(*list).subspan(done), thread, context_);
        if (runner == nullptr) continue;
        list->erase(std::find(list->begin() + static_cast<std::ptrdiff_t>(done), list->end(), runner));
        return runner;
    }
    const std::uint32_t warp = thread / jit::warp_size, lane = thread % jit::warp_size;
    if (warps_.tracks() && (warps_.free_lanes(warp) >> lane & 1) != 0) return warps_.take(warp, lane);
    if (Runner* free = in_list(named_.free(), thread, context_)) {
        named_.take(free);
        return free;
    }
    Runner* runner = worker_->runners().acquire(*launch_, &context_, &skipped_);
    runner->thread = thread;
    runner->end = thread + 1;
    if (!coroutines_.lanes_meet()) run_before_[thread] = 1;
    return runner;
}

void BlockRun::run_chosen(std::uint32_t thread) {
    Runner* runner = take(thread);
    progress_ = disordered_ = true;
    // A turn lasts over stops, so that a thread that is stopped in every round of a loop gives it up, too.
    if (runner->event != Event::stopped) runner->slices = 0;
    worker_->switch_to(runner);
    handle(runner, thread);
    complete_what_all_have_come_to();
}

bool BlockRun::any_can_run() {
    if (!held_.empty() || !ready_.empty() || !spinning_.empty() || warps_.any_free() ||
        !named_.free().empty())
        return true;
    if (std::ranges::any_of(rest_of_batch(),
                            [&](const Runner* runner) { return runner->block == &context_; }))
        return true;
    if (coroutines_.lanes_meet())
        return std::ranges::any_of(coroutines_.states(), [](std::uint32_t state) {
            return state < jit::thread_carried && (state & jit::thread_waits) == 0;
        });
    (void)skip_threads_run_before();
    return not_started_ != 0;
}

/// A barrier of the block, so that the handler can lead its threads past it. What else there is to say of a
/// block in which nobody can run, the scheduler says after the handler.
void BlockRun::complete_what_all_have_come_to() {
    if (launch_->stopped() || any_can_run() || warps_.answer_active() || !all_wait()) return;
    if (lanes_waiting() != 0 || named_.waiting_count() != 0 || barrier_kind_ == jit::BarrierKind::grid ||
        !same_barrier())
        return;
    (void)complete_barrier();
}

}  // namespace cudasim::execution
