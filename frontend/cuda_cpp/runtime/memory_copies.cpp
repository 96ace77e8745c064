// Copies (CUDA Runtime API, "Memory Management"), but for those that name arrays alone (arrays.cpp) and
// symbols (symbols.cpp).
#include <cuda_runtime_api.h>

#include "frontend/cuda_cpp/runtime/arrays.h"
#include "frontend/cuda_cpp/runtime/copies.h"
#include "frontend/cuda_cpp/runtime/host_calls.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "simulator/driver/devices.h"
#include "simulator/driver/event.h"

using namespace cudasim;
using namespace cudasim::cudart;

namespace {

void copy_bytes(const HostCall& host, void* target, const void* source, std::size_t bytes,
                cudaMemcpyKind kind, const cudaStream_t* stream) {
    const auto current = Process::get().current();
    copy(host, current, {address_of(target)}, {address_of(source)}, {bytes}, kind,
         stream_if(current, stream, host.function));
}

void copy_rows(const HostCall& host, void* target, std::size_t target_pitch, const void* source,
               std::size_t source_pitch, std::size_t width, std::size_t height, cudaMemcpyKind kind,
               const cudaStream_t* stream) {
    const auto current = Process::get().current();
    copy(host, current, {address_of(target), target_pitch}, {address_of(source), source_pitch},
         {width, height}, kind, stream_if(current, stream, host.function));
}

void require_device(const HostCall& host, int device) {
    (void)Process::get().device(device, host.function);
}

void copy_peer(const HostCall& host, void* target, int target_device, const void* source, int source_device,
               std::size_t bytes, const cudaStream_t* stream) {
    require_device(host, target_device), require_device(host, source_device);
    copy_bytes(host, target, source, bytes, cudaMemcpyDeviceToDevice, stream);
}

/// Batches are refused in the default streams (cudaMemcpyBatchAsync).
void require_own_stream(const HostCall& host, cudaStream_t stream) {
    if (reinterpret_cast<std::uintptr_t>(stream) <= driver::per_thread_stream)
        refuse(host.function, "a batch of copies needs a stream that the program has made");
}

/// One side of a 3D copy.
struct Operand {
    Side side;
    std::size_t element_bytes = 1;  ///< of an array
    bool is_array = false;
};

Operand operand_of(const HostCall& host, cudaArray_t array, const cudaPitchedPtr& pointer,
                   const cudaPos& position, const cudaExtent& extent, const char* what) {
    if ((array != nullptr) == (pointer.ptr != nullptr))
        refuse(host.function, std::string(what) + " has to be either an array or a pointer");
    Operand operand;
    if (array != nullptr) {
        const Array& known = require_array(array, host.function);
        const std::size_t element = known.element_bytes();
        if (position.x > known.extent.width || extent.width > known.extent.width)
            refuse(host.function, std::string(what) + " does not lie in the array");
        require_inside(known, position.x * element, position.y, position.z,
                       {extent.width * element, extent.height, extent.depth}, host.function);
        operand = {known.side(position.x * element, position.y, position.z), element, true};
        return operand;
    }
    operand.side = {address_of(pointer.ptr) + position.x + position.y * pointer.pitch +
                        position.z * pointer.pitch * pointer.ysize,
                    pointer.pitch, pointer.pitch * pointer.ysize};
    return operand;
}

/// The extent counts elements where arrays take part, else bytes (cudaMemcpy3DParms).
void copy_box(const HostCall& host, const Operand& target, const Operand& source, const cudaExtent& extent,
              cudaMemcpyKind kind, const cudaStream_t* stream) {
    if (target.is_array && source.is_array && target.element_bytes != source.element_bytes)
        refuse(host.function, "the elements of the arrays differ in size");
    const std::size_t element = target.is_array ? target.element_bytes : source.element_bytes;
    const auto current = Process::get().current();
    copy(host, current, target.side, source.side, {extent.width * element, extent.height, extent.depth}, kind,
         stream_if(current, stream, host.function));
}

/// Of a copy between pointers: what the engine sees as addresses only.
void require_fitting(const HostCall& host, const cudaPitchedPtr& pointer, const cudaPos& position,
                     const cudaExtent& extent) {
    if (extent.depth > 1 && extent.height > pointer.ysize)
        refuse(host.function,
               std::to_string(extent.height) + " rows, and a slice of the memory has " +
                   std::to_string(pointer.ysize),
               cudaErrorInvalidPitchValue);
    if (pointer.pitch != 0 && position.x != 0 &&
        (position.x > pointer.pitch || extent.width > pointer.pitch - position.x))
        refuse(host.function, std::to_string(extent.width) + " bytes from byte " +
                                  std::to_string(position.x) + " on do not lie in a row of " +
                                  std::to_string(pointer.pitch));
}

/// @return false where nothing is to be copied, whatever the description says besides
template <typename Description>
bool require_3d(const HostCall& host, const Description* p) {
    require_argument(host.function, p, "the description of the copy");
    if (p->extent.width == 0 || p->extent.height == 0 || p->extent.depth == 0) return false;
    if (p->dstArray == nullptr && p->srcArray == nullptr) {
        require_fitting(host, p->dstPtr, p->dstPos, p->extent);
        require_fitting(host, p->srcPtr, p->srcPos, p->extent);
    }
    return true;
}

void copy_3d(const HostCall& host, const cudaMemcpy3DParms* p, const cudaStream_t* stream) {
    if (!require_3d(host, p)) return;
    copy_box(host, operand_of(host, p->dstArray, p->dstPtr, p->dstPos, p->extent, "the target"),
             operand_of(host, p->srcArray, p->srcPtr, p->srcPos, p->extent, "the source"), p->extent, p->kind,
             stream);
}

void copy_3d_peer(const HostCall& host, const cudaMemcpy3DPeerParms* p, const cudaStream_t* stream) {
    if (!require_3d(host, p)) return;
    require_device(host, p->dstDevice), require_device(host, p->srcDevice);
    copy_box(host, operand_of(host, p->dstArray, p->dstPtr, p->dstPos, p->extent, "the target"),
             operand_of(host, p->srcArray, p->srcPtr, p->srcPos, p->extent, "the source"), p->extent,
             cudaMemcpyDeviceToDevice, stream);
}

/// Of a batch: pitches are given in elements of one byte.
Operand operand_of(const HostCall& host, const cudaMemcpy3DOperand& operand, const cudaExtent& extent,
                   const char* what) {
    if (operand.type == cudaMemcpyOperandTypeArray) {
        const auto& at = operand.op.array;
        require_argument(host.function, at.array, what);
        return operand_of(host, at.array, {}, {at.offset.x, at.offset.y, at.offset.z}, extent, what);
    }
    if (operand.type != cudaMemcpyOperandTypePointer)
        refuse(host.function, std::string(what) + " is neither a pointer nor an array");
    const auto& at = operand.op.ptr;
    Operand known;
    const std::size_t pitch = at.rowLength != 0 ? at.rowLength : extent.width;
    known.side = {address_of(at.ptr), pitch, pitch * (at.layerHeight != 0 ? at.layerHeight : extent.height)};
    return known;
}

void copy_batch(const HostCall& host, std::size_t count, const cudaMemcpy3DBatchOp* operations,
                unsigned long long flags, const cudaStream_t* stream) {
    if (operations == nullptr || count == 0) refuse(host.function, "there are no copies");
    if (flags != 0) refuse(host.function, "the flags have to be 0");
    require_own_stream(host, *stream);
    require_arrays(host.function, count, operations);
    for (std::size_t i = 0; i < count; ++i) {
        const auto& each = operations[i];
        copy_box(host, operand_of(host, each.dst, each.extent, "the target"),
                 operand_of(host, each.src, each.extent, "the source"), each.extent, cudaMemcpyDefault,
                 stream);
    }
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* target, const void* source, size_t bytes, cudaMemcpyKind kind) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] { copy_bytes(host, target, source, bytes, kind, nullptr); });
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] { copy_bytes(host, target, source, bytes, kind, &stream); });
}

cudaError_t cudaMemcpyPeer(void* target, int target_device, const void* source, int source_device,
                           size_t bytes) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(
        host, [&] { copy_peer(host, target, target_device, source, source_device, bytes, nullptr); });
}

cudaError_t cudaMemcpyPeerAsync(void* target, int target_device, const void* source, int source_device,
                                size_t bytes, cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(
        host, [&] { copy_peer(host, target, target_device, source, source_device, bytes, &stream); });
}

cudaError_t cudaMemcpy2D(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                         size_t width, size_t height, cudaMemcpyKind kind) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        copy_rows(host, target, target_pitch, source, source_pitch, width, height, kind, nullptr);
    });
}

cudaError_t cudaMemcpy2DAsync(void* target, size_t target_pitch, const void* source, size_t source_pitch,
                              size_t width, size_t height, cudaMemcpyKind kind, cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        copy_rows(host, target, target_pitch, source, source_pitch, width, height, kind, &stream);
    });
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* parameters) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] { copy_3d(host, parameters, nullptr); });
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* parameters, cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] { copy_3d(host, parameters, &stream); });
}

cudaError_t cudaMemcpy3DPeer(const cudaMemcpy3DPeerParms* parameters) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] { copy_3d_peer(host, parameters, nullptr); });
}

cudaError_t cudaMemcpy3DPeerAsync(const cudaMemcpy3DPeerParms* parameters, cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] { copy_3d_peer(host, parameters, &stream); });
}

cudaError_t cudaMemcpyBatchAsync(void* const* targets, const void* const* sources, const size_t* bytes,
                                 size_t count, cudaMemcpyAttributes* attributes, size_t* attribute_indices,
                                 size_t attribute_count, cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        if (targets == nullptr || sources == nullptr || bytes == nullptr || count == 0)
            refuse(host.function, "there are no copies");
        if (attribute_count > count || (attribute_count != 0 && (!attributes || !attribute_indices)))
            refuse(host.function, "the attributes do not fit the copies");
        require_own_stream(host, stream);
        require_arrays(host.function, count, targets, sources, bytes);
        for (std::size_t i = 0; i < count; ++i)
            copy_bytes(host, targets[i], sources[i], bytes[i], cudaMemcpyDefault, &stream);
    });
}

cudaError_t cudaMemcpy3DBatchAsync(size_t count, cudaMemcpy3DBatchOp* operations, unsigned long long flags,
                                   cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] { copy_batch(host, count, operations, flags, &stream); });
}
}
