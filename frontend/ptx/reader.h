// PTX → NVVM IR: device functions of other languages (`declare_device`, `link=`) and whole modules with
// kernels (numba.cuda's Context.create_module_ptx), compiled to PTX by nvcc or written by hand.
//
//   text ──► tokens (lexer.cpp) ──► syntax.h (parser.cpp) ──► NVVM IR with debug info (translate_*.cpp)
//
// What comes out is an image that simulator/image/linking.h puts together with others: checked and reported
// like code from Python, and turned into PTX again for a GPU. Semantics are those of the PTX ISA (NVIDIA,
// "PTX ISA", "Instruction Set"); every translation names its instruction.
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

/// The section of variables with the attribute .managed, for who loads the image.
inline constexpr const char* managed_section = "cudasim_managed";

enum class Entries {
    left_out,  ///< code that kernels of another image call: only functions are linked
    kernels,   ///< a module of its own: each .entry is a kernel of the image
};

/// @param file the name that reports give to the text. @throws PtxError
[[nodiscard]] image::KernelImage read(const std::string& text, const std::string& file,
                                      Entries entries = Entries::left_out);

}  // namespace cudasim::ptx
