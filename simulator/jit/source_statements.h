// The statements of a kernel, read from its image without compiling it: a millisecond instead of a
// compilation.
#pragma once

#include <string_view>
#include <vector>

#include "simulator/findings/finding.h"
#include "simulator/image/kernel_image.h"

namespace llvm {
class Module;
}

namespace cudasim::jit {

struct SourceStatement {
    findings::SourceLocation place;
    bool is_breakpoint = false;  ///< the program's own call of a debugger
    bool is_entry = false;       ///< of a function: its first one
};

struct SourceStatements {
    findings::SourceLocation head;  ///< where the kernel is defined; line 0 without debug information
    std::vector<SourceStatement> statements;
};

/// Of the kernel and all functions that it may reach, as debug information has them. Code that is compiled
/// for stops (statement_stops.h) lacks those that the optimiser removes. @throws CompileError as
/// compile_kernel()
[[nodiscard]] SourceStatements source_statements(const image::KernelImage& image, std::string_view kernel);

/// Puts a call of the hook `stop` where a statement begins, in all functions (statement_stops.cpp).
void mark_statements(llvm::Module& module);

}  // namespace cudasim::jit
