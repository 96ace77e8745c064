// Slots and their shadow.
#include "simulator/execution/shared_memory.h"

#include <sys/mman.h>

#include <atomic>
#include <new>

#include "simulator/memory/shadow.h"

namespace cudasim::execution {

using memory::Access;
using memory::Shadow;

std::byte* SharedMemory::map() {
    static std::atomic<std::uint64_t> next{0};
    const std::uint64_t wish = region_low + next.fetch_add(1) % (region_bytes / slot_bytes) * slot_bytes;
    void* base = mmap(reinterpret_cast<void*>(wish), slot_bytes, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    return static_cast<std::byte*>(base) + redzone;
}

void SharedMemory::unmap(std::byte* shared_base) {
    std::byte* base = shared_base - redzone;
    Shadow::instance().set(reinterpret_cast<std::uint64_t>(base), slot_bytes, Access::none);
    munmap(base, slot_bytes);
}

std::int32_t SharedMemory::rank_of(const jit::BlockContext& block, std::uint64_t address) {
    const auto is_in = [&](std::uint32_t rank) {
        const auto base = reinterpret_cast<std::uint64_t>(block.cluster_shared_base[rank]);
        return base != 0 && address - (base - redzone) < slot_bytes;
    };
    if (is_in(block.cluster_rank)) return static_cast<std::int32_t>(block.cluster_rank);
    for (std::uint32_t rank = 0; rank < block.cluster_blocks; ++rank)
        if (is_in(rank)) return static_cast<std::int32_t>(rank);
    return -1;
}

void SharedMemory::close(std::byte* shared_base, const Launch& launch) {
    Shadow::instance().set(reinterpret_cast<std::uint64_t>(shared_base), launch.shared_bytes, Access::none);
}

void SharedMemory::mark(std::byte* shared_base, const Launch& launch) {
    const auto base = reinterpret_cast<std::uint64_t>(shared_base);
    Shadow& shadow = Shadow::instance();
    shadow.set(base - redzone, slot_bytes, Access::none);
    if (!launch.kernel) {
        shadow.set(base, launch.configuration.dynamic_shared_bytes, Access::read_write);
        return;
    }
    for (const auto& variable : launch.kernel->shared_variables)
        shadow.set(base + variable.offset, variable.bytes, Access::read_write);
    shadow.set(base + launch.kernel->dynamic_shared_offset, launch.configuration.dynamic_shared_bytes,
               Access::read_write);
}

}  // namespace cudasim::execution
