// The table of simulated devices. Sources: limits per compute capability from the CUDA C++ Programming Guide
// (tables "Technical Specifications per Compute Capability" and "Throughput of Native Arithmetic Instructions");
// memory, clocks and caches from NVIDIA's "H100 Tensor Core GPU Architecture" (SXM5), "A10 Tensor Core GPU" data
// sheet with "NVIDIA Ampere GA102 GPU Architecture", and "NVIDIA Turing GPU Architecture" (RTX 2080 Ti reference).
#include "simulator/execution/device_profile.h"

#include <algorithm>
#include <array>

namespace cudasim::execution {

namespace {

constexpr std::uint64_t KiB = 1024, MiB = KiB << 10, GiB = MiB << 10;

DeviceProfile h100_profile() {
    DeviceProfile p;
    p.key = "h100";
    p.name = "NVIDIA H100 80GB HBM3 (simulated)";
    p.compute_capability_major = 9, p.compute_capability_minor = 0;
    p.total_memory = 80 * GiB;
    p.multiprocessors = 132;
    p.max_threads_per_multiprocessor = 2048;
    p.max_blocks_per_multiprocessor = 32;
    p.shared_per_block_optin = 227 * KiB;
    p.shared_per_multiprocessor = 228 * KiB;
    p.shared_reserved_per_block = 1 * KiB;
    p.l2_cache = 50 * MiB;
    p.clock_khz = 1'980'000;
    p.memory_clock_khz = 2'619'000;
    p.memory_bus_bits = 5120;
    p.single_to_double_ratio = 2;
    return p;
}

DeviceProfile a10_profile() {
    DeviceProfile p;
    p.key = "a10";
    p.name = "NVIDIA A10 (simulated)";
    p.compute_capability_major = 8, p.compute_capability_minor = 6;
    p.total_memory = 24 * GiB;
    p.multiprocessors = 72;
    p.max_threads_per_multiprocessor = 1536;
    p.max_blocks_per_multiprocessor = 16;
    p.shared_per_block_optin = 99 * KiB;
    p.shared_per_multiprocessor = 100 * KiB;
    p.shared_reserved_per_block = 1 * KiB;
    p.l2_cache = 6 * MiB;
    p.clock_khz = 1'695'000;
    p.memory_clock_khz = 6'251'000;
    p.memory_bus_bits = 384;
    p.single_to_double_ratio = 64;
    return p;
}

DeviceProfile rtx2080ti_profile() {
    DeviceProfile p;
    p.key = "rtx2080ti";
    p.name = "NVIDIA GeForce RTX 2080 Ti (simulated)";
    p.compute_capability_major = 7, p.compute_capability_minor = 5;
    p.total_memory = 11 * GiB;
    p.multiprocessors = 68;
    p.max_threads_per_multiprocessor = 1024;
    p.max_blocks_per_multiprocessor = 16;
    p.shared_per_block_optin = 64 * KiB;
    p.shared_per_multiprocessor = 64 * KiB;
    p.l2_cache = 5632 * KiB;
    p.clock_khz = 1'545'000;
    p.memory_clock_khz = 7'000'000;
    p.memory_bus_bits = 352;
    p.single_to_double_ratio = 32;
    return p;
}

}  // namespace

std::span<const DeviceProfile> profiles() {
    static const std::array<DeviceProfile, 3> all{h100_profile(), a10_profile(), rtx2080ti_profile()};
    return all;
}

const DeviceProfile* find_profile(std::string_view key) {
    const auto all = profiles();
    const auto found = std::ranges::find(all, key, &DeviceProfile::key);
    return found == all.end() ? nullptr : &*found;
}

const DeviceProfile& h100() { return profiles().front(); }

}  // namespace cudasim::execution
