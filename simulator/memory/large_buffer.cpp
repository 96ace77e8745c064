// See large_buffer.h.
#include "simulator/memory/large_buffer.h"

#include <sys/mman.h>

#include <cstdlib>
#include <new>

namespace cudasim::memory {

std::shared_ptr<std::byte[]> large_buffer(std::uint64_t bytes) {
    constexpr std::uint64_t large = 4 << 20, huge_page = 2 << 20;
    if (bytes < large) return std::make_shared_for_overwrite<std::byte[]>(bytes);
    const std::uint64_t rounded = (bytes + huge_page - 1) / huge_page * huge_page;
    void* memory = rounded < bytes ? nullptr : std::aligned_alloc(huge_page, rounded);
    if (memory == nullptr) throw std::bad_alloc();
    (void)madvise(memory, rounded, MADV_HUGEPAGE);
    return {static_cast<std::byte*>(memory), [](std::byte* given) { std::free(given); }};
}

}  // namespace cudasim::memory
