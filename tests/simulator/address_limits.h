// Whether tests of limited address space can run here.
#pragma once

#include <sys/mman.h>
#include <sys/resource.h>

#include <cstdint>

namespace cudasim {

/// False under sanitizers, which need the address space themselves, and under qemu-user, which keeps no
/// limit.
inline bool address_limits_are_kept() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    return false;
#else
    rlimit before{};
    getrlimit(RLIMIT_AS, &before);
    const rlimit tight{1 << 20, before.rlim_max};
    if (setrlimit(RLIMIT_AS, &tight) != 0) return false;
    constexpr std::size_t bytes = std::size_t{1} << 30;
    void* beyond = mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    setrlimit(RLIMIT_AS, &before);
    if (beyond == MAP_FAILED) return true;
    munmap(beyond, bytes);
    return false;
#endif
}

}  // namespace cudasim
