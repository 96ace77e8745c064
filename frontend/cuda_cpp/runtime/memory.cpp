// Page "Memory Management" of the CUDA Runtime API.
#include "simulator/driver/memory.h"

#include <cuda_runtime_api.h>

#include "frontend/cuda_cpp/runtime/calls.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "simulator/driver/stream_work.h"

using namespace cudasim;
using namespace cudasim::cudart;

namespace {

driver::DevicePointer address_of(const void* pointer) {
    return reinterpret_cast<driver::DevicePointer>(pointer);
}

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** pointer, size_t bytes) {
    return call("cudaMalloc", [&] {
        *pointer = reinterpret_cast<void*>(driver::mem_alloc(*Process::get().current(), bytes, ""));
    });
}

cudaError_t cudaFree(void* pointer) {
    return call("cudaFree", [&] {
        const auto current = Process::get().current();
        if (pointer != nullptr) driver::mem_free(current, address_of(pointer));
    });
}

cudaError_t cudaMemcpy(void* target, const void* source, size_t bytes, cudaMemcpyKind kind) {
    return call("cudaMemcpy", [&] {
        const auto current = Process::get().current();
        if (kind == cudaMemcpyHostToDevice) driver::memcpy_htod(current, address_of(target), source, bytes);
        if (kind == cudaMemcpyDeviceToHost) driver::memcpy_dtoh(current, target, address_of(source), bytes);
        if (kind == cudaMemcpyDeviceToDevice)
            driver::memcpy_dtod(current, address_of(target), address_of(source), bytes);
    });
}

cudaError_t cudaDeviceSynchronize() {
    return call("cudaDeviceSynchronize", [&] {
        const auto current = Process::get().current();
        driver::StreamWork::of_this_process().synchronize(current->device());
        current->require_usable("cudaDeviceSynchronize");
    });
}
}
