// The loop of a worker, its pools of runners, and polling.
#include "simulator/execution/worker.h"

#include <algorithm>
#include <iterator>
#include <new>
#include <thread>
#include <utility>

#include "simulator/execution/fault_report.h"
#include "simulator/execution/shared_memory.h"
#include "simulator/memory/shadow.h"

namespace cudasim::execution {

namespace {

/// Where threads take turns at accesses, those of so many blocks do beside each other.
constexpr std::size_t blocks_that_interleave = 4;
/// Waking another host thread costs about this much.
constexpr auto helpers_after = std::chrono::microseconds(20);
constexpr auto look_interval = std::chrono::milliseconds(1);
constexpr unsigned most_blocks_per_look = 64;

thread_local Worker* current_worker = nullptr;

/// It has gone back and runs up to a statement that it has come to before.
bool repeats(const Launch& launch) {
    return launch.stops && launch.stops->repeats();
}

}  // namespace

Worker* Worker::current() {
    return current_worker;
}

Worker::~Worker() {
    for (auto& [low, layout] : slot_layouts_) SharedMemory::unmap(low);
}

void Worker::end(Runner* runner) {
    if (!runner->launch->host_kernel || !runner->launch->host_kernel->unwinds()) {
        runners_.discard(runner);
        return;
    }
    runner->ending = true;
    switch_to(runner);
    if (runner->event == Event::finished)
        runners_.release(runner);
    else
        runners_.discard(runner);
}

void Worker::prepare(Launch& launch) {
    current_worker = this;
    running_ = nullptr;
    shadow_base_ = memory::Shadow::instance().base();
    runners_.prepare(launch);
    scratch_.reserve(launch.configuration.block.volume());
    warnings_.assign(launch.kernel ? launch.kernel->sites.size() : 0, {});
    last_poll_ = last_look_ = launch.start;
    blocks_per_look_ = 1;
    blocks_since_look_ = 0;
    spinning_ = round_goes_on_ = false;
    grid_generation_ = launch.grid.generation();
    left_to_helpers_ = {};
}

void Worker::run(Launch& launch, LeavingLaunch* leaving) {
    leaving_ = leaving;
    do {
        try {
            run_blocks(launch);
        } catch (const std::bad_alloc&) {
            launch.run_out_of_memory({}, 0);
        }
        if (launch.stopped()) stop_all(launch);
    } while (launch.stops && launch.stops->goes_back());
    if (has_left_) {
        current_worker = nullptr;
        return;
    }
    try {
        merge_counted_warnings(launch);
    } catch (const std::bad_alloc&) {
        launch.run_out_of_memory({}, 0);
    }
    current_worker = nullptr;
}

void Worker::run_blocks(Launch& launch) {
    if (std::exchange(has_left_, false))
        current_worker = this;
    else
        prepare(launch);
    if (launch.stops)
        if (const SavedDevice* saved = launch.stops->begin_again(warnings_)) restore(launch, *saved);
    adopt_orphans(launch);
    while (!launch.stopped()) {
        if (leaves()) [[unlikely]] {
            has_left_ = true;
            return;
        }
        pass_grid_barrier(launch);
        run_resident(launch);
        wake_helpers(launch);
        const bool all_idle = std::all_of(resident_.begin(), resident_.end(), [](const auto& block) {
            return block->idle_rounds() >= idle_rounds_before_new_block;
        });
        const bool meets_others = launch.options.interleaves() && resident_.size() < blocks_that_interleave;
        if ((all_idle || meets_others) && start_blocks(launch)) {
            poll_between_blocks(launch);
            continue;
        }
        if (resident_.empty()) {
            if (at_grid_.empty()) break;
            wait_for_grid(launch);
            continue;
        }
        // A launch that repeats itself comes to where it was, which took other time.
        if (all_idle) look_at_spin(launch);
        poll(launch);
    }
}

bool Worker::they_meet() const {
    return std::ranges::any_of(resident_, [](const auto& block) { return block->gave_turn_up(); });
}

/// Those that gave their turn up may wait for any other block: then twice as many have the next turns.
bool Worker::start_blocks(Launch& launch) {
    bool any = false;
    for (std::size_t left = they_meet() ? resident_.size() : 1; left > 0; --left) {
        if (!may_start_block(launch) || !start_block(launch)) break;
        any = true;
    }
    return any;
}

/// Nothing has happened for some rounds.
void Worker::look_at_spin(Launch& launch) {
    // Who is to end the spin may need this core.
    if (leaving_ != nullptr && leaving_->has_left()) std::this_thread::yield();
    if (!shows_its_state(launch))
        livelock_hash_ = 0;
    else if (!repeats(launch))
        detect_livelock(launch);
}

bool Worker::shows_its_state(const Launch& launch) const {
    if (leaving_ == nullptr) return launch.shows_its_state();
    return !launch.kernel->reads_clock && !leaving_->others_may_write();
}

/// Only when the launch proves longer than waking takes, and there are blocks for others.
void Worker::wake_helpers(Launch& launch) {
    if (index_ != 0 || launch.helpers_woken || !launch.wake_helpers || !launch.blocks_left()) return;
    if (Clock::now() - launch.start < helpers_after) return;
    launch.helpers_woken = true;
    launch.wake_helpers();
}

bool Worker::start_block(Launch& launch) {
    if (launch.stops && resident_.empty() && at_grid_.empty()) [[unlikely]]
        launch.stops->between_blocks(*this);
    std::uint64_t turn = 0;
    if (!launch.take_turn(turn)) return false;
    if (launch.blocks_at_a_time != 1) {
        std::ranges::move(start_cluster(launch, turn), std::back_inserter(resident_));
        return true;
    }
    make_spare(launch);
    std::byte* shared = shared_slot(launch);
    resident_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    fewest_spare_ = std::min(fewest_spare_, spare_.size());
    resident_.back()->start(*this, launch, launch.block_of(turn), turn, {&shared, 1});
    return true;
}

void Worker::make_spare(const Launch& launch, std::size_t count) {
    if (spare_.size() >= count) return;
    // So that putting them back needs no memory.
    spare_.reserve(resident_.size() + before_turn_.size() + at_grid_.size() + count);
    while (spare_.size() < count) {
        if (launch.kernel)
            runners_.count(launch.configuration.block.volume() * launch.kernel->coroutine_frame_bytes);
        spare_.push_back(std::make_unique<BlockRun>());
    }
}

void Worker::start_before_its_turn(Launch& launch, std::uint64_t block) {
    if (launch.blocks_at_a_time != 1) return start_cluster_before_its_turn(launch, block);
    make_spare(launch);
    before_turn_.reserve(before_turn_.size() + 1);
    std::byte* shared = shared_slot(launch);
    const std::uint64_t turn = launch.turn_of(block);
    try {
        launch.started_before.insert(turn);
        spare_.back()->start(*this, launch, block, turn, {&shared, 1});
    } catch (const std::bad_alloc&) {
        launch.started_before.erase(turn);
        if (shared != nullptr) free_slots_.push_back(shared);
        throw;
    }
    spare_.back()->set_before_turn();
    before_turn_.push_back(std::move(spare_.back()));
    spare_.pop_back();
    fewest_spare_ = std::min(fewest_spare_, spare_.size());
}

void Worker::run_resident(Launch& launch) {
    if (!std::exchange(round_goes_on_, false)) round_ = {};
    auto& [next, kept, over, arrived] = round_;
    bool waits_for_clusters = false;
    for (; next < resident_.size(); ++next) {
        std::unique_ptr<BlockRun>& block = resident_[next];
        const BlockRun::State state = launch.stopped() ? BlockRun::State::spinning : block->advance();
        if (state == BlockRun::State::spinning || state == BlockRun::State::at_cluster) {
            waits_for_clusters |= state == BlockRun::State::at_cluster;
            if (kept != next) resident_[kept] = std::move(block);
            ++kept;
        } else if (state == BlockRun::State::at_grid) {
            at_grid_.push_back(std::move(block));
            ++arrived;
        } else {
            finish(launch, std::move(block));
            ++over;
        }
    }
    resident_.resize(kept);
    if (!before_turn_.empty()) [[unlikely]] {
        std::ranges::move(before_turn_, std::back_inserter(resident_));
        before_turn_.clear();
    }
    if (over != 0) launch.blocks_run.fetch_add(over, std::memory_order_relaxed);
    if (over + arrived != 0) spinning_ = false;
    if (arrived != 0) launch.grid.arrive(arrived);
    if (waits_for_clusters) [[unlikely]]
        look_at_clusters();
}

void Worker::finish(Launch& launch, std::unique_ptr<BlockRun> block) {
    block->tell_end();
    give_shared_back(launch, *block);
    if (launch.output) launch.output->finish(block->turn());
    if (launch.host_kernel && !launch.host_kernel->block_over(block->block()))
        launch.request_stop(Stop::interrupted);
    if (launch.cooperative) launch.grid.leave(block->block(), block->broken());
    spare_.push_back(std::move(block));
}

void Worker::give_shared_back(Launch& launch, const BlockRun& block) {
    if (launch.shared_bytes == 0) return;
    if (launch.blocks_at_a_time != 1)
        give_cluster_back(launch, block);
    else
        free_slots_.push_back(block.shared());
}

std::byte* Worker::shared_slot(Launch& launch) {
    if (launch.shared_bytes == 0) return nullptr;
    std::byte* slot = nullptr;
    if (!free_slots_.empty()) {
        slot = free_slots_.back();
        free_slots_.pop_back();
    } else {
        free_slots_.reserve(slot_layouts_.size() + 1);
        slot = SharedMemory::map();
        slot_layouts_[slot] = 0;
    }
    std::uint64_t& layout = slot_layouts_[slot];
    if (layout != launch.shared_layout) {
        SharedMemory::mark(slot, launch);
        layout = launch.shared_layout;
    }
    return slot;
}

void Worker::poll(Launch& launch) {
    const Clock::time_point now = Clock::now();
    if (launch.has_deadline && now >= launch.deadline && !repeats(launch))
        launch.request_stop(Stop::time_limit);
    if (index_ != 0 || now - last_poll_ < host_poll_interval) return;
    last_poll_ = now;
    if (launch.stops) launch.stops->look_at_clock(now);
    if (launch.output && !launch.output->write()) launch.request_stop(Stop::interrupted);
    launch.poll_host(now);
}

/// Reading the clock costs as much as a small block: of those only some are followed by a look at it.
void Worker::poll_between_blocks(Launch& launch) {
    if (++blocks_since_look_ < blocks_per_look_) return;
    const Clock::time_point now = Clock::now();
    blocks_per_look_ =
        now - last_look_ > look_interval ? 1 : std::min(2 * blocks_per_look_, most_blocks_per_look);
    last_look_ = now;
    blocks_since_look_ = 0;
    poll(launch);
}

/// Adds what a thread of the block of this turn has printed. Runs on the worker's own stack.
void Worker::print(Launch& launch, std::uint64_t turn, std::string_view text) {
    if (launch.stops && launch.stops->was_printed(turn, text)) return;
    launch.output->add(turn, text);
    while (launch.output->full() && !launch.stopped()) {
        if (index_ == 0) {
            if (!launch.output->write()) launch.request_stop(Stop::interrupted);
        } else {
            launch.output->wait_for_room();
        }
    }
    poll(launch);
}

/// Why a block's threads end before they are over.
void Worker::report_stop(Launch& launch, BlockRun& block, bool at_grid) {
    try {
        if (at_grid && launch.stop.load() == Stop::deadlock) launch.grid.note_waiting(block.places());
        if (auto finding = describe_stop(launch, block)) {
            if (launch.stops && launch.stop.load() != Stop::interrupted)
                launch.stops->tell_early_end(*this, block, *finding);
            launch.findings.add(std::move(*finding));
        }
    } catch (const std::bad_alloc&) {
        launch.run_out_of_memory({}, 0);
    }
}

/// The launch is over before its threads are: says where they stand, then forgets them.
void Worker::stop_all(Launch& launch) {
    if (launch.stops && launch.stop.load() == Stop::deadlock) tell_grid_deadlock(launch);
    for (auto* blocks : {&at_grid_, &resident_, &before_turn_}) {
        for (auto& block : *blocks) {
            if (!block) continue;  // moved away when memory ran out
            // What a launch that goes back has found is undone.
            if (!launch.stops || !launch.stops->is_to_go_back())
                report_stop(launch, *block, blocks == &at_grid_);
            block->abandon();
            block->tell_end();
            give_shared_back(launch, *block);
            spare_.push_back(std::move(block));
        }
        blocks->clear();
    }
}

bool Worker::others_can_go_on(const Launch& launch, const BlockRun& block) const {
    constexpr std::uint32_t idle = 64;
    if (launch.blocks_left()) return true;
    return std::ranges::any_of(resident_, [&](const auto& each) {
        return each && each.get() != &block && each->idle_rounds() < idle;
    });
}

BlockRun* Worker::block_on_device(std::uint64_t block) const {
    for (const auto* blocks : {&resident_, &at_grid_, &before_turn_})
        for (const auto& each : *blocks)
            if (each && each->block() == block)
                return each.get();  // null: moved while run_resident() is at work
    return nullptr;
}

std::vector<std::uint64_t> Worker::blocks_on_device() const {
    std::vector<std::uint64_t> numbers;
    for (const auto* blocks : {&resident_, &at_grid_, &before_turn_})
        for (const auto& each : *blocks)
            if (each) numbers.push_back(each->block());
    std::ranges::sort(numbers);
    return numbers;
}

void Worker::let_held_threads_go() {
    for (auto* blocks : {&resident_, &before_turn_})
        for (auto& block : *blocks)
            if (block) block->let_held_threads_go();
}

MemoryUse Worker::memory_use() const {
    MemoryUse use = runners_.use();
    for (std::size_t i = 0; i < spare_.size(); ++i)
        (i < fewest_spare_ ? use.unused : use.used) += spare_[i]->coroutines().frames().capacity();
    return use;
}

void Worker::give_unused_memory_back() {
    runners_.give_unused_back();
    spare_.erase(spare_.begin(), spare_.begin() + static_cast<std::ptrdiff_t>(fewest_spare_));
}

void Worker::give_all_memory_back() {
    runners_.clear();
    spare_.clear();
    start_counting_memory();
}

void Worker::start_counting_memory() {
    runners_.start_counting();
    fewest_spare_ = spare_.size();
}

CountedWarning* Worker::count_warning(const Runner& runner, std::uint32_t site, bool& is_lowest) {
    if (site >= warnings_.size()) {
        if (!runner.launch->host_kernel) return nullptr;
        warnings_.resize(site + 1);
    }
    CountedWarning& known = warnings_[site];
    const auto* run = runner.block;
    const findings::ThreadCoordinate here{jit::linear_index(*run),
                                          runner.thread,
                                          {run->ctaid[0], run->ctaid[1], run->ctaid[2]},
                                          {runner.tid[0], runner.tid[1], runner.tid[2]}};
    is_lowest = known.count == 0 || here < known.first;
    if (is_lowest) known.first = here;
    if (known.count == 0 || !(here == known.last)) ++known.threads;
    known.last = here;
    ++known.count;
    return &known;
}

void Worker::count_arithmetic(const Runner& runner, std::uint32_t site, findings::FindingKind kind) {
    bool is_lowest = false;
    if (auto* known = count_warning(runner, site, is_lowest)) known->kind = kind;
}

void Worker::count_wrapped_index(const Runner& runner, std::uint32_t site, const WrappedIndex& index) {
    bool is_lowest = false;
    auto* known = count_warning(runner, site, is_lowest);
    if (known == nullptr) return;
    known->kind = findings::FindingKind::negative_index;
    if (is_lowest) known->index = index;
}

void Worker::merge_counted_warnings(Launch& launch) {
    for (std::uint32_t site = 0; site < warnings_.size(); ++site)
        if (warnings_[site].count != 0) launch.findings.add(describe_counted(launch, site, warnings_[site]));
    warnings_.clear();
}

}  // namespace cudasim::execution
