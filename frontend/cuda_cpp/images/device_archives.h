// Members of archives that a program needs for their device code. NVIDIA's linker of device code looks for
// them; the host's takes a member only for functions and variables of host code, which it may not have.
#pragma once

#include <string>
#include <vector>

namespace cudasim::cuda_cpp {

/// @param files what a linker is given, in any order: objects and archives; others are passed over
/// @return a symbol of host code for each member of an archive that defines what device code elsewhere in the
///     files uses: who refers to it has the linker take the member. Uses in members that the host's linker
///     may leave out count, too.
[[nodiscard]] std::vector<std::string> members_for_device_code(const std::vector<std::string>& files);

}  // namespace cudasim::cuda_cpp
