// What nvcc's step "device link" has to say to the host's linker. NVIDIA's linker of device code takes
// members of archives for their device code; the host's takes a member only for functions and variables of
// host code, which it may not have.
#pragma once

#include <string>
#include <vector>

namespace cudasim::cuda_cpp {

/// Objects and members of archives, by the names that clang gives them: _nv_ and a number.
struct DeviceLink {
    /// All that have relocatable device code. Their constructors call name_of_registration(), which the step
    /// defines.
    std::vector<std::string> parts;
    /// Those that must be in the program: the objects, and each member that defines what device code
    /// elsewhere in the files uses. Uses in members that the host's linker may leave out count, too. Who
    /// refers to their name_of_wrapper() has the linker take them.
    std::vector<std::string> needed;
};

/// @param files what a linker is given, in any order: objects and archives; others are passed over
[[nodiscard]] DeviceLink device_link_of(const std::vector<std::string>& files);

/// The function of host code that registers a part's image.
[[nodiscard]] std::string name_of_registration(const std::string& part);
/// The variable of a part's object that points to its image.
[[nodiscard]] std::string name_of_wrapper(const std::string& part);

}  // namespace cudasim::cuda_cpp
