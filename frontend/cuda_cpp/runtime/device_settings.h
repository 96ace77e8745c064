// What a program has set for a device: cudaDeviceSetLimit() and its kin.
#pragma once

#include <driver_types.h>

#include <array>
#include <atomic>

#include "simulator/driver/context.h"

namespace cudasim::cudart {

/// As on all of today's devices.
inline constexpr int least_stream_priority = 0, greatest_stream_priority = -5;

struct DeviceSettings {
    /// Those of the device, for as long as the process lives.
    [[nodiscard]] static DeviceSettings& of(const driver::Context& context);

    /// @throws driver::Error 215 for a limit that the device does not have, 1 for one that does not exist
    [[nodiscard]] std::atomic<std::size_t>& limit(cudaLimit which, const char* call);
    /// What the device has before anything is set.
    void reset();

    std::atomic<unsigned> flags{cudaDeviceScheduleAuto};
    std::atomic<int> cache{cudaFuncCachePreferNone};

    DeviceSettings() { reset(); }

  private:
    std::array<std::atomic<std::size_t>, cudaLimitPersistingL2CacheSize + 1> limits_;
};

}  // namespace cudasim::cudart
