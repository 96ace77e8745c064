// Makes places that people read of debug info. Also the one way to refuse a program.
#pragma once

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/Instruction.h>

#include <string>

#include "simulator/jit/compiler.h"

namespace cudasim::jit {

/// The place and where it was inlined, innermost first. Empty without debug info.
[[nodiscard]] findings::CallChain call_chain(const llvm::DILocation* location);

/// The head of a function, as a place.
[[nodiscard]] findings::SourceLocation place_of(const llvm::DISubprogram* subprogram);

/// The file's path as the front end gave it, joined with its directory when relative.
[[nodiscard]] std::string path_of(const llvm::DIFile* file);

/// @throws CompileError at the instruction's place
[[noreturn]] void refuse(const llvm::Instruction& at, const std::string& message);

}  // namespace cudasim::jit
