// Who wrote these elements: every write to a few ranges of memory in one launch, in the order in which they
// happened, and what the writing thread had read before.
//
//   ElementTrace trace(ranges, limits);
//   options.compile.instrumentations.add(element_traces());   // last
//   options.observers.add(trace);
//   options.workers = 1;
//   ... launch ...
//   trace.elements();
//
//   value_sources.h         which loads a stored value is computed from
//   element_trace_code.cpp  what is compiled into kernels
//   element_trace_hooks.h   what that code calls
//   element_trace_state.h   the memory that both use
//
// Behind each load from memory that threads share, compiled code appends address, place and value to a ring
// of the thread's last reads. Behind each store it tests in line whether one of the ranges may be hit; if
// so, a hook looks closely and copies the thread's ring beside the write. Nothing is allocated or locked
// while threads run. Kernels of Python mode have no compiled code, and are not traced.
//
// The state of a block takes the place of the race detector's (jit::race_state): a launch is traced, or races
// are looked for in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "simulator/execution/device.h"
#include "simulator/execution/observer.h"
#include "simulator/jit/instrumentation.h"

namespace cudasim::checks {

/// To be the last in its list: the value of an access is looked at directly behind it.
[[nodiscard]] const jit::Instrumentation& element_traces();

struct TraceLimits {
    /// Of each element so many writes are kept: half of them the first ones, the others the last ones. 2 or
    /// more.
    std::uint32_t writes = 64;
    /// Of each write so many reads are reported; at most `most_traced_reads` are known.
    std::uint32_t reads = 8;
};
/// The length of a thread's ring of reads.
inline constexpr std::uint32_t most_traced_reads = 16;
/// How many ranges can be traced in one launch. A write takes about 0.6 KiB.
inline constexpr std::size_t most_traced_elements = 1024;

/// What a read has to do with the write that follows, as the code shows it.
enum class ReadRole : std::uint8_t {
    value,    ///< the stored value is computed from it
    address,  ///< the address of the store, or of a read of role `value`, is computed from it
    other     ///< the thread has read it since its previous write to a traced element
};
/// "value", "address", "other": for front ends.
[[nodiscard]] std::string_view name_of(ReadRole role);

struct TracedRead {
    /// The device address; in shared memory, bytes from the beginning of the block's shared memory.
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::vector<std::byte> value;  ///< the first 16 bytes at most
    bool atomic = false;           ///< what an atomic operation has found
    ReadRole role = ReadRole::other;
    bool same_line = false;  ///< as the write
    findings::CallChain location;
    /// The allocation or variable. `space` tells "shared" from "global"; `element` is the source's name
    /// ("tile[3, 5]") where it is known.
    findings::MemoryObject object;
};

struct TracedWrite {
    std::uint64_t order = 0;   ///< among all writes to traced elements of the launch, from 0
    std::uint64_t number = 0;  ///< among the writes to this element, from 0
    findings::ThreadCoordinate thread;
    findings::CallChain location;
    std::uint64_t address = 0, bytes = 0;  ///< the part of the element that was written
    std::vector<std::byte> value;          ///< that part behind the write: the first 32 bytes at most
    std::uint64_t access_address = 0, access_bytes = 0;  ///< the whole access; a copy may be longer
    bool atomic = false;
    /// What an atomic operation has returned, which is what it found in its memory: access_bytes, 16 at most.
    std::vector<std::byte> result;
    std::vector<TracedRead> reads;  ///< the latest first
};

struct TracedElement {
    execution::AddressRange range;
    std::uint64_t total_writes = 0;   ///< writes.size() and those in between that were not kept
    std::vector<TracedWrite> writes;  ///< in the order in which they happened
};

struct TraceState;

/// For one launch with one worker.
class ElementTrace final : public execution::LaunchObserver {
  public:
    /// @param elements addresses of the launch's device; they may overlap
    /// @throws std::invalid_argument for no or too many elements, one without bytes, or impossible limits
    ElementTrace(std::span<const execution::AddressRange> elements, const TraceLimits& limits);
    ~ElementTrace() override;

    /// As the ranges were given. Without writes until the launch is over.
    [[nodiscard]] const std::vector<TracedElement>& elements() const { return elements_; }
    [[nodiscard]] std::vector<TracedElement> take_elements() { return std::move(elements_); }

    [[nodiscard]] std::optional<jit::CheckState> sets_check_state() const override { return jit::race_state; }
    void block_begins(execution::ObservedBlock& block) override;
    void block_ends(const execution::ObservedBlock& block, execution::BlockEnd end) override;
    void adds_findings(execution::ObserverFindings& findings) override;

  private:
    TraceLimits limits_;
    std::vector<TracedElement> elements_;
    std::unique_ptr<TraceState> state_;
};

}  // namespace cudasim::checks
