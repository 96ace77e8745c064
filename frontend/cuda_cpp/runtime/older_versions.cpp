// Functions whose form CUDA 13 changed, as executables that were built with CUDA 12 call them (they ask
// for version libcudart.so.12), and the names with _v2 and _v3 that only CUDA 12 had.
#include <cuda_runtime_api.h>

namespace {

cudaMemLocation location_of_device(int device) {
    if (device == cudaCpuDeviceId) return {cudaMemLocationTypeHost, 0};
    return {cudaMemLocationTypeDevice, device};
}

}  // namespace

extern "C" {

cudaError_t cudasim_prefetch_of_cuda_12(const void* pointer, size_t bytes, int device, cudaStream_t stream) {
    return cudaMemPrefetchAsync(pointer, bytes, location_of_device(device), 0, stream);
}
__asm__(".symver cudasim_prefetch_of_cuda_12, cudaMemPrefetchAsync@libcudart.so.12");

cudaError_t cudasim_prefetch_ptsz_of_cuda_12(const void* pointer, size_t bytes, int device,
                                             cudaStream_t stream) {
    return cudaMemPrefetchAsync(pointer, bytes, location_of_device(device), 0,
                                stream == nullptr ? cudaStreamPerThread : stream);
}
__asm__(".symver cudasim_prefetch_ptsz_of_cuda_12, cudaMemPrefetchAsync_ptsz@libcudart.so.12");

cudaError_t cudasim_advise_of_cuda_12(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                                      int device) {
    return cudaMemAdvise(pointer, bytes, advice, location_of_device(device));
}
__asm__(".symver cudasim_advise_of_cuda_12, cudaMemAdvise@libcudart.so.12");

cudaError_t cudasim_copy_batch_of_cuda_12(void** targets, void** sources, size_t* bytes, size_t count,
                                          cudaMemcpyAttributes* attributes, size_t* attribute_indices,
                                          size_t attribute_count, size_t* failed, cudaStream_t stream) {
    const auto result = cudaMemcpyBatchAsync(targets, sources, bytes, count, attributes, attribute_indices,
                                             attribute_count, stream);
    if (result != cudaSuccess && failed != nullptr) *failed = static_cast<size_t>(-1);
    return result;
}
__asm__(".symver cudasim_copy_batch_of_cuda_12, cudaMemcpyBatchAsync@libcudart.so.12");

cudaError_t cudaMemPrefetchAsync_v2(const void* pointer, size_t bytes, cudaMemLocation location,
                                    unsigned flags, cudaStream_t stream) {
    return cudaMemPrefetchAsync(pointer, bytes, location, flags, stream);
}
cudaError_t cudaMemAdvise_v2(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                             cudaMemLocation location) {
    return cudaMemAdvise(pointer, bytes, advice, location);
}
cudaError_t cudaEventElapsedTime_v2(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
    return cudaEventElapsedTime(milliseconds, start, end);
}
cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** dependencies, const cudaGraphEdgeData** edges,
                                        size_t* count) {
    return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, edges, count);
}
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** dependencies, size_t* count) {
    return cudaStreamGetCaptureInfo(stream, status, id, graph, dependencies, nullptr, count);
}
}
