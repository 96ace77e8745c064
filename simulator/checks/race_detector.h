// Data races, exactly: two accesses to the same byte, one of them a write, by threads that nothing orders.
//
// The detector is told what the threads of a launch do, in the order in which they do it, and keeps for each
// word who accessed it last (race_shadow.h). An access is compared with those before it: what happened before
// it is found by the cheapest test first.
//
//   same thread · an earlier launch, or before a grid barrier · same block, before its last barrier ·
//   same warp, known through a warp barrier · known through fences and atomic operations (known_accesses.h)
//
// What orders threads, besides barriers (RaceModel::idiom, what CUDA's programming guide and its samples
// rely on):
//   - A fence, then an atomic operation or store of the same thread on x: it publishes at x what the thread
//     knew at its last fence, its own accesses included. What it knows comes from barriers, too: a fence by
//     all, a barrier, an atomic of one thread publishes for all. A fence of block scope publishes in the
//     block only, as does an atomic operation of block scope.
//   - An atomic operation or load that comes later to x acquires what is published there, at once. A
//     compare-and-swap is how locks are taken: what it acquires counts from the thread's next fence on.
//   - Orders that the program names (release, acquire) are fences in themselves.
//   - An atomic update sees all updates of its word that come before it. A plain write to that word that such
//     an update decides (the last block resets the counter of a reduction) comes behind them all.
//   - A load that a loop polls sees the last atomic write of its word. What comes behind the load
//     accesses the word behind that write (a barrier of the program's own reads its generation before it
//     waits), and behind those before it that were updates, or stores of threads that knew the ones before.
//     It also comes behind what a thread has read of the word before a store of its own (`serving++`).
// With RaceModel::ptx every atomic operation without an order of its own needs the fence behind it, as in the
// PTX memory model (PTX ISA, "Memory Consistency Model", causality order). Shuffles and votes order nothing.
//
// One host thread, and one launch at a time. Nothing here knows kernels, LLVM or devices.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "simulator/checks/known_accesses.h"
#include "simulator/checks/race_records.h"
#include "simulator/checks/race_shadow.h"
#include "simulator/image/scope.h"
#include "simulator/jit/memory_order.h"

namespace cudasim::checks {

enum class RaceModel : std::uint8_t { idiom, ptx };

/// What is known of the bytes that a write is about to write.
enum class WrittenValue : std::uint8_t {
    unknown,
    number,   ///< up to 8 bytes
    address,  ///< where the bytes lie
    fill      ///< each of them
};

/// A plain or volatile access.
struct PlainAccess {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    bool writes = false;
    bool is_volatile = false;
    /// The kernel's threads order each other by barriers of the block, or grid, and nothing else. Then two
    /// readers stand for all. The same for all accesses of a launch.
    bool barriers_only = false;
    bool is_decided = false;  ///< a write that happens only if the value of an atomic update said so
    /// A volatile write of a value that the thread has computed, and of one word. To a flag that is polled,
    /// or loaded atomically, it is no race: the word is all that it says, as in a scan that looks back.
    bool is_message = false;
    std::uint32_t site = unknown_site;
    WrittenValue written = WrittenValue::unknown;
    std::uint64_t value = 0;  ///< as `written` says
};

enum class AtomicKind : std::uint8_t { load, store, update, compare_and_swap };

struct AtomicAccess {
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
    AtomicKind kind = AtomicKind::update;
    bool wrote = true;  ///< false: a compare-and-swap that compared unequal
    AtomicScope scope = AtomicScope::device;
    jit::MemoryOrder order = jit::MemoryOrder::relaxed;
    bool is_flag = false;  ///< a volatile load or store that is meant as one
    bool waits = false;    ///< a load that a loop polls
    /// A plain load whose value does nothing unless a compare-and-swap of the same word finds it there. It
    /// races as an atomic load does, and orders nothing.
    bool is_verified = false;
    bool barriers_only = false;  ///< as in PlainAccess
    std::uint32_t site = unknown_site;
};

/// An asynchronous copy (cp.async). Its accesses are told as plain ones, too, before it.
struct PendingCopy {
    std::uint64_t target = 0, source = 0;  ///< source 0: nobody can change it
    std::uint32_t bytes = 0;               ///< that are written, up to 16 and a multiple of word_bytes
    std::uint32_t source_bytes = 0;        ///< that are read
    std::uint32_t site = unknown_site;
};

/// One of the two accesses of a race.
struct RaceSide {
    std::uint64_t block = 0;
    std::uint32_t thread = 0;
    std::uint32_t site = unknown_site;
    AccessClass kind = AccessClass::read;
    bool is_volatile = false;
    AtomicScope scope = AtomicScope::device;  ///< of an atomic access
};

/// Why nothing orders the two.
enum class RaceCause : std::uint8_t {
    no_barrier,          ///< threads of one block
    no_warp_barrier,     ///< of one warp
    no_order,            ///< of different blocks, which have no common barrier
    not_atomic,          ///< the same, and one of the two is an atomic operation
    narrow_scope,        ///< two atomic accesses of which one does not reach the other's block
    lock_without_fence,  ///< the second took a lock behind the first's release, and has no fence behind that
    no_barrier_before,   ///< another thread of the first's block published, without a barrier in between
    fence_missing,       ///< the first published by an atomic access without a fence in front of it
    fence_too_narrow,    ///< the same, with a fence of block scope
    copy_pending,        ///< the first is an asynchronous copy that its thread had not waited for
    block_ends           ///< the second is the end of the block whose shared memory it is
};

/// Races between two places, merged.
struct Race {
    RaceSide first, second;  ///< an example: first as it was done, second when it was noticed
    RaceCause cause = RaceCause::no_barrier;
    std::uint64_t address = 0;  ///< of the example: what the second accesses, or its word of that
    std::uint32_t bytes = 0;
    std::uint64_t shared_low = 0;    ///< where the shared memory begins that it is in; 0: in none
    std::uint64_t shared_block = 0;  ///< whose that is
    std::uint64_t old_value = 0;     ///< what the memory held when the second was noticed, `bytes` of it
    std::uint64_t new_value = 0;     ///< what the second writes there
    bool has_new_value = false;
    std::uint64_t pairs = 0;         ///< how many such races
    std::uint64_t pair_bytes = 0;    ///< of all of them
    std::uint64_t equal_writes = 0;  ///< pairs of plain writes that write what is there already
};

class RaceDetector {
  public:
    /// A block that runs. Compiled code reads its BlockFloors.
    struct Block;

    explicit RaceDetector(RaceShadow& shadow);
    ~RaceDetector();
    RaceDetector(const RaceDetector&) = delete;
    RaceDetector& operator=(const RaceDetector&) = delete;

    [[nodiscard]] RaceShadow& shadow() { return shadow_; }

    void launch_begins(RaceModel model);
    /// Whether what is known of a launch is kept when the next one begins: whose its epochs are, and its
    /// further accesses to words (RaceShadow::find_crowd()). forget_records() ends that for launches so far.
    void keep_records(bool keep) { keeps_records_ = keep; }
    void forget_records();
    /// Accesses from now on have epochs from this one on; the next launch may begin with the first one again.
    [[nodiscard]] std::uint32_t next_epoch() const { return next_epoch_; }
    [[nodiscard]] bool begins_anew() const;
    /// The block of an access.
    [[nodiscard]] std::uint64_t block_of(std::uint32_t epoch) const;
    /// What was found since launch_begins().
    [[nodiscard]] std::vector<Race> launch_ends();
    /// How many pairs of accesses that race there were since launch_begins().
    [[nodiscard]] std::uint64_t pairs() const { return pairs_; }
    /// Epochs are used up: accesses of this launch from then on were not compared.
    [[nodiscard]] bool exhausted() const { return exhausted_; }

    /// Its threads begin. The reference is good until block_ends(). Beyond 1,024 threads std::length_error.
    /// @param shared_low, shared_bytes its shared memory, which another block may have had before
    [[nodiscard]] Block& block_begins(std::uint64_t block, std::uint32_t threads,
                                      std::uint64_t shared_low = 0, std::uint64_t shared_bytes = 0);
    void block_ends(Block& block);
    /// All its threads are over, before block_ends(): what other blocks of its cluster did in its shared
    /// memory has to be ordered before that.
    void compare_end(Block& block);
    [[nodiscard]] static BlockFloors* floors(Block& block);

    /// All threads of the block that have not ended have come.
    void block_barrier(Block& block);
    /// The same for all blocks; told for each of them.
    void grid_barrier(Block& block);
    /// All threads of these blocks have arrived at the barrier of their cluster, and go on behind it.
    void cluster_barrier(std::span<Block* const> blocks);
    /// A barrier for some threads: what `came` did is over for those that wait there.
    void named_barrier(Block& block, std::span<const std::uint32_t> came,
                       std::span<const std::uint32_t> waiting);
    /// The lane of the thread comes to a warp barrier for the lanes of the mask (bar.warp.sync).
    void warp_barrier(Block& block, std::uint32_t thread, std::uint32_t mask);
    void fence(Block& block, std::uint32_t thread, jit::MemoryOrder order, image::Scope scope);
    void access(Block& block, std::uint32_t thread, const PlainAccess& access);
    void atomic(Block& block, std::uint32_t thread, const AtomicAccess& access);

    // Until the thread waits for it, an access by whichever thread to the target races with an asynchronous
    // copy, as does a write to the source (race_copies.cpp). Behind the wait it is the thread's access.
    void copy_begins(Block& block, std::uint32_t thread, const PendingCopy& copy);
    /// The copies that the thread has begun since the last time are a group.
    void copies_are_group(Block& block, std::uint32_t thread);
    /// @param groups how many of the last groups may be pending from now on; all_copies: nothing is
    void waits_for_copies(Block& block, std::uint32_t thread, std::uint32_t groups);
    static constexpr std::uint32_t all_copies = ~std::uint32_t{0};

  private:
    struct Thread;
    /// An address at which atomic operations and stores publish what their threads knew at their fences.
    struct SyncVariable {
        KnownAccesses device;                                     ///< published for everyone
        std::unordered_map<std::uint64_t, KnownAccesses> blocks;  ///< published within a block
        /// Who published last, for reports.
        struct Publisher {
            std::uint64_t block = 0;
            std::uint32_t thread = 0;
            std::uint32_t epoch = 0;
            std::uint32_t phase = 0;    ///< the block's last barrier was before this epoch
            bool narrow_fence = false;  ///< with a fence of block scope only
        };
        std::array<Publisher, 8> publishers{};
        std::uint32_t publications = 0;
        Record last_write = 0;
        std::uint32_t bytes = 0;  ///< of all writes
        /// Each write has seen those before it: updates always do, a store if its thread knew them.
        bool is_chain = true;
        /// Each write's thread knew those before it, without the write.
        bool is_known_chain = true;
        /// Who has waited for the last write: block and thread, and the record of the first load that saw it.
        std::map<std::pair<std::uint64_t, std::uint32_t>, Record> waited;
        /// By block and thread that has stored: the epoch up to which its reads came before a store of its
        /// own.
        std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> stored;
    };
    struct Looked;
    struct Word;

    [[nodiscard]] std::uint32_t draw(Block& block);
    [[nodiscard]] Record present(Block& block, std::uint32_t thread);
    [[nodiscard]] Thread& sync_state(Block& block, std::uint32_t thread);
    [[nodiscard]] bool is_ordered(Record before, const Block& block, std::uint32_t thread) const;
    [[nodiscard]] const Block* owner_of(const Block& block, std::uint64_t address) const;
    [[nodiscard]] bool knows(const Block& block, Record before) const;
    void report_end(const Block& block, Record before, AccessClass kind, std::uint64_t address);
    [[nodiscard]] std::uint32_t floor_of(const Block& block, std::uint64_t address) const;
    [[nodiscard]] bool is_over(Record record, const Looked& now) const;
    void compare(Record before, AccessClass kind, const Looked& now, const Word& word);
    void compare_crowd(const Looked& now, const Word& word, AccessClass kind);
    void mark_readers(const Looked& now, const Word& word);
    void note_read(const Looked& now, const Word& word);
    void note_write(const Looked& now, const Word& word);
    void note_atomic(const Looked& now, const Word& word);
    void add_to_crowd(const Looked& now, const Word& word, Record record, AccessClass kind);
    void look_at(const Looked& now, std::uint64_t address, std::uint64_t bytes);
    void report(Record before, AccessClass kind, const Looked& now, const Word& word, unsigned both);
    [[nodiscard]] static bool writes_the_same(const Looked& now, const Word& word, unsigned both);
    [[nodiscard]] RaceSide described(RaceSide side) const;
    [[nodiscard]] RaceCause cause_of(Record before, AccessClass kind, const Looked& now) const;

    [[nodiscard]] bool is_behind_writes(const Looked& now, const Word& word) const;
    [[nodiscard]] bool is_behind_reader(Record read, const Looked& now) const;
    [[nodiscard]] bool has_waited(const SyncVariable& variable, const Block& block,
                                  std::uint32_t thread) const;
    void compare_atomic(Block& block, std::uint32_t thread, const AtomicAccess& access);

    [[nodiscard]] KnownAccesses knowledge(const Block& block, std::uint32_t thread) const;
    [[nodiscard]] KnownAccesses fenced(const Block& block, std::uint32_t thread, bool device) const;
    void take_fence(Block& block, std::uint32_t thread, bool device);
    void acquire(Block& block, std::uint32_t thread, const AtomicAccess& access, SyncVariable& variable);
    void publish(Block& block, std::uint32_t thread, const AtomicAccess& access, Record now);
    void renew(Block& block, std::uint32_t thread);

    struct Copy;
    void copy_ends(Block& block, const Copy& copy);
    void compare_source(Block& block, const Copy& copy);
    void forget_copies(Block& block);

    RaceShadow& shadow_;
    RaceModel model_ = RaceModel::idiom;
    std::uint32_t next_epoch_ = 1;
    std::uint32_t launch_epoch_ = 0;  ///< everything before it is ordered before this launch, or grid barrier
    bool exhausted_ = false;
    bool keeps_records_ = false;
    bool has_clusters_ = false;   ///< the launch's blocks may use each other's shared memory
    std::uint32_t begun_at_ = 0;  ///< the last block's first epoch, if nothing has happened since; else 0
    std::uint32_t first_begun_at_ = 0;  ///< the first one's of those that began one after another until then
    std::uint64_t pairs_ = 0;
    /// Which block drew the epochs from `first` to the next segment's.
    struct Segment {
        std::uint32_t first;
        std::uint64_t block;
    };
    std::vector<Segment> segments_;
    std::vector<std::unique_ptr<Block>> blocks_, unused_;
    std::uint64_t first_shared_ = ~std::uint64_t{0}, end_of_shared_ = 0;  ///< where all of them had theirs
    std::unordered_map<std::uint64_t, SyncVariable> variables_;           ///< by address
    /// Accesses that are atomic to the detector, and none to whoever reads a report.
    struct Disguised {
        bool writes, is_volatile;
    };
    std::unordered_map<std::uint32_t, Disguised> disguised_;  ///< by site
    using RaceKey = std::pair<std::uint32_t, std::uint32_t>;  ///< site and class of each
    std::map<RaceKey, Race> races_;
    struct Recent {
        RaceKey key;
        Race* race = nullptr;
    };
    std::array<Recent, 16> recent_{};  ///< of the last reports
    [[nodiscard]] static RaceKey key_of(Record first, AccessClass first_kind, Record second,
                                        AccessClass second_kind) {
        return {site_of(first) | static_cast<std::uint32_t>(first_kind) << 16,
                site_of(second) | static_cast<std::uint32_t>(second_kind) << 16};
    }
    [[nodiscard]] Recent& recent_of(RaceKey key) {
        // Lines that read and write have one site for both: what tells such keys apart are the classes.
        const std::uint32_t classes = (key.first >> 16) * 3 + (key.second >> 16);
        return recent_[(key.first * 31 + key.second + classes * 5) % recent_.size()];
    }
};

}  // namespace cudasim::checks
