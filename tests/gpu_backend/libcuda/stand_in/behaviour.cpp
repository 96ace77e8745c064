#include "tests/gpu_backend/libcuda/stand_in/behaviour.h"

#include <algorithm>
#include <atomic>
#include <cstdio>

#include "tests/gpu_backend/libcuda/stand_in/settings.h"

namespace cudasim::stand_in {
namespace {

std::atomic<bool> is_initialised;

/// What calls that need cuInit, and name a device, return first.
Result checked(DeviceOrdinal device) {
    if (!is_initialised) return Result::not_initialized;
    return device >= 0 && device < settings().devices ? Result::success : Result::invalid_device;
}

std::pair<int, int> capability(DeviceOrdinal device) {
    const auto known = settings().capabilities;
    return known[std::min(static_cast<std::size_t>(device), known.size() - 1)];
}

}  // namespace

Result Behaviour::cuInit(unsigned flags) {
    if (flags != 0) return Result::invalid_value;
    is_initialised = true;
    return Result::success;
}

Result Behaviour::cuDriverGetVersion(int* version) {
    if (version == nullptr) return Result::invalid_value;
    *version = settings().version;
    return Result::success;
}

Result Behaviour::cuGetErrorName(Result result, const char** name) {
    const auto known = findings::cuda_result(static_cast<int>(result));
    *name = known ? findings::info(*known).name.data() : nullptr;
    return known ? Result::success : Result::invalid_value;
}

Result Behaviour::cuGetErrorString(Result result, const char** text) {
    const auto known = findings::cuda_result(static_cast<int>(result));
    *text = known ? findings::info(*known).text.data() : nullptr;
    return known ? Result::success : Result::invalid_value;
}

Result Behaviour::cuDeviceGetCount(int* count) {
    if (!is_initialised) return Result::not_initialized;
    *count = settings().devices;
    return Result::success;
}

Result Behaviour::cuDeviceGet(DeviceOrdinal* device, int ordinal) {
    if (const Result wrong = checked(ordinal); wrong != Result::success) return wrong;
    *device = ordinal;
    return Result::success;
}

Result Behaviour::cuDeviceGetName(char* name, int bytes, DeviceOrdinal device) {
    if (const Result wrong = checked(device); wrong != Result::success) return wrong;
    std::snprintf(name, static_cast<std::size_t>(bytes), "Stand-in GPU %c", 'A' + device);
    return Result::success;
}

Result Behaviour::cuDeviceGetAttribute(int* value, Attribute attribute, DeviceOrdinal device) {
    if (const Result wrong = checked(device); wrong != Result::success) return wrong;
    switch (attribute) {
        case Attribute::max_threads_per_block:
            *value = 1024;
            return Result::success;
        case Attribute::multiprocessor_count:
            *value = 4;
            return Result::success;
        case Attribute::compute_mode:
            *value = 0;
            return Result::success;
        case Attribute::unified_addressing:
            *value = 1;
            return Result::success;
        case Attribute::compute_capability_major:
            *value = capability(device).first;
            return Result::success;
        case Attribute::compute_capability_minor:
            *value = capability(device).second;
            return Result::success;
        case Attribute::cooperative_launch:
            *value = 1;
            return Result::success;
        case Attribute::max_shared_memory_per_block_optin:
            *value = 232448;
            return Result::success;
        case Attribute::virtual_memory_management_supported:
            *value = settings().virtual_memory ? 1 : 0;
            return Result::success;
    }
    return Result::invalid_value;
}

Result Behaviour::cuDeviceTotalMem(std::size_t* bytes, DeviceOrdinal device) {
    if (const Result wrong = checked(device); wrong != Result::success) return wrong;
    *bytes = std::size_t{24} << 30;
    return Result::success;
}

}  // namespace cudasim::stand_in
