// Stacks for simulated threads, by the hundred thousand: reservations that grow, pages committed on first
// touch.
//
//   reservation:  | stack 0            | stack 1            | ...
//                 low              top^                 tops are staggered by 192 bytes, because tops at
//                                                       power-of-two strides fight for the same cache sets
//                                                       (3x slower switches at 1,024 fibers)
//
// Each reservation is as large as all before it together, so few are needed, and not much more address space
// is taken than there are stacks: it may be limited (ulimit -v), and others need some too.
//
// No guard pages: a page each would stop at the kernel's limit of 65,530 mappings, and an H100 holds 270,336
// resident threads. Instead a kernel's frames are measured when it is compiled and the stack class is chosen
// to hold them; recursive functions compare the stack pointer with a limit. Code that nobody can measure gets
// a guarded slab, of which there can be fewer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace cudasim::fiber {

/// Size of the guard area at the low end of each guarded stack. It is larger than a page so that large frames
/// cannot skip it.
inline constexpr std::size_t guard_bytes = 64 * 1024;
/// Two mappings each, a quarter of the kernel's limit of 65,530 mappings.
inline constexpr std::size_t most_guarded_stacks = 16'384;

struct Stack {
    std::byte* low = nullptr;  ///< first byte
    std::byte* top = nullptr;  ///< one past the last usable byte, 64-byte aligned
};

class StackSlab {
  public:
    /// @param stack_bytes of each stack, a multiple of the page size
    /// @param capacity as many stacks as there can be
    /// @param guarded the lowest guard_bytes of each stack cannot be accessed
    StackSlab(std::size_t stack_bytes, std::size_t capacity, bool guarded = false);
    ~StackSlab();
    StackSlab(const StackSlab&) = delete;
    StackSlab& operator=(const StackSlab&) = delete;

    /// Whether take() needs no grow() before it.
    [[nodiscard]] bool has_stacks() const { return left_ != 0; }
    /// Reserves address space for more stacks, `most_bytes` of it at most. False when there is none, or
    /// `capacity` is reached.
    [[nodiscard]] bool grow(std::size_t most_bytes);
    /// The next stack never handed out before. top == nullptr when there is none, or it cannot be guarded.
    [[nodiscard]] Stack take();
    /// How many were handed out.
    [[nodiscard]] std::size_t taken() const { return taken_; }
    /// Whether the address is in one of its stacks, handed out or not.
    [[nodiscard]] bool contains(std::uint64_t address) const;

    /// The pages of [low, top) lose their contents and their memory; they may be used again.
    static void give_pages_back(std::byte* low, const std::byte* top);

  private:
    struct Reservation {
        std::byte* base = nullptr;
        std::size_t stacks = 0;
    };

    std::size_t stack_bytes_;
    std::size_t capacity_;
    bool guarded_;
    std::size_t taken_ = 0, reserved_ = 0;  ///< stacks
    std::size_t left_ = 0;                  ///< stacks of the last reservation that were not taken
    std::vector<Reservation> reservations_;
};

}  // namespace cudasim::fiber
