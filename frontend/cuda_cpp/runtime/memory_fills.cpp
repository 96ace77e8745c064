// Fills (CUDA Runtime API, "Memory Management").
#include <cuda_runtime_api.h>

#include "frontend/cuda_cpp/runtime/arrays.h"
#include "frontend/cuda_cpp/runtime/copies.h"
#include "frontend/cuda_cpp/runtime/host_calls.h"
#include "frontend/cuda_cpp/runtime/process.h"

using namespace cudasim;
using namespace cudasim::cudart;

namespace {

void fill_bytes(const HostCall& host, const Side& side, int value, const Box& box,
                const cudaStream_t* stream) {
    const auto current = Process::get().current();
    fill(host, current, side, static_cast<unsigned char>(value), 1, box,
         stream_if(current, stream, host.function));
}

void require_rows(const HostCall& host, const cudaPitchedPtr& pointer, const cudaExtent& extent) {
    if (extent.width == 0 || extent.depth == 0 || extent.height <= pointer.ysize) return;
    refuse(host.function, std::to_string(extent.height) + " rows, and a slice of the memory has " +
                              std::to_string(pointer.ysize));
}

Side side_of(const cudaPitchedPtr& pointer) {
    return {address_of(pointer.ptr), pointer.pitch, pointer.pitch * pointer.ysize};
}

}  // namespace

extern "C" {

cudaError_t cudaMemset(void* pointer, int value, size_t bytes) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] { fill_bytes(host, {address_of(pointer)}, value, {bytes}, nullptr); });
}

cudaError_t cudaMemsetAsync(void* pointer, int value, size_t bytes, cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] { fill_bytes(host, {address_of(pointer)}, value, {bytes}, &stream); });
}

cudaError_t cudaMemset2D(void* pointer, size_t pitch, int value, size_t width, size_t height) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(
        host, [&] { fill_bytes(host, {address_of(pointer), pitch}, value, {width, height}, nullptr); });
}

cudaError_t cudaMemset2DAsync(void* pointer, size_t pitch, int value, size_t width, size_t height,
                              cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(
        host, [&] { fill_bytes(host, {address_of(pointer), pitch}, value, {width, height}, &stream); });
}

cudaError_t cudaMemset3D(cudaPitchedPtr pointer, int value, cudaExtent extent) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_rows(host, pointer, extent);
        fill_bytes(host, side_of(pointer), value, {extent.width, extent.height, extent.depth}, nullptr);
    });
}

cudaError_t cudaMemset3DAsync(cudaPitchedPtr pointer, int value, cudaExtent extent, cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_rows(host, pointer, extent);
        fill_bytes(host, side_of(pointer), value, {extent.width, extent.height, extent.depth}, &stream);
    });
}
}
