// Reservation of the shadow and the exact access rule.
#include "simulator/memory/shadow.h"

#include <sys/mman.h>

#include <cstdlib>
#include <cstring>

namespace cudasim::memory {

namespace {
#if defined(__aarch64__)
constexpr unsigned address_bits = 48;
#else
constexpr unsigned address_bits = 47;
#endif
constexpr std::size_t shadow_bytes = std::size_t{1} << (address_bits - 3);
/// Clearing more than this is done by giving the pages back: they read as zero. Faults for new pages cost
/// more than the clearing, which matters to ufuncs: each call frees the shadow of its arguments or of its
/// result.
constexpr std::uint64_t release_threshold = 16 << 20;
constexpr std::uint64_t page_bytes = 4096;
}  // namespace

Shadow& Shadow::instance() {
    static Shadow* shadow = new Shadow;  // never destroyed: device memory may outlive static destruction
    return *shadow;
}

Shadow::Shadow() {
    void* base = mmap(nullptr, shadow_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) return;
    madvise(base, shadow_bytes, MADV_DONTDUMP);
    base_ = static_cast<std::int8_t*>(base);
}

const char* Shadow::reservation_error() const {
    return base_ ? ""
                 : "16 TiB of address space for shadow memory could not be reserved (is `ulimit -v` set?)";
}

void Shadow::set(std::uint64_t address, std::uint64_t bytes, Access access) {
    if (!base_ || bytes == 0) return;
    std::int8_t* first = base_ + (address >> 3);
    const std::uint64_t whole = bytes / 8;
    const auto sign = static_cast<std::int8_t>(access == Access::read_only ? -1
                                               : access == Access::none    ? 0
                                                                           : 1);
    if (access == Access::none && whole > release_threshold) {
        auto begin = (reinterpret_cast<std::uint64_t>(first) + page_bytes - 1) & ~(page_bytes - 1);
        auto end = reinterpret_cast<std::uint64_t>(first + whole) & ~(page_bytes - 1);
        std::memset(first, 0, begin - reinterpret_cast<std::uint64_t>(first));
        madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
        std::memset(reinterpret_cast<void*>(end), 0, reinterpret_cast<std::uint64_t>(first + whole) - end);
    } else {
        std::memset(first, 8 * sign, whole);
    }
    if (bytes % 8 != 0) first[whole] = static_cast<std::int8_t>(static_cast<int>(bytes % 8) * sign);
}

void Shadow::save(std::uint64_t address, std::span<std::int8_t> marks) const {
    if (base_ != nullptr && !marks.empty()) std::memcpy(marks.data(), base_ + (address >> 3), marks.size());
}

void Shadow::restore(std::uint64_t address, std::span<const std::int8_t> marks) {
    if (base_ != nullptr && !marks.empty()) std::memcpy(base_ + (address >> 3), marks.data(), marks.size());
}

bool Shadow::allows(std::uint64_t address, std::uint64_t bytes, bool write) const {
    if (!base_) return true;
    if (bytes == 0) return true;
    const std::uint64_t last = address + bytes - 1;
    if (last < address || (last >> address_bits) != 0) return false;
    for (std::uint64_t granule = address >> 3; granule <= last >> 3; ++granule) {
        int value = base_[granule];
        if (value < 0) {
            if (write) return false;
            value = -value;
        }
        const std::uint64_t needed = granule == last >> 3 ? (last & 7) + 1 : 8;
        if (static_cast<std::uint64_t>(value) < needed) return false;
    }
    return true;
}

}  // namespace cudasim::memory
