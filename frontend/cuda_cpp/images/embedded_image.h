// Device code inside of an executable or a shared library: what nvcc (frontend/cuda_cpp/driver) gives to
// clang's -fcuda-include-gpubinary, and what __cudaRegisterFatBinary() is given a pointer to.
//
//   "CUDASIMI"    8 bytes
//   version       u32, 2
//   flags         u32: 1 relocatable, 2 inline assembly
//   bytes         u64, of what follows the header
//   checksum      u64, XXH3 of that
//   image         KernelImage::serialise_own()
//
// Little-endian. The host's code around it is the program's own, and so is the image, if its checksum holds.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "simulator/image/kernel_image.h"

namespace cudasim::cuda_cpp {

struct EmbeddedImage {
    image::KernelImage image;
    /// It may use functions and variables of the program's other relocatable images (nvcc -dc).
    bool relocatable = false;
    /// It has inline PTX, which the simulator needs translated (simulated_form.h).
    bool inline_assembly = false;
};

[[nodiscard]] std::vector<std::byte> embedded_form(const EmbeddedImage& embedded);

/// Whether embedded_form() begins there.
[[nodiscard]] bool is_embedded_image(const void* bytes);

/// The image in it, not checked.
[[nodiscard]] std::span<const std::byte> bytes_of_embedded_image(const void* bytes);

/// @param bytes of a loaded program, whose mapping goes on for as many bytes as the header says
/// @throws image::ImageError for damaged ones
[[nodiscard]] EmbeddedImage read_embedded_image(const void* bytes);

}  // namespace cudasim::cuda_cpp
