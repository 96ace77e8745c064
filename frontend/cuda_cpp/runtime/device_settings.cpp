// See device_settings.h.
#include "frontend/cuda_cpp/runtime/device_settings.h"

#include <map>
#include <memory>
#include <mutex>

#include "frontend/cuda_cpp/runtime/calls.h"

namespace cudasim::cudart {

DeviceSettings& DeviceSettings::of(const driver::Context& context) {
    static std::mutex mutex;
    static auto& settings = *new std::map<std::uint64_t, std::unique_ptr<DeviceSettings>>;
    const std::lock_guard lock(mutex);
    auto& found = settings[context.id()];
    if (!found) found = std::make_unique<DeviceSettings>();
    return *found;
}

void DeviceSettings::reset() {
    flags = cudaDeviceScheduleAuto;
    cache = cudaFuncCachePreferNone;
    limits_[cudaLimitStackSize] = 1024;
    limits_[cudaLimitPrintfFifoSize] = 8650752;  // of an H200 (docs/gpu_results.md)
    limits_[cudaLimitMallocHeapSize] = std::size_t{8} << 20;
    limits_[cudaLimitDevRuntimeSyncDepth] = 0;
    limits_[cudaLimitDevRuntimePendingLaunchCount] = 2048;
    limits_[cudaLimitMaxL2FetchGranularity] = 64;
    limits_[cudaLimitPersistingL2CacheSize] = 0;
}

std::atomic<std::size_t>& DeviceSettings::limit(cudaLimit which, const char* call) {
    const auto index = static_cast<std::size_t>(which);
    if (index >= limits_.size())
        fail(call, cudaErrorInvalidValue, "there is no limit " + std::to_string(which));
    if (which == cudaLimitDevRuntimeSyncDepth)
        fail(call, cudaErrorUnsupportedLimit, "kernels cannot wait for kernels that they launch");
    return limits_[index];
}

}  // namespace cudasim::cudart
