// The stack reservation: see stack_slab.h for the layout.
#include "simulator/fiber/stack_slab.h"

#include <sys/mman.h>

#include <algorithm>

namespace cudasim::fiber {

namespace {
constexpr std::size_t stagger_bytes = 192;
constexpr std::size_t page_bytes = 4096;
/// Size of the first reservation. Each further one doubles the total.
constexpr std::size_t first_bytes = 16 << 20;
/// Far more reservations than doubling needs. Small ones are made only when the address space is nearly used
/// up.
constexpr std::size_t most_reservations = 64;
}  // namespace

StackSlab::StackSlab(std::size_t stack_bytes, std::size_t capacity, bool guarded)
    : stack_bytes_(stack_bytes), capacity_(capacity), guarded_(guarded) {
    reservations_.reserve(most_reservations);
}

StackSlab::~StackSlab() {
    for (const Reservation& each : reservations_) munmap(each.base, stack_bytes_ * each.stacks);
}

bool StackSlab::grow(std::size_t most_bytes) {
    if (reservations_.size() == most_reservations) return false;
    const std::size_t wanted = std::max({reserved_, first_bytes / stack_bytes_, std::size_t{1}});
    for (std::size_t stacks = std::min({wanted, capacity_ - reserved_, most_bytes / stack_bytes_});
         stacks > 0; stacks /= 2) {
        void* base = mmap(nullptr, stack_bytes_ * stacks, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) continue;
        // Huge pages would make every fiber cost 2 MiB of memory.
        madvise(base, stack_bytes_ * stacks, MADV_NOHUGEPAGE);
        reservations_.push_back({static_cast<std::byte*>(base), stacks});
        reserved_ += stacks;
        left_ = stacks;
        return true;
    }
    return false;
}

Stack StackSlab::take() {
    if (left_ == 0) return {};
    const Reservation& current = reservations_.back();
    const std::size_t index = current.stacks - left_;
    std::byte* low = current.base + index * stack_bytes_;
    if (guarded_ && mprotect(low, guard_bytes, PROT_NONE) != 0) return {};
    --left_;
    ++taken_;
    return {low, low + stack_bytes_ - (index * stagger_bytes) % page_bytes};
}

bool StackSlab::contains(std::uint64_t address) const {
    return std::ranges::any_of(reservations_, [&](const Reservation& each) {
        return address - reinterpret_cast<std::uint64_t>(each.base) < each.stacks * stack_bytes_;
    });
}

void StackSlab::give_pages_back(std::byte* low, const std::byte* top) {
    const auto first = (reinterpret_cast<std::uintptr_t>(low) + page_bytes - 1) & ~(page_bytes - 1);
    const auto end = reinterpret_cast<std::uintptr_t>(top) & ~(page_bytes - 1);
    if (first < end) madvise(reinterpret_cast<void*>(first), end - first, MADV_DONTNEED);
}

}  // namespace cudasim::fiber
