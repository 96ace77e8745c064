// What the host code of objects that nvcc 12.8 and later made calls besides the launch functions that clang
// uses too (launches.cpp): it asks once for a handle of the kernel and launches that.
#include <cuda_runtime_api.h>

extern "C" {

/// The address that the host knows the kernel by is its handle.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* host_function) {
    *kernel = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host_function));
    return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, size_t shared_bytes,
                               cudaStream_t stream) {
    return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream);
}

/// Of code compiled with --default-stream per-thread: stream 0 is the calling thread's.
cudaError_t __cudaLaunchKernel_ptsz(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                                    size_t shared_bytes, cudaStream_t stream) {
    const auto per_thread = reinterpret_cast<cudaStream_t>(0x2);  // cudaStreamPerThread
    return cudaLaunchKernel(kernel, grid, block, arguments, shared_bytes, stream ? stream : per_thread);
}

/// Before the first use of a managed variable. Nonzero: it may be used.
char __cudaInitModule(void**) {
    return 1;
}
}
