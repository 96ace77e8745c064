// The table of simulated devices.
#include "simulator/execution/device_profile.h"

namespace cudasim::execution {

const DeviceProfile& h100() {
    // NVIDIA H100 SXM5: data sheet (80 GB, 132 multiprocessors) and compute capability 9.0 in the guide's table.
    static const DeviceProfile profile = [] {
        DeviceProfile p;
        p.name = "NVIDIA H100 80GB HBM3 (simulated)";
        p.compute_capability_major = 9;
        p.compute_capability_minor = 0;
        p.total_memory = std::uint64_t{80} << 30;
        p.multiprocessors = 132;
        p.max_threads_per_multiprocessor = 2048;
        p.max_blocks_per_multiprocessor = 32;
        p.shared_per_block_optin = 227 * 1024;
        p.shared_per_multiprocessor = 228 * 1024;
        p.clock_khz = 1'980'000;
        return p;
    }();
    return profile;
}

}  // namespace cudasim::execution
