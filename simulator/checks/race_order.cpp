// What orders accesses: epochs, barriers, fences and atomic operations (race_detector.h).
#include <algorithm>
#include <stdexcept>

#include "simulator/checks/race_state.h"

namespace cudasim::checks {

namespace {

using jit::MemoryOrder;

/// No epoch is drawn from here on; the next launch begins anew.
constexpr std::uint32_t last_epoch = 0xFFFF'FFF0;
/// From here on a launch begins with an empty shadow.
constexpr std::uint32_t start_anew_at = 0x8000'0000;

bool releases(MemoryOrder order) {
    return order == MemoryOrder::release || order == MemoryOrder::acquire_release ||
           order == MemoryOrder::sequential;
}

bool acquires(MemoryOrder order) {
    return order == MemoryOrder::acquire || order == MemoryOrder::acquire_release ||
           order == MemoryOrder::sequential;
}

}  // namespace

RaceDetector::RaceDetector(RaceShadow& shadow) : shadow_(shadow) {}

RaceDetector::~RaceDetector() = default;

BlockFloors* RaceDetector::floors(Block& block) {
    return &block.floors;
}

void RaceDetector::launch_begins(RaceModel model) {
    model_ = model;
    exhausted_ = has_clusters_ = false;
    begun_at_ = 0;
    for (auto& block : blocks_) {  // of a launch that was given up
        forget_copies(*block);
        unused_.push_back(std::move(block));
    }
    blocks_.clear();
    variables_.clear();
    races_.clear();
    recent_.fill({});
    pairs_ = 0;
    disguised_.clear();
    if (!keeps_records_ || begins_anew()) forget_records();
    if (begins_anew()) {
        shadow_.forget();
        next_epoch_ = 1;
    }
    launch_epoch_ = next_epoch_;
}

void RaceDetector::forget_records() {
    segments_.clear();
    shadow_.forget_crowds();
}

bool RaceDetector::begins_anew() const {
    return next_epoch_ >= start_anew_at;
}

std::uint32_t RaceDetector::draw(Block& block) {
    if (next_epoch_ >= last_epoch) {
        exhausted_ = true;
        return next_epoch_;
    }
    if (segments_.empty() || segments_.back().block != block.index) {
        segments_.push_back({next_epoch_, block.index});
        block.segment_first = next_epoch_;
    }
    return next_epoch_++;
}

std::uint64_t RaceDetector::block_of(std::uint32_t epoch) const {
    if (segments_.back().first <= epoch) return segments_.back().block;
    const auto behind = std::ranges::upper_bound(segments_, epoch, {}, &Segment::first);
    return behind == segments_.begin() ? ~std::uint64_t{0} : std::prev(behind)->block;
}

RaceDetector::Block& RaceDetector::block_begins(std::uint64_t index, std::uint32_t threads,
                                                std::uint64_t shared_low, std::uint64_t shared_bytes) {
    if (threads > thread_mask + 1) throw std::length_error("more than 1,024 threads in a block");
    if (unused_.empty()) {
        blocks_.push_back(std::make_unique<Block>());
    } else {
        blocks_.push_back(std::move(unused_.back()));
        unused_.pop_back();
    }
    Block& block = *blocks_.back();
    block.detector = this;
    block.index = index;
    block.threads = threads;
    block.base = block.fenced_device = block.fenced_block = {};
    block.sync.clear();
    block.seen.clear();
    block.groups.clear();
    block.present.resize(threads);
    const std::uint32_t epoch = draw(block);
    // The blocks of a cluster begin one after another, and what the first one does at once in the shared
    // memory of the last one is to count.
    if (begun_at_ == 0 || epoch != begun_at_ + 1) first_begun_at_ = epoch;
    begun_at_ = epoch;
    block.segment_first = epoch;
    block.first_epoch = first_begun_at_;
    block.shared_low = shared_low;
    block.shared_bytes = shared_bytes;
    if (shared_bytes != 0) {
        first_shared_ = std::min(first_shared_, shared_low);
        end_of_shared_ = std::max(end_of_shared_, shared_low + shared_bytes);
    }
    for (std::uint32_t thread = 0; thread < threads; ++thread)
        block.present[thread] = record_of(epoch, thread);
    block.floors = {record_of(launch_epoch_, 0),
                    record_of(epoch, 0),
                    record_of(epoch, 0),
                    shadow_.cells(),
                    shadow_.low(),
                    shadow_.bytes(),
                    block.present.data()};
    return block;
}

void RaceDetector::block_ends(Block& block) {
    begun_at_ = 0;
    const auto found = std::ranges::find_if(blocks_, [&](const auto& each) { return each.get() == &block; });
    if (found == blocks_.end()) return;
    forget_copies(block);
    unused_.push_back(std::move(*found));
    blocks_.erase(found);
}

Record RaceDetector::present(Block& block, std::uint32_t thread) {
    Record& record = block.present[thread];
    if (epoch_of(record) == 0) record = record_of(draw(block), thread);
    return record;
}

/// Its later accesses are told from those so far.
void RaceDetector::renew(Block& block, std::uint32_t thread) {
    Record& record = block.present[thread];
    if (epoch_of(record) != 0) sync_state(block, thread).last_epoch = epoch_of(record);
    record = record_of(0, thread);
}

RaceDetector::Thread& RaceDetector::sync_state(Block& block, std::uint32_t thread) {
    if (block.sync.empty()) block.sync.resize(block.threads);
    return block.sync[thread];
}

bool RaceDetector::is_ordered(Record before, const Block& block, std::uint32_t thread) const {
    const std::uint32_t epoch = epoch_of(before), other = thread_of(before);
    if (epoch < launch_epoch_) return true;
    if (epoch == pending_epoch) return false;
    if (block.owns(epoch)) {
        if (other == thread || epoch < block.phase()) return true;
        if (!block.seen.empty() && other / lanes == thread / lanes &&
            epoch <= block.seen[thread][other % lanes])
            return true;
    }
    if (block.base.empty() && block.sync.empty()) return false;
    const std::uint64_t owner = block_of(epoch);
    return block.base.contains(owner, other, epoch) ||
           (!block.sync.empty() && block.sync[thread].extra.contains(owner, other, epoch));
}

/// What the thread knows now, its own accesses included.
KnownAccesses RaceDetector::knowledge(const Block& block, std::uint32_t thread) const {
    KnownAccesses known = block.base;
    std::uint32_t own = epoch_of(block.present[thread]);
    if (!block.sync.empty()) {
        known.join(block.sync[thread].extra);
        if (own == 0) own = block.sync[thread].last_epoch;
    }
    std::vector<std::pair<std::uint16_t, std::uint32_t>> threads;
    const std::uint32_t first = thread / lanes * lanes;
    for (std::uint32_t other = first; other < first + lanes; ++other) {
        const std::uint32_t epoch = other == thread      ? own
                                    : block.seen.empty() ? 0
                                                         : block.seen[thread][other - first];
        if (epoch >= block.phase()) threads.emplace_back(static_cast<std::uint16_t>(other), epoch);
    }
    known.add_block(block.index, block.phase() - 1, std::move(threads));
    return known;
}

void RaceDetector::take_fence(Block& block, std::uint32_t thread, bool device) {
    Thread& state = sync_state(block, thread);
    renew(block, thread);
    // What the whole block knows is added where it is used, as long as the phase lasts: fenced().
    const bool more = !state.extra.empty() || !block.seen.empty();
    KnownAccesses known;
    if (more) known = knowledge(block, thread);
    if (device) {
        state.fence_device = state.last_epoch;
        if (more) state.fenced_device = known;
    }
    state.fence_block = state.last_epoch;
    if (more) state.fenced_block = std::move(known);
}

/// What an atomic operation of the thread publishes now.
KnownAccesses RaceDetector::fenced(const Block& block, std::uint32_t thread, bool device) const {
    KnownAccesses known = device ? block.fenced_device : block.fenced_block;
    if (block.sync.empty()) return known;
    const Thread& state = block.sync[thread];
    const std::uint32_t own = device ? state.fence_device : state.fence_block;
    known.join(device ? state.fenced_device : state.fenced_block);
    if (own == 0) return known;
    known.join(block.base);
    known.add_block(block.index, block.phase() - 1, {{static_cast<std::uint16_t>(thread), own}});
    return known;
}

void RaceDetector::fence(Block& block, std::uint32_t thread, MemoryOrder order, image::Scope scope) {
    if (scope == image::Scope::thread) return;
    Thread& state = sync_state(block, thread);
    const bool device = scope > image::Scope::cluster;
    if (order != MemoryOrder::release) {
        state.extra.join(state.pending_block);
        state.pending_block = {};
        if (device) {
            state.extra.join(state.pending_device);
            state.pending_device = {};
        }
    }
    if (order != MemoryOrder::acquire) take_fence(block, thread, device);
}

void RaceDetector::block_barrier(Block& block) {
    if (!block.sync.empty()) {
        KnownAccesses base = block.base;
        for (const Thread& state : block.sync) base.join(state.extra);
        for (const bool device : {true, false}) {
            KnownAccesses& fenced_by_all = device ? block.fenced_device : block.fenced_block;
            std::vector<std::pair<std::uint16_t, std::uint32_t>> own;
            bool any = false;
            for (std::uint32_t thread = 0; thread < block.threads; ++thread) {
                const Thread& state = block.sync[thread];
                fenced_by_all.join(device ? state.fenced_device : state.fenced_block);
                const std::uint32_t epoch = device ? state.fence_device : state.fence_block;
                if (epoch == 0) continue;
                any = true;
                if (epoch >= block.phase()) own.emplace_back(static_cast<std::uint16_t>(thread), epoch);
            }
            if (!any) continue;
            fenced_by_all.join(block.base);
            fenced_by_all.add_block(block.index, block.phase() - 1, std::move(own));
        }
        block.base = std::move(base);
        for (Thread& state : block.sync) {
            state.extra = state.fenced_device = state.fenced_block = {};
            state.fence_device = state.fence_block = state.last_epoch = 0;
        }
    }
    const std::uint32_t epoch = draw(block);
    // Epochs that other blocks have drawn in between belong to none of this block's ranges.
    if (block.segment_first > epoch_of(block.floors.own))
        block.floors.own = record_of(block.segment_first, 0);
    block.floors.phase = record_of(epoch, 0);
    for (Copy& copy : block.copies)
        if (copy.next_phase == 0) copy.next_phase = epoch;
    for (std::uint32_t thread = 0; thread < block.threads; ++thread)
        block.present[thread] = record_of(epoch, thread);
}

void RaceDetector::grid_barrier(Block& block) {
    // The first block that is told draws the lowest epoch behind the barrier; those of the others, which are
    // told before any of them goes on, are later ones.
    const bool is_first = block.phase() >= launch_epoch_;
    block_barrier(block);
    if (is_first) launch_epoch_ = block.phase();
    for (const auto& each : blocks_) each->floors.launch = record_of(launch_epoch_, 0);
}

void RaceDetector::cluster_barrier(std::span<Block* const> blocks) {
    has_clusters_ = true;
    KnownAccesses known, device, narrow;
    for (Block* block : blocks) {
        block_barrier(*block);
        known.join(block->base);
        known.add_block(block->index, block->phase() - 1);
        device.join(block->fenced_device);
        narrow.join(block->fenced_block);
    }
    for (Block* block : blocks) {
        block->base.join(known);
        block->fenced_device.join(device);
        block->fenced_block.join(narrow);
    }
}

void RaceDetector::named_barrier(Block& block, std::span<const std::uint32_t> came,
                                 std::span<const std::uint32_t> waiting) {
    KnownAccesses known, device, narrow;
    for (const std::uint32_t thread : came) {
        known.join(knowledge(block, thread));
        device.join(fenced(block, thread, true));
        narrow.join(fenced(block, thread, false));
    }
    for (const std::uint32_t thread : came) renew(block, thread);
    for (const std::uint32_t thread : waiting) {
        Thread& state = sync_state(block, thread);
        state.extra.join(known);
        state.fenced_device.join(device);
        state.fenced_block.join(narrow);
    }
}

void RaceDetector::warp_barrier(Block& block, std::uint32_t thread, std::uint32_t mask) {
    const std::uint32_t warp = thread / lanes, first = warp * lanes;
    const std::uint32_t lane = std::uint32_t{1} << (thread % lanes);
    auto group = std::ranges::find_if(
        block.groups, [&](const auto& each) { return each.warp == warp && each.mask == mask; });
    if (group == block.groups.end()) group = block.groups.insert(group, {warp, mask, 0});
    group->came |= lane;
    if ((group->came & mask) != mask) return;
    block.groups.erase(group);
    if (block.seen.empty()) block.seen.resize(block.threads);
    std::array<std::uint32_t, lanes> seen{};
    KnownAccesses extra, device, narrow;
    const auto each_lane = [&](auto&& visit) {
        for (std::uint32_t other = 0; other < lanes && first + other < block.threads; ++other)
            if ((mask >> other & 1U) != 0) visit(first + other, other);
    };
    each_lane([&](std::uint32_t member, std::uint32_t position) {
        for (std::uint32_t other = 0; other < lanes; ++other)
            seen[other] = std::max(seen[other], block.seen[member][other]);
        std::uint32_t own = epoch_of(block.present[member]);
        if (!block.sync.empty()) {
            const Thread& state = block.sync[member];
            if (own == 0) own = state.last_epoch;
            extra.join(state.extra);
            if (state.fence_device != 0 || !state.fenced_device.empty())
                device.join(fenced(block, member, true));
            if (state.fence_block != 0 || !state.fenced_block.empty())
                narrow.join(fenced(block, member, false));
        }
        seen[position] = std::max(seen[position], own);
    });
    const std::uint32_t epoch = draw(block);
    each_lane([&](std::uint32_t member, std::uint32_t) {
        block.seen[member] = seen;
        block.present[member] = record_of(epoch, member);
        if (block.sync.empty()) return;
        Thread& state = block.sync[member];
        state.extra.join(extra);
        state.fenced_device.join(device);
        state.fenced_block.join(narrow);
    });
}

void RaceDetector::acquire(Block& block, std::uint32_t thread, const AtomicAccess& access,
                           SyncVariable& variable) {
    Thread& state = sync_state(block, thread);
    if (access.kind != AtomicKind::store)
        state.observed[state.observations++ % state.observed.size()] = access.address;
    const auto found = variable.blocks.find(block.index);
    const KnownAccesses* narrow = found == variable.blocks.end() ? nullptr : &found->second;
    const bool wide = access.scope != AtomicScope::block;
    const bool at_once =
        acquires(access.order) || (model_ == RaceModel::idiom && access.kind != AtomicKind::compare_and_swap);
    if (at_once) {
        if (wide) state.extra.join(variable.device);
        if (narrow != nullptr) state.extra.join(*narrow);
    } else {
        if (wide) state.pending_device.join(variable.device);
        if (narrow != nullptr) state.pending_block.join(*narrow);
    }
}

void RaceDetector::publish(Block& block, std::uint32_t thread, const AtomicAccess& access, Record now) {
    const bool wide = access.scope != AtomicScope::block;
    if (releases(access.order)) take_fence(block, thread, wide);
    SyncVariable& variable = variables_[access.address];
    const bool is_first = variable.last_write == 0;
    const bool knows_others =
        is_first || is_ordered(variable.last_write, block, thread) || has_waited(variable, block, thread);
    if (!is_first && variable.bytes != access.bytes) variable.is_chain = false;
    if (access.kind == AtomicKind::store && !knows_others) variable.is_chain = false;
    variable.is_known_chain = variable.is_known_chain && knows_others;
    variable.last_write = now;
    variable.bytes = access.bytes;
    variable.waited.clear();
    KnownAccesses device, narrow;
    if (wide) device = fenced(block, thread, true);
    narrow = fenced(block, thread, false);
    if (access.kind == AtomicKind::store) {
        variable.device = {};
        variable.blocks.clear();
    }
    variable.device.join(device);
    if (!narrow.empty()) variable.blocks[block.index].join(narrow);
    std::uint32_t epoch = epoch_of(block.present[thread]);
    const Thread* state = block.sync.empty() ? nullptr : &block.sync[thread];
    if (epoch == 0 && state != nullptr) epoch = state->last_epoch;
    variable.publishers[variable.publications++ % variable.publishers.size()] = {
        block.index, thread, epoch, block.phase(),
        state != nullptr && state->fence_block > state->fence_device};
    if (access.kind != AtomicKind::store) return;
    variable.stored[{block.index, thread}] = epoch;
    renew(block, thread);  // what it reads from now on is no read before the store
}

void RaceDetector::atomic(Block& block, std::uint32_t thread, const AtomicAccess& access) {
    if (access.is_flag || access.is_verified)
        disguised_[access.site] = {access.kind == AtomicKind::store, access.is_flag};
    compare_atomic(block, thread, access);
    if (access.barriers_only || access.is_verified) return;
    const Record now = block.present[thread];
    if (access.kind != AtomicKind::store) {
        const auto variable = variables_.find(access.address);
        if (variable != variables_.end()) {
            acquire(block, thread, access, variable->second);
            if (access.waits) variable->second.waited.try_emplace({block.index, thread}, now);
        }
    }
    if (access.kind != AtomicKind::load && access.wrote) publish(block, thread, access, now);
}

}  // namespace cudasim::checks
