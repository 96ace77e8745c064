// Device memory of several processes (CUDA Runtime API, "Device Management": cudaIpc...).
#include <cuda_runtime_api.h>

#include <cstring>

#include "frontend/cuda_cpp/runtime/copies.h"
#include "frontend/cuda_cpp/runtime/host_calls.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "simulator/driver/ipc.h"

using namespace cudasim;
using namespace cudasim::cudart;

extern "C" {

cudaError_t cudaIpcGetMemHandle(cudaIpcMemHandle_t* handle, void* pointer) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, handle, "what the handle is written to");
        const auto bytes = driver::ipc_get_mem_handle(Process::get().current(), address_of(pointer));
        std::memcpy(handle->reserved, bytes.data(), bytes.size());
    });
}

cudaError_t cudaIpcOpenMemHandle(void** pointer, cudaIpcMemHandle_t handle, unsigned flags) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, pointer, "what the address is written to");
        if (flags != cudaIpcMemLazyEnablePeerAccess)
            refuse(host.function, "the flags have to be cudaIpcMemLazyEnablePeerAccess");
        driver::IpcMemHandle bytes;
        std::memcpy(bytes.data(), handle.reserved, bytes.size());
        *pointer = reinterpret_cast<void*>(driver::ipc_open_mem_handle(Process::get().current(), bytes));
    });
}

cudaError_t cudaIpcCloseMemHandle(void* pointer) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        (void)Process::get().current();
        driver::ipc_close_mem_handle(address_of(pointer));
    });
}
}
