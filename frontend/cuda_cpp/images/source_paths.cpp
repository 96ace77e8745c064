// See source_paths.h.
#include "frontend/cuda_cpp/images/source_paths.h"

namespace cudasim::cuda_cpp {

bool is_the_users(std::string_view path, std::string_view toolkit) {
    return !path.starts_with(toolkit) && !path.starts_with("/usr/lib/") &&
           !path.starts_with("/usr/include/") && !path.starts_with("/usr/bin/");
}

}  // namespace cudasim::cuda_cpp
