// Stops: blocks that are started before their turn, and for whom threads wait (stop.h).
#include <new>

#include "simulator/execution/block_run.h"
#include "simulator/execution/launch_history.h"
#include "simulator/execution/launch_memory.h"
#include "simulator/execution/stop.h"
#include "simulator/execution/worker.h"
#include "simulator/memory/host_memory.h"

namespace cudasim::execution {

std::string StoppedLaunch::start_block(std::uint64_t block) {
    if (is_on_device(block)) return {};
    const std::string name = "block " + std::to_string(block);
    if (block >= launch_.block_count)
        return "there is no " + name + ": the grid has " + std::to_string(launch_.block_count);
    if (launch_.was_started(block)) return name + " has run to its end";
    if (worker_ == nullptr || over() || repeats_) return name + " cannot start now: no thread can go on";
    if (launch_.no_new_blocks) return name + " does not start: the launch has come to its limit of errors";
    const auto refused = [&](const std::string& reason) {
        return "there is no memory for " + name + " besides the " + std::to_string(blocks().size()) +
               " on the device: " + reason;
    };
    if (const std::string shortage = shortage_for_block(launch_); !shortage.empty()) return refused(shortage);
    try {
        worker_->start_before_its_turn(launch_, block);
    } catch (const std::bad_alloc&) {
        return refused(memory::describe_host_memory());
    }
    if (history_) history_->add({.call = call_, .kind = Choice::Kind::start_block, .thread = {block, 0}});
    return {};
}

ThreadWait StoppedLaunch::wait_of(ThreadRef thread) const {
    if (!exists(thread)) return {};
    ThreadWait wait = find(thread.block)->wait_of(thread.thread);
    if (wait.kind == ThreadWait::Kind::grid) wait.blocks = blocks_not_at_grid(thread.block);
    if (wait.kind == ThreadWait::Kind::cluster)
        for (BlockRun* block : find(thread.block)->blocks_of_cluster())
            if (block->block() != thread.block && !block->has_come_to_cluster())
                wait.blocks.emplace_back(block->block(), block->block());
    return wait;
}

/// Those that have not begun, too. @param but is left out
std::vector<std::pair<std::uint64_t, std::uint64_t>> StoppedLaunch::blocks_not_at_grid(
    std::uint64_t but) const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (std::uint64_t block = 0; block < launch_.block_count; ++block) {
        if (block == but) continue;
        const BlockRun* run = find(block);
        if (run != nullptr ? run->has_come_to_grid() : launch_.was_started(block)) continue;
        if (!ranges.empty() && ranges.back().second + 1 == block)
            ranges.back().second = block;
        else
            ranges.emplace_back(block, block);
    }
    return ranges;
}

}  // namespace cudasim::execution
