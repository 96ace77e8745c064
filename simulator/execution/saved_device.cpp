// See saved_device.h. The worker's part, too: which lists its blocks are in.
#include "simulator/execution/saved_device.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "simulator/execution/worker.h"
#include "simulator/memory/shadow.h"

namespace cudasim::execution {

SavedDevice::SavedDevice() = default;
SavedDevice::~SavedDevice() = default;

void SavedDevice::add_stack(Runner& runner) {
    const auto* low = static_cast<const std::byte*>(runner.fiber.saved_position());
    const auto* end = reinterpret_cast<const std::byte*>(&runner + 1);
    Stack stack;
    stack.runner = &runner;
    stack.place = contents.size();
    stack.bytes = static_cast<std::size_t>(end - low);
    contents.insert(contents.end(), low, end);
    if (runner.local_low != 0) {
        const auto top = reinterpret_cast<std::uint64_t>(runner.stack.top);
        stack.first_mark = marks.size();
        stack.marks = (top - runner.local_low) / 8;
        marks.resize(marks.size() + stack.marks);
        memory::Shadow::instance().save(runner.local_low, std::span(marks).last(stack.marks));
    }
    stacks.push_back(stack);
    bytes_ += sizeof(Stack) + stack.bytes + stack.marks;
}

void SavedDevice::add_block(BlockRun& block, std::uint64_t shared_bytes, std::vector<Block>& list) {
    Block saved;
    saved.block = &block;
    saved.copy = std::make_unique<const BlockRun>(block);
    saved.shared = contents.size();
    contents.insert(contents.end(), block.shared(), block.shared() + shared_bytes);
    list.push_back(std::move(saved));
    bytes_ += sizeof(Block) + block.bytes_of_copy() + shared_bytes;
    for (Runner* runner : block.carriers()) add_stack(*runner);
}

std::vector<Runner*> SavedDevice::runners() const {
    std::vector<Runner*> all;
    all.reserve(stacks.size());
    for (const Stack& stack : stacks) all.push_back(stack.runner);
    return all;
}

void SavedDevice::put_contents_back(std::uint64_t shared_bytes) const {
    for (const Stack& stack : stacks) {
        auto* end = reinterpret_cast<std::byte*>(stack.runner + 1);
        std::memcpy(end - stack.bytes, contents.data() + stack.place, stack.bytes);
        memory::Shadow::instance().restore(stack.runner->local_low,
                                           std::span(marks).subspan(stack.first_mark, stack.marks));
    }
    if (shared_bytes == 0) return;
    for (const auto* list : {&resident, &before_turn, &at_grid})
        for (const Block& each : *list)
            std::memcpy(each.copy->shared(), contents.data() + each.shared, shared_bytes);
}

// The worker's ---------------------------------------------------------------------------------------------

std::unique_ptr<const SavedDevice> Worker::save(const Launch& launch) const {
    auto saved = std::make_unique<SavedDevice>();
    for (const auto& [from, to] :
         {std::pair(&resident_, &saved->resident), std::pair(&before_turn_, &saved->before_turn),
          std::pair(&at_grid_, &saved->at_grid)})
        for (const std::unique_ptr<BlockRun>& block : *from) {
            if (!block) continue;  // its place in the round is over
            if (std::ranges::any_of(block->context().check_states,
                                    [](void* state) { return state != nullptr; }))
                return nullptr;
            saved->add_block(*block, launch.shared_bytes, *to);
        }
    saved->round = round_;
    saved->round.next = round_.kept;
    saved->batch = scratch_;
    saved->grid_generation = grid_generation_;
    return saved;
}

/// The worker is prepared, and has no block.
void Worker::restore(Launch& launch, const SavedDevice& saved) {
    std::vector<Runner*> runners = saved.runners();
    runners_.take_back(runners);
    scratch_ = saved.batch;
    saved.put_contents_back(launch.shared_bytes);
    const auto put_back = [&](const std::vector<SavedDevice::Block>& from,
                              std::vector<std::unique_ptr<BlockRun>>& to) {
        to.reserve(from.size());
        for (const SavedDevice::Block& each : from) {
            const auto spare = std::ranges::find(spare_, each.block, &std::unique_ptr<BlockRun>::get);
            to.push_back(std::move(*spare));
            spare_.erase(spare);
            each.block->restore(*each.copy);
            for (std::byte* slot : each.block->cluster_shared()) std::erase(free_slots_, slot);
        }
    };
    put_back(saved.resident, resident_);
    put_back(saved.before_turn, before_turn_);
    put_back(saved.at_grid, at_grid_);
    fewest_spare_ = std::min(fewest_spare_, spare_.size());
    grid_generation_ = saved.grid_generation;
    if (launch.blocks_at_a_time != 1 && launch.shared_bytes != 0) restore_clusters(launch);
    round_ = saved.round;
    round_goes_on_ = true;
    for (const auto* blocks : {&resident_, &before_turn_, &at_grid_})
        for (const auto& block : *blocks) block->is_restored();
}

}  // namespace cudasim::execution
