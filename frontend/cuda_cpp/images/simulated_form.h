// Inline PTX (`asm` statements in device code) stays in an image as it is, because a GPU executes it. The
// simulator executes no assembly: it loads the image that for_simulator() gives.
//
//   nvcc     asks ptx::inline_assembly_of(image) (frontend/ptx/inline_assembly.h), prints each of its
//            errors as `file:line: error: text`, keeps `exists` as EmbeddedImage::inline_assembly
//   runtime  for_simulator(embedded) before driver::Module::load()
//
// Of several equal images in one process, the runtime makes all but one other images (as_another_image()).
#pragma once

#include "frontend/cuda_cpp/images/embedded_image.h"
#include "simulator/image/kernel_image.h"

namespace cudasim::cuda_cpp {

/// The image with its inline PTX translated; the image itself, at no cost, where there is none.
/// @throws ptx::InlineAssemblyError, image::LinkError
[[nodiscard]] image::KernelImage for_simulator(const EmbeddedImage& embedded);

/// The same code with another hash: devices know images by their hashes.
[[nodiscard]] image::KernelImage as_another_image(const image::KernelImage& image, unsigned number);

}  // namespace cudasim::cuda_cpp
