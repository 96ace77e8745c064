// Calls of host functions by `__host__ __device__` functions that kernels need. nvcc warns of them; on a GPU
// they are undefined.
#pragma once

#include <set>
#include <string>

#include "frontend/cuda_cpp/driver/patched_sources.h"

namespace cudasim::nvcc {

class HostFunctions {
  public:
    /// Lets the device pass take the host functions that its messages name. Each becomes a function of both
    /// sides without its body, whose mark makes the image's report
    /// (frontend/cuda_cpp/images/host_functions.h). Nothing is done where there is any other error: calls by
    /// `__global__` and `__device__` functions are refused.
    /// @param sources of the device pass alone
    /// @return whether the pass may succeed now
    [[nodiscard]] bool take(PatchedSources& sources, const std::string& messages);

    /// What clang needs for the device pass.
    [[nodiscard]] Command options() const;
    /// The messages of the calls, as warnings.
    [[nodiscard]] const std::string& warnings() const { return warnings_; }

  private:
    bool all_messages_ = false;  ///< clang shows the first 20 otherwise
    std::set<std::string> known_;
    std::string warnings_;
};

}  // namespace cudasim::nvcc
