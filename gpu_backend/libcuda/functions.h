// The table of the driver's functions (functions.def), and their addresses in a library that was loaded.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gpu_backend/libcuda/types.h"

namespace cudasim::libcuda {

enum class Need { required, optional };

/// The driver's functions, each with its own type: `functions.cuMemAlloc(&address, bytes)`. Null where the
/// library has none.
struct Functions {
#define FUNCTION(name, version, need, parameters) Result(*name) parameters = nullptr;
#include "gpu_backend/libcuda/functions.def"
#undef FUNCTION
};

/// One row of functions.def.
struct FunctionRow {
    const char* symbol;  ///< what the library exports, e.g. "cuMemAlloc_v2"
    Need need;
    void (*set)(Functions& functions, void* address);
    bool (*is_there)(const Functions& functions);
};

/// All rows, in the order of functions.def.
[[nodiscard]] std::span<const FunctionRow> function_rows();

/// The symbols that are null in `functions`, of those that are required or of the others.
[[nodiscard]] std::vector<std::string> missing_symbols(const Functions& functions, Need need);

/// "CUDA_ERROR_UNKNOWN (999): unknown error": in the driver's words, where it has cuGetErrorName and
/// cuGetErrorString and they know the number, else in those of cuda_results.def.
[[nodiscard]] std::string text_of(const Functions& functions, Result result);

}  // namespace cudasim::libcuda
