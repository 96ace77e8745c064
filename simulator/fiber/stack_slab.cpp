// The stack reservation: see stack_slab.h for the layout.
#include "simulator/fiber/stack_slab.h"

#include <sys/mman.h>

#include <new>

namespace cudasim::fiber {

namespace {
constexpr std::size_t stagger_bytes = 192;
constexpr std::size_t page_bytes = 4096;
}  // namespace

StackSlab::StackSlab(std::size_t stack_bytes, std::size_t capacity, bool guarded)
    : stack_bytes_(stack_bytes), capacity_(capacity), guarded_(guarded) {
    for (; capacity_ > 0; capacity_ /= 2) {
        void* base = mmap(nullptr, stack_bytes_ * capacity_, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base != MAP_FAILED) {
            base_ = static_cast<std::byte*>(base);
            // Huge pages would make every fiber cost 2 MiB of memory.
            madvise(base, stack_bytes_ * capacity_, MADV_NOHUGEPAGE);
            return;
        }
    }
    throw std::bad_alloc();
}

StackSlab::~StackSlab() { munmap(base_, stack_bytes_ * capacity_); }

Stack StackSlab::take() {
    if (taken_ == capacity_) return {};
    const std::size_t index = taken_++;
    std::byte* low = base_ + index * stack_bytes_;
    if (guarded_ && mprotect(low, guard_bytes, PROT_NONE) != 0) return {};
    return {low, low + stack_bytes_ - (index * stagger_bytes) % page_bytes};
}

}  // namespace cudasim::fiber
