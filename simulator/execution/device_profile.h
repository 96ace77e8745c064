// What a simulated device is and forbids (E8).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "simulator/findings/finding.h"

namespace cudasim::execution {

using findings::Dim3;

/// Limits are those of the CUDA C++ Programming Guide, section "Compute Capabilities", table
/// "Technical Specifications per Compute Capability"; sizes and clocks those of the device's data sheet.
struct DeviceProfile {
    std::string key;   ///< what the option `device` calls it
    std::string name;  ///< what the driver calls it, with " (simulated)" behind
    int compute_capability_major = 0, compute_capability_minor = 0;
    std::uint64_t total_memory = 0;  ///< bytes
    unsigned multiprocessors = 0;
    unsigned warp_size = 32;
    unsigned max_threads_per_block = 1024;
    unsigned max_threads_per_multiprocessor = 0;
    unsigned max_blocks_per_multiprocessor = 0;
    Dim3 max_block{1024, 1024, 64};
    Dim3 max_grid{2147483647, 65535, 65535};
    std::uint64_t shared_per_block = 48 * 1024;  ///< static + dynamic, without opting in
    std::uint64_t shared_per_block_optin =
        0;  ///< dynamic, after cudaFuncSetAttribute (numba opts in by itself)
    std::uint64_t shared_per_multiprocessor = 0;
    std::uint64_t shared_reserved_per_block = 0;  ///< what the system keeps of it for each resident block
    std::uint64_t constant_memory = 64 * 1024;
    std::uint64_t l2_cache = 0;  ///< bytes
    unsigned registers_per_block = 65536;
    unsigned registers_per_multiprocessor = 65536;
    unsigned clock_khz = 0;
    unsigned memory_clock_khz = 0;
    unsigned memory_bus_bits = 0;
    unsigned single_to_double_ratio = 0;  ///< float32 operations in the time of one float64 operation
    bool integrated = false;              ///< it shares the host's memory
};

/// Calls visit(name, member) for every member of a profile but the compute capability.
template <typename Profile, typename Visit>
void for_each_field(Profile& profile, Visit&& visit) {
    visit("key", profile.key);
    visit("name", profile.name);
    visit("total_memory", profile.total_memory);
    visit("multiprocessors", profile.multiprocessors);
    visit("warp_size", profile.warp_size);
    visit("max_threads_per_block", profile.max_threads_per_block);
    visit("max_threads_per_multiprocessor", profile.max_threads_per_multiprocessor);
    visit("max_blocks_per_multiprocessor", profile.max_blocks_per_multiprocessor);
    visit("max_block", profile.max_block);
    visit("max_grid", profile.max_grid);
    visit("shared_per_block", profile.shared_per_block);
    visit("shared_per_block_optin", profile.shared_per_block_optin);
    visit("shared_per_multiprocessor", profile.shared_per_multiprocessor);
    visit("shared_reserved_per_block", profile.shared_reserved_per_block);
    visit("constant_memory", profile.constant_memory);
    visit("l2_cache", profile.l2_cache);
    visit("registers_per_block", profile.registers_per_block);
    visit("registers_per_multiprocessor", profile.registers_per_multiprocessor);
    visit("clock_khz", profile.clock_khz);
    visit("memory_clock_khz", profile.memory_clock_khz);
    visit("memory_bus_bits", profile.memory_bus_bits);
    visit("single_to_double_ratio", profile.single_to_double_ratio);
    visit("integrated", profile.integrated);
}

/// The limits of a compute capability, without what depends on the board; nothing where it is not known.
[[nodiscard]] std::optional<DeviceProfile> profile_of_architecture(int major, int minor);

/// Every device that can be simulated; the first is the default.
[[nodiscard]] std::span<const DeviceProfile> profiles();
/// nullptr when there is none of that key
[[nodiscard]] const DeviceProfile* find_profile(std::string_view key);

[[nodiscard]] const DeviceProfile& h100();

}  // namespace cudasim::execution
