// The detector's state of blocks, threads and synchronisation variables: for race_detector.cpp and
// race_order.cpp only.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "simulator/checks/race_detector.h"

namespace cudasim::checks {

inline constexpr std::uint32_t lanes = 32;

/// What only threads have that order each other in other ways than by barriers of the block.
struct RaceDetector::Thread {
    KnownAccesses extra;  ///< what it knows besides its block's `base`
    /// Acquired, and known from its next fence on; the second one from a fence of any scope.
    KnownAccesses pending_device, pending_block;
    /// What its fences cover besides what the whole block's do, and the epoch up to which they cover its own
    /// accesses, in this phase; 0: none.
    KnownAccesses fenced_device, fenced_block;
    std::uint32_t fence_device = 0, fence_block = 0;
    std::uint32_t last_epoch = 0;  ///< the one before it gets its next
    /// Variables whose values it has seen last, for reports.
    std::array<std::uint64_t, 4> observed{};
    std::uint32_t observations = 0;
};

struct RaceDetector::Block {
    BlockFloors floors;  // first: compiled code
    RaceDetector* detector = nullptr;
    std::uint64_t index = 0;
    std::uint32_t threads = 0;
    std::uint32_t first_epoch = 0;
    std::uint64_t shared_low = 0, shared_bytes = 0;
    std::vector<Record> present;
    std::uint32_t segment_first = 0;  ///< since that epoch no other block has drawn one
    /// What all its threads know of others, and what its threads' fences before the last barrier cover.
    KnownAccesses base, fenced_device, fenced_block;
    std::vector<Thread> sync;  ///< empty until a thread synchronises
    /// By thread: the epoch up to which it knows each lane of its warp. Empty until a warp barrier.
    std::vector<std::array<std::uint32_t, lanes>> seen;
    struct WarpGroup {
        std::uint32_t warp, mask, came;
    };
    std::vector<WarpGroup> groups;

    /// Whether the block has drawn the epoch: what block_of() says, mostly without a search.
    [[nodiscard]] bool owns(std::uint32_t epoch) const {
        const Segment& last = detector->segments_.back();
        if (last.first <= epoch) return last.block == index;
        return epoch >= first_epoch && detector->block_of(epoch) == index;
    }
    [[nodiscard]] std::uint32_t phase() const { return epoch_of(floors.phase); }
};

}  // namespace cudasim::checks
