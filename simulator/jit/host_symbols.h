// Functions of the host that compiled code may call besides the hooks: mathematics and compiler built-ins.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

namespace cudasim::jit {

/// Name in object code and address, of everything in intrinsics.def that is a host function, and of what
/// LLVM's code generator may call by itself (memcpy, fmod, 128-bit division...).
[[nodiscard]] const std::vector<std::pair<std::string_view, void*>>& host_symbols();

}  // namespace cudasim::jit
