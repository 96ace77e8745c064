// PTX that stands in LLVM code (`call i32 asm "mov.u32 $0, %laneid;", "=r"()`, which llvmlite writes, and
// clang for `asm volatile` in CUDA C++): the simulator executes no assembly, so each piece becomes a function
// of its own, translated as linked PTX is (reader.h). Where a call has a line of the source, that is the line
// of what the piece does.
#pragma once

#include <string>
#include <vector>

#include "frontend/ptx/reader.h"
#include "simulator/image/kernel_image.h"

namespace cudasim::ptx {

/// What is wrong with inline PTX, at the line of the source where the statement stands. `what()` names the
/// line of the assembly too and quotes it.
struct InlineAssemblyError : PtxError {
    using PtxError::PtxError;
    std::string file;          ///< empty where the code has no debug information
    unsigned file_line = 0;    ///< from 1
    unsigned file_column = 0;  ///< from 1
};

struct InlineAssembly {
    bool exists = false;
    std::vector<InlineAssemblyError> errors;  ///< what cannot be translated, in the order of the source
};

/// For compilers: whether an image has inline assembly, and what to print as `file:line: error: what()`. The
/// image is parsed for it, so what is found out is best noted beside the image.
[[nodiscard]] InlineAssembly inline_assembly_of(const image::KernelImage& image);

/// The image with calls in place of inline assembly, first, and one or two images of the functions that they
/// call.
/// Operands are those of NVPTX ("Inline PTX Assembly in CUDA"): h, r, l, f, d, and n for immediates.
/// @param file the name that reports give to the code @throws InlineAssemblyError for other
/// operands, and for what read() refuses
[[nodiscard]] std::vector<image::KernelImage> without_inline_assembly(const image::KernelImage& image,
                                                                      const std::string& file);
/// The same as one image; `image` itself where there is no inline assembly. @throws also image::LinkError
[[nodiscard]] image::KernelImage with_translated_assembly(image::KernelImage image);

}  // namespace cudasim::ptx
