// See launch_history.h.
#include "simulator/execution/launch_history.h"

#include <llvm/Support/xxhash.h>

#include <algorithm>
#include <new>

#include "simulator/execution/worker.h"

namespace cudasim::execution {

namespace {

/// Saving takes at most this part of the time.
constexpr int largest_share = 20;
constexpr std::size_t most_checkpoints = 64;
/// Readings of clocks take no more than this part of the history, and no more than that.
constexpr std::uint64_t share_of_readings = 4, most_bytes_of_readings = 64 << 20;

}  // namespace

LaunchHistory::LaunchHistory(Launch& launch, std::uint64_t limit, Clock::duration interval)
    : launch_(launch),
      limit_(limit),
      memory_(std::make_shared<const MemoryCopy>(*launch.arena)),
      interval_(interval),
      // Where checkpoints would make a second copy of all memory too large there is the first state only.
      is_full_(2 * memory_.bytes() > limit) {
    checkpoints_.push_back(state(0));
    if (launch.kernel && launch.kernel->reads_clock)
        readings_.reserve(std::min(limit / share_of_readings, most_bytes_of_readings) /
                          sizeof(std::uint64_t));
    next_look_ = Clock::now() + interval_;
}

LaunchHistory::Checkpoint LaunchHistory::state(std::uint64_t count) const {
    Checkpoint here;
    here.count = count;
    here.next_block = launch_.next_block.load();
    here.started_before = launch_.started_before;
    here.blocks_run = launch_.blocks_run.load();
    here.no_new_blocks = launch_.no_new_blocks.load();
    here.findings = launch_.findings.state();
    here.early_exits.reserve(launch_.early_exit_block.size());
    for (const auto& block : launch_.early_exit_block) here.early_exits.push_back(block.load());
    here.choices = next_choice_;
    here.readings = next_reading_;
    here.prints = next_print_;
    here.grid = launch_.grid.state();
    return here;
}

void LaunchHistory::look(Worker& worker, std::uint64_t count, bool in_block) {
    last_look_ = count;
    if (is_full_ || count == checkpoints_.back().count) return;
    const Clock::time_point begin = Clock::now();
    if (begin < next_look_) return;
    try {
        Checkpoint here = state(count);
        here.warnings = worker.warnings();
        if (in_block) {
            here.device = worker.save(launch_);
            if (!here.device) return;
        }
        checkpoints_.reserve(checkpoints_.size() + 1);
        (void)memory_.save();
        checkpoints_.push_back(std::move(here));
        thin_out();
    } catch (const std::bad_alloc&) {
        is_full_ = true;
    }
    const Clock::time_point end = Clock::now();
    next_look_ =
        interval_ == Clock::duration() ? end : end + std::max(interval_, largest_share * (end - begin));
}

std::uint64_t LaunchHistory::bytes() const {
    std::uint64_t bytes = memory_.bytes();
    for (const Checkpoint& each : checkpoints_)
        if (each.device) bytes += each.device->bytes();
    return bytes;
}

/// Every second one of the older half goes: the way back to a late statement stays short, and there is still
/// one in the neighbourhood of every other.
void LaunchHistory::thin_out() {
    while (checkpoints_.size() > most_checkpoints || bytes() > limit_) {
        if (checkpoints_.size() < 4) {
            if (bytes() > limit_) is_full_ = true;
            return;
        }
        for (std::size_t i = 1; i <= checkpoints_.size() / 2 && i + 1 < checkpoints_.size(); ++i) {
            memory_.forget(i);
            checkpoints_.erase(checkpoints_.begin() + static_cast<std::ptrdiff_t>(i));
        }
    }
}

void LaunchHistory::code_has_changed() {
    checkpoints_.front().early_exits.assign(launch_.early_exit_block.size(), ~std::uint64_t{0});
}

std::size_t LaunchHistory::index_before(std::uint64_t count) const {
    std::size_t index = checkpoints_.size() - 1;
    while (index > 0 && checkpoints_[index].count >= count) --index;
    return index;
}

std::uint64_t LaunchHistory::checkpoint_before(std::uint64_t count) const {
    return checkpoints_[index_before(count)].count;
}

std::uint64_t LaunchHistory::restore(std::uint64_t count) {
    const std::size_t state = index_before(count);
    memory_.restore(state);
    checkpoints_.resize(state + 1);
    const Checkpoint& there = checkpoints_.back();
    launch_.next_block = there.next_block;
    launch_.started_before = there.started_before;
    launch_.blocks_run = there.blocks_run;
    launch_.no_new_blocks = there.no_new_blocks;
    launch_.findings.restore(there.findings);
    for (std::size_t i = 0; i < there.early_exits.size(); ++i)
        launch_.early_exit_block[i] = there.early_exits[i];
    launch_.grid.restore(there.grid);
    next_choice_ = there.choices;
    next_reading_ = there.readings;
    next_print_ = there.prints;
    partial_ = false;
    next_look_ = Clock::now() + interval_;
    last_look_ = there.count;
    return there.count;
}

const SavedDevice* LaunchHistory::restore_warnings(std::vector<CountedWarning>& warnings) const {
    std::ranges::copy(checkpoints_.back().warnings, warnings.begin());
    return checkpoints_.back().device.get();
}

void LaunchHistory::add(Choice choice) {
    forget_future();
    choices_.push_back(std::move(choice));
    next_choice_ = choices_.size();
}

void LaunchHistory::forget_future() {
    if (next_choice_ < choices_.size()) choices_.resize(next_choice_);
    if (!partial_) return;
    partial_ = false;
    choices_.back().at_statement = true;
    choices_.back().end_access = {};
    choices_.back().end = partial_end_;
}

std::uint64_t LaunchHistory::clock(std::uint64_t now) {
    if (next_reading_ < readings_.size()) return readings_[next_reading_++];
    if (readings_.size() < readings_.capacity()) {  // on a simulated stack: nothing is allocated here
        readings_.push_back(now);
        next_reading_ = readings_.size();
    }
    return now;
}

bool LaunchHistory::was_printed(std::uint64_t turn, std::string_view text) {
    const std::pair<std::uint64_t, std::uint64_t> print{
        turn, llvm::xxh3_64bits({reinterpret_cast<const std::uint8_t*>(text.data()), text.size()})};
    if (next_print_ < prints_.size() && prints_[next_print_] == print) {
        ++next_print_;
        return true;
    }
    prints_.resize(next_print_);
    prints_.push_back(print);
    next_print_ = prints_.size();
    return false;
}

}  // namespace cudasim::execution
