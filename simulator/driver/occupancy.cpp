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

std::uint64_t active_blocks(const execution::DeviceProfile& profile, std::uint64_t most_threads,
                            std::uint64_t threads, std::uint64_t shared_bytes) {
    if (threads == 0 || threads > most_threads) return 0;
    return blocks_per_multiprocessor(profile, threads, shared_bytes);
}

GridAndBlock max_potential_block_size(const execution::DeviceProfile& profile, unsigned most_threads,
                                      unsigned limit,
                                      const std::function<std::uint64_t(unsigned)>& shared_bytes) {
    const unsigned most = limit == 0 ? most_threads : std::min(limit, most_threads);
    const unsigned threads = best_block_size(profile, most, shared_bytes);
    const std::uint64_t resident = blocks_per_multiprocessor(profile, threads, shared_bytes(threads));
    return {.blocks = resident * profile.multiprocessors, .threads = threads};
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
