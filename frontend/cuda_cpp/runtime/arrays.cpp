// Arrays and their copies (CUDA Runtime API, "Memory Management").
#include "frontend/cuda_cpp/runtime/arrays.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <map>
#include <mutex>

#include "frontend/cuda_cpp/runtime/host_calls.h"
#include "frontend/cuda_cpp/runtime/process.h"
#include "simulator/driver/devices.h"
#include "simulator/driver/memory.h"

using namespace cudasim;
using namespace cudasim::cudart;

namespace {

constexpr std::size_t pitch_alignment = 512;
constexpr unsigned known_flags = cudaArrayLayered | cudaArraySurfaceLoadStore | cudaArrayCubemap |
                                 cudaArrayTextureGather | cudaArrayColorAttachment | cudaArraySparse |
                                 cudaArrayDeferredMapping;

/// Those that are alive: a handle of anything else is refused.
struct Arrays {
    std::mutex mutex;
    std::map<const void*, std::unique_ptr<Array>> alive;
};

Arrays& arrays() {
    static Arrays& all = *new Arrays;
    return all;
}

bool is_format(const cudaChannelFormatDesc& format) {
    const std::array bits{format.x, format.y, format.z, format.w};
    if (bits[0] != 8 && bits[0] != 16 && bits[0] != 32) return false;
    const auto used = std::ranges::find(bits, 0) - bits.begin();
    return used != 3 &&
           std::all_of(bits.begin(), bits.begin() + used, [&](int each) { return each == bits[0]; }) &&
           std::all_of(bits.begin() + used, bits.end(), [](int each) { return each == 0; });
}

/// Arrays are for textures, whose limits they have.
void require_limits(const HostCall& host, const cudaExtent& extent, unsigned flags) {
    const auto context = Process::get().current();
    const auto most = [&](cudaDeviceAttr attribute) {
        return static_cast<std::size_t>(driver::device_get_attribute(*context, attribute));
    };
    const bool is_flat = extent.depth == 0 || (flags & cudaArrayLayered) != 0;
    const auto widest = extent.height == 0 ? cudaDevAttrMaxTexture1DWidth
                        : is_flat          ? cudaDevAttrMaxTexture2DWidth
                                           : cudaDevAttrMaxTexture3DWidth;
    if (extent.width > most(widest))
        refuse(host.function, std::to_string(extent.width) +
                                  " elements in a row, and a texture has at most " +
                                  std::to_string(most(widest)));
    const bool is_cube = (flags & cudaArrayCubemap) != 0 && (flags & cudaArrayLayered) == 0;
    if (is_cube && (extent.depth != 6 || extent.width != extent.height))
        refuse(host.function, "a cube has six sides, which are squares");
}

cudaArray_t make_array(const HostCall& host, const cudaChannelFormatDesc* format, const cudaExtent& extent,
                       unsigned flags) {
    require_argument(host.function, format, "the format");
    if (!is_format(*format))
        refuse(host.function, "there are no elements of this format", cudaErrorInvalidChannelDescriptor);
    if (flags & ~known_flags) refuse(host.function, "there are no such flags: " + driver::hexadecimal(flags));
    if (extent.width == 0 || (extent.height == 0 && extent.depth != 0 && !(flags & cudaArrayLayered)))
        refuse(host.function, "an array without elements");
    require_limits(host, extent, flags);
    auto array = std::make_unique<Array>();
    array->format = *format, array->extent = extent, array->flags = flags;
    std::size_t bytes = 0;
    if (extent.width > SIZE_MAX / 32 ||
        __builtin_mul_overflow(
            array->pitch = (array->row_bytes() + pitch_alignment - 1) / pitch_alignment * pitch_alignment,
            array->rows(), &bytes) ||
        __builtin_mul_overflow(bytes, array->layers(), &bytes))
        refuse(host.function, "no memory is so large", cudaErrorMemoryAllocation);
    array->context = Process::get().current();
    array->address = driver::mem_alloc(*array->context, bytes, host.label());
    const std::lock_guard lock(arrays().mutex);
    auto* const handle = array.get();
    arrays().alive.emplace(handle, std::move(array));
    return handle;
}

/// A copy of one or two arrays' boxes; a null array is linear memory.
struct ArrayBox {
    cudaArray_const_t array;
    std::size_t x_bytes, y;
};

Side side_of(const HostCall& host, const ArrayBox& at, const Box& box) {
    const Array& array = require_array(at.array, host.function);
    require_inside(array, at.x_bytes, at.y, 0, box, host.function);
    return array.side(at.x_bytes, at.y, 0);
}

void copy_rows(const HostCall& host, const Side& target, const Side& source, const Box& box,
               cudaMemcpyKind kind, const cudaStream_t* stream) {
    const auto current = Process::get().current();
    copy(host, current, target, source, box, kind, stream_if(current, stream, host.function));
}

/// @param wrong the kinds that contradict an array as the target of the copy, or as its source
void require_kind(const HostCall& host, cudaMemcpyKind kind, std::initializer_list<cudaMemcpyKind> wrong) {
    if (std::ranges::find(wrong, kind) != wrong.end())
        refuse(host.function, "the direction is wrong: arrays lie in the device's memory",
               cudaErrorInvalidMemcpyDirection);
}

void require_pitch(const HostCall& host, std::size_t pitch, const Box& box) {
    if (pitch < box.width && box.height != 0)
        refuse(host.function,
               "rows of " + std::to_string(box.width) + " bytes do not fit into a pitch of " +
                   std::to_string(pitch),
               cudaErrorInvalidPitchValue);
}

/// Copies that count bytes, and go on in the next row where one ends (cudaMemcpyToArray): done row by row.
template <typename CopyPart>
void for_each_row(const HostCall& host, const ArrayBox& at, std::size_t bytes, CopyPart copy_part) {
    const Array& array = require_array(at.array, host.function);
    std::size_t x = at.x_bytes, y = at.y;
    if (x > array.row_bytes() || y > array.rows() ||
        bytes > (array.rows() - y) * array.row_bytes() - std::min(x, (array.rows() - y) * array.row_bytes()))
        refuse(host.function, std::to_string(bytes) + " bytes do not lie in the array");
    for (std::size_t done = 0; done < bytes; x = 0, ++y) {
        const std::size_t part = std::min(bytes - done, array.row_bytes() - x);
        if (part != 0) copy_part(array.side(x, y, 0), done, part);
        done += part;
    }
}

void copy_to_array(const HostCall& host, const ArrayBox& target, const void* source, std::size_t bytes,
                   cudaMemcpyKind kind, const cudaStream_t* stream) {
    for_each_row(host, target, bytes, [&](const Side& row, std::size_t done, std::size_t part) {
        copy_rows(host, row, {address_of(source) + done}, {part}, kind, stream);
    });
}

void copy_from_array(const HostCall& host, void* target, const ArrayBox& source, std::size_t bytes,
                     cudaMemcpyKind kind, const cudaStream_t* stream) {
    for_each_row(host, source, bytes, [&](const Side& row, std::size_t done, std::size_t part) {
        copy_rows(host, {address_of(target) + done}, row, {part}, kind, stream);
    });
}

}  // namespace

namespace cudasim::cudart {

const Array& require_array(cudaArray_const_t array, const char* function) {
    const std::lock_guard lock(arrays().mutex);
    const auto found = arrays().alive.find(array);
    if (found == arrays().alive.end())
        refuse(function, "this is no array, or one that was freed", cudaErrorInvalidResourceHandle);
    return *found->second;
}

void require_inside(const Array& array, std::size_t x_bytes, std::size_t y, std::size_t z, const Box& box,
                    const char* function) {
    const auto fits = [](std::size_t at, std::size_t size, std::size_t all) {
        return size <= all && at <= all - size;
    };
    if (fits(x_bytes, box.width, array.row_bytes()) && fits(y, box.height, array.rows()) &&
        fits(z, box.depth, array.layers()))
        return;
    refuse(function, "the part that is copied does not lie in the array");
}

}  // namespace cudasim::cudart

extern "C" {

cudaError_t cudaMallocArray(cudaArray_t* array, const cudaChannelFormatDesc* format, size_t width,
                            size_t height, unsigned flags) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, array, "what the array is written to");
        *array = make_array(host, format, {width, height, 0}, flags);
    });
}

cudaError_t cudaMalloc3DArray(cudaArray_t* array, const cudaChannelFormatDesc* format, cudaExtent extent,
                              unsigned flags) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, array, "what the array is written to");
        *array = make_array(host, format, extent, flags);
    });
}

cudaError_t cudaFreeArray(cudaArray_t array) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        (void)Process::get().current();
        if (array == nullptr) return;
        std::unique_ptr<Array> freed;
        {
            const std::lock_guard lock(arrays().mutex);
            const auto found = arrays().alive.find(array);
            if (found == arrays().alive.end())
                refuse(host.function, "this is no array, or one that was freed before");
            freed = std::move(found->second);
            arrays().alive.erase(found);
        }
        driver::mem_free(freed->context, freed->address);
    });
}

cudaError_t cudaArrayGetInfo(cudaChannelFormatDesc* format, cudaExtent* extent, unsigned* flags,
                             cudaArray_t array) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        const Array& known = require_array(array, host.function);
        if (format) *format = known.format;
        if (extent) *extent = known.extent;
        if (flags) *flags = known.flags;
    });
}

cudaError_t cudaGetChannelDesc(cudaChannelFormatDesc* format, cudaArray_const_t array) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, format, "what the format is written to");
        *format = require_array(array, host.function).format;
    });
}

cudaError_t cudaArrayGetMemoryRequirements(cudaArrayMemoryRequirements* requirements, cudaArray_t array,
                                           int) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_argument(host.function, requirements, "what the requirements are written to");
        const Array& known = require_array(array, host.function);
        *requirements = {};
        requirements->size = known.pitch * known.rows() * known.layers();
        requirements->alignment = pitch_alignment;
    });
}

cudaChannelFormatDesc cudaCreateChannelDesc(int x, int y, int z, int w, cudaChannelFormatKind f) {
    return {x, y, z, w, f};
}

cudaError_t cudaMemcpy2DToArray(cudaArray_t target, size_t x_bytes, size_t y, const void* source,
                                size_t source_pitch, size_t width, size_t height, cudaMemcpyKind kind) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_kind(host, kind, {cudaMemcpyDeviceToHost, cudaMemcpyHostToHost});
        require_pitch(host, source_pitch, {width, height});
        copy_rows(host, side_of(host, {target, x_bytes, y}, {width, height}),
                  {address_of(source), source_pitch}, {width, height}, kind, nullptr);
    });
}

cudaError_t cudaMemcpy2DToArrayAsync(cudaArray_t target, size_t x_bytes, size_t y, const void* source,
                                     size_t source_pitch, size_t width, size_t height, cudaMemcpyKind kind,
                                     cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_kind(host, kind, {cudaMemcpyDeviceToHost, cudaMemcpyHostToHost});
        require_pitch(host, source_pitch, {width, height});
        copy_rows(host, side_of(host, {target, x_bytes, y}, {width, height}),
                  {address_of(source), source_pitch}, {width, height}, kind, &stream);
    });
}

cudaError_t cudaMemcpy2DFromArray(void* target, size_t target_pitch, cudaArray_const_t source, size_t x_bytes,
                                  size_t y, size_t width, size_t height, cudaMemcpyKind kind) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_kind(host, kind, {cudaMemcpyHostToDevice, cudaMemcpyHostToHost});
        require_pitch(host, target_pitch, {width, height});
        copy_rows(host, {address_of(target), target_pitch},
                  side_of(host, {source, x_bytes, y}, {width, height}), {width, height}, kind, nullptr);
    });
}

cudaError_t cudaMemcpy2DFromArrayAsync(void* target, size_t target_pitch, cudaArray_const_t source,
                                       size_t x_bytes, size_t y, size_t width, size_t height,
                                       cudaMemcpyKind kind, cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_kind(host, kind, {cudaMemcpyHostToDevice, cudaMemcpyHostToHost});
        require_pitch(host, target_pitch, {width, height});
        copy_rows(host, {address_of(target), target_pitch},
                  side_of(host, {source, x_bytes, y}, {width, height}), {width, height}, kind, &stream);
    });
}

cudaError_t cudaMemcpy2DArrayToArray(cudaArray_t target, size_t target_x_bytes, size_t target_y,
                                     cudaArray_const_t source, size_t source_x_bytes, size_t source_y,
                                     size_t width, size_t height, cudaMemcpyKind kind) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        require_kind(host, kind, {cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyHostToHost});
        const Box box{width, height};
        copy_rows(host, side_of(host, {target, target_x_bytes, target_y}, box),
                  side_of(host, {source, source_x_bytes, source_y}, box), box, kind, nullptr);
    });
}

cudaError_t cudaMemcpyToArray(cudaArray_t target, size_t x_bytes, size_t y, const void* source, size_t bytes,
                              cudaMemcpyKind kind) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host,
                        [&] { copy_to_array(host, {target, x_bytes, y}, source, bytes, kind, nullptr); });
}

cudaError_t cudaMemcpyToArrayAsync(cudaArray_t target, size_t x_bytes, size_t y, const void* source,
                                   size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host,
                        [&] { copy_to_array(host, {target, x_bytes, y}, source, bytes, kind, &stream); });
}

cudaError_t cudaMemcpyFromArray(void* target, cudaArray_const_t source, size_t x_bytes, size_t y,
                                size_t bytes, cudaMemcpyKind kind) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host,
                        [&] { copy_from_array(host, target, {source, x_bytes, y}, bytes, kind, nullptr); });
}

cudaError_t cudaMemcpyFromArrayAsync(void* target, cudaArray_const_t source, size_t x_bytes, size_t y,
                                     size_t bytes, cudaMemcpyKind kind, cudaStream_t stream) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host,
                        [&] { copy_from_array(host, target, {source, x_bytes, y}, bytes, kind, &stream); });
}

cudaError_t cudaMemcpyArrayToArray(cudaArray_t target, size_t target_x_bytes, size_t target_y,
                                   cudaArray_const_t source, size_t source_x_bytes, size_t source_y,
                                   size_t bytes, cudaMemcpyKind kind) {
    const HostCall host = CUDASIM_HOST_CALL;
    return call_of_host(host, [&] {
        // Rows of the two need not be equally long: through linear memory of its own.
        const auto current = Process::get().current();
        if (bytes == 0) return;
        const auto between = driver::mem_alloc(*current, bytes, host.label());
        try {
            void* const memory = reinterpret_cast<void*>(between);
            copy_from_array(host, memory, {source, source_x_bytes, source_y}, bytes, kind, nullptr);
            copy_to_array(host, {target, target_x_bytes, target_y}, memory, bytes, kind, nullptr);
        } catch (...) {
            driver::mem_free(current, between);
            throw;
        }
        driver::mem_free(current, between);
    });
}
}
