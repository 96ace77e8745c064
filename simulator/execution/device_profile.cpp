// The table of simulated devices: boards, and the limits of their compute capabilities.
//
// Limits: CUDA C++ Programming Guide, section "Compute Capabilities", table "Technical Specifications per
// Compute Capability"; the same numbers are in CCCL's cuda/__device/arch_traits.h. single_to_double: the same
// section, table "Throughput of Native Arithmetic Instructions", 32-bit by 64-bit floating-point additions.
//
// Boards: the number of multiprocessors, memory, caches and clocks (boost) are those of NVIDIA's
// data sheets and white papers:
//   V100              "NVIDIA Tesla V100 GPU Architecture", SXM2 with 32 GB
//   T4, RTX 2080 Ti   "NVIDIA Turing GPU Architecture"; "NVIDIA T4 Tensor Core GPU" data sheet
//   A100              "NVIDIA A100 Tensor Core GPU Architecture", data sheet of the SXM4 with 80 GB
//   A10, RTX 30xx     "NVIDIA Ampere GA102 GPU Architecture", data sheets of the A10 and of the
//                     RTX 3060 with 12 GB
//   L4, L40S, RTX 40xx "NVIDIA Ada GPU Architecture", data sheets
//   H100, H200        "NVIDIA H100 Tensor Core GPU Architecture" (SXM5); "NVIDIA H200 Tensor Core GPU"
//                     data sheet
//   B200, RTX 5090    "NVIDIA Blackwell Architecture Technical Brief",
//                     "NVIDIA RTX Blackwell GPU Architecture"
//   Jetson Orin       "NVIDIA Jetson AGX Orin Series Technical Brief", AGX Orin with 64 GB, which the GPU
//                     shares with the host
// Memory clocks are those that the driver reports: half the data rate.
#include "simulator/execution/device_profile.h"

#include <algorithm>
#include <array>
#include <vector>

namespace cudasim::execution {

namespace {

constexpr std::uint64_t KiB = 1024, MiB = KiB << 10, GiB = MiB << 10;

/// What all boards of a compute capability have in common. Shared memory in KiB, of a multiprocessor; a block
/// may opt in to all of it but what is reserved.
struct Architecture {
    int major, minor;
    unsigned threads, blocks, shared, reserved, single_to_double;
};

constexpr std::array architectures{
    Architecture{7, 0, 2048, 32, 96, 0, 2},    //
    Architecture{7, 2, 2048, 32, 96, 0, 2},    //
    Architecture{7, 5, 1024, 16, 64, 0, 32},   //
    Architecture{8, 0, 2048, 32, 164, 1, 2},   //
    Architecture{8, 6, 1536, 16, 100, 1, 64},  //
    Architecture{8, 7, 1536, 16, 164, 1, 64},  //
    Architecture{8, 9, 1536, 24, 100, 1, 64},  //
    Architecture{9, 0, 2048, 32, 228, 1, 2},   //
    Architecture{10, 0, 2048, 32, 228, 1, 2},  //
    Architecture{12, 0, 1536, 24, 100, 1, 64},
};

struct Board {
    const char* key;
    const char* name;
    int major, minor;
    unsigned multiprocessors;
    std::uint64_t memory, l2_cache;
    unsigned clock_mhz, memory_clock_mhz, memory_bus_bits;
    bool integrated = false;
};

constexpr std::array boards{
    Board{"h100", "NVIDIA H100 80GB HBM3", 9, 0, 132, 80 * GiB, 50 * MiB, 1980, 2619, 5120},
    Board{"v100", "Tesla V100-SXM2-32GB", 7, 0, 80, 32 * GiB, 6 * MiB, 1530, 877, 4096},
    Board{"t4", "Tesla T4", 7, 5, 40, 16 * GiB, 4 * MiB, 1590, 5001, 256},
    Board{"a100", "NVIDIA A100-SXM4-80GB", 8, 0, 108, 80 * GiB, 40 * MiB, 1410, 1593, 5120},
    Board{"a10", "NVIDIA A10", 8, 6, 72, 24 * GiB, 6 * MiB, 1695, 6251, 384},
    Board{"l4", "NVIDIA L4", 8, 9, 58, 24 * GiB, 48 * MiB, 2040, 6251, 192},
    Board{"l40s", "NVIDIA L40S", 8, 9, 142, 48 * GiB, 96 * MiB, 2520, 9001, 384},
    Board{"h200", "NVIDIA H200", 9, 0, 132, 141 * GiB, 60 * MiB, 1980, 3201, 6016},
    Board{"b200", "NVIDIA B200", 10, 0, 148, 180 * GiB, 126 * MiB, 1965, 3996, 8192},
    Board{"rtx2080ti", "NVIDIA GeForce RTX 2080 Ti", 7, 5, 68, 11 * GiB, 5632 * KiB, 1545, 7000, 352},
    Board{"rtx3060", "NVIDIA GeForce RTX 3060", 8, 6, 28, 12 * GiB, 3 * MiB, 1777, 7501, 192},
    Board{"rtx3090", "NVIDIA GeForce RTX 3090", 8, 6, 82, 24 * GiB, 6 * MiB, 1695, 9751, 384},
    Board{"rtx4060", "NVIDIA GeForce RTX 4060", 8, 9, 24, 8 * GiB, 24 * MiB, 2460, 8501, 128},
    Board{"rtx4090", "NVIDIA GeForce RTX 4090", 8, 9, 128, 24 * GiB, 72 * MiB, 2520, 10501, 384},
    Board{"rtx5090", "NVIDIA GeForce RTX 5090", 12, 0, 170, 32 * GiB, 96 * MiB, 2407, 14001, 512},
    Board{"jetsonorin", "Orin", 8, 7, 16, 64 * GiB, 4 * MiB, 1300, 3200, 256, true},
};

DeviceProfile profile_of(const Board& board) {
    DeviceProfile p = *profile_of_architecture(board.major, board.minor);
    p.key = board.key;
    p.name = std::string(board.name) + " (simulated)";
    p.multiprocessors = board.multiprocessors;
    p.total_memory = board.memory;
    p.l2_cache = board.l2_cache;
    p.clock_khz = board.clock_mhz * 1000;
    p.memory_clock_khz = board.memory_clock_mhz * 1000;
    p.memory_bus_bits = board.memory_bus_bits;
    p.integrated = board.integrated;
    return p;
}

}  // namespace

std::optional<DeviceProfile> profile_of_architecture(int major, int minor) {
    const auto* const found = std::ranges::find_if(
        architectures, [&](const Architecture& each) { return each.major == major && each.minor == minor; });
    if (found == architectures.end()) return std::nullopt;
    DeviceProfile p;
    p.compute_capability_major = major;
    p.compute_capability_minor = minor;
    p.max_threads_per_multiprocessor = found->threads;
    p.max_blocks_per_multiprocessor = found->blocks;
    p.shared_per_multiprocessor = found->shared * KiB;
    p.shared_reserved_per_block = found->reserved * KiB;
    p.shared_per_block_optin = p.shared_per_multiprocessor - p.shared_reserved_per_block;
    p.single_to_double_ratio = found->single_to_double;
    return p;
}

std::span<const DeviceProfile> profiles() {
    static const std::vector<DeviceProfile> all = [] {
        std::vector<DeviceProfile> result;
        for (const Board& board : boards) result.push_back(profile_of(board));
        return result;
    }();
    return all;
}

const DeviceProfile* find_profile(std::string_view key) {
    const auto all = profiles();
    const auto found = std::ranges::find(all, key, &DeviceProfile::key);
    return found == all.end() ? nullptr : &*found;
}

const DeviceProfile& h100() {
    return profiles().front();
}

}  // namespace cudasim::execution
