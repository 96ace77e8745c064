// The results of CUDA's driver calls: numbers, names and texts as programs know them (enum CUresult).
// Whatever the engine or a front end refuses has one of them.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace cudasim::findings {

/// A value has CUDA's number.
enum class CudaResult : int {
#define RESULT(identifier, name, number, lasting, text) identifier = (number),
#include "simulator/findings/cuda_results.def"
#undef RESULT
};

/// Whether a program can go on after a result (cuda_results.def).
enum class Lasting { passing, sticky };

/// One row of cuda_results.def.
struct CudaResultInfo {
    CudaResult result;
    std::string_view name;  ///< e.g. "CUDA_ERROR_OUT_OF_MEMORY"
    Lasting lasting;
    std::string_view text;  ///< what cuGetErrorString() says
};

/// All rows, by ascending number.
[[nodiscard]] std::span<const CudaResultInfo> cuda_results();

[[nodiscard]] const CudaResultInfo& info(CudaResult result);

/// The result with CUDA's number; nullopt when there is none.
[[nodiscard]] std::optional<CudaResult> cuda_result(int number);

}  // namespace cudasim::findings
