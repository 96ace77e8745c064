// Occupancy from the engine's own limits (execution/launch_limits.h).
#include "simulator/driver/occupancy.h"

#include <algorithm>

namespace cudasim::driver {

unsigned best_block_size(const execution::DeviceProfile& profile, unsigned limit,
                         const std::function<std::uint64_t(unsigned)>& shared_bytes) {
    const unsigned warp = profile.warp_size;
    unsigned best = 1;
    std::uint64_t best_threads = 0;
    for (unsigned threads = limit >= warp ? limit / warp * warp : limit; threads > 0;
         threads -= std::min(threads, warp)) {
        const std::uint64_t resident =
            std::uint64_t{threads} * blocks_per_multiprocessor(profile, threads, shared_bytes(threads));
        if (resident > best_threads) best = threads, best_threads = resident;
    }
    return best;
}

bool fits(const execution::DeviceProfile& profile, const execution::LaunchConfiguration& configuration) {
    try {
        execution::check_configuration(profile, configuration);
        execution::check_shared_memory(profile, 0, configuration.dynamic_shared_bytes);
        return true;
    } catch (const execution::CudaError&) {
        return false;
    }
}

}  // namespace cudasim::driver
