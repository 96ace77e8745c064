// The memory of a traced launch (element_trace.h): what compiled code addresses by offset, and what the hooks
// write. All of it is allocated before threads run.
//
//   BlockContext::check_states[jit::race_state] ─► TraceBlock ─► counts[thread], rings[thread][...], buckets
//                                                      └───────► TraceState: elements, writes
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/checks/element_trace.h"

namespace cudasim::checks {

/// One read of a thread.
struct ReadEntry {
    std::uint64_t address;
    std::uint64_t what;  ///< see below
    std::array<std::byte, 16> value;
};
static_assert(sizeof(ReadEntry) == 32);

/// ReadEntry::what: site, number of the load (value_sources.h), bytes, whether it was an atomic operation.
inline constexpr unsigned read_load_shift = 24, read_bytes_shift = 40, read_atomic_shift = 56;
inline constexpr std::uint64_t read_site_mask = (1U << read_load_shift) - 1, read_load_mask = 0xffff,
                               most_read_bytes = 0xffff;

/// Hook traced_write's argument `kind`; a set.
enum TracedKind : std::uint32_t { traced_atomic = 1, traced_result = 2 };

/// Longer writes are calls of the hook: the test in line looks at one bucket, and elements begin in the
/// buckets of all addresses from which so long a write would reach them.
inline constexpr std::uint64_t most_tested_bytes = 32;
inline constexpr std::size_t trace_buckets = 4096;

/// One for each block that runs.
struct TraceBlock {
    std::uint64_t low = 0;   ///< a write to an element begins here or behind
    std::uint64_t span = 0;  ///< and less than so many bytes behind `low`
    std::uint64_t shift = 0;
    const std::uint8_t* buckets = nullptr;  ///< [(address - low) >> shift]: not 0 where an element may be hit
    std::uint32_t* counts = nullptr;        ///< by thread: how much it has read
    ReadEntry* rings = nullptr;             ///< by thread, most_traced_reads each: read n is at n modulo that
    // The hooks'.
    TraceState* state = nullptr;
    std::uint32_t* marks = nullptr;  ///< by thread: its count when it last wrote to a traced element
    std::uint64_t block = 0;
    std::uint64_t shared_low = 0;
};

/// One write to an element.
struct WriteEntry {
    std::uint64_t order, number, block;
    std::uint32_t thread, site;
    std::uint64_t access_address, access_bytes, address, bytes;
    std::uint64_t shared_low;
    std::array<std::byte, 32> value;
    std::array<std::byte, 16> result;
    std::uint32_t kind;
    std::uint32_t reads, mark;     ///< of the thread, as in TraceBlock
    const std::uint32_t* sources;  ///< value_sources.h
    std::array<ReadEntry, most_traced_reads> ring;
};

struct TraceState {
    struct Element {
        std::uint64_t address = 0, bytes = 0;
        std::size_t index = 0;  ///< among those that were asked for
        std::uint64_t writes = 0;
    };
    struct Block {
        TraceBlock window;
        std::uint32_t threads = 0;
        bool is_used = false;
        std::unique_ptr<std::uint32_t[]> counts, marks;
        std::unique_ptr<ReadEntry[]> rings;
    };

    std::vector<Element> elements;  ///< by ascending address
    std::uint64_t longest = 0;      ///< element, in bytes
    std::uint64_t order = 0;
    std::uint32_t kept = 0;                ///< writes of each element
    std::unique_ptr<WriteEntry[]> writes;  ///< `kept` for each of `elements`
    std::uint64_t low = 0, span = 0, shift = 0;
    std::array<std::uint8_t, trace_buckets> buckets{};
    std::vector<std::unique_ptr<Block>> blocks;

    /// Where an element's write is kept: the first half stays, the others replace each other.
    [[nodiscard]] std::size_t slot(std::size_t element, std::uint64_t number) const {
        const std::uint32_t first = kept / 2;
        const std::uint64_t at = number < first ? number : first + (number - first) % (kept - first);
        return element * kept + at;
    }
};

}  // namespace cudasim::checks
