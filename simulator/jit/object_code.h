// Makes machine code of lowered IR, with one TargetMachine and one ORC session per process.
//
// No process symbols: compiled code reaches the hooks that the caller names, intrinsics.def and a few
// compiler built-ins, as absolute symbols, and nothing else.
#pragma once

#include <llvm/ADT/SmallVector.h>
#include <llvm/Target/TargetMachine.h>

#include <memory>
#include <mutex>
#include <string>

#include "simulator/image/large_stack.h"
#include "simulator/jit/compilation.h"
#include "simulator/jit/optimiser.h"

namespace cudasim::jit {

/// Held for a whole compilation: LLVM's TargetMachine is not thread-safe. fork() waits for it.
[[nodiscard]] std::unique_lock<std::mutex> lock_compiler();
/// The same for who may be told not to wait any longer. @throws image::Cancelled
[[nodiscard]] std::unique_lock<std::mutex> lock_compiler(const image::Cancellation& cancellation);

/// The host CPU with all its features. FMA only as the options say (V5).
[[nodiscard]] llvm::TargetMachine& host_machine(const CompileOptions& options);

/// The host CPU's name and features, as machine code depends on them.
[[nodiscard]] const std::string& host_processor();

/// A relocatable object file; the entry is `cudasim_entry`. @throws CompileError
[[nodiscard]] llvm::SmallVector<char, 0> generate(Compilation& compilation, llvm::TargetMachine& machine,
                                                  Effort effort);

/// Bound on the stack that one activation of every function in it needs.
[[nodiscard]] std::uint64_t total_frame_bytes(const llvm::SmallVector<char, 0>& object);

/// Links an object file into the process. @param hooks each name once. @throws CompileError
[[nodiscard]] std::shared_ptr<CompiledKernel> link(KernelFacts facts, llvm::SmallVector<char, 0> object,
                                                   std::span<const HookAddress> hooks);

}  // namespace cudasim::jit
