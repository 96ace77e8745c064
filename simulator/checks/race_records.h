// What the race detector remembers of an access, in 8 bytes, and the cell of 32 bytes that holds what it
// remembers of one word (4 bytes) of memory. Compiled code reads and writes both (race_checks.cpp), so every
// bit is pinned here.
//
//   record:  | epoch 32 | thread 10 | site 14 | kind 4 | bytes 4 |
//
// The **epoch** says when and, through the detector's table, in which block: epochs come from one counter and
// are never used twice, so a record that is left from an earlier launch, or an earlier block, is known to be
// old by its number and nothing is ever cleared. The epoch is in the highest bits, therefore records compare
// as their epochs do. 0 is no record.
//
// The **kind** depends on which of the cell's records it is:
//
//   written     last plain write:   bit 0 volatile, bit 1 a message          bit 2 more
//   atomic      last atomic access: bits 0 and 1 scope (AtomicScope)         bit 2 more, bit 3 only reads
//   read[0]     a reader:           bit 0 volatile
//   read[1]     another reader:     bit 0 volatile, bit 1 of another block   bit 2 more
//
// "more": further accesses of that class, none with a later epoch, are in the detector's table of crowded
// cells (race_shadow.h), because the cell has no room for them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulator/image/scope.h"

namespace cudasim::checks {

using Record = std::uint64_t;

inline constexpr unsigned epoch_shift = 32, thread_shift = 22, site_shift = 8, kind_shift = 4;
inline constexpr std::uint32_t site_mask = (1U << 14) - 1, thread_mask = (1U << 10) - 1;
/// The site of an access whose number does not fit: its line is not known.
inline constexpr std::uint32_t unknown_site = site_mask;
inline constexpr Record all_bytes = 0xF;
inline constexpr Record is_volatile = Record{1} << kind_shift;
/// Of a volatile write: of a value that the thread has computed, not of a constant.
inline constexpr Record is_message = Record{2} << kind_shift;
inline constexpr Record other_block = Record{2} << kind_shift;
inline constexpr Record has_more = Record{4} << kind_shift;
/// Of an atomic access that has changed nothing: a load, or a compare-and-swap that compared unequal.
inline constexpr Record only_reads = Record{8} << kind_shift;
inline constexpr Record scope_bits = Record{3} << kind_shift;
inline constexpr Record kind_bits = Record{15} << kind_shift;
/// Epoch and thread.
inline constexpr Record who_bits = ~((Record{1} << thread_shift) - 1);

/// Scopes of atomic accesses, narrow to wide; the system's is the device's here. In records only:
/// two_blocks: of device scope, and so is one of another block among `more`; mixed: `more` have other
/// scopes than this one.
enum class AtomicScope : std::uint8_t { block, device, two_blocks, mixed };
/// @param clusters the kernel may access memory with other blocks of its cluster: then its scope is wide
[[nodiscard]] constexpr AtomicScope atomic_scope(image::Scope scope, bool clusters) {
    const image::Scope widest = clusters ? image::Scope::block : image::Scope::cluster;
    return scope <= widest ? AtomicScope::block : AtomicScope::device;
}

[[nodiscard]] constexpr std::uint32_t epoch_of(Record record) {
    return static_cast<std::uint32_t>(record >> epoch_shift);
}
[[nodiscard]] constexpr std::uint32_t thread_of(Record record) {
    return static_cast<std::uint32_t>(record >> thread_shift) & thread_mask;
}
[[nodiscard]] constexpr std::uint32_t site_of(Record record) {
    return static_cast<std::uint32_t>(record >> site_shift) & site_mask;
}
[[nodiscard]] constexpr unsigned bytes_of(Record record) {
    return static_cast<unsigned>(record & all_bytes);
}
[[nodiscard]] constexpr AtomicScope scope_of(Record record) {
    return static_cast<AtomicScope>((record & scope_bits) >> kind_shift);
}
/// As the program has it.
[[nodiscard]] constexpr AtomicScope plain_scope(Record record) {
    return scope_of(record) == AtomicScope::two_blocks ? AtomicScope::device : scope_of(record);
}
[[nodiscard]] constexpr Record with_scope(Record record, AtomicScope scope) {
    return (record & ~scope_bits) | (static_cast<Record>(scope) << kind_shift);
}
/// The epoch of the target of an asynchronous copy that nobody has waited for, and of no other record:
/// nothing is ordered behind it.
inline constexpr std::uint32_t pending_epoch = ~std::uint32_t{0};

/// The record of a thread's accesses of an epoch, to which site, kind and bytes are added.
[[nodiscard]] constexpr Record record_of(std::uint32_t epoch, std::uint32_t thread) {
    return (Record{epoch} << epoch_shift) | (Record{thread} << thread_shift);
}
[[nodiscard]] constexpr bool same_thread_and_epoch(Record a, Record b) {
    return ((a ^ b) & who_bits) == 0;
}

/// What is remembered of the accesses to one word.
struct Cell {
    Record written = 0;   // 0
    Record atomic = 0;    // 8
    Record read[2] = {};  // 16
};
static_assert(sizeof(Cell) == 32 && offsetof(Cell, atomic) == 8 && offsetof(Cell, read) == 16);

inline constexpr unsigned word_bytes = 4;

/// Which bytes of the word at an address belong to a range that reaches into it, as a mask.
[[nodiscard]] constexpr unsigned bytes_in_word(std::uint64_t address, std::uint64_t bytes,
                                               std::uint64_t word) {
    const std::uint64_t end = address + bytes;
    const unsigned from = word < address ? static_cast<unsigned>(address - word) : 0;
    const unsigned to = end - word < word_bytes ? static_cast<unsigned>(end - word) : word_bytes;
    return ((1U << to) - 1) & ~((1U << from) - 1);
}

/// The part of a block's state that compiled code uses: BlockContext::check_states points to it. Floors are
/// records without anything but an epoch.
struct BlockFloors {
    /// Records of global memory below this are ordered before whatever the block does from now on.
    Record launch = 0;  // 0
    /// So are records from `own` up to `phase`, which are the block's own, and all records of its
    /// shared memory below `phase`: a barrier lies in between.
    Record own = 0;    // 8
    Record phase = 0;  // 16
    /// Cells of the addresses from window_low on; see RaceShadow.
    Cell* cells = nullptr;           // 24
    std::uint64_t window_low = 0;    // 32
    std::uint64_t window_bytes = 0;  // 40
    /// By thread: record_of() its present epoch. The thread bits only where it gets its next epoch when it
    /// accesses memory (only in kernels whose threads order each other in other ways than by barriers).
    Record* present = nullptr;  // 48
};
static_assert(offsetof(BlockFloors, own) == 8 && offsetof(BlockFloors, phase) == 16 &&
              offsetof(BlockFloors, cells) == 24 && offsetof(BlockFloors, window_low) == 32 &&
              offsetof(BlockFloors, window_bytes) == 40 && offsetof(BlockFloors, present) == 48);

}  // namespace cudasim::checks
