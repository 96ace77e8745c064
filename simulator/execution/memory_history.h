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
#include <vector>

#include "simulator/memory/arena.h"

namespace cudasim::execution {

class MemoryHistory {
  public:
    /// Saves state 0. @throws std::bad_alloc
    explicit MemoryHistory(const memory::Arena& arena);
    MemoryHistory(const MemoryHistory&) = delete;
    MemoryHistory& operator=(const MemoryHistory&) = delete;
    ~MemoryHistory();

    /// Bytes that a kernel in this arena can write, which is what state 0 takes.
    [[nodiscard]] static std::uint64_t writable_bytes(const memory::Arena& arena);

    /// Saves the contents as they are now. @return the number of the state. @throws std::bad_alloc
    std::size_t save();
    /// Puts the contents back, and forgets later states.
    void restore(std::size_t state);
    /// Forgets one state other than the first and the last; later ones are numbered anew.
    void forget(std::size_t state);

    [[nodiscard]] std::size_t states() const { return changes_.size() + 1; }
    /// Memory that all states take.
    [[nodiscard]] std::uint64_t bytes() const { return copies() * bytes_ + changed_bytes_; }

  private:
    static constexpr std::size_t chunk_bytes = 4096;
    struct Range {
        std::byte* memory;
        std::size_t bytes, place;  ///< place: of its first byte in a copy, a multiple of chunk_bytes
    };
    /// The chunks of one state that differ from the state before.
    struct Changes {
        std::vector<std::size_t> places;  ///< ascending
        std::vector<std::byte> contents;  ///< chunk_bytes each
    };

    [[nodiscard]] static bool is_writable(const memory::Allocation& allocation);
    [[nodiscard]] std::uint64_t copies() const { return last_ ? 2 : 1; }
    void copy_out(std::byte* target) const;
    static void apply(const Changes& changes, std::byte* target);

    std::vector<Range> ranges_;
    std::size_t bytes_ = 0;  ///< of a copy
    std::shared_ptr<std::byte[]> first_;
    std::shared_ptr<std::byte[]> last_;  ///< the last state, once there is a second one
    std::vector<Changes> changes_;       ///< of state n at n - 1
    std::uint64_t changed_bytes_ = 0;
};

}  // namespace cudasim::execution
