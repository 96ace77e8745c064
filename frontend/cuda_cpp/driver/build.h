// What one command line of nvcc makes: which sources are compiled to what, and how that is linked.
#pragma once

#include "frontend/cuda_cpp/driver/options.h"

namespace cudasim::nvcc {

/// @return the exit status @throws Fatal, Interrupted
[[nodiscard]] int build(CommandLine line);

}  // namespace cudasim::nvcc
