// The text of C++ as far as one can read it without a compiler.
#pragma once

#include <string>

namespace cudasim::nvcc {

/// The end of what the compiler does not look into: a comment, a directive, a literal; `at` if there is none.
[[nodiscard]] std::size_t skip_no_code(const std::string& text, std::size_t at);

/// @param at an opening bracket
/// @return the place behind the closing one; npos if there is none
[[nodiscard]] std::size_t behind_bracket(const std::string& text, std::size_t at);

}  // namespace cudasim::nvcc
