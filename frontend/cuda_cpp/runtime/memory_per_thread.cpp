// The functions that programs call with CUDA_API_PER_THREAD_DEFAULT_STREAM in the place of those without a
// suffix (cudasim/per_thread_default_stream.h): their default stream is the calling thread's. Calls that are done
// when they return (_ptds) differ in nothing else. Each ends in a jump, so that the return address is the program's.
#include <cuda_runtime_api.h>

namespace {

cudaStream_t own(cudaStream_t stream) {
    return stream == nullptr ? cudaStreamPerThread : stream;
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy_ptds(void* target, const void* source, size_t bytes, cudaMemcpyKind kind) {
    return cudaMemcpy(target, source, bytes, kind);
}
cudaError_t cudaMemcpyAsync_ptsz(void* target, const void* source, size_t bytes, cudaMemcpyKind kind,
                                 cudaStream_t stream) {
    return cudaMemcpyAsync(target, source, bytes, kind, own(stream));
}
cudaError_t cudaMemcpyBatchAsync_ptsz(void* const* targets, const void* const* sources, const size_t* bytes,
                                      size_t count, cudaMemcpyAttributes* attributes,
                                      size_t* attribute_indices, size_t attribute_count,
                                      cudaStream_t stream) {
    return cudaMemcpyBatchAsync(targets, sources, bytes, count, attributes, attribute_indices,
                                attribute_count, own(stream));
}
cudaError_t cudaMemcpy2D_ptds(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind) {
    return cudaMemcpy2D(target, target_pitch, source, source_pitch, width, height, kind);
}
cudaError_t cudaMemcpy2DAsync_ptsz(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                                   size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    return cudaMemcpy2DAsync(target, target_pitch, source, source_pitch, width, height, kind, own(stream));
}
cudaError_t cudaMemcpy3D_ptds(const cudaMemcpy3DParms* parameters) {
    return cudaMemcpy3D(parameters);
}
cudaError_t cudaMemcpy3DAsync_ptsz(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
    return cudaMemcpy3DAsync(parameters, own(stream));
}
cudaError_t cudaMemcpy3DPeer_ptds(const cudaMemcpy3DPeerParms* parameters) {
    return cudaMemcpy3DPeer(parameters);
}
cudaError_t cudaMemcpy3DPeerAsync_ptsz(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
    return cudaMemcpy3DPeerAsync(parameters, own(stream));
}
cudaError_t cudaMemcpy3DBatchAsync_ptsz(size_t count, cudaMemcpy3DBatchOp* operations,
                                        unsigned long long flags, cudaStream_t stream) {
    return cudaMemcpy3DBatchAsync(count, operations, flags, own(stream));
}
cudaError_t cudaMemcpy2DToArray_ptds(cudaArray_t target, size_t x_bytes, size_t y, const void* source,
                                     size_t source_pitch, size_t width, size_t height, cudaMemcpyKind kind) {
    return cudaMemcpy2DToArray(target, x_bytes, y, source, source_pitch, width, height, kind);
}
cudaError_t cudaMemcpy2DToArrayAsync_ptsz(cudaArray_t target, size_t x_bytes, size_t y, const void* source,
                                          size_t source_pitch, size_t width, size_t height,
                                          cudaMemcpyKind kind, cudaStream_t stream) {
    return cudaMemcpy2DToArrayAsync(target, x_bytes, y, source, source_pitch, width, height, kind,
                                    own(stream));
}
cudaError_t cudaMemcpy2DFromArray_ptds(void* target, size_t target_pitch, cudaArray_const_t source,
                                       size_t x_bytes, size_t y, size_t width, size_t height,
                                       cudaMemcpyKind kind) {
    return cudaMemcpy2DFromArray(target, target_pitch, source, x_bytes, y, width, height, kind);
}
cudaError_t cudaMemcpy2DFromArrayAsync_ptsz(void* target, size_t target_pitch, cudaArray_const_t source,
                                            size_t x_bytes, size_t y, size_t width, size_t height,
                                            cudaMemcpyKind kind, cudaStream_t stream) {
    return cudaMemcpy2DFromArrayAsync(target, target_pitch, source, x_bytes, y, width, height, kind,
                                      own(stream));
}
cudaError_t cudaMemcpy2DArrayToArray_ptds(cudaArray_t target, size_t target_x_bytes, size_t target_y,
                                          cudaArray_const_t source, size_t source_x_bytes, size_t source_y,
                                          size_t width, size_t height, cudaMemcpyKind kind) {
    return cudaMemcpy2DArrayToArray(target, target_x_bytes, target_y, source, source_x_bytes, source_y, width,
                                    height, kind);
}
cudaError_t cudaMemcpyToArray_ptds(cudaArray_t target, size_t x_bytes, size_t y, const void* source,
                                   size_t bytes, cudaMemcpyKind kind) {
    return cudaMemcpyToArray(target, x_bytes, y, source, bytes, kind);
}
cudaError_t cudaMemcpyToArrayAsync_ptsz(cudaArray_t target, size_t x_bytes, size_t y, const void* source,
                                        size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return cudaMemcpyToArrayAsync(target, x_bytes, y, source, bytes, kind, own(stream));
}
cudaError_t cudaMemcpyFromArray_ptds(void* target, cudaArray_const_t source, size_t x_bytes, size_t y,
                                     size_t bytes, cudaMemcpyKind kind) {
    return cudaMemcpyFromArray(target, source, x_bytes, y, bytes, kind);
}
cudaError_t cudaMemcpyFromArrayAsync_ptsz(void* target, cudaArray_const_t source, size_t x_bytes, size_t y,
                                          size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    return cudaMemcpyFromArrayAsync(target, source, x_bytes, y, bytes, kind, own(stream));
}
cudaError_t cudaMemcpyArrayToArray_ptds(cudaArray_t target, size_t target_x_bytes, size_t target_y,
                                        cudaArray_const_t source, size_t source_x_bytes, size_t source_y,
                                        size_t bytes, cudaMemcpyKind kind) {
    return cudaMemcpyArrayToArray(target, target_x_bytes, target_y, source, source_x_bytes, source_y, bytes,
                                  kind);
}
cudaError_t cudaMemcpyToSymbol_ptds(const void* symbol, const void* source, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind) {
    return cudaMemcpyToSymbol(symbol, source, bytes, offset, kind);
}
cudaError_t cudaMemcpyToSymbolAsync_ptsz(const void* symbol, const void* source, size_t bytes, size_t offset,
                                         cudaMemcpyKind kind, cudaStream_t stream) {
    return cudaMemcpyToSymbolAsync(symbol, source, bytes, offset, kind, own(stream));
}
cudaError_t cudaMemcpyFromSymbol_ptds(void* target, const void* symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind) {
    return cudaMemcpyFromSymbol(target, symbol, bytes, offset, kind);
}
cudaError_t cudaMemcpyFromSymbolAsync_ptsz(void* target, const void* symbol, size_t bytes, size_t offset,
                                           cudaMemcpyKind kind, cudaStream_t stream) {
    return cudaMemcpyFromSymbolAsync(target, symbol, bytes, offset, kind, own(stream));
}
cudaError_t cudaMemset_ptds(void* pointer, int value, size_t bytes) {
    return cudaMemset(pointer, value, bytes);
}
cudaError_t cudaMemsetAsync_ptsz(void* pointer, int value, size_t bytes, cudaStream_t stream) {
    return cudaMemsetAsync(pointer, value, bytes, own(stream));
}
cudaError_t cudaMemset2D_ptds(void* pointer, size_t pitch, int value, size_t width, size_t height) {
    return cudaMemset2D(pointer, pitch, value, width, height);
}
cudaError_t cudaMemset2DAsync_ptsz(void* pointer, size_t pitch, int value, size_t width, size_t height,
                                   cudaStream_t stream) {
    return cudaMemset2DAsync(pointer, pitch, value, width, height, own(stream));
}
cudaError_t cudaMemset3D_ptds(cudaPitchedPtr pointer, int value, cudaExtent extent) {
    return cudaMemset3D(pointer, value, extent);
}
cudaError_t cudaMemset3DAsync_ptsz(cudaPitchedPtr pointer, int value, cudaExtent extent,
                                   cudaStream_t stream) {
    return cudaMemset3DAsync(pointer, value, extent, own(stream));
}
cudaError_t cudaMallocAsync_ptsz(void** pointer, size_t bytes, cudaStream_t stream) {
    return cudaMallocAsync(pointer, bytes, own(stream));
}
cudaError_t cudaMallocFromPoolAsync_ptsz(void** pointer, size_t bytes, cudaMemPool_t pool,
                                         cudaStream_t stream) {
    return cudaMallocFromPoolAsync(pointer, bytes, pool, own(stream));
}
cudaError_t cudaFreeAsync_ptsz(void* pointer, cudaStream_t stream) {
    return cudaFreeAsync(pointer, own(stream));
}
cudaError_t cudaMemPrefetchAsync_ptsz(const void* pointer, size_t bytes, cudaMemLocation location,
                                      unsigned flags, cudaStream_t stream) {
    return cudaMemPrefetchAsync(pointer, bytes, location, flags, own(stream));
}
cudaError_t cudaMemPrefetchBatchAsync_ptsz(void** pointers, size_t* bytes, size_t count,
                                           cudaMemLocation* locations, size_t* location_indices,
                                           size_t location_count, unsigned long long flags,
                                           cudaStream_t stream) {
    return cudaMemPrefetchBatchAsync(pointers, bytes, count, locations, location_indices, location_count,
                                     flags, own(stream));
}
cudaError_t cudaMemDiscardBatchAsync_ptsz(void** pointers, size_t* bytes, size_t count,
                                          unsigned long long flags, cudaStream_t stream) {
    return cudaMemDiscardBatchAsync(pointers, bytes, count, flags, own(stream));
}
cudaError_t cudaMemDiscardAndPrefetchBatchAsync_ptsz(void** pointers, size_t* bytes, size_t count,
                                                     cudaMemLocation* locations, size_t* location_indices,
                                                     size_t location_count, unsigned long long flags,
                                                     cudaStream_t stream) {
    return cudaMemDiscardAndPrefetchBatchAsync(pointers, bytes, count, locations, location_indices,
                                               location_count, flags, own(stream));
}
cudaError_t cudaStreamAttachMemAsync_ptsz(cudaStream_t stream, void* pointer, size_t bytes, unsigned flags) {
    return cudaStreamAttachMemAsync(own(stream), pointer, bytes, flags);
}
}
