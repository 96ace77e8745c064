// The detector's state of blocks, threads and synchronisation variables: for race_detector.cpp,
// race_order.cpp and race_copies.cpp only.
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

/// An asynchronous copy that its thread has not waited for.
struct RaceDetector::Copy : PendingCopy {
    std::uint32_t thread = 0;
    std::uint32_t group = 0;
    std::uint32_t next_phase = 0;     ///< the epoch behind the block's next barrier; 0: there was none
    std::array<Record, 4> written{};  ///< of the source's words, when it began
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
    std::vector<Copy> copies;
    std::vector<std::uint32_t> copy_groups;  ///< by thread: how many it has. Empty until there is a copy.

    /// Whether the block has drawn the epoch: what block_of() says, mostly without a search.
    [[nodiscard]] bool owns(std::uint32_t epoch) const {
        const Segment& last = detector->segments_.back();
        if (last.first <= epoch) return last.block == index;
        return epoch >= first_epoch && detector->block_of(epoch) == index;
    }
    [[nodiscard]] std::uint32_t phase() const { return epoch_of(floors.phase); }
};

/// An access that happens now.
struct RaceDetector::Looked {
    Block& block;
    std::uint32_t thread = 0;
    AccessClass kind = AccessClass::read;
    Record record = 0;  ///< without bytes
    AtomicScope scope = AtomicScope::device;
    bool barriers_only = false, is_decided = false;
    std::uint64_t address = 0, bytes = 0;
    WrittenValue written = WrittenValue::unknown;
    std::uint64_t value = 0;
    /// Records of earlier epochs are those of earlier launches, or of the block that had the shared memory
    /// before.
    std::uint32_t floor = 0;

    /// Whether it changes nothing.
    [[nodiscard]] bool reads() const {
        return kind == AccessClass::read || (kind == AccessClass::atomic && (record & only_reads) != 0);
    }
    [[nodiscard]] bool repeats_races(RaceDetector& detector) const;
};

/// The part of it that lies in one word.
struct RaceDetector::Word {
    std::uint64_t address = 0;
    unsigned bytes = 0;  ///< as a mask
    Cell& cell;
};

}  // namespace cudasim::checks
