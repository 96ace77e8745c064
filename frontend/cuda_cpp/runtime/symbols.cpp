// Variables of device code, by the addresses of their shadows in the host's program (CUDA Runtime API,
// "Memory Management": cudaMemcpyToSymbol and its like).
#include <cuda_runtime_api.h>

#include "frontend/cuda_cpp/runtime/copies.h"
#include "frontend/cuda_cpp/runtime/host_calls.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "frontend/cuda_cpp/runtime/programs.h"

using namespace cudasim;
using namespace cudasim::cudart;

namespace {

execution::AddressRange range_of(const HostCall& host, const std::shared_ptr<driver::Context>& current,
                                 const void* symbol) {
    current->require_usable(host.function);
    return Programs::of_this_process().variable(current, symbol);
}

/// The address of the part of the variable that a copy names.
std::uint64_t part_of(const HostCall& host, const std::shared_ptr<driver::Context>& current,
                      const void* symbol, std::size_t bytes, std::size_t offset) {
    const auto range = range_of(host, current, symbol);
    if (bytes > range.bytes || offset > range.bytes - bytes)
        refuse(host.function, std::to_string(bytes) + " bytes at offset " + std::to_string(offset) +
                                  " do not lie in the variable, which has " + std::to_string(range.bytes) +
                                  " bytes");
    return range.base + offset;
}

void copy_to(const HostCall& host, const void* symbol, const void* source, std::size_t bytes,
             std::size_t offset, cudaMemcpyKind kind, const cudaStream_t* stream) {
    if (bytes == 0) return;
    const auto current = Process::get().current();
    const std::uint64_t target = part_of(host, current, symbol, bytes, offset);
    if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        refuse(host.function, "a variable of the device can only be the target of copies to the device",
               cudaErrorInvalidMemcpyDirection);
    copy(host, current, {target}, {address_of(source)}, {bytes}, kind,
         stream_if(current, stream, host.function));
}

void copy_from(const HostCall& host, void* target, const void* symbol, std::size_t bytes, std::size_t offset,
               cudaMemcpyKind kind, const cudaStream_t* stream) {
    if (bytes == 0) return;
    const auto current = Process::get().current();
    const std::uint64_t source = part_of(host, current, symbol, bytes, offset);
    if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault)
        refuse(host.function, "a variable of the device can only be the source of copies from the device",
               cudaErrorInvalidMemcpyDirection);
    copy(host, current, {address_of(target)}, {source}, {bytes}, kind,
         stream_if(current, stream, host.function));
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* source, size_t bytes, size_t offset,
                               cudaMemcpyKind kind) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] { copy_to(host, symbol, source, bytes, offset, kind, nullptr); });
}

cudaError_t cudaMemcpyToSymbolAsync(const void* symbol, const void* source, size_t bytes, size_t offset,
                                    cudaMemcpyKind kind, cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] { copy_to(host, symbol, source, bytes, offset, kind, &stream); });
}

cudaError_t cudaMemcpyFromSymbol(void* target, const void* symbol, size_t bytes, size_t offset,
                                 cudaMemcpyKind kind) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] { copy_from(host, target, symbol, bytes, offset, kind, nullptr); });
}

cudaError_t cudaMemcpyFromSymbolAsync(void* target, const void* symbol, size_t bytes, size_t offset,
                                      cudaMemcpyKind kind, cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] { copy_from(host, target, symbol, bytes, offset, kind, &stream); });
}

cudaError_t cudaGetSymbolAddress(void** pointer, const void* symbol) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, pointer, "what the address is written to");
        *pointer = reinterpret_cast<void*>(range_of(host, Process::get().current(), symbol).base);
    });
}

cudaError_t cudaGetSymbolSize(size_t* bytes, const void* symbol) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, bytes, "what the size is written to");
        *bytes = range_of(host, Process::get().current(), symbol).bytes;
    });
}
}
