// Shadow memory: for each 8 bytes of the whole address space one byte that says what kernels may do there
// (encoding: simulator/jit/abi.h). Whole address space, so that the inline test needs no range check and a
// host pointer is simply unaddressable (C1). 16 TiB of address space, none of it memory until touched.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace cudasim::memory {

enum class Access { none, read_only, read_write };

class Shadow {
  public:
    /// The process's one shadow. Its base is nullptr when the reservation failed (see reservation_error()).
    static Shadow& instance();

    [[nodiscard]] const std::int8_t* base() const { return base_; }
    /// Why there is no shadow, for a message; empty when there is one.
    [[nodiscard]] const char* reservation_error() const;

    /// Marks [address, address + bytes); address is 8-byte aligned. The rest of the last granule becomes
    /// inaccessible.
    void set(std::uint64_t address, std::uint64_t bytes, Access access);

    /// What is marked for [address, address + 8 * marks.size()), to be put back later. Address is 8-byte
    /// aligned.
    void save(std::uint64_t address, std::span<std::int8_t> marks) const;
    void restore(std::uint64_t address, std::span<const std::int8_t> marks);

    /// The exact rule behind the inline test.
    [[nodiscard]] bool allows(std::uint64_t address, std::uint64_t bytes, bool write) const;

  private:
    Shadow();
    std::int8_t* base_ = nullptr;
};

}  // namespace cudasim::memory
