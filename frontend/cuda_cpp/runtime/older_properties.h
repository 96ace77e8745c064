// cudaDeviceProp as CUDA 12 had it, for executables that were built with it. CUDA 11's is its beginning.
#pragma once

#include <driver_types.h>

#include <cstring>

namespace cudasim::cudart {

#define CUDASIM_PROPERTIES(PROPERTY)                        \
    PROPERTY(char, name, [256])                             \
    PROPERTY(cudaUUID_t, uuid, )                            \
    PROPERTY(char, luid, [8])                               \
    PROPERTY(unsigned, luidDeviceNodeMask, )                \
    PROPERTY(size_t, totalGlobalMem, )                      \
    PROPERTY(size_t, sharedMemPerBlock, )                   \
    PROPERTY(int, regsPerBlock, )                           \
    PROPERTY(int, warpSize, )                               \
    PROPERTY(size_t, memPitch, )                            \
    PROPERTY(int, maxThreadsPerBlock, )                     \
    PROPERTY(int, maxThreadsDim, [3])                       \
    PROPERTY(int, maxGridSize, [3])                         \
    PROPERTY(int, clockRate, )                              \
    PROPERTY(size_t, totalConstMem, )                       \
    PROPERTY(int, major, )                                  \
    PROPERTY(int, minor, )                                  \
    PROPERTY(size_t, textureAlignment, )                    \
    PROPERTY(size_t, texturePitchAlignment, )               \
    PROPERTY(int, deviceOverlap, )                          \
    PROPERTY(int, multiProcessorCount, )                    \
    PROPERTY(int, kernelExecTimeoutEnabled, )               \
    PROPERTY(int, integrated, )                             \
    PROPERTY(int, canMapHostMemory, )                       \
    PROPERTY(int, computeMode, )                            \
    PROPERTY(int, maxTexture1D, )                           \
    PROPERTY(int, maxTexture1DMipmap, )                     \
    PROPERTY(int, maxTexture1DLinear, )                     \
    PROPERTY(int, maxTexture2D, [2])                        \
    PROPERTY(int, maxTexture2DMipmap, [2])                  \
    PROPERTY(int, maxTexture2DLinear, [3])                  \
    PROPERTY(int, maxTexture2DGather, [2])                  \
    PROPERTY(int, maxTexture3D, [3])                        \
    PROPERTY(int, maxTexture3DAlt, [3])                     \
    PROPERTY(int, maxTextureCubemap, )                      \
    PROPERTY(int, maxTexture1DLayered, [2])                 \
    PROPERTY(int, maxTexture2DLayered, [3])                 \
    PROPERTY(int, maxTextureCubemapLayered, [2])            \
    PROPERTY(int, maxSurface1D, )                           \
    PROPERTY(int, maxSurface2D, [2])                        \
    PROPERTY(int, maxSurface3D, [3])                        \
    PROPERTY(int, maxSurface1DLayered, [2])                 \
    PROPERTY(int, maxSurface2DLayered, [3])                 \
    PROPERTY(int, maxSurfaceCubemap, )                      \
    PROPERTY(int, maxSurfaceCubemapLayered, [2])            \
    PROPERTY(size_t, surfaceAlignment, )                    \
    PROPERTY(int, concurrentKernels, )                      \
    PROPERTY(int, ECCEnabled, )                             \
    PROPERTY(int, pciBusID, )                               \
    PROPERTY(int, pciDeviceID, )                            \
    PROPERTY(int, pciDomainID, )                            \
    PROPERTY(int, tccDriver, )                              \
    PROPERTY(int, asyncEngineCount, )                       \
    PROPERTY(int, unifiedAddressing, )                      \
    PROPERTY(int, memoryClockRate, )                        \
    PROPERTY(int, memoryBusWidth, )                         \
    PROPERTY(int, l2CacheSize, )                            \
    PROPERTY(int, persistingL2CacheMaxSize, )               \
    PROPERTY(int, maxThreadsPerMultiProcessor, )            \
    PROPERTY(int, streamPrioritiesSupported, )              \
    PROPERTY(int, globalL1CacheSupported, )                 \
    PROPERTY(int, localL1CacheSupported, )                  \
    PROPERTY(size_t, sharedMemPerMultiprocessor, )          \
    PROPERTY(int, regsPerMultiprocessor, )                  \
    PROPERTY(int, managedMemory, )                          \
    PROPERTY(int, isMultiGpuBoard, )                        \
    PROPERTY(int, multiGpuBoardGroupID, )                   \
    PROPERTY(int, hostNativeAtomicSupported, )              \
    PROPERTY(int, singleToDoublePrecisionPerfRatio, )       \
    PROPERTY(int, pageableMemoryAccess, )                   \
    PROPERTY(int, concurrentManagedAccess, )                \
    PROPERTY(int, computePreemptionSupported, )             \
    PROPERTY(int, canUseHostPointerForRegisteredMem, )      \
    PROPERTY(int, cooperativeLaunch, )                      \
    PROPERTY(int, cooperativeMultiDeviceLaunch, )           \
    PROPERTY(size_t, sharedMemPerBlockOptin, )              \
    PROPERTY(int, pageableMemoryAccessUsesHostPageTables, ) \
    PROPERTY(int, directManagedMemAccessFromHost, )         \
    PROPERTY(int, maxBlocksPerMultiProcessor, )             \
    PROPERTY(int, accessPolicyMaxWindowSize, )              \
    PROPERTY(size_t, reservedSharedMemPerBlock, )           \
    PROPERTY(int, hostRegisterSupported, )                  \
    PROPERTY(int, sparseCudaArraySupported, )               \
    PROPERTY(int, hostRegisterReadOnlySupported, )          \
    PROPERTY(int, timelineSemaphoreInteropSupported, )      \
    PROPERTY(int, memoryPoolsSupported, )                   \
    PROPERTY(int, gpuDirectRDMASupported, )                 \
    PROPERTY(unsigned, gpuDirectRDMAFlushWritesOptions, )   \
    PROPERTY(int, gpuDirectRDMAWritesOrdering, )            \
    PROPERTY(unsigned, memoryPoolSupportedHandleTypes, )    \
    PROPERTY(int, deferredMappingCudaArraySupported, )      \
    PROPERTY(int, ipcEventSupported, )                      \
    PROPERTY(int, clusterLaunch, )                          \
    PROPERTY(int, unifiedFunctionPointers, )

struct PropertiesOfCuda12 {
#define CUDASIM_MEMBER(type, name, extent) type name extent;
    CUDASIM_PROPERTIES(CUDASIM_MEMBER)
#undef CUDASIM_MEMBER
    int reserved[63];
};

/// CUDA 11 ended with reservedSharedMemPerBlock.
inline constexpr std::size_t bytes_of_properties_of_cuda_11 =
    offsetof(PropertiesOfCuda12, hostRegisterSupported);

inline void convert(const cudaDeviceProp& from, PropertiesOfCuda12& to) {
    std::memset(&to, 0, sizeof to);
#define CUDASIM_COPY(type, name, extent)               \
    static_assert(sizeof to.name == sizeof from.name); \
    std::memcpy(&to.name, &from.name, sizeof to.name);
    CUDASIM_PROPERTIES(CUDASIM_COPY)
#undef CUDASIM_COPY
}

#undef CUDASIM_PROPERTIES

}  // namespace cudasim::cudart
