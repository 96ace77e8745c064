// See thread_groups.h.
#include "debugger/control/thread_groups.h"

#include <algorithm>
#include <array>
#include <map>

#include "simulator/execution/random_order.h"

namespace cudasim::debugger {

using execution::StoppedLaunch;
using execution::ThreadPlace;
using execution::ThreadRef;
using execution::ThreadState;

namespace {

/// Of blocks in random order: their ranges take one look at each.
constexpr std::uint64_t most_blocks_to_order = 1 << 18;

/// `index` lies behind all that is there.
void append(LinearRanges& ranges, std::uint64_t first, std::uint64_t last) {
    if (!ranges.empty() && ranges.back().second + 1 == first)
        ranges.back().second = last;
    else
        ranges.emplace_back(first, last);
}

void merge(LinearRanges& ranges, const LinearRanges& more) {
    if (ranges == more) return;
    ranges.insert(ranges.end(), more.begin(), more.end());
    std::ranges::sort(ranges);
    LinearRanges merged;
    for (const auto& [first, last] : ranges) {
        if (!merged.empty() && first <= merged.back().second + 1)
            merged.back().second = std::max(merged.back().second, last);
        else
            merged.emplace_back(first, last);
    }
    ranges = std::move(merged);
}

struct Key {
    ThreadState state;
    const KernelCode::Line* line;
    std::uint32_t site;  ///< where no line is known
    auto operator<=>(const Key&) const = default;
};

class Groups {
  public:
    Groups(const StoppedLaunch& launch, const KernelCode& code) : launch_(launch), code_(code) {}

    void add_block(std::uint64_t block) {
        const std::vector<ThreadPlace> places = launch_.places(block);
        std::map<Key, LinearRanges> here;
        for (std::uint32_t thread = 0; thread < places.size();) {
            std::uint32_t end = thread + 1;
            while (end < places.size() && places[end] == places[thread]) ++end;
            append(here[key_of(places[thread])], thread, end - 1);
            thread = end;
        }
        for (auto& [key, threads] : here) {
            const auto [it, is_new] = by_key_.try_emplace(key, groups_.size());
            if (is_new)
                groups_.push_back(new_group(key, {block, static_cast<std::uint32_t>(threads.front().first)}));
            ThreadGroup& group = groups_[it->second];
            for (const auto& [first, last] : threads) group.count += last - first + 1;
            group.last = {block, static_cast<std::uint32_t>(threads.back().second)};
            append(group.blocks, block, block);
            merge(group.threads, threads);
        }
    }

    void add_blocks_elsewhere(ThreadState state, const LinearRanges& blocks) {
        std::uint64_t count = 0;
        for (const auto& [first, last] : blocks) count += last - first + 1;
        if (count == 0) return;
        const std::uint32_t threads = launch_.threads_of_block();
        ThreadGroup group;
        group.state = state;
        group.count = count * threads;
        group.blocks = blocks;
        group.threads = {{0, threads - 1}};
        group.first = {blocks.front().first, 0};
        group.last = {blocks.back().second, threads - 1};
        group.on_device = false;
        groups_.push_back(std::move(group));
    }

    std::vector<ThreadGroup> take() {
        std::ranges::stable_sort(groups_, {}, [](const ThreadGroup& group) {
            return std::tuple(!group.on_device, group.first.block, group.first.thread);
        });
        return std::move(groups_);
    }

  private:
    [[nodiscard]] Key key_of(const ThreadPlace& place) const {
        const KernelCode::Line* line = code_.line_of(place.site);
        return {place.state, line, line != nullptr ? 0 : place.site};
    }

    [[nodiscard]] ThreadGroup new_group(const Key& key, ThreadRef first) const {
        ThreadGroup group;
        group.state = key.state;
        group.line = key.line;
        group.first = first;
        if (const findings::CallChain chain = launch_.location(first); !chain.empty()) {
            group.file = chain.front().file;
            group.function = chain.front().function;
        }
        return group;
    }

    const StoppedLaunch& launch_;
    const KernelCode& code_;
    std::vector<ThreadGroup> groups_;
    std::map<Key, std::size_t> by_key_;
};

LinearRanges ranges_of(std::vector<std::uint64_t> blocks) {
    std::ranges::sort(blocks);
    LinearRanges ranges;
    for (const std::uint64_t block : blocks) append(ranges, block, block);
    return ranges;
}

/// Blocks whose turn is in [first, last), as ranges.
LinearRanges blocks_of_turns(const execution::Launch& launch, std::uint64_t first, std::uint64_t last) {
    if (first >= last) return {};
    const std::uint64_t count = launch.block_count;
    switch (launch.options.order()) {
        case execution::Policy::forward:
            return {{first, last - 1}};
        case execution::Policy::reverse:
            return {{count - last, count - 1 - first}};
        default:
            break;
    }
    if (last - first > most_blocks_to_order) return {{0, last - first - 1}};
    const execution::RandomOrder order(launch.options.seed, count);
    std::vector<std::uint64_t> blocks;
    for (std::uint64_t turn = first; turn < last; ++turn) blocks.push_back(order(turn));
    return ranges_of(std::move(blocks));
}

LinearRanges without(const LinearRanges& ranges, const std::vector<std::uint64_t>& removed) {
    LinearRanges left;
    for (auto [first, last] : ranges) {
        for (const std::uint64_t each : removed) {
            if (each < first || each > last) continue;
            if (each > first) left.emplace_back(first, each - 1);
            first = each + 1;
        }
        if (first <= last) left.emplace_back(first, last);
    }
    return left;
}

}  // namespace

std::vector<ThreadGroup> thread_groups(const StoppedLaunch& launch, const KernelCode& code) {
    Groups groups(launch, code);
    const std::vector<std::uint64_t> resident = launch.blocks();
    for (const std::uint64_t block : resident) groups.add_block(block);
    const execution::Launch& all = launch.launch();
    const std::uint64_t started = std::min(all.next_block.load(), all.block_count);
    // Those that were started before their turn are on the device, or over.
    std::vector<std::uint64_t> early;
    for (const std::uint64_t turn : all.started_before) early.push_back(all.block_of(turn));
    const LinearRanges early_ranges = ranges_of(early);
    LinearRanges over = blocks_of_turns(all, 0, started);
    merge(over, early_ranges);
    groups.add_blocks_elsewhere(ThreadState::over, without(over, resident));
    std::ranges::sort(early);
    groups.add_blocks_elsewhere(ThreadState::not_started,
                                without(blocks_of_turns(all, started, all.block_count), early));
    return groups.take();
}

const char* state_text(ThreadState state) {
    constexpr std::array names{"not started", "stopped", "can run", "spins", "at barrier",
                               "in warp",     "faulted", "over",    "over"};
    return names[static_cast<std::size_t>(state)];
}

findings::Dim3 coordinates_in(const findings::Dim3& extents, std::uint64_t index) {
    return {static_cast<std::uint32_t>(index % extents.x),
            static_cast<std::uint32_t>(index / extents.x % extents.y),
            static_cast<std::uint32_t>(index / extents.x / extents.y)};
}

std::uint64_t linear_in(const findings::Dim3& extents, const findings::Dim3& point) {
    return point.x + std::uint64_t{extents.x} * (point.y + std::uint64_t{extents.y} * point.z);
}

}  // namespace cudasim::debugger
