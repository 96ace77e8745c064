// PTX that stands in LLVM code (`call i32 asm "mov.u32 $0, %laneid;", "=r"()`, which llvmlite writes): the
// simulator executes no assembly, so each piece becomes a function of its own, translated as linked PTX is
// (reader.h).
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

}  // namespace cudasim::ptx
