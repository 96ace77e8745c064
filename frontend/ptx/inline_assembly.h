// PTX that stands in LLVM code (`call i32 asm "mov.u32 $0, %laneid;", "=r"()`, which llvmlite writes, and
// clang for `asm volatile` in CUDA C++): the simulator executes no assembly, so each piece becomes a function
// of its own, translated as linked PTX is (reader.h). Where a call has a line of the source, that is the line
// of what the piece does.
#pragma once

#include <string>
#include <vector>

#include "simulator/image/kernel_image.h"

namespace cudasim::ptx {

/// The image with calls in place of inline assembly, first, and the images of the functions that they call.
/// Operands are those of NVPTX ("Inline PTX Assembly in CUDA"): h, r, l, f, d, and n for immediates.
/// @param file the name that reports give to the code @throws PtxError for other operands, and as read() does
[[nodiscard]] std::vector<image::KernelImage> without_inline_assembly(const image::KernelImage& image,
                                                                      const std::string& file);
/// The same as one image; `image` itself where there is no inline assembly. @throws also image::LinkError
[[nodiscard]] image::KernelImage with_translated_assembly(image::KernelImage image);

}  // namespace cudasim::ptx
