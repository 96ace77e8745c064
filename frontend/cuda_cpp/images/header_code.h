// Functions of the toolkit's headers and of clang's that are always inlined, `new` and `delete` lose their
// debug information, so that their code gets the place where the program calls them. Findings, breakpoints
// and comparisons show the line that the user knows.
#pragma once

#include <llvm/IR/Module.h>

#include <string_view>

namespace cudasim::cuda_cpp {

/// @param toolkit the folder of ours
void place_header_code_at_calls(llvm::Module& module, std::string_view toolkit);

}  // namespace cudasim::cuda_cpp
