// Calls in the forms that they had before CUDA 13: overloads in C++, and the names with versions that CUDA 11
// and 12 had.
#ifndef CUDASIM_RUNTIME_OLDER_FORMS_H
#define CUDASIM_RUNTIME_OLDER_FORMS_H

#include "../cuda_runtime_api.h"

#define cudaGetDeviceProperties_v2 cudaGetDeviceProperties
#define cudaMemPrefetchAsync_v2 cudaMemPrefetchAsync
#define cudaMemAdvise_v2 cudaMemAdvise
#define cudaEventElapsedTime_v2 cudaEventElapsedTime
#define cudaStreamGetCaptureInfo_v2 cudaStreamGetCaptureInfo
#define cudaStreamGetCaptureInfo_v3 cudaStreamGetCaptureInfo
#define cudaStreamUpdateCaptureDependencies_v2 cudaStreamUpdateCaptureDependencies
#define cudaGraphGetEdges_v2 cudaGraphGetEdges
#define cudaGraphNodeGetDependencies_v2 cudaGraphNodeGetDependencies
#define cudaGraphNodeGetDependentNodes_v2 cudaGraphNodeGetDependentNodes
#define cudaGraphAddDependencies_v2 cudaGraphAddDependencies
#define cudaGraphRemoveDependencies_v2 cudaGraphRemoveDependencies
#define cudaGraphAddNode_v2 cudaGraphAddNode

#ifdef __cplusplus

namespace cudasim {

// Before CUDA 13 a place was a device's number, or cudaCpuDeviceId.
static __inline__ __host__ cudaMemLocation location_of_device(int device) {
    cudaMemLocation location;
    location.type = device == cudaCpuDeviceId ? cudaMemLocationTypeHost : cudaMemLocationTypeDevice;
    location.id = device == cudaCpuDeviceId ? 0 : device;
    return location;
}

}  // namespace cudasim

CUDASIM_HOST_INLINE cudaError_t cudaMemPrefetchAsync(const void* pointer, size_t bytes, int device,
                                                     cudaStream_t stream = 0) {
    return ::cudaMemPrefetchAsync(pointer, bytes, cudasim::location_of_device(device), 0, stream);
}
CUDASIM_HOST_INLINE cudaError_t cudaMemAdvise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                                              int device) {
    return ::cudaMemAdvise(pointer, bytes, advice, cudasim::location_of_device(device));
}
CUDASIM_HOST_INLINE cudaError_t cudaMemcpyBatchAsync(void** targets, void** sources, size_t* bytes,
                                                     size_t count, cudaMemcpyAttributes* attributes,
                                                     size_t* attribute_indices, size_t attribute_count,
                                                     size_t* failed, cudaStream_t stream) {
    const cudaError_t result = ::cudaMemcpyBatchAsync(targets, sources, bytes, count, attributes,
                                                      attribute_indices, attribute_count, stream);
    if (result != cudaSuccess && failed) *failed = static_cast<size_t>(-1);
    return result;
}
CUDASIM_HOST_INLINE cudaError_t cudaMemcpy3DBatchAsync(size_t count, cudaMemcpy3DBatchOp* operations,
                                                       size_t* failed, unsigned long long flags,
                                                       cudaStream_t stream) {
    const cudaError_t result = ::cudaMemcpy3DBatchAsync(count, operations, flags, stream);
    if (result != cudaSuccess && failed) *failed = static_cast<size_t>(-1);
    return result;
}
CUDASIM_HOST_INLINE cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                                         unsigned long long* id, cudaGraph_t* graph,
                                                         const cudaGraphNode_t** dependencies,
                                                         size_t* count) {
    return ::cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies,
                                      static_cast<const cudaGraphEdgeData**>(0), count);
}
CUDASIM_HOST_INLINE cudaError_t cudaStreamUpdateCaptureDependencies(cudaStream_t stream,
                                                                    cudaGraphNode_t* dependencies,
                                                                    size_t count, unsigned int flags = 0) {
    return ::cudaStreamUpdateCaptureDependencies(stream, dependencies,
                                                 static_cast<const cudaGraphEdgeData*>(0), count, flags);
}
CUDASIM_HOST_INLINE cudaError_t cudaGraphGetEdges(cudaGraph_t graph, cudaGraphNode_t* from,
                                                  cudaGraphNode_t* to, size_t* count) {
    return ::cudaGraphGetEdges(graph, from, to, static_cast<cudaGraphEdgeData*>(0), count);
}
CUDASIM_HOST_INLINE cudaError_t cudaGraphNodeGetDependencies(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                                             size_t* count) {
    return ::cudaGraphNodeGetDependencies(node, nodes, static_cast<cudaGraphEdgeData*>(0), count);
}
CUDASIM_HOST_INLINE cudaError_t cudaGraphNodeGetDependentNodes(cudaGraphNode_t node, cudaGraphNode_t* nodes,
                                                               size_t* count) {
    return ::cudaGraphNodeGetDependentNodes(node, nodes, static_cast<cudaGraphEdgeData*>(0), count);
}
CUDASIM_HOST_INLINE cudaError_t cudaGraphAddDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                         const cudaGraphNode_t* to, size_t count) {
    return ::cudaGraphAddDependencies(graph, from, to, static_cast<const cudaGraphEdgeData*>(0), count);
}
CUDASIM_HOST_INLINE cudaError_t cudaGraphRemoveDependencies(cudaGraph_t graph, const cudaGraphNode_t* from,
                                                            const cudaGraphNode_t* to, size_t count) {
    return ::cudaGraphRemoveDependencies(graph, from, to, static_cast<const cudaGraphEdgeData*>(0), count);
}
CUDASIM_HOST_INLINE cudaError_t cudaGraphAddNode(cudaGraphNode_t* node, cudaGraph_t graph,
                                                 const cudaGraphNode_t* dependencies, size_t count,
                                                 cudaGraphNodeParams* parameters) {
    return ::cudaGraphAddNode(node, graph, dependencies, static_cast<const cudaGraphEdgeData*>(0), count,
                              parameters);
}
CUDASIM_HOST_INLINE cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph,
                                                     cudaGraphNode_t* error_node, char* log,
                                                     size_t log_bytes) {
    if (error_node) *error_node = 0;
    if (log && log_bytes) *log = '\0';
    return ::cudaGraphInstantiate(executable, graph, 0ULL);
}
CUDASIM_HOST_INLINE cudaError_t cudaGraphExecUpdate(cudaGraphExec_t executable, cudaGraph_t graph,
                                                    cudaGraphNode_t* error_node,
                                                    cudaGraphExecUpdateResult* result) {
    cudaGraphExecUpdateResultInfo info = cudaGraphExecUpdateResultInfo();
    const cudaError_t error = ::cudaGraphExecUpdate(executable, graph, &info);
    if (error_node) *error_node = info.errorNode;
    if (result) *result = info.result;
    return error;
}

#endif

#endif
