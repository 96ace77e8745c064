// Compiled, and never run, against the cuda.h of a toolkit (test_cuda_header.py): types.h and functions.def
// have the layouts, numbers and signatures that NVIDIA's header has.
#define __CUDA_API_VERSION_INTERNAL  // declares functions by the names that the library exports
#include <cuda.h>

#include <cstddef>
#include <type_traits>

#include "gpu_backend/libcuda/functions.h"

namespace ours = cudasim::libcuda;

// Types: size and alignment.
#define SAME_SIZE(ours_name, cuda_name)                          \
    static_assert(sizeof(ours::ours_name) == sizeof(cuda_name)); \
    static_assert(alignof(ours::ours_name) == alignof(cuda_name))
SAME_SIZE(Result, CUresult);
SAME_SIZE(DeviceOrdinal, CUdevice);
SAME_SIZE(DevicePointer, CUdeviceptr);
SAME_SIZE(AllocationHandle, CUmemGenericAllocationHandle);
SAME_SIZE(Context, CUcontext);
SAME_SIZE(Module, CUmodule);
SAME_SIZE(Function, CUfunction);
SAME_SIZE(Stream, CUstream);
SAME_SIZE(Event, CUevent);
SAME_SIZE(Attribute, CUdevice_attribute);
SAME_SIZE(PointerAttribute, CUpointer_attribute);
SAME_SIZE(Limit, CUlimit);
SAME_SIZE(FunctionAttribute, CUfunction_attribute);
SAME_SIZE(JitOption, CUjit_option);
SAME_SIZE(EventFlags, CUevent_flags);
SAME_SIZE(AllocationType, CUmemAllocationType);
SAME_SIZE(HandleType, CUmemAllocationHandleType);
SAME_SIZE(LocationType, CUmemLocationType);
SAME_SIZE(AccessFlags, CUmemAccess_flags);
SAME_SIZE(Granularity, CUmemAllocationGranularity_flags);
SAME_SIZE(Location, CUmemLocation);
SAME_SIZE(AllocationProperties, CUmemAllocationProp);
SAME_SIZE(AccessDescription, CUmemAccessDesc);
SAME_SIZE(LaunchAttributeId, CUlaunchAttributeID);
SAME_SIZE(LaunchAttribute, CUlaunchAttribute);
SAME_SIZE(LaunchConfig, CUlaunchConfig);

// Members: where they are, and how large.
#define SAME_MEMBER(ours_name, our_member, cuda_name, cuda_member)                            \
    static_assert(offsetof(ours::ours_name, our_member) == offsetof(cuda_name, cuda_member)); \
    static_assert(sizeof(std::declval<ours::ours_name>().our_member) == sizeof(cuda_name{}.cuda_member))
SAME_MEMBER(Location, type, CUmemLocation, type);
SAME_MEMBER(Location, id, CUmemLocation, id);
SAME_MEMBER(AllocationProperties, type, CUmemAllocationProp, type);
SAME_MEMBER(AllocationProperties, requested_handle_types, CUmemAllocationProp, requestedHandleTypes);
SAME_MEMBER(AllocationProperties, location, CUmemAllocationProp, location);
SAME_MEMBER(AllocationProperties, win32_handle_metadata, CUmemAllocationProp, win32HandleMetaData);
SAME_MEMBER(AllocationProperties, flags, CUmemAllocationProp, allocFlags);
SAME_MEMBER(AllocationProperties, flags.compression_type, CUmemAllocationProp, allocFlags.compressionType);
SAME_MEMBER(AllocationProperties, flags.gpu_direct_rdma_capable, CUmemAllocationProp,
            allocFlags.gpuDirectRDMACapable);
SAME_MEMBER(AllocationProperties, flags.usage, CUmemAllocationProp, allocFlags.usage);
SAME_MEMBER(AccessDescription, location, CUmemAccessDesc, location);
SAME_MEMBER(AccessDescription, flags, CUmemAccessDesc, flags);
SAME_MEMBER(LaunchAttribute, id, CUlaunchAttribute, id);
SAME_MEMBER(LaunchAttribute, value, CUlaunchAttribute, value);
SAME_MEMBER(LaunchAttribute, value.cooperative, CUlaunchAttribute, value.cooperative);
SAME_MEMBER(LaunchConfig, grid_x, CUlaunchConfig, gridDimX);
SAME_MEMBER(LaunchConfig, grid_y, CUlaunchConfig, gridDimY);
SAME_MEMBER(LaunchConfig, grid_z, CUlaunchConfig, gridDimZ);
SAME_MEMBER(LaunchConfig, block_x, CUlaunchConfig, blockDimX);
SAME_MEMBER(LaunchConfig, block_y, CUlaunchConfig, blockDimY);
SAME_MEMBER(LaunchConfig, block_z, CUlaunchConfig, blockDimZ);
SAME_MEMBER(LaunchConfig, shared_bytes, CUlaunchConfig, sharedMemBytes);
SAME_MEMBER(LaunchConfig, stream, CUlaunchConfig, hStream);
SAME_MEMBER(LaunchConfig, attributes, CUlaunchConfig, attrs);
SAME_MEMBER(LaunchConfig, attribute_count, CUlaunchConfig, numAttrs);

// Enumerators.
#define SAME_NUMBER(our_enumerator, cuda_enumerator) \
    static_assert(static_cast<long long>(ours::our_enumerator) == static_cast<long long>(cuda_enumerator))
SAME_NUMBER(Attribute::max_threads_per_block, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME_NUMBER(Attribute::multiprocessor_count, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
SAME_NUMBER(Attribute::compute_mode, CU_DEVICE_ATTRIBUTE_COMPUTE_MODE);
SAME_NUMBER(Attribute::unified_addressing, CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING);
SAME_NUMBER(Attribute::compute_capability_major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR);
SAME_NUMBER(Attribute::compute_capability_minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR);
SAME_NUMBER(Attribute::cooperative_launch, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH);
SAME_NUMBER(Attribute::max_shared_memory_per_block_optin,
            CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
SAME_NUMBER(Attribute::virtual_memory_management_supported,
            CU_DEVICE_ATTRIBUTE_VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED);
SAME_NUMBER(PointerAttribute::context, CU_POINTER_ATTRIBUTE_CONTEXT);
SAME_NUMBER(PointerAttribute::device_ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL);
SAME_NUMBER(Limit::stack_size, CU_LIMIT_STACK_SIZE);
SAME_NUMBER(Limit::printf_fifo_size, CU_LIMIT_PRINTF_FIFO_SIZE);
SAME_NUMBER(Limit::malloc_heap_size, CU_LIMIT_MALLOC_HEAP_SIZE);
SAME_NUMBER(FunctionAttribute::max_threads_per_block, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
SAME_NUMBER(FunctionAttribute::shared_size_bytes, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES);
SAME_NUMBER(FunctionAttribute::const_size_bytes, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES);
SAME_NUMBER(FunctionAttribute::local_size_bytes, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES);
SAME_NUMBER(FunctionAttribute::num_regs, CU_FUNC_ATTRIBUTE_NUM_REGS);
SAME_NUMBER(FunctionAttribute::ptx_version, CU_FUNC_ATTRIBUTE_PTX_VERSION);
SAME_NUMBER(FunctionAttribute::binary_version, CU_FUNC_ATTRIBUTE_BINARY_VERSION);
SAME_NUMBER(FunctionAttribute::max_dynamic_shared_size_bytes,
            CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES);
SAME_NUMBER(JitOption::info_log_buffer, CU_JIT_INFO_LOG_BUFFER);
SAME_NUMBER(JitOption::info_log_buffer_size_bytes, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES);
SAME_NUMBER(JitOption::error_log_buffer, CU_JIT_ERROR_LOG_BUFFER);
SAME_NUMBER(JitOption::error_log_buffer_size_bytes, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES);
SAME_NUMBER(JitOption::optimization_level, CU_JIT_OPTIMIZATION_LEVEL);
SAME_NUMBER(JitOption::generate_line_info, CU_JIT_GENERATE_LINE_INFO);
SAME_NUMBER(EventFlags::default_flags, CU_EVENT_DEFAULT);
SAME_NUMBER(EventFlags::blocking_sync, CU_EVENT_BLOCKING_SYNC);
SAME_NUMBER(EventFlags::disable_timing, CU_EVENT_DISABLE_TIMING);
SAME_NUMBER(AllocationType::pinned, CU_MEM_ALLOCATION_TYPE_PINNED);
SAME_NUMBER(HandleType::none, CU_MEM_HANDLE_TYPE_NONE);
SAME_NUMBER(HandleType::posix_file_descriptor, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
SAME_NUMBER(LocationType::device, CU_MEM_LOCATION_TYPE_DEVICE);
SAME_NUMBER(AccessFlags::none, CU_MEM_ACCESS_FLAGS_PROT_NONE);
SAME_NUMBER(AccessFlags::read, CU_MEM_ACCESS_FLAGS_PROT_READ);
SAME_NUMBER(AccessFlags::read_write, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
SAME_NUMBER(Granularity::minimum, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
SAME_NUMBER(Granularity::recommended, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
SAME_NUMBER(LaunchAttributeId::cooperative, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
#define RESULT(identifier, NAME, number, lasting, text) \
    static_assert(static_cast<int>(ours::Result::identifier) == NAME);
// The results that are CUDA's own: their names in the table are CUDA's.
#include "simulator/findings/cuda_results.def"
#undef RESULT

// Functions: as many parameters, each of the same size, pointers where CUDA has pointers.
template <typename Ours, typename Cuda>
constexpr bool alike = sizeof(Ours) == sizeof(Cuda) && std::is_pointer_v<Ours> == std::is_pointer_v<Cuda>;

template <typename Ours, typename Cuda>
struct Compared;
template <typename... Ours, typename... Cuda>
struct Compared<ours::Result (*)(Ours...), CUresult(Cuda...)> {
    static_assert(sizeof...(Ours) == sizeof...(Cuda));
    static constexpr bool value = (alike<Ours, Cuda> && ...);
};
#define FUNCTION(name, version, need, parameters) \
    static_assert(Compared<decltype(ours::Functions::name), decltype(name##version)>::value);
#include "gpu_backend/libcuda/functions.def"
#undef FUNCTION
