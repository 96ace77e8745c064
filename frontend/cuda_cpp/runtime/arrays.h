// Arrays (cudaArray_t): pitched memory of a device that programs know by a handle.
#pragma once

#include <cuda_runtime_api.h>

#include <memory>

#include "frontend/cuda_cpp/runtime/copies.h"

/// What a cudaArray_t points to. Copies name places in it by element; kernels do not see it, other than
/// through textures and surfaces.
struct cudaArray {
    cudaChannelFormatDesc format{};
    cudaExtent extent{};  ///< in elements; a height or depth of 0 as the program gave it
    unsigned flags = 0;
    std::uint64_t address = 0;
    std::size_t pitch = 0;  ///< bytes
    std::shared_ptr<cudasim::driver::Context> context;

    [[nodiscard]] std::size_t element_bytes() const {
        return static_cast<std::size_t>(format.x + format.y + format.z + format.w) / 8;
    }
    [[nodiscard]] std::size_t rows() const { return extent.height == 0 ? 1 : extent.height; }
    [[nodiscard]] std::size_t layers() const { return extent.depth == 0 ? 1 : extent.depth; }
    [[nodiscard]] std::size_t row_bytes() const { return extent.width * element_bytes(); }
    /// The place of a copy in it.
    [[nodiscard]] cudasim::cudart::Side side(std::size_t x_bytes, std::size_t y, std::size_t z) const {
        return {address + x_bytes + y * pitch + z * pitch * rows(), pitch, pitch * rows()};
    }
};

namespace cudasim::cudart {

using Array = ::cudaArray;

/// The array, which is alive. @throws driver::Error with cudaErrorInvalidValue, which names `function`
[[nodiscard]] const Array& require_array(cudaArray_const_t array, const char* function);
/// That a box of elements lies in it. @throws driver::Error with cudaErrorInvalidValue
void require_inside(const Array& array, std::size_t x_bytes, std::size_t y, std::size_t z, const Box& box,
                    const char* function);

}  // namespace cudasim::cudart
