// What a launch with stops watches: ranges of memory and variables. Whoever touches them stops (stop.h).
//
//   memory     compiled code tests every access in line (jit/watched_accesses.h) ─► touched(): exactly; the
//              thread stops directly behind the access, in the middle of its statement
//   variables  they lie in frame records, whose stores are no accesses: the thread that has the variable
//              compares at each of its statements ─► variables_changed(); it stops at the statement after the
//              one that has assigned it
//
// Of memory that is watched there is a copy of what was last seen there. A store is compared with
// it, so that a store of the same value is no change, and old values can be shown.
//
// A range of shared memory is watched in one block, or in every block as it starts. What belongs to a
// function's frame (variables, and local arrays) is watched until the frame is left; that is told as a hit,
// too.
//
// When the launch goes back, frames are found again: a frame is known by its thread, its function, how many
// functions lie outside of it, and which statement was its first. Where that is not known, because the frame
// was there when it was first watched, each frame that fits is taken until it is left: while the launch runs
// again up to where the frame is there, the last one that fits is the right one.
//
// On the launching thread, which is the launch's only worker. touched(), variables_changed() and frame_left()
// are called on simulated stacks: they do not allocate.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "simulator/findings/finding.h"
#include "simulator/jit/abi.h"

namespace cudasim::jit {
struct CapturedVariable;
}

namespace cudasim::execution {

struct Launch;

/// A thread of the launch.
struct ThreadRef {
    std::uint64_t block = 0;   ///< linear index
    std::uint32_t thread = 0;  ///< linear index in its block
    bool operator==(const ThreadRef&) const = default;
};

/// `count` pieces of `bytes` each, one every `stride` bytes.
struct WatchedRange {
    std::uint64_t address = 0;  ///< of shared memory: counted from the block's first byte
    std::uint64_t bytes = 0;
    std::uint64_t stride = 0;
    std::uint64_t count = 1;
    [[nodiscard]] std::uint64_t extent() const { return (count - 1) * stride + bytes; }
    bool operator==(const WatchedRange&) const = default;
};

/// What stops a thread; a set.
enum WatchKinds : std::uint8_t { watch_reads = 1, watch_writes = 2, watch_changes = 4 };

enum class WatchedSpace : std::uint8_t { global, shared, local };

/// A frame of a function: what is in it is watched until the function returns.
struct FrameRef {
    ThreadRef thread;
    std::uint32_t frame = 0;  ///< index into StoppedLaunch::location(), when the watch is set
    bool operator==(const FrameRef&) const = default;
};

struct MemoryWatch {
    std::uint64_t id = 0;  ///< the caller's
    std::uint8_t kinds = watch_changes;
    WatchedSpace space = WatchedSpace::global;
    std::vector<WatchedRange> ranges;
    std::optional<std::uint64_t> block;  ///< shared memory: of this one; else of every block
    std::optional<FrameRef> frame;       ///< local memory: whose it is
};

struct VariableWatch {
    std::uint64_t id = 0;
    FrameRef frame;
    std::string name;
    std::uint64_t offset = 0;  ///< of the part that is watched, in bytes
    std::uint64_t bytes = 0;   ///< 0: all of the variable, whatever its type
};

/// Why a thread has stopped.
struct WatchHit {
    enum class Kind : std::uint8_t { read, write, assigned, frame_left };
    std::uint64_t id = 0;
    Kind kind = Kind::write;
    ThreadRef thread;
    std::uint32_t site = ~std::uint32_t{0};  ///< of the access; of a variable: the statement that assigned it
    std::uint64_t address = 0, bytes = 0;    ///< of memory: what was accessed; of a change: what differs
    bool changed = false;
    std::uint32_t region = 0;  ///< Watches' own
    /// Local memory: how far it lies from where it was when the watch was set, because the launch has gone
    /// back and the thread's stack is another.
    std::uint64_t moved = 0;
};

class Watches {
  public:
    explicit Watches(const Launch& launch);

    /// Of the thread that has stopped last; empty when it has stopped for something else.
    [[nodiscard]] const std::vector<WatchHit>& last() const { return last_; }
    /// Copies what was there before the access, as far as it is watched; the rest is left as it is.
    /// @param target for [address, address + target.size())
    void before(const WatchHit& hit, std::uint64_t address, std::span<std::byte> target) const;
    /// The variable, or its part, before it was assigned and after; unknown where it was not assigned at all.
    [[nodiscard]] findings::VariableValue variable(const WatchHit& hit, bool before) const;
    /// Whether the frame has such a variable, assigned or not.
    [[nodiscard]] bool declares(const FrameRef& frame, std::string_view name, jit::ThreadStop& thread,
                                const jit::BlockContext& block) const;
    /// The handler has written there: that is what was last seen.
    void refresh(std::uint64_t address, std::uint64_t bytes);

    static constexpr std::uint64_t most_bytes = std::uint64_t{256} << 20;

    // The engine's ------------------------------------------------------------------------------------------

    /// As StoppedLaunch::watch(), which has looked whether the memory may be read.
    bool add(const MemoryWatch& watch);
    bool add(const VariableWatch& watch, jit::ThreadStop& thread, const jit::BlockContext& block);
    /// Local memory, with the frame that it belongs to.
    bool add_local(const MemoryWatch& watch, jit::ThreadStop& thread, const jit::BlockContext& block);
    void remove(std::uint64_t id);
    /// What has been hit and not yet told.
    [[nodiscard]] std::span<const WatchHit> hits() const { return hits_; }
    void forget_hits() noexcept { hits_.clear(); }
    /// The launch has gone back: memory is as it was then, and no block is on the device.
    void go_back();
    void block_begins(jit::BlockContext& block, std::uint64_t index);
    /// Threads of the block in whose frames something is watched.
    [[nodiscard]] std::vector<std::uint32_t> threads_with_frames(std::uint64_t block) const;
    /// The launch has gone back to where the thread was in the middle of its work: frames that it has.
    void find_frames(jit::ThreadStop& thread, const jit::BlockContext& block, std::uint32_t number);
    /// Whether the thread is to stop.
    [[nodiscard]] bool touched(const jit::BlockContext& block, std::uint32_t thread, std::uint64_t address,
                               std::uint64_t bytes, std::uint32_t flags, std::uint32_t site) noexcept;
    /// @param count statements that have begun. @param repeats the launch runs again, after it has gone back
    [[nodiscard]] bool variables_changed(jit::ThreadStop& here, const jit::BlockContext& block,
                                         std::uint32_t thread, std::uint64_t count, bool repeats) noexcept;
    void frame_left(const jit::FrameRecord* record) noexcept;
    /// The thread stops in the middle of its statement: that is where it is.
    void is_in_statement(jit::ThreadStop& thread) const noexcept;
    /// Whether anything of it was watched.
    bool thread_ended(ThreadRef thread, bool repeats);
    /// A thread has stopped: what was hit is last() from now on.
    void take() {
        last_ = hits_;
        hits_.clear();
    }

  private:
    static constexpr std::size_t most_hits = 16;

    /// Where a frame is: the record of its function and which of the functions inlined there.
    struct Frame {
        ThreadRef thread;
        const jit::BlockContext* block = nullptr;
        jit::ThreadStop* stop = nullptr;
        const jit::FrameRecord* record = nullptr;  ///< null: it is not there (yet)
        std::uint32_t variables = 0;               ///< index into Stops::frames
        std::size_t level = 0;                     ///< how many functions lie outside of it
        std::uint64_t first = 0;  ///< its first statement, or one before it where that is not known
        bool left = false;        ///< known from the function's return
        bool is_told = false;     ///< that it was left
    };
    struct Region {
        std::uint64_t id = 0;
        std::uint8_t kinds = 0;
        WatchedRange range;                    ///< addresses
        std::vector<std::byte> known, before;  ///< the whole extent
    };
    struct Block {
        std::uint64_t index = 0;
        std::vector<Region> regions;
    };
    struct Slot {
        const jit::CapturedVariable* variable = nullptr;
        std::uint64_t place = 0, flag = 0;  ///< offsets in the record
        std::uint64_t bytes = 0;
        std::uint64_t known = 0;  ///< offset in `known`; the flag is behind the bytes
    };
    /// What is watched in a frame: a variable, or a local array.
    struct Framed {
        std::uint64_t id = 0;
        Frame frame;
        std::vector<Slot> slots;
        std::vector<std::byte> known, before;
        std::uint32_t last_site = 0;
        std::vector<Region> regions;      ///< a local array
        std::uint64_t regions_for = 0;    ///< the record's address with which the regions' are right
        std::uint64_t regions_moved = 0;  ///< since the watch was set
    };

    [[nodiscard]] std::uint32_t site_in(const jit::ThreadStop& thread) const;
    [[nodiscard]] std::optional<Frame> frame_of(const FrameRef& wanted, jit::ThreadStop& thread,
                                                const jit::BlockContext& block) const;
    [[nodiscard]] bool is_there(const Frame& frame, const jit::ThreadStop& here) const noexcept;
    [[nodiscard]] const jit::FrameRecord* record_of(const Frame& frame,
                                                    const jit::ThreadStop& here) const noexcept;
    [[nodiscard]] bool find_frame(Framed& framed, jit::ThreadStop& here,
                                  const jit::BlockContext& block) noexcept;
    void leave(Framed& framed, bool repeats) noexcept;
    void read(Framed& framed) noexcept;
    template <typename Call>
    void for_regions_of_frames(std::uint64_t block, Call&& call) noexcept;
    [[nodiscard]] static bool may_be_watched(const MemoryWatch& watch);
    [[nodiscard]] Region region_of(const MemoryWatch& watch, const WatchedRange& range,
                                   std::uint64_t base) const;
    void look(Region& region, std::uint32_t number, const WatchHit& access, bool is_write,
              bool is_read) noexcept;
    void publish(jit::BlockContext& context, const Block& block) noexcept;
    void note(const WatchHit& hit) noexcept {
        if (hits_.size() < most_hits) hits_.push_back(hit);
    }
    [[nodiscard]] const Region* region(const WatchHit& hit) const;

    const Launch& launch_;
    std::vector<Region> global_;
    /// That have started; those that are over until others take their places.
    std::unordered_map<jit::BlockContext*, Block> blocks_;
    std::vector<MemoryWatch> shared_;  ///< for blocks that are to start
    std::vector<Framed> framed_;
    std::vector<WatchHit> hits_, last_;
};

}  // namespace cudasim::execution
