// GPU architectures: what -arch, -code and -gencode ask for, and the one that device code is compiled for.
#pragma once

#include <string>
#include <vector>

#include "frontend/cuda_cpp/driver/options.h"

namespace cudasim::nvcc {

struct Architectures {
    std::vector<int> asked;  ///< 75 for sm_75 and compute_75, ascending, each once
    std::string chosen;      ///< for clang: sm_75
    std::string remark;      ///< what -v says if the chosen one was not asked for
};

/// @throws Fatal for names that are no architecture's
[[nodiscard]] Architectures architectures(const CommandLine& line);

/// What --list-gpu-code and --list-gpu-arch print.
[[nodiscard]] std::string architecture_list(const std::string& prefix);

}  // namespace cudasim::nvcc
