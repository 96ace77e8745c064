// Paths of the files that debug information names.
#pragma once

#include <llvm/IR/DebugInfoMetadata.h>

#include <string>
#include <string_view>

namespace cudasim::cuda_cpp {

/// Absolute where clang knew its working directory.
[[nodiscard]] std::string path_of(const llvm::DIFile& file);

/// Whether it is no file of the system's, of clang's or of the toolkit's.
[[nodiscard]] bool is_the_users(std::string_view path, std::string_view toolkit);

}  // namespace cudasim::cuda_cpp
