// PTX → NVVM IR: device functions of other languages (`declare_device`, `link=`), compiled to PTX by nvcc or written by hand.
//
//   text ──► tokens (lexer.cpp) ──► syntax.h (parser.cpp) ──► NVVM IR with debug info (translate_*.cpp)
//
// What comes out is an image without kernels that simulator/image/linking.h puts into one with kernels: checked and
// reported like code from Python, and turned into PTX again for a GPU. Semantics are those of the PTX ISA (NVIDIA, "PTX ISA",
// "Instruction Set"); every translation names its instruction. Entries (.entry) are passed over: only functions are linked.
#pragma once

#include <stdexcept>
#include <string>

#include "simulator/image/kernel_image.h"

namespace cudasim::ptx {

/// What is wrong with PTX text, or what of it is not supported.
struct PtxError : std::runtime_error {
    PtxError(const std::string& reason, int line) : std::runtime_error(reason), line(line) {}
    int line;  ///< from 1; 0 when it concerns the whole text
};

/// @param file the name that reports give to the text. @throws PtxError
[[nodiscard]] image::KernelImage read(const std::string& text, const std::string& file);

}  // namespace cudasim::ptx
