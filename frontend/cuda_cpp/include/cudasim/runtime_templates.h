// The runtime API's C++ part (CUDA Runtime API, "C++ API Routines"). Every function is inlined, so that line
// information about a call of the library names the user's line.
#ifndef CUDASIM_RUNTIME_TEMPLATES_H
#define CUDASIM_RUNTIME_TEMPLATES_H

#include <utility>

#include "../channel_descriptor.h"
#include "../cuda_runtime_api.h"

#define CUDASIM_HOST_INLINE static __inline__ __attribute__((always_inline)) __host__

#include "runtime_older_forms.h"

namespace cudasim {

template <typename T>
CUDASIM_HOST_INLINE void** untyped(T** pointer) {
    return static_cast<void**>(static_cast<void*>(pointer));
}
/// The address of a kernel's host function, or of a variable's shadow.
template <typename T>
CUDASIM_HOST_INLINE const void* address_of_symbol(const T& symbol) {
    return const_cast<const void*>(
        static_cast<const volatile void*>(&reinterpret_cast<const volatile char&>(symbol)));
}
template <typename T>
CUDASIM_HOST_INLINE const void* address_of_kernel(T* kernel) {
    return reinterpret_cast<const void*>(kernel);
}

}  // namespace cudasim

/* Memory */
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaMalloc(T** pointer, size_t bytes) {
    return ::cudaMalloc(cudasim::untyped(pointer), bytes);
}
CUDASIM_HOST_INLINE cudaError_t cudaMallocHost(void** pointer, size_t bytes, unsigned int flags) {
    return ::cudaHostAlloc(pointer, bytes, flags);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaMallocHost(T** pointer, size_t bytes, unsigned int flags = 0) {
    return ::cudaHostAlloc(cudasim::untyped(pointer), bytes, flags);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaHostAlloc(T** pointer, size_t bytes, unsigned int flags) {
    return ::cudaHostAlloc(cudasim::untyped(pointer), bytes, flags);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaHostGetDevicePointer(T** pointer, void* host, unsigned int flags) {
    return ::cudaHostGetDevicePointer(cudasim::untyped(pointer), host, flags);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaMallocManaged(T** pointer, size_t bytes,
                                                  unsigned int flags = cudaMemAttachGlobal) {
    return ::cudaMallocManaged(cudasim::untyped(pointer), bytes, flags);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaMallocPitch(T** pointer, size_t* pitch, size_t width, size_t height) {
    return ::cudaMallocPitch(cudasim::untyped(pointer), pitch, width, height);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaStream_t stream) {
    return ::cudaMallocAsync(cudasim::untyped(pointer), bytes, stream);
}
CUDASIM_HOST_INLINE cudaError_t cudaMallocAsync(void** pointer, size_t bytes, cudaMemPool_t pool,
                                                cudaStream_t stream) {
    return ::cudaMallocFromPoolAsync(pointer, bytes, pool, stream);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaMallocAsync(T** pointer, size_t bytes, cudaMemPool_t pool,
                                                cudaStream_t stream) {
    return ::cudaMallocFromPoolAsync(cudasim::untyped(pointer), bytes, pool, stream);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaMallocFromPoolAsync(T** pointer, size_t bytes, cudaMemPool_t pool,
                                                        cudaStream_t stream) {
    return ::cudaMallocFromPoolAsync(cudasim::untyped(pointer), bytes, pool, stream);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaStreamAttachMemAsync(cudaStream_t stream, T* pointer, size_t bytes = 0,
                                                         unsigned int flags = cudaMemAttachSingle) {
    return ::cudaStreamAttachMemAsync(stream, static_cast<void*>(pointer), bytes, flags);
}
CUDASIM_HOST_INLINE cudaPitchedPtr make_cudaPitchedPtr(void* pointer, size_t pitch, size_t width,
                                                       size_t height) {
    cudaPitchedPtr pitched;
    pitched.ptr = pointer, pitched.pitch = pitch, pitched.xsize = width, pitched.ysize = height;
    return pitched;
}
CUDASIM_HOST_INLINE cudaPos make_cudaPos(size_t x, size_t y, size_t z) {
    cudaPos position;
    position.x = x, position.y = y, position.z = z;
    return position;
}
CUDASIM_HOST_INLINE cudaExtent make_cudaExtent(size_t width, size_t height, size_t depth) {
    cudaExtent extent;
    extent.width = width, extent.height = height, extent.depth = depth;
    return extent;
}

/* Symbols */
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaGetSymbolAddress(void** pointer, const T& symbol) {
    return ::cudaGetSymbolAddress(pointer, cudasim::address_of_symbol(symbol));
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaGetSymbolSize(size_t* bytes, const T& symbol) {
    return ::cudaGetSymbolSize(bytes, cudasim::address_of_symbol(symbol));
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaMemcpyToSymbol(const T& symbol, const void* source, size_t bytes,
                                                   size_t offset = 0,
                                                   cudaMemcpyKind kind = cudaMemcpyHostToDevice) {
    return ::cudaMemcpyToSymbol(cudasim::address_of_symbol(symbol), source, bytes, offset, kind);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaMemcpyFromSymbol(void* target, const T& symbol, size_t bytes,
                                                     size_t offset = 0,
                                                     cudaMemcpyKind kind = cudaMemcpyDeviceToHost) {
    return ::cudaMemcpyFromSymbol(target, cudasim::address_of_symbol(symbol), bytes, offset, kind);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaMemcpyToSymbolAsync(const T& symbol, const void* source, size_t bytes,
                                                        size_t offset = 0,
                                                        cudaMemcpyKind kind = cudaMemcpyHostToDevice,
                                                        cudaStream_t stream = 0) {
    return ::cudaMemcpyToSymbolAsync(cudasim::address_of_symbol(symbol), source, bytes, offset, kind, stream);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaMemcpyFromSymbolAsync(void* target, const T& symbol, size_t bytes,
                                                          size_t offset = 0,
                                                          cudaMemcpyKind kind = cudaMemcpyDeviceToHost,
                                                          cudaStream_t stream = 0) {
    return ::cudaMemcpyFromSymbolAsync(target, cudasim::address_of_symbol(symbol), bytes, offset, kind,
                                       stream);
}

/* Events */
CUDASIM_HOST_INLINE cudaError_t cudaEventCreate(cudaEvent_t* event, unsigned int flags) {
    return ::cudaEventCreateWithFlags(event, flags);
}

/* Kernels */
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaLaunchKernel(T* kernel, dim3 grid, dim3 block, void** arguments,
                                                 size_t shared_bytes = 0, cudaStream_t stream = 0) {
    return ::cudaLaunchKernel(cudasim::address_of_kernel(kernel), grid, block, arguments, shared_bytes,
                              stream);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaLaunchCooperativeKernel(T* kernel, dim3 grid, dim3 block,
                                                            void** arguments, size_t shared_bytes = 0,
                                                            cudaStream_t stream = 0) {
    return ::cudaLaunchCooperativeKernel(cudasim::address_of_kernel(kernel), grid, block, arguments,
                                         shared_bytes, stream);
}
#if __cplusplus >= 201103L
namespace cudasim {

/// What the kernel is launched with lives in the parameters of this function.
template <typename... Expected>
CUDASIM_HOST_INLINE cudaError_t launch_converted(const cudaLaunchConfig_t* configuration, const void* kernel,
                                                 Expected... converted) {
    void* arguments[sizeof...(Expected) + 1] = {
        const_cast<void*>(static_cast<const volatile void*>(&converted))..., nullptr};
    return ::cudaLaunchKernelExC(configuration, kernel, arguments);
}

}  // namespace cudasim

template <typename... Expected, typename... Given>
CUDASIM_HOST_INLINE cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* configuration,
                                                   void (*kernel)(Expected...), Given&&... given) {
    return cudasim::launch_converted<Expected...>(configuration, reinterpret_cast<const void*>(kernel),
                                                  std::forward<Given>(given)...);
}
template <typename... Given>
CUDASIM_HOST_INLINE cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* configuration,
                                                   const cudaKernel_t kernel, Given&&... given) {
    return cudasim::launch_converted<typename std::decay<Given>::type...>(
        configuration, reinterpret_cast<const void*>(kernel), std::forward<Given>(given)...);
}
#endif
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaFuncSetCacheConfig(T* kernel, cudaFuncCache config) {
    return ::cudaFuncSetCacheConfig(cudasim::address_of_kernel(kernel), config);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaFuncSetSharedMemConfig(T* kernel, cudaSharedMemConfig config) {
    return ::cudaFuncSetSharedMemConfig(cudasim::address_of_kernel(kernel), config);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, T* kernel) {
    return ::cudaFuncGetAttributes(attributes, cudasim::address_of_kernel(kernel));
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaFuncSetAttribute(T* kernel, cudaFuncAttribute attribute, int value) {
    return ::cudaFuncSetAttribute(cudasim::address_of_kernel(kernel), attribute, value);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaFuncGetName(const char** name, T* kernel) {
    return ::cudaFuncGetName(name, cudasim::address_of_kernel(kernel));
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, T* kernel) {
    return ::cudaGetFuncBySymbol(function, cudasim::address_of_kernel(kernel));
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaGetKernel(cudaKernel_t* handle, T* kernel) {
    return ::cudaGetKernel(handle, cudasim::address_of_kernel(kernel));
}

/* Occupancy */
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, T kernel,
                                                                              int block_size,
                                                                              size_t shared_bytes) {
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, reinterpret_cast<const void*>(kernel),
                                                           block_size, shared_bytes);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, T kernel,
                                                                                       int block_size,
                                                                                       size_t shared_bytes,
                                                                                       unsigned int flags) {
    return ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        blocks, reinterpret_cast<const void*>(kernel), block_size, shared_bytes, flags);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaOccupancyAvailableDynamicSMemPerBlock(size_t* shared_bytes, T* kernel,
                                                                          int blocks, int block_size) {
    return ::cudaOccupancyAvailableDynamicSMemPerBlock(shared_bytes, cudasim::address_of_kernel(kernel),
                                                       blocks, block_size);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t
cudaOccupancyMaxPotentialClusterSize(int* size, T* kernel, const cudaLaunchConfig_t* configuration) {
    return ::cudaOccupancyMaxPotentialClusterSize(size, cudasim::address_of_kernel(kernel), configuration);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaOccupancyMaxActiveClusters(int* clusters, T* kernel,
                                                               const cudaLaunchConfig_t* configuration) {
    return ::cudaOccupancyMaxActiveClusters(clusters, cudasim::address_of_kernel(kernel), configuration);
}
/// The block size with which most threads are resident, the largest of several.
template <typename SharedBytes, typename T>
static __inline__ __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(
    int* grid_size, int* block_size, T kernel, SharedBytes shared_bytes, int limit = 0,
    unsigned int flags = 0) {
    if (!grid_size || !block_size || !kernel) return cudaErrorInvalidValue;
    int device = 0, multiprocessors = 0, warp = 32;
    cudaFuncAttributes attributes;
    cudaError_t error = ::cudaGetDevice(&device);
    if (error == cudaSuccess)
        error = ::cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, device);
    if (error == cudaSuccess) error = ::cudaDeviceGetAttribute(&warp, cudaDevAttrWarpSize, device);
    if (error == cudaSuccess)
        error = ::cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
    if (error != cudaSuccess) return error;
    int most = attributes.maxThreadsPerBlock;
    if (limit > 0 && limit < most) most = limit;
    int best_threads = 0;
    for (int rounded = (most + warp - 1) / warp * warp; rounded > 0; rounded -= warp) {
        const int threads = rounded < most ? rounded : most;
        int blocks = 0;
        error = ::cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
            &blocks, reinterpret_cast<const void*>(kernel), threads,
            static_cast<size_t>(shared_bytes(threads)), flags);
        if (error != cudaSuccess) return error;
        if (blocks * threads > best_threads) {
            best_threads = blocks * threads;
            *grid_size = blocks * multiprocessors;
            *block_size = threads;
        }
    }
    if (best_threads == 0) *grid_size = *block_size = 0;
    return cudaSuccess;
}
template <typename SharedBytes, typename T>
static __inline__ __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeVariableSMem(
    int* grid_size, int* block_size, T kernel, SharedBytes shared_bytes, int limit = 0) {
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(grid_size, block_size, kernel,
                                                                   shared_bytes, limit, cudaOccupancyDefault);
}
namespace cudasim {
struct SameSharedBytes {
    size_t bytes;
    __host__ __device__ size_t operator()(int) const { return bytes; }
};
}  // namespace cudasim
template <typename T>
static __inline__ __host__ cudaError_t cudaOccupancyMaxPotentialBlockSizeWithFlags(int* grid_size,
                                                                                   int* block_size, T kernel,
                                                                                   size_t shared_bytes = 0,
                                                                                   int limit = 0,
                                                                                   unsigned int flags = 0) {
    const cudasim::SameSharedBytes same = {shared_bytes};
    return cudaOccupancyMaxPotentialBlockSizeVariableSMemWithFlags(grid_size, block_size, kernel, same, limit,
                                                                   flags);
}
template <typename T>
static __inline__ __host__ cudaError_t cudaOccupancyMaxPotentialBlockSize(int* grid_size, int* block_size,
                                                                          T kernel, size_t shared_bytes = 0,
                                                                          int limit = 0) {
    return cudaOccupancyMaxPotentialBlockSizeWithFlags(grid_size, block_size, kernel, shared_bytes, limit,
                                                       cudaOccupancyDefault);
}

/* Libraries, graphs */
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaLibraryGetGlobal(T** pointer, size_t* bytes, cudaLibrary_t library,
                                                     const char* name) {
    return ::cudaLibraryGetGlobal(cudasim::untyped(pointer), bytes, library, name);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaLibraryGetManaged(T** pointer, size_t* bytes, cudaLibrary_t library,
                                                      const char* name) {
    return ::cudaLibraryGetManaged(cudasim::untyped(pointer), bytes, library, name);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaLibraryGetUnifiedFunction(T** function, cudaLibrary_t library,
                                                              const char* symbol) {
    return ::cudaLibraryGetUnifiedFunction(cudasim::untyped(function), library, symbol);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaGraphAddMemcpyNodeToSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                                               const cudaGraphNode_t* dependencies,
                                                               size_t count, const T& symbol,
                                                               const void* source, size_t bytes,
                                                               size_t offset, cudaMemcpyKind kind) {
    return ::cudaGraphAddMemcpyNodeToSymbol(node, graph, dependencies, count,
                                            cudasim::address_of_symbol(symbol), source, bytes, offset, kind);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaGraphAddMemcpyNodeFromSymbol(cudaGraphNode_t* node, cudaGraph_t graph,
                                                                 const cudaGraphNode_t* dependencies,
                                                                 size_t count, void* target, const T& symbol,
                                                                 size_t bytes, size_t offset,
                                                                 cudaMemcpyKind kind) {
    return ::cudaGraphAddMemcpyNodeFromSymbol(node, graph, dependencies, count, target,
                                              cudasim::address_of_symbol(symbol), bytes, offset, kind);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaGraphMemcpyNodeSetParamsToSymbol(cudaGraphNode_t node, const T& symbol,
                                                                     const void* source, size_t bytes,
                                                                     size_t offset, cudaMemcpyKind kind) {
    return ::cudaGraphMemcpyNodeSetParamsToSymbol(node, cudasim::address_of_symbol(symbol), source, bytes,
                                                  offset, kind);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaGraphMemcpyNodeSetParamsFromSymbol(cudaGraphNode_t node, void* target,
                                                                       const T& symbol, size_t bytes,
                                                                       size_t offset, cudaMemcpyKind kind) {
    return ::cudaGraphMemcpyNodeSetParamsFromSymbol(node, target, cudasim::address_of_symbol(symbol), bytes,
                                                    offset, kind);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaGraphExecMemcpyNodeSetParamsToSymbol(cudaGraphExec_t executable,
                                                                         cudaGraphNode_t node,
                                                                         const T& symbol, const void* source,
                                                                         size_t bytes, size_t offset,
                                                                         cudaMemcpyKind kind) {
    return ::cudaGraphExecMemcpyNodeSetParamsToSymbol(executable, node, cudasim::address_of_symbol(symbol),
                                                      source, bytes, offset, kind);
}
template <typename T>
CUDASIM_HOST_INLINE cudaError_t cudaGraphExecMemcpyNodeSetParamsFromSymbol(cudaGraphExec_t executable,
                                                                           cudaGraphNode_t node, void* target,
                                                                           const T& symbol, size_t bytes,
                                                                           size_t offset,
                                                                           cudaMemcpyKind kind) {
    return ::cudaGraphExecMemcpyNodeSetParamsFromSymbol(
        executable, node, target, cudasim::address_of_symbol(symbol), bytes, offset, kind);
}
template <typename T>
CUDASIM_HOST_INLINE void cudasim_destroy_user_object(void* object) {
    delete static_cast<T*>(object);
}
template <typename T>
static __inline__ __host__ cudaError_t cudaUserObjectCreate(cudaUserObject_t* object, T* wrapped,
                                                            unsigned int references, unsigned int flags) {
    return ::cudaUserObjectCreate(object, wrapped, &cudasim_destroy_user_object<T>, references, flags);
}

#endif
