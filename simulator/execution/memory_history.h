// Contents of device memory as they were at several points of a launch, so that it can go back to one of
// them.
//
//   state 0    a copy of everything that a kernel can write
//   state n    the chunks that differ from state n - 1
//
// Allocations must stay what they are while a MemoryHistory exists. Not thread-safe; no kernel may run
// meanwhile.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "simulator/execution/memory_copy.h"

namespace cudasim::execution {

class MemoryHistory {
  public:
    /// @param first state 0
    explicit MemoryHistory(std::shared_ptr<const MemoryCopy> first) : first_(std::move(first)) {}
    MemoryHistory(const MemoryHistory&) = delete;
    MemoryHistory& operator=(const MemoryHistory&) = delete;

    [[nodiscard]] const std::shared_ptr<const MemoryCopy>& first() const { return first_; }

    /// Saves the contents as they are now. @return the number of the state. @throws std::bad_alloc
    std::size_t save();
    /// Puts the contents back, and forgets later states.
    void restore(std::size_t state);
    /// Forgets one state other than the first and the last; later ones are numbered anew.
    void forget(std::size_t state);

    [[nodiscard]] std::size_t states() const { return changes_.size() + 1; }
    /// Memory that all states take.
    [[nodiscard]] std::uint64_t bytes() const { return copies() * first_->bytes() + changed_bytes_; }

  private:
    using Range = MemoryCopy::Range;
    static constexpr std::size_t chunk_bytes = MemoryCopy::chunk_bytes;
    /// The chunks of one state that differ from the state before.
    struct Changes {
        std::vector<std::size_t> places;  ///< ascending
        std::vector<std::byte> contents;  ///< chunk_bytes each
    };

    [[nodiscard]] std::uint64_t copies() const { return last_ ? 2 : 1; }
    static void apply(const Changes& changes, std::byte* target);

    std::shared_ptr<const MemoryCopy> first_;
    std::shared_ptr<std::byte[]> last_;  ///< the last state, once there is a second one
    std::vector<Changes> changes_;       ///< of state n at n - 1
    std::uint64_t changed_bytes_ = 0;
};

}  // namespace cudasim::execution
