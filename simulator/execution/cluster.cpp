// A worker's part in launches with clusters of several blocks (CUDA C++ Programming Guide, "Thread Block
// Clusters"): all blocks of a cluster begin together on one worker, so that they can wait for each other and
// use each other's shared memory. The grid as a whole need not be on the device.
//
// A block's shared memory is nobody's as soon as the block is over, and is given to other blocks when the
// cluster is.
#include <algorithm>
#include <iterator>
#include <new>

#include "simulator/execution/shared_memory.h"
#include "simulator/execution/worker.h"

namespace cudasim::execution {

namespace {

/// A cluster, by its number with x first, and a block of it by its rank.
struct Member {
    std::uint64_t cluster = 0, rank = 0;
};

Dim3 clusters_of(const LaunchConfiguration& launch) {
    const Dim3& cluster = *launch.cluster;
    return {launch.grid.x / cluster.x, launch.grid.y / cluster.y, launch.grid.z / cluster.z};
}

Member member_of(const LaunchConfiguration& launch, std::uint64_t block) {
    const Dim3& cluster = *launch.cluster;
    const Dim3 at = unlinear(block, launch.grid);
    return {linear({at.x / cluster.x, at.y / cluster.y, at.z / cluster.z}, clusters_of(launch)),
            linear({at.x % cluster.x, at.y % cluster.y, at.z % cluster.z}, cluster)};
}

std::uint64_t block_of(const LaunchConfiguration& launch, const Member& member) {
    const Dim3& cluster = *launch.cluster;
    const Dim3 first = unlinear(member.cluster, clusters_of(launch)), in = unlinear(member.rank, cluster);
    return linear({first.x * cluster.x + in.x, first.y * cluster.y + in.y, first.z * cluster.z + in.z},
                  launch.grid);
}

}  // namespace

std::uint64_t Launch::block_of_clusters(std::uint64_t turn) const {
    return execution::block_of(configuration,
                               {at_turn(turn / blocks_at_a_time, block_count / blocks_at_a_time),
                                at_turn(turn % blocks_at_a_time, blocks_at_a_time)});
}

std::uint64_t Launch::turn_of_clusters(std::uint64_t block) const {
    const auto [cluster, rank] = member_of(configuration, block);
    return turn_at(cluster, block_count / blocks_at_a_time) * blocks_at_a_time +
           turn_at(rank, blocks_at_a_time);
}

/// @param turn of its first block. @throws std::bad_alloc: then none has begun
std::vector<std::unique_ptr<BlockRun>> Worker::start_cluster(Launch& launch, std::uint64_t turn) {
    const std::uint64_t count = launch.blocks_at_a_time;
    make_spare(launch, count);
    resident_.reserve(resident_.size() + count);
    std::vector<std::unique_ptr<BlockRun>> begun;
    begun.reserve(count);
    std::vector<std::byte*> shared(count);
    try {
        for (std::byte*& slot : shared) slot = shared_slot(launch);
        for (std::uint64_t i = 0; i < count; ++i) {
            begun.push_back(std::move(spare_.back()));
            spare_.pop_back();
            begun.back()->start(*this, launch, launch.block_of(turn + i), turn + i, shared);
        }
    } catch (const std::bad_alloc&) {
        for (auto& block : begun) {
            block->abandon();
            block->tell_end();
            spare_.push_back(std::move(block));
        }
        for (std::byte* slot : shared)
            if (slot != nullptr) free_slots_.push_back(slot);
        throw;
    }
    fewest_spare_ = std::min(fewest_spare_, spare_.size());
    return begun;
}

void Worker::start_cluster_before_its_turn(Launch& launch, std::uint64_t block) {
    const std::uint64_t count = launch.blocks_at_a_time, turn = launch.turn_of(block) / count * count;
    before_turn_.reserve(before_turn_.size() + count);
    try {
        for (std::uint64_t i = 0; i < count; ++i) launch.started_before.insert(turn + i);
        auto begun = start_cluster(launch, turn);
        for (const auto& each : begun) each->set_before_turn();
        std::ranges::move(begun, std::back_inserter(before_turn_));
    } catch (const std::bad_alloc&) {
        for (std::uint64_t i = 0; i < count; ++i) launch.started_before.erase(turn + i);
        throw;
    }
}

/// The block is over.
void Worker::give_cluster_back(Launch& launch, const BlockRun& block) {
    SharedMemory::close(block.shared(), launch);
    slot_layouts_[block.shared()] = 0;
    for (const std::uint64_t other : block.cluster_indices())
        if (other != block.block() && block_on_device(other) != nullptr) return;
    std::ranges::copy(block.cluster_shared(), std::back_inserter(free_slots_));
}

/// The launch has gone back: shared memory of blocks that are over is closed, that of others is open.
void Worker::restore_clusters(const Launch& launch) {
    const auto each_block = [&](auto&& visit) {
        for (const auto* blocks : {&resident_, &before_turn_, &at_grid_})
            for (const auto& block : *blocks) visit(*block);
    };
    each_block([&](const BlockRun& block) {
        for (std::byte* slot : block.cluster_shared()) {
            SharedMemory::close(slot, launch);
            slot_layouts_[slot] = 0;
        }
    });
    each_block([&](const BlockRun& block) {
        SharedMemory::mark(block.shared(), launch);
        slot_layouts_[block.shared()] = launch.shared_layout;
    });
}

/// Some blocks wait for their clusters: for ever, where all others of the cluster do, too.
void Worker::look_at_clusters() {
    for (const auto& block : resident_)
        if (block->waits_for_cluster()) block->end_stuck_cluster();
}

}  // namespace cudasim::execution
