// From lowered IR to running machine code: one TargetMachine and one ORC session per process.
//
// No process symbols: compiled code reaches hooks.def, intrinsics.def and a few compiler built-ins, as
// absolute symbols, and nothing else.
#pragma once

#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <mutex>

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// Held for a whole compilation: LLVM's TargetMachine is not thread-safe.
[[nodiscard]] std::unique_lock<std::mutex> lock_compiler();

/// The host CPU with all its features. FMA only as the options say (V5).
[[nodiscard]] llvm::TargetMachine& host_machine(const CompileOptions& options);

/// Generates code and links it into the process. The entry is `cudasim_entry`.
[[nodiscard]] std::shared_ptr<CompiledKernel> emit(Compilation& compilation, llvm::TargetMachine& machine);

}  // namespace cudasim::jit
