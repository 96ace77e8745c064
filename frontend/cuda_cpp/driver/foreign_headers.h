// No header of an installed CUDA toolkit is read: such a header describes another library, and would make
// programs work or fail by what else is installed.
#pragma once

#include <string>

#include "frontend/cuda_cpp/driver/compile.h"

namespace cudasim::nvcc {

/// @param dependencies a rule for make that lists what a pass has read
/// @throws Fatal if a header of another CUDA toolkit is among it
void refuse_foreign_headers(const Build& build, const std::string& dependencies);

}  // namespace cudasim::nvcc
