// libcudasim.so itself: which build of the engine a process has loaded.
#pragma once

#include <string>

namespace cudasim::library {

/// The version of the loaded engine: cudasim.__version__ of the tree that it was built from.
[[nodiscard]] const char* version();

/// The version of LLVM in it, for example "19.1.7".
[[nodiscard]] const char* llvm_version();

/// The linker's hash over the whole library, in hexadecimal digits.
[[nodiscard]] const std::string& build_id();

}  // namespace cudasim::library
