// Pages "Device Management" and "Peer Device Memory Access" of the CUDA Runtime API.
#include "simulator/driver/devices.h"

#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>

#include "frontend/cuda_cpp/runtime/calls.h"
#include "frontend/cuda_cpp/runtime/device_settings.h"
#include "frontend/cuda_cpp/runtime/handles.h"
#include "frontend/cuda_cpp/runtime/memory_findings.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "frontend/cuda_cpp/runtime/programs.h"
#include "simulator/driver/background_launch.h"
#include "simulator/driver/simulated_device.h"
#include "simulator/driver/stream_work.h"
#include "simulator/memory/host_guard.h"

using namespace cudasim;
using namespace cudasim::cudart;

namespace {

constexpr unsigned schedule_flags = cudaDeviceScheduleMask;
constexpr unsigned known_flags =
    schedule_flags | cudaDeviceMapHost | cudaDeviceLmemResizeToMax | cudaDeviceSyncMemops;

void require_device_flags(const char* call, unsigned flags) {
    const unsigned schedule = flags & schedule_flags;
    if ((flags & ~known_flags) != 0 || (schedule & (schedule - 1)) != 0)
        fail(call, cudaErrorInvalidValue, "unknown or contradictory flags " + std::to_string(flags));
}

/// What a device sets when a limit is asked for, as an H200 does (docs/gpu_results.md).
std::size_t granted(cudaLimit limit, std::size_t wanted) {
    constexpr std::size_t KiB = 1024, MiB = 1024 * KiB;
    const auto rounded = [&](std::size_t unit, std::size_t least, std::size_t most) {
        return std::clamp((std::min(wanted, most) + unit - 1) / unit * unit, least, most);
    };
    constexpr std::size_t largest_stack = 512 * KiB - 16;
    const std::size_t most = limit == cudaLimitStackSize               ? largest_stack
                             : limit == cudaLimitMaxL2FetchGranularity ? 128
                                                                       : SIZE_MAX;
    if (wanted > most)
        fail("cudaDeviceSetLimit", cudaErrorInvalidValue,
             std::to_string(wanted) + " is too much: at most " + std::to_string(most));
    switch (limit) {
        case cudaLimitStackSize:
            return rounded(16, 0, largest_stack);
        case cudaLimitPrintfFifoSize:
            return rounded(256, 512 * KiB, 2048 * MiB);
        case cudaLimitMallocHeapSize:
            return rounded(64 * KiB, 4 * MiB, std::size_t{1} << 62);
        default:
            return wanted;
    }
}

/// Of PCI: domain, bus, device.
std::string bus_id(int ordinal) {
    char text[32];
    std::snprintf(text, sizeof text, "0000:%02zX:00.0", Process::get().position(ordinal) + 1);
    return text;
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
    constexpr auto name = "cudaGetDeviceCount";
    return call(name, [&] {
        require_argument(name, count, "what the number is written to");
        *count = 0;
        *count = Process::get().device_count();
    });
}

cudaError_t cudaGetDevice(int* device) {
    constexpr auto name = "cudaGetDevice";
    return call(name, [&] {
        require_argument(name, device, "what the number is written to");
        *device = Process::get().current()->device();
    });
}

cudaError_t cudaSetDevice(int device) {
    return call("cudaSetDevice", [&] { Process::get().set_device(device); });
}

cudaError_t cudaInitDevice(int device, unsigned device_flags, unsigned flags) {
    constexpr auto name = "cudaInitDevice";
    return call(name, [&] {
        if (flags > cudaInitDeviceFlagsAreValid) fail(name, cudaErrorInvalidValue, "unknown flags");
        const auto context = Process::get().device(device, name);
        if (flags == cudaInitDeviceFlagsAreValid) {
            require_device_flags(name, device_flags);
            DeviceSettings::of(*context).flags = device_flags;
        }
        context->activate();
    });
}

cudaError_t cudaSetValidDevices(int* devices, int count) {
    constexpr auto name = "cudaSetValidDevices";
    return call(name, [&] {
        if (count < 0 || count > Process::get().device_count())
            fail(name, cudaErrorInvalidValue, std::to_string(count) + " devices");
        if (count > 0) require_argument(name, devices, "the list of devices");
        for (int i = 0; i < count; ++i) (void)Process::get().device(devices[i], name);
    });
}

cudaError_t cudaSetDeviceFlags(unsigned flags) {
    constexpr auto name = "cudaSetDeviceFlags";
    return call(name, [&] {
        require_device_flags(name, flags);
        DeviceSettings::of(*Process::get().current()).flags = flags;
    });
}

/// Host memory can always be mapped.
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
    constexpr auto name = "cudaGetDeviceFlags";
    return call(name, [&] {
        require_argument(name, flags, "what the flags are written to");
        *flags = DeviceSettings::of(*Process::get().current()).flags | cudaDeviceMapHost;
    });
}

cudaError_t cudaDeviceSynchronize() {
    constexpr auto name = "cudaDeviceSynchronize";
    return call(name, [&] {
        const auto current = Process::get().current();
        auto& work = driver::StreamWork::of_this_process();
        work.synchronize(current->device());
        current->require_usable(name);
        memory::host_guard::host_goes_on();
        Process::get().raise_unnoticed(name);
    });
}

cudaError_t cudaDeviceReset() {
    return call("cudaDeviceReset", [&] {
        const auto current = Process::get().current();
        Handles::of_this_process().forget_device(current->device());
        driver::StreamWork::of_this_process().drop(current->device());
        (void)driver::BackgroundLaunch::end_all(current->device(), "its device was reset", {});
        if (Process::get().has_made_devices()) tell_memory_before_reset(*current);
        (void)current->reset();
        DeviceSettings::of(*current).reset();
        Programs::of_this_process().forget_device(*current);
    });
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int length, int device) {
    constexpr auto name = "cudaDeviceGetPCIBusId";
    return call(name, [&] {
        require_argument(name, text, "what the text is written to");
        (void)Process::get().device(device, name);
        const std::string identifier = bus_id(device);
        if (length <= static_cast<int>(identifier.size()))
            fail(name, cudaErrorInvalidValue, "no room for the text");
        std::snprintf(text, static_cast<std::size_t>(length), "%s", identifier.c_str());
    });
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
    constexpr auto name = "cudaDeviceGetByPCIBusId";
    return call(name, [&] {
        require_argument(name, device, "what the number is written to");
        require_argument(name, text, "the identifier");
        unsigned domain = 0, bus = 0, slot = 0, function = 0;
        const bool whole = std::sscanf(text, "%x:%x:%x.%x", &domain, &bus, &slot, &function) >= 3;
        if (!whole) domain = 0, function = 0;
        if (!whole && std::sscanf(text, "%x:%x.%x", &bus, &slot, &function) < 2)
            fail(name, cudaErrorInvalidValue, std::string("not the identifier of a PCI device: ") + text);
        const int count = Process::get().device_count();
        for (int i = 0; i < count; ++i) {
            if (domain != 0 || slot != 0 || function != 0 || bus != Process::get().position(i) + 1) continue;
            *device = i;
            return;
        }
        fail(name, cudaErrorInvalidDevice, std::string("no device has the identifier ") + text);
    });
}

cudaError_t cudaDeviceGetLimit(size_t* value, cudaLimit limit) {
    constexpr auto name = "cudaDeviceGetLimit";
    return call(name, [&] {
        require_argument(name, value, "what the limit is written to");
        *value = DeviceSettings::of(*Process::get().usable(name)).limit(limit, name);
    });
}

cudaError_t cudaDeviceSetLimit(cudaLimit limit, size_t value) {
    constexpr auto name = "cudaDeviceSetLimit";
    return call(name, [&] {
        const auto context = Process::get().usable(name);
        auto& current = DeviceSettings::of(*context).limit(limit, name);
        current = granted(limit, value);
        if (limit == cudaLimitMallocHeapSize) context->engine()->device.set_heap_limit(current);
    });
}

cudaError_t cudaDeviceGetCacheConfig(cudaFuncCache* config) {
    constexpr auto name = "cudaDeviceGetCacheConfig";
    return call(name, [&] {
        require_argument(name, config, "what the configuration is written to");
        *config = static_cast<cudaFuncCache>(DeviceSettings::of(*Process::get().usable(name)).cache.load());
    });
}

cudaError_t cudaDeviceSetCacheConfig(cudaFuncCache config) {
    constexpr auto name = "cudaDeviceSetCacheConfig";
    return call(name, [&] {
        if (static_cast<unsigned>(config) > cudaFuncCachePreferEqual)
            fail(name, cudaErrorInvalidValue, "no such configuration of the cache");
        DeviceSettings::of(*Process::get().usable(name)).cache = static_cast<int>(config);
    });
}

/// Today's devices have banks of four bytes, whatever is set.
cudaError_t cudaDeviceGetSharedMemConfig(cudaSharedMemConfig* config) {
    constexpr auto name = "cudaDeviceGetSharedMemConfig";
    return call(name, [&] {
        require_argument(name, config, "what the configuration is written to");
        (void)Process::get().usable(name);
        *config = cudaSharedMemBankSizeFourByte;
    });
}

cudaError_t cudaDeviceSetSharedMemConfig(cudaSharedMemConfig config) {
    constexpr auto name = "cudaDeviceSetSharedMemConfig";
    return call(name, [&] {
        if (static_cast<unsigned>(config) > cudaSharedMemBankSizeEightByte)
            fail(name, cudaErrorInvalidValue, "no such size of banks");
        (void)Process::get().usable(name);
    });
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    constexpr auto name = "cudaDeviceGetStreamPriorityRange";
    return call(name, [&] {
        (void)Process::get().usable(name);
        require_optional(name, least, "what the least priority is written to");
        require_optional(name, greatest, "what the greatest priority is written to");
        if (least != nullptr) *least = least_stream_priority;
        if (greatest != nullptr) *greatest = greatest_stream_priority;
    });
}

cudaError_t cudaDeviceGetTexture1DLinearMaxWidth(size_t* elements, const cudaChannelFormatDesc* format,
                                                 int device) {
    constexpr auto name = "cudaDeviceGetTexture1DLinearMaxWidth";
    return call(name, [&] {
        require_argument(name, elements, "what the width is written to");
        require_argument(name, format, "the format");
        const auto context = Process::get().device(device, name);
        *elements =
            static_cast<size_t>(driver::device_get_attribute(*context, cudaDevAttrMaxTexture1DLinearWidth));
    });
}

cudaError_t cudaDeviceFlushGPUDirectRDMAWrites(cudaFlushGPUDirectRDMAWritesTarget,
                                               cudaFlushGPUDirectRDMAWritesScope) {
    return noted(cudaErrorNotSupported);
}

cudaError_t cudaCtxResetPersistingL2Cache() {
    constexpr auto name = "cudaCtxResetPersistingL2Cache";
    return call(name, [&] { (void)Process::get().usable(name); });
}

cudaError_t cudaDeviceCanAccessPeer(int* can_access, int device, int peer) {
    constexpr auto name = "cudaDeviceCanAccessPeer";
    return call(name, [&] {
        require_argument(name, can_access, "what the answer is written to");
        const auto one = Process::get().device(device, name), other = Process::get().device(peer, name);
        *can_access = one->can_access_peer(*other) ? 1 : 0;
    });
}

cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned flags) {
    constexpr auto name = "cudaDeviceEnablePeerAccess";
    return call(name, [&] {
        const auto current = Process::get().usable(name);
        const auto other = Process::get().device(peer, name);
        if (flags != 0) fail(name, cudaErrorInvalidValue, "flags must be 0");
        if (other == current) fail(name, cudaErrorPeerAccessUnsupported, "a device is no peer of itself");
        current->enable_peer_access(*other);
    });
}

cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    constexpr auto name = "cudaDeviceDisablePeerAccess";
    return call(name, [&] {
        const auto current = Process::get().usable(name);
        current->disable_peer_access(*Process::get().device(peer, name));
    });
}

cudaError_t cudaDeviceGetP2PAttribute(int* value, cudaDeviceP2PAttr attribute, int source, int target) {
    constexpr auto name = "cudaDeviceGetP2PAttribute";
    return call(name, [&] {
        require_argument(name, value, "what the value is written to");
        const auto one = Process::get().device(source, name), other = Process::get().device(target, name);
        if (one == other) fail(name, cudaErrorInvalidDevice, "a device is no peer of itself");
        const int reachable = one->can_access_peer(*other) ? 1 : 0;
        switch (attribute) {
            case cudaDevP2PAttrAccessSupported:
            case cudaDevP2PAttrNativeAtomicSupported:
                *value = reachable;
                return;
            case cudaDevP2PAttrPerformanceRank:
            case cudaDevP2PAttrCudaArrayAccessSupported:
            case cudaDevP2PAttrOnlyPartialNativeAtomicSupported:
                *value = 0;
                return;
        }
        fail(name, cudaErrorInvalidValue, "there is no attribute " + std::to_string(attribute));
    });
}

cudaError_t cudaDriverGetVersion(int* version) {
    constexpr auto name = "cudaDriverGetVersion";
    return call(name, [&] {
        require_argument(name, version, "what the version is written to");
        *version = CUDART_VERSION;
    });
}

cudaError_t cudaRuntimeGetVersion(int* version) {
    return cudaDriverGetVersion(version);
}

cudaError_t cudaProfilerStart() {
    return call("cudaProfilerStart", [] { (void)Process::get().usable("cudaProfilerStart"); });
}

cudaError_t cudaProfilerStop() {
    return call("cudaProfilerStop", [] { (void)Process::get().usable("cudaProfilerStop"); });
}

// Page "Thread Management", of CUDA before 13.

cudaError_t cudaThreadExit() {
    return cudaDeviceReset();
}
cudaError_t cudaThreadSynchronize() {
    return cudaDeviceSynchronize();
}
cudaError_t cudaThreadSetLimit(cudaLimit limit, size_t value) {
    return cudaDeviceSetLimit(limit, value);
}
cudaError_t cudaThreadGetLimit(size_t* value, cudaLimit limit) {
    return cudaDeviceGetLimit(value, limit);
}
cudaError_t cudaThreadGetCacheConfig(cudaFuncCache* config) {
    return cudaDeviceGetCacheConfig(config);
}
cudaError_t cudaThreadSetCacheConfig(cudaFuncCache config) {
    return cudaDeviceSetCacheConfig(config);
}
/// Devices of compute capability 1.3 and above have double precision: there is nothing to convert.
cudaError_t cudaSetDoubleForDevice(double*) {
    return cudaSuccess;
}
cudaError_t cudaSetDoubleForHost(double*) {
    return cudaSuccess;
}
}
