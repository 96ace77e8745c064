// What a simulated device is and forbids (E8).
#pragma once

#include <cstdint>
#include <string>

#include "simulator/findings/finding.h"

namespace cudasim::execution {

using findings::Dim3;

/// Limits are those of the CUDA C++ Programming Guide, section "Compute Capabilities", table
/// "Technical Specifications per Compute Capability", and of the device's data sheet.
struct DeviceProfile {
    std::string name;
    int compute_capability_major = 0, compute_capability_minor = 0;
    std::uint64_t total_memory = 0;  ///< bytes
    unsigned multiprocessors = 0;
    unsigned warp_size = 32;
    unsigned max_threads_per_block = 1024;
    unsigned max_threads_per_multiprocessor = 0;
    unsigned max_blocks_per_multiprocessor = 0;
    Dim3 max_block{1024, 1024, 64};
    Dim3 max_grid{2147483647, 65535, 65535};
    std::uint64_t shared_per_block = 48 * 1024;     ///< static + dynamic, without opting in
    std::uint64_t shared_per_block_optin = 0;       ///< dynamic, after cudaFuncSetAttribute (numba opts in by itself)
    std::uint64_t shared_per_multiprocessor = 0;
    std::uint64_t constant_memory = 64 * 1024;
    unsigned registers_per_block = 65536;
    unsigned clock_khz = 0;
};

[[nodiscard]] const DeviceProfile& h100();

}  // namespace cudasim::execution
