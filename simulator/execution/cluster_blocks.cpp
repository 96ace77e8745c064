// A block's part in its cluster: where the block lies in it, and the barrier of the cluster
// (cluster_arrivals.h). All blocks of a cluster are on one worker: none runs while another one looks at it.
#include <algorithm>
#include <iterator>

#include "simulator/execution/block_run.h"
#include "simulator/execution/fault_report.h"
#include "simulator/execution/shared_memory.h"
#include "simulator/execution/worker.h"

namespace cudasim::execution {

using findings::Finding;
using findings::FindingKind;

void BlockRun::join_cluster(std::span<std::byte* const> shared) {
    Dim3 extent, index{0, 0, 0};
    if (const auto& cluster = launch_->configuration.cluster) {
        extent = *cluster;
        const std::uint32_t(&at)[3] = context_.ctaid;
        index = {at[0] % extent.x, at[1] % extent.y, at[2] % extent.z};
    }
    const std::uint32_t extents[3] = {extent.x, extent.y, extent.z}, place[3] = {index.x, index.y, index.z};
    std::ranges::copy(extents, context_.cluster_nctaid);
    std::ranges::copy(place, context_.cluster_ctaid);
    context_.cluster_rank = static_cast<std::uint32_t>(linear(index, extent));
    context_.cluster_blocks = static_cast<std::uint32_t>(extent.volume());
    context_.is_explicit_cluster = launch_->configuration.cluster ? 1 : 0;
    context_.cluster_shared_base = cluster_shared_.data();
    std::ranges::copy(shared, cluster_shared_.begin());
    context_.shared_base = cluster_shared_[context_.cluster_rank];
}

std::uint64_t BlockRun::block_of_cluster(std::uint32_t rank) const {
    const std::uint32_t(&extent)[3] = context_.cluster_nctaid;
    const std::uint32_t(&own)[3] = context_.ctaid, (&own_in)[3] = context_.cluster_ctaid;
    const Dim3 in = unlinear(rank, {extent[0], extent[1], extent[2]});
    return linear({own[0] - own_in[0] + in.x, own[1] - own_in[1] + in.y, own[2] - own_in[2] + in.z},
                  launch_->configuration.grid);
}

std::vector<std::uint64_t> BlockRun::cluster_indices() const {
    std::vector<std::uint64_t> indices;
    for (std::uint32_t rank = 0; rank < context_.cluster_blocks; ++rank)
        indices.push_back(block_of_cluster(rank));
    return indices;
}

std::vector<BlockRun*> BlockRun::blocks_of_cluster() {
    std::vector<BlockRun*> blocks;
    for (const std::uint64_t block : cluster_indices()) {
        BlockRun* run = block == block_ ? this : worker_->block_on_device(block);
        if (run != nullptr) blocks.push_back(run);
    }
    return blocks;
}

std::optional<BlockRun::ClusterMember> BlockRun::cluster_member_at(std::uint64_t address) const {
    const std::int32_t rank = SharedMemory::rank_of(context_, address);
    if (rank < 0) return std::nullopt;
    const auto known = static_cast<std::uint32_t>(rank);
    const std::uint64_t block = block_of_cluster(known);
    return ClusterMember{known, block, block != block_ && worker_->block_on_device(block) == nullptr};
}

// Its barrier -----------------------------------------------------------------------------------------------

/// As arrive_at_named().
bool BlockRun::arrive_at_cluster(Runner* runner) {
    using Misuse = ClusterArrivals::Misuse;
    const Misuse misuse = named_.cluster().come(runner, context_.thread_count);
    if (misuse != Misuse::none) {
        runner->fault = {};
        runner->fault.source = Fault::Source::barrier;
        runner->fault.kind = FindingKind::invalid_barrier;
        runner->fault.what = misuse == Misuse::arrives_again
                                 ? "the thread has arrived at it before, and has not waited since"
                                 : "the thread waits without having arrived at it";
        runner->event = Event::faulted;
        return false;
    }
    if (runner->named.kind == jit::BarrierKind::cluster_arrive) {
        settle_cluster(runner);
        return true;
    }
    const auto& waiting = named_.cluster().waiting();
    if (waiting.empty() || waiting.back() != runner) return true;
    cut(runner);
    disordered_ = true;
    return false;
}

bool BlockRun::has_come_to_cluster() const {
    return abandoned_ || over_ + faulted_ + named_.cluster().arrived() == context_.thread_count;
}

void BlockRun::settle_cluster(const Runner* arriving) {
    if (!has_come_to_cluster()) return;
    const std::vector<BlockRun*> blocks = blocks_of_cluster();
    bool any = false;
    for (const BlockRun* block : blocks) {
        if (!block->has_come_to_cluster()) return;
        any |= block->named_.cluster().arrived() != 0;
    }
    if (!any) return;
    report_missing_in_cluster(blocks, arriving);
    tell_cluster_barrier(blocks);
    for (BlockRun* block : blocks) {
        block->named_.release_cluster();
        block->idle_rounds_ = 0;
    }
}

void BlockRun::tell_cluster_barrier(std::span<BlockRun* const> blocks) const {
    if (launch_->options.observers.empty()) [[likely]]
        return;
    std::vector<ObservedBlock> seen;
    for (const BlockRun* block : blocks)
        if (block->began_) seen.push_back(block->observed());
    launch_->options.observers.cluster_barrier(seen);
}

/// What ended early is no error there: the barrier is for the threads that have not ended.
void BlockRun::report_missing_in_cluster(std::span<BlockRun* const> blocks, const Runner* arriving) {
    const std::uint64_t threads = context_.thread_count;
    std::uint64_t missing = 0, waiting = 0;
    const Runner* lowest = arriving;
    BlockRun* of_lowest = this;
    for (BlockRun* block : blocks) {
        const ClusterArrivals& arrivals = block->named_.cluster();
        missing += block->over_ - std::min(block->over_, arrivals.arrived_and_ended());
        waiting += arrivals.arrived();
        for (const Runner* runner : arrivals.waiting()) {
            if (lowest != nullptr && (block->block_ > of_lowest->block_ ||
                                      (block == of_lowest && runner->thread > lowest->thread)))
                continue;
            lowest = runner;
            of_lowest = block;
        }
    }
    // Of blocks that are over nobody knows whether a fault ended them.
    if (launch_->findings.faults() == 0) missing += (context_.cluster_blocks - blocks.size()) * threads;
    if (missing == 0 || lowest == nullptr) return;
    of_lowest->report_early_exit(findings::Severity::warning,
                                 {lowest->thread, lowest->site, lowest->named.kind}, missing, waiting,
                                 "cluster ", threads * context_.cluster_blocks);
}

bool BlockRun::waits_for_cluster() const {
    return !at_grid_ && spinning_.empty() && ready_.empty() && held_.empty() && named_.free().empty() &&
           !named_.cluster().waiting().empty();
}

void BlockRun::end_stuck_cluster() {
    settle_cluster();
    const std::vector<BlockRun*> blocks = blocks_of_cluster();
    const auto is_stuck = [](const BlockRun* block) { return block->at_grid_ || block->waits_for_cluster(); };
    if (!waits_for_cluster() || !std::ranges::all_of(blocks, is_stuck)) return;
    if (std::ranges::none_of(blocks, &BlockRun::broken)) report_stuck_cluster(blocks);
    for (BlockRun* block : blocks)
        if (!block->at_grid_) block->abandon();
}

void BlockRun::report_stuck_cluster(std::span<BlockRun* const> blocks) {
    std::vector<findings::WaitingGroup> all;
    std::string others;
    const Runner* lowest = *std::ranges::min_element(named_.cluster().waiting(), {}, &Runner::thread);
    for (const BlockRun* block : blocks) {
        std::vector<findings::WaitingGroup> groups = block->places();
        others += (others.empty() ? "in block " : "; in block ") + std::to_string(block->block_) + " " +
                  describe_groups(groups);
        std::ranges::move(groups, std::back_inserter(all));
    }
    Finding finding = finding_at(FindingKind::deadlock, lowest->thread, lowest->site);
    finding.waiting = std::move(all);
    finding.threads = finding.count = threads_in(finding.waiting);
    finding.message = "threads wait at the barrier of their cluster for others that never come: " + others;
    report_end(std::move(finding));
}

}  // namespace cudasim::execution
