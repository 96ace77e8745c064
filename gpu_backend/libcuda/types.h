// Types of the CUDA driver API (NVIDIA's "CUDA Driver API" reference), laid out as its pages describe them,
// so that no header of a toolkit is needed to build cudasim. Each comment names CUDA's own type. Only what
// functions.def uses is here. tests/gpu_backend/libcuda/cuda_header_checks.cpp compares all of it with a
// cuda.h, where there is one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "simulator/findings/cuda_result.h"

namespace cudasim::libcuda {

// Page "Data types used by CUDA driver".

using Result = findings::CudaResult;          ///< CUresult
using DeviceOrdinal = int;                    ///< CUdevice
using DevicePointer = unsigned long long;     ///< CUdeviceptr
using AllocationHandle = unsigned long long;  ///< CUmemGenericAllocationHandle

using Context = struct ContextState*;    ///< CUcontext
using Module = struct ModuleState*;      ///< CUmodule
using Function = struct FunctionState*;  ///< CUfunction
using Stream = struct StreamState*;      ///< CUstream; null is the legacy default stream
using Event = struct EventState*;        ///< CUevent

/// CUdevice_attribute
enum class Attribute : int {
    max_threads_per_block = 1,
    multiprocessor_count = 16,
    compute_mode = 20,
    unified_addressing = 41,
    compute_capability_major = 75,
    compute_capability_minor = 76,
    cooperative_launch = 95,
    max_shared_memory_per_block_optin = 97,  ///< bytes
    virtual_memory_management_supported = 102,
};

/// CUpointer_attribute
enum class PointerAttribute : int {
    context = 1,         ///< CUcontext in which the memory was allocated or registered
    device_ordinal = 9,  ///< int
};

/// CUlimit; sizes are bytes.
enum class Limit : int { stack_size = 0, printf_fifo_size = 1, malloc_heap_size = 2 };

/// CUfunction_attribute; sizes are bytes.
enum class FunctionAttribute : int {
    max_threads_per_block = 0,
    shared_size_bytes = 1,
    const_size_bytes = 2,
    local_size_bytes = 3,
    num_regs = 4,
    ptx_version = 5,
    binary_version = 6,
    max_dynamic_shared_size_bytes = 8,  ///< raised before launches with more than 48 KiB
};

/// CUjit_option. A value is passed in the place of a pointer: numbers as they are, buffers by their address.
enum class JitOption : int {
    info_log_buffer = 3,
    info_log_buffer_size_bytes = 4,
    error_log_buffer = 5,
    error_log_buffer_size_bytes = 6,
    optimization_level = 7,
    generate_line_info = 13,
};

/// CUevent_flags
enum class EventFlags : unsigned { default_flags = 0, blocking_sync = 1, disable_timing = 2 };

// Page "Virtual Memory Management".

/// CUmemAllocationType
enum class AllocationType : int { pinned = 1 };
/// CUmemAllocationHandleType
enum class HandleType : int { none = 0, posix_file_descriptor = 1 };
/// CUmemLocationType
enum class LocationType : int { device = 1 };
/// CUmemAccess_flags
enum class AccessFlags : int { none = 0, read = 1, read_write = 3 };
/// CUmemAllocationGranularity_flags
enum class Granularity : int { minimum = 0, recommended = 1 };

/// CUmemLocation
struct Location {
    LocationType type;
    int id;  ///< of the device
};

/// CUmemAllocationProp
struct AllocationProperties {
    AllocationType type;
    HandleType requested_handle_types;
    Location location;
    void* win32_handle_metadata;
    struct {
        std::uint8_t compression_type;
        std::uint8_t gpu_direct_rdma_capable;
        std::uint16_t usage;
        std::uint8_t reserved[4];
    } flags;
};

/// CUmemAccessDesc
struct AccessDescription {
    Location location;
    AccessFlags flags;
};

// Page "Execution Control", cuLaunchKernelEx.

/// CUlaunchAttributeID
enum class LaunchAttributeId : int { cooperative = 2 };

/// CUlaunchAttribute
struct alignas(8) LaunchAttribute {
    LaunchAttributeId id;
    std::uint8_t padding[4];
    union {
        std::uint8_t bytes[64];
        int cooperative;  ///< 1: all blocks are resident at once and may meet at a grid barrier
    } value;
};

/// CUlaunchConfig
struct LaunchConfig {
    unsigned grid_x, grid_y, grid_z;     ///< blocks
    unsigned block_x, block_y, block_z;  ///< threads
    unsigned shared_bytes;               ///< dynamic shared memory
    Stream stream;
    LaunchAttribute* attributes;
    unsigned attribute_count;
};

}  // namespace cudasim::libcuda
