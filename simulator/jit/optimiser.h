// LLVM's passes, in two goes around the late instrumentation point (C0).
#pragma once

#include <llvm/Target/TargetMachine.h>

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// Inlines every device function that is neither recursive nor huge, so that one debug location tells the
/// whole call chain. Sets Compilation::recursive and guards recursive functions (E11).
void inline_functions(Compilation& compilation);

/// Promotes local variables to registers. Runs before late instrumentation, and so does nothing that could
/// remove another access.
void promote_locals(Compilation& compilation, llvm::TargetMachine& machine);

/// The time of LLVM's full pipeline and of its register allocation grows with the square of a function's
/// size: minutes for what is written out over thousands of lines. Such a kernel gets what takes time in
/// proportion to its size: quick passes, and code generation without optimisation.
enum class Effort { full, proportional };
[[nodiscard]] Effort affordable_effort(const Compilation& compilation);

/// Runs the whole pipeline, or as much of it as the effort allows, after late instrumentation.
void optimise(Compilation& compilation, llvm::TargetMachine& machine, Effort effort);

/// Simplifies one function of the module, as the whole pipeline does first.
void optimise_one(Compilation& compilation, llvm::TargetMachine& machine, llvm::Function& function);

/// Moves what is the same for all threads of a block in front of the thread loop, for a kernel that was
/// optimised before that loop was built. Keeps the loop's shape.
void hoist_out_of_thread_loop(Compilation& compilation, llvm::TargetMachine& machine);

/// Quick passes for what hoist_out_of_thread_loop() and split_at_barriers() leave behind.
void clean_up(Compilation& compilation, llvm::TargetMachine& machine);

}  // namespace cudasim::jit
