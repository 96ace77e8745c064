// Paths of the files that debug information names.
#pragma once

#include <string_view>

namespace cudasim::cuda_cpp {

/// Whether it is no file of the system's, of clang's or of the toolkit's.
[[nodiscard]] bool is_the_users(std::string_view path, std::string_view toolkit);

}  // namespace cudasim::cuda_cpp
