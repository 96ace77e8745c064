// A copy of all device memory that a kernel can write, as it was when a launch began. Whoever needs that
// memory shares the copy: the history that lets the launch go back (memory_history.h), and records of the
// launch (driver/launch_capture.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "simulator/memory/arena.h"

namespace cudasim::execution {

class MemoryCopy {
  public:
    /// Ranges begin at multiples of this in the copy.
    static constexpr std::size_t chunk_bytes = 4096;
    /// An allocation.
    struct Range {
        std::byte* memory;
        std::size_t bytes, place;  ///< place: of its first byte in the copy
    };

    /// Copies. The arena's lock is held. @throws std::bad_alloc
    explicit MemoryCopy(const memory::Arena& arena);
    MemoryCopy(const MemoryCopy&) = delete;
    MemoryCopy& operator=(const MemoryCopy&) = delete;
    ~MemoryCopy();

    /// Bytes that a kernel in this arena can write.
    [[nodiscard]] static std::uint64_t writable_bytes(const memory::Arena& arena);

    [[nodiscard]] const std::vector<Range>& ranges() const { return ranges_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }
    [[nodiscard]] const std::byte* data() const { return data_.get(); }
    /// What the allocation contained, without another copy; null: a kernel cannot write it, and it is not
    /// here.
    [[nodiscard]] std::shared_ptr<std::byte[]> content(std::uint64_t address, std::uint64_t bytes) const;

  private:
    std::vector<Range> ranges_;  ///< ascending by address, but for adopted memory
    std::size_t bytes_ = 0;
    std::shared_ptr<std::byte[]> data_;
};

}  // namespace cudasim::execution
