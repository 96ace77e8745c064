// See init_shadow.h.
#include "simulator/checks/init_shadow.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace cudasim::checks {

namespace {

constexpr std::uint64_t page = 4096;
/// From here on whole pages are given back instead of being cleared.
constexpr std::uint64_t large_range = 64 * page;
constexpr std::byte written{0xFF};

}  // namespace

InitShadow::InitShadow(std::uint64_t low, std::uint64_t bytes) {
    const auto reserve = [&bytes] {
        return mmap(nullptr, bytes + 2 * tail_bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    };
    void* base = reserve();
    if (base == MAP_FAILED) {
        bytes = 0;  // compiled code finds every address outside, and the tail behind the window
        base = reserve();
    }
    if (base == MAP_FAILED) throw std::bad_alloc();
    madvise(base, bytes + 2 * tail_bytes, MADV_DONTDUMP);
    window_ = {low, bytes, static_cast<std::byte*>(base)};
    std::fill_n(window_.shadow + bytes, tail_bytes, written);
}

InitShadow::~InitShadow() {
    if (window_.shadow != nullptr) munmap(window_.shadow, window_.bytes + 2 * tail_bytes);
}

InitShadow::Range InitShadow::inside(std::uint64_t address, std::uint64_t bytes) const {
    const std::uint64_t first = std::max(address, window_.low);
    const std::uint64_t end = std::min(address + bytes, window_.low + window_.bytes);
    return {first, first < end ? end - first : 0};
}

void InitShadow::set_written(std::uint64_t address, std::uint64_t bytes) {
    const Range range = inside(address, bytes);
    if (range.bytes != 0) std::fill_n(states(range.address), range.bytes, written);
}

void InitShadow::set_unwritten(std::uint64_t address, std::uint64_t bytes) {
    const Range range = inside(address, bytes);
    if (range.bytes == 0) return;
    std::byte* first = states(range.address);
    std::byte* const end = first + range.bytes;
    if (range.bytes >= large_range) {
        const auto at = [](std::uintptr_t place) { return reinterpret_cast<std::byte*>(place); };
        std::byte* pages = at((reinterpret_cast<std::uintptr_t>(first) + page - 1) & ~(page - 1));
        std::byte* pages_end = at(reinterpret_cast<std::uintptr_t>(end) & ~(page - 1));
        if (madvise(pages, static_cast<std::size_t>(pages_end - pages), MADV_DONTNEED) == 0) {
            std::fill(first, pages, std::byte{0});
            first = pages_end;
        }
    }
    std::fill(first, end, std::byte{0});
}

void InitShadow::copy(std::uint64_t target, std::uint64_t source, std::uint64_t bytes) {
    const Range range = inside(target, bytes);
    if (range.bytes == 0) return;
    source += range.address - target;
    const Range from = inside(source, range.bytes);
    if (from.bytes == range.bytes) {
        std::memmove(states(range.address), states(source), range.bytes);
        return;
    }
    set_written(range.address, range.bytes);
    if (from.bytes != 0)
        std::memmove(states(range.address + (from.address - source)), states(from.address), from.bytes);
}

std::optional<std::uint64_t> InitShadow::first_unwritten(std::uint64_t address, std::uint64_t bytes) const {
    const Range range = inside(address, bytes);
    const std::byte* first = range.bytes == 0 ? nullptr : states(range.address);
    std::uint64_t at = 0;
    // Most memory is written: eight bytes at a time.
    for (std::uint64_t word = 0; at + sizeof word <= range.bytes; at += sizeof word) {
        std::memcpy(&word, first + at, sizeof word);
        if (word != ~std::uint64_t{0}) break;
    }
    for (; at < range.bytes; ++at)
        if (first[at] != written) return range.address + at;
    return std::nullopt;
}

bool InitShadow::any_written(std::uint64_t address, std::uint64_t bytes) const {
    const Range range = inside(address, bytes);
    if (range.bytes == 0) return true;
    return std::any_of(states(range.address), states(range.address) + range.bytes,
                       [](std::byte each) { return each != std::byte{0}; });
}

}  // namespace cudasim::checks
