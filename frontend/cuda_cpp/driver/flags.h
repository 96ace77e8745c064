// The arguments that clang and the host compiler get.
#pragma once

#include <string>
#include <vector>

#include "frontend/cuda_cpp/driver/compile.h"

namespace cudasim::nvcc {

enum class Pass { device, host };

/// For clang, without the kind of output. Sources with the same identity are one to clang, which puts it
/// into the names of kernels and variables with internal linkage if device code is relocatable.
/// @param without words of -Xcompiler that this clang does not know
[[nodiscard]] Command clang_command(const Build& build, Pass pass, const std::string& source,
                                    const std::string& identity, const std::vector<std::string>& without);

/// For the host compiler.
[[nodiscard]] Command host_command(const Build& build, const std::string& language);

/// -MD and its kin, for either.
void add_dependency_options(const Build& build, const std::string& object, Command& command);

}  // namespace cudasim::nvcc
