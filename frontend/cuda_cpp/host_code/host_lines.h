// The source lines of a program's host code, from the DWARF of its executable and shared libraries. nvcc
// compiles host code with line tables, whatever the options.
#pragma once

#include <cstdint>
#include <string>

#include "simulator/findings/finding.h"

namespace cudasim::cuda_cpp {

/// The call that returns to this address: the innermost function first, then those into which it was
/// inlined. Functions of the toolkit's headers are left out. Empty where the code has no line table. The
/// first question about a file reads its debug information, which takes milliseconds.
[[nodiscard]] findings::CallChain host_lines(const void* return_address);

/// In which column of its line the innermost of these functions calls, from 1; 0 where it is not known.
[[nodiscard]] std::uint32_t host_column(const void* return_address);

/// The same for an instruction, as a signal handler gets it.
[[nodiscard]] findings::CallChain host_lines_of_instruction(const void* address);

/// "at main.cu:12"; without line tables the function, "in compute", or the address, "at 0x4011a0".
[[nodiscard]] std::string host_place(const void* return_address);

/// The text of that line, if its file is still there; else empty.
[[nodiscard]] std::string text_of_line(const findings::SourceLocation& where);

}  // namespace cudasim::cuda_cpp
