// Tells which build of a program or library is running, by the linker's hash over all of it
// (NT_GNU_BUILD_ID).
#pragma once

#include <string>

namespace cudasim::jit {

/// Hex digits of the build id of the loaded file that `address` lies in; empty where it was linked without
/// one.
[[nodiscard]] std::string build_id_of(const void* address);

}  // namespace cudasim::jit
