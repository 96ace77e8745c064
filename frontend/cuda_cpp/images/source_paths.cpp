// See source_paths.h.
#include "frontend/cuda_cpp/images/source_paths.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Support/Path.h>

namespace cudasim::cuda_cpp {

std::string path_of(const llvm::DIFile& file) {
    llvm::SmallString<256> path(file.getFilename());
    if (!llvm::sys::path::is_absolute(path)) {
        path = file.getDirectory();
        llvm::sys::path::append(path, file.getFilename());
    }
    return path.str().str();
}

bool is_the_users(std::string_view path, std::string_view toolkit) {
    return !path.starts_with(toolkit) && !path.starts_with("/usr/lib/") &&
           !path.starts_with("/usr/include/") && !path.starts_with("/usr/bin/");
}

}  // namespace cudasim::cuda_cpp
