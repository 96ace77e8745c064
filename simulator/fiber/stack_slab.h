// Stacks for simulated threads, by the hundred thousand: one reservation, pages committed on first touch.
//
//   slab:  | stack 0            | stack 1            | ...
//          low              top^                        tops are staggered by 192 bytes, because tops at
//                                                       power-of-two strides fight for the same cache sets
//                                                       (3x slower switches at 1,024 fibers)
//
// No guard pages: a page each would stop at the kernel's limit of 65,530 mappings, and an H100 holds 270,336
// resident threads. Instead a kernel's frames are measured when it is compiled and the stack class is chosen
// to hold them; recursive functions compare the stack pointer with a limit. Code that nobody can measure gets a
// guarded slab, of which there can be fewer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cudasim::fiber {

/// At the low end of each guarded stack; larger than the frames that skip a page.
inline constexpr std::size_t guard_bytes = 64 * 1024;
/// Two mappings each, a quarter of the kernel's limit of 65,530 mappings.
inline constexpr std::size_t most_guarded_stacks = 16'384;

struct Stack {
    std::byte* low = nullptr;  ///< first byte
    std::byte* top = nullptr;  ///< one past the last usable byte, 64-byte aligned
};

class StackSlab {
  public:
    /// Reserves address space for `capacity` stacks of `stack_bytes` (a multiple of the page size).
    /// @param guarded the lowest guard_bytes of each stack cannot be accessed
    /// @throws std::bad_alloc when the address space is limited (ulimit -v) below even one stack
    StackSlab(std::size_t stack_bytes, std::size_t capacity, bool guarded = false);
    ~StackSlab();
    StackSlab(const StackSlab&) = delete;
    StackSlab& operator=(const StackSlab&) = delete;

    /// The next stack never handed out before; top == nullptr when all are.
    [[nodiscard]] Stack take();

  private:
    std::size_t stack_bytes_;
    std::size_t capacity_;
    bool guarded_;
    std::size_t taken_ = 0;
    std::byte* base_ = nullptr;
};

}  // namespace cudasim::fiber
