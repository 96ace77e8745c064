// Python kernels → NVVM IR. The front door of frontend/pykernel.
//
//   syntax/  syntax trees, requests, refusals
//   types/   types, and Numba's rules for numbers, dates, characters, records
//   graph/   syntax tree ──► flow graph ──► SSA versions of variables
//   infer/   ──► types to a fixpoint
//   emit/    ──► NVVM IR with debug info
//   calls/   the functions that kernels may call: typing rule and code of each
//
// Each folder includes those above it only.
//
// Typing rules are those of Numba's CUDA target (V1). Nothing here knows Python's C API.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "frontend/pykernel/syntax/request.h"
#include "frontend/pykernel/syntax/source_error.h"
#include "simulator/image/kernel_image.h"

namespace cudasim::pykernel {

/// What works here and not on a GPU, because Numba's CUDA target refuses it.
struct Note {
    std::string message;
    std::string file;
    int line = 0;
    bool operator<(const Note& other) const {
        return std::tie(file, line, message) < std::tie(other.file, other.line, other.message);
    }
};

/// A function as it was typed for the arguments of one of its calls.
struct Overload {
    std::uint32_t function = 0;  ///< index into Request::functions
    std::vector<std::string> arguments;
    std::string result;
};

struct Result {
    image::KernelImage image;
    std::string kernel_name;  ///< PTX-legal symbol
    std::string typed_ir;
    std::set<Note> notes;
    std::vector<Overload> overloads;  ///< of all functions that the kernel reaches, itself first
};

/// Recurses as deeply as the program is nested. @throws SourceError, image::Cancelled, what the
/// resolver throws
[[nodiscard]] Result compile(const Request& request);

/// Whether kernels can call what has this name in numba.cuda, NumPy or Python ("cuda.grid", "math.sin",
/// "len").
[[nodiscard]] bool knows_callable(std::string_view name);

}  // namespace cudasim::pykernel
