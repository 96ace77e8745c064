// Pages "Initialization", "Version Management", "Error Handling", "Device Management", "Primary Context
// Management", "Context Management" and "Stream Management".
#include <cstdint>
#include <cstdio>

#include "tests/gpu_backend/libcuda/stand_in/gpu.h"
#include "tests/gpu_backend/libcuda/stand_in/settings.h"

namespace cudasim::stand_in {
namespace {

/// The device of an ordinal. @return what a call has to answer where there is none
Result find(DeviceOrdinal ordinal, Gpu*& gpu) {
    if (!Gpu::is_initialised()) return Result::not_initialized;
    gpu = Gpu::at(ordinal);
    return gpu != nullptr ? Result::success : Result::invalid_device;
}

/// Bytes, as on an H200.
std::size_t default_limit(Limit limit) {
    return limit == Limit::stack_size ? 1024 : std::size_t{8} << 20;
}

bool is_known(Limit limit) {
    return limit == Limit::stack_size || limit == Limit::printf_fifo_size || limit == Limit::malloc_heap_size;
}

}  // namespace

Result Behaviour::cuInit(unsigned flags) {
    if (flags != 0) return Result::invalid_value;
    Gpu::initialise();
    return Result::success;
}

Result Behaviour::cuDriverGetVersion(int* version) {
    if (version == nullptr) return Result::invalid_value;
    *version = settings().version;
    return Result::success;
}

Result Behaviour::cuGetErrorName(Result result, const char** name) {
    if (name == nullptr) return Result::invalid_value;
    const auto known = findings::cuda_result(static_cast<int>(result));
    *name = known ? findings::info(*known).name.data() : nullptr;
    return known ? Result::success : Result::invalid_value;
}

Result Behaviour::cuGetErrorString(Result result, const char** text) {
    if (text == nullptr) return Result::invalid_value;
    const auto known = findings::cuda_result(static_cast<int>(result));
    *text = known ? findings::info(*known).text.data() : nullptr;
    return known ? Result::success : Result::invalid_value;
}

Result Behaviour::cuDeviceGetCount(int* count) {
    if (!Gpu::is_initialised()) return Result::not_initialized;
    if (count == nullptr) return Result::invalid_value;
    *count = settings().devices;
    return Result::success;
}

Result Behaviour::cuDeviceGet(DeviceOrdinal* device, int ordinal) {
    Gpu* gpu = nullptr;
    if (const Result wrong = find(ordinal, gpu); wrong != Result::success) return wrong;
    if (device == nullptr) return Result::invalid_value;
    *device = ordinal;
    return Result::success;
}

Result Behaviour::cuDeviceGetName(char* name, int bytes, DeviceOrdinal device) {
    Gpu* gpu = nullptr;
    if (const Result wrong = find(device, gpu); wrong != Result::success) return wrong;
    if (name == nullptr || bytes <= 0) return Result::invalid_value;
    std::snprintf(name, static_cast<std::size_t>(bytes), "%s", gpu->profile().name.c_str());
    return Result::success;
}

Result Behaviour::cuDeviceGetAttribute(int* value, Attribute attribute, DeviceOrdinal device) {
    Gpu* gpu = nullptr;
    if (const Result wrong = find(device, gpu); wrong != Result::success) return wrong;
    if (value == nullptr) return Result::invalid_value;
    const auto& profile = gpu->profile();
    switch (attribute) {
        case Attribute::max_threads_per_block:
            *value = static_cast<int>(profile.max_threads_per_block);
            return Result::success;
        case Attribute::multiprocessor_count:
            *value = static_cast<int>(profile.multiprocessors);
            return Result::success;
        case Attribute::compute_mode:
            *value = 0;
            return Result::success;
        case Attribute::unified_addressing:
        case Attribute::cooperative_launch:
            *value = 1;
            return Result::success;
        case Attribute::compute_capability_major:
            *value = profile.compute_capability_major;
            return Result::success;
        case Attribute::compute_capability_minor:
            *value = profile.compute_capability_minor;
            return Result::success;
        case Attribute::max_shared_memory_per_block_optin:
            *value = static_cast<int>(profile.shared_per_block_optin);
            return Result::success;
        case Attribute::virtual_memory_management_supported:
            *value = settings().virtual_memory ? 1 : 0;
            return Result::success;
    }
    return Result::invalid_value;
}

Result Behaviour::cuDeviceTotalMem(std::size_t* bytes, DeviceOrdinal device) {
    Gpu* gpu = nullptr;
    if (const Result wrong = find(device, gpu); wrong != Result::success) return wrong;
    if (bytes == nullptr) return Result::invalid_value;
    *bytes = settings().memory;
    return Result::success;
}

Result Behaviour::cuDevicePrimaryCtxRetain(Context* context, DeviceOrdinal device) {
    Gpu* gpu = nullptr;
    if (const Result wrong = find(device, gpu); wrong != Result::success) return wrong;
    return context != nullptr ? gpu->retain(*context) : Result::invalid_value;
}

Result Behaviour::cuDevicePrimaryCtxRelease(DeviceOrdinal device) {
    Gpu* gpu = nullptr;
    if (const Result wrong = find(device, gpu); wrong != Result::success) return wrong;
    return gpu->release();
}

Result Behaviour::cuCtxSetCurrent(Context context) {
    return Gpu::make_current(context);
}

Result Behaviour::cuCtxGetCurrent(Context* context) {
    if (!Gpu::is_initialised()) return Result::not_initialized;
    if (context == nullptr) return Result::invalid_value;
    *context = Gpu::current_context();
    return Result::success;
}

Result Behaviour::cuCtxSynchronize() {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    return gpu->synchronise();
}

/// All streams are the default one, under its three names: 0, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD.
Result Behaviour::cuStreamSynchronize(Stream stream) {
    constexpr std::uintptr_t per_thread = 2;
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    if (reinterpret_cast<std::uintptr_t>(stream) > per_thread) return Result::invalid_handle;
    return gpu->synchronise();
}

Result Behaviour::cuCtxSetLimit(Limit limit, std::size_t value) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    if (!is_known(limit)) return Result::unsupported_limit;
    if (limit == Limit::printf_fifo_size) {
        gpu->printed.set_limit(value);
    } else {
        const std::lock_guard lock(gpu->limits_mutex);
        gpu->limits[limit] = value;
    }
    return Result::success;
}

Result Behaviour::cuCtxGetLimit(std::size_t* value, Limit limit) {
    Gpu* gpu = nullptr;
    if (const Result wrong = Gpu::current(gpu); wrong != Result::success) return wrong;
    if (value == nullptr) return Result::invalid_value;
    if (!is_known(limit)) return Result::unsupported_limit;
    if (limit == Limit::printf_fifo_size) {
        *value = gpu->printed.limit();
    } else {
        const std::lock_guard lock(gpu->limits_mutex);
        const auto set = gpu->limits.find(limit);
        *value = set != gpu->limits.end() ? set->second : default_limit(limit);
    }
    return Result::success;
}

}  // namespace cudasim::stand_in
