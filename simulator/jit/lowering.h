// Lowers NVVM IR to IR that a CPU can run, with one function per step. compiler.cpp calls them in this order.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// Fresh local memory: NaN in every floating-point format, -1 as an integer (V3).
inline constexpr std::uint8_t local_poison = 0xFF;

/// Makes instructions of constant expressions in code. Runs before everything else.
void expand_constants(Compilation& compilation);

/// Chooses where the kernel's __shared__ variables lie: static ones first, dynamic ones together at the end.
void lay_out_shared(Compilation& compilation);

/// Gives every function the context as parameter 0 (E2), turns all address spaces into 0, variables into
/// addresses off the context's bases and function values into handles (E2b). The kernel becomes a body
/// function with parameters (context, tid.x, tid.y, tid.z, thread, its own...).
/// @throws CompileError for inline assembly and for undefined variables
void lower_functions(Compilation& compilation);

/// Calls through handles: checked against a table of functions and types, then called (E2b).
void lower_indirect_calls(Compilation& compilation);

/// Barriers, fences, atomics, libdevice functions, NVVM's arithmetic intrinsics (intrinsics.def).
/// @throws CompileError for what is unknown
void lower_intrinsics(Compilation& compilation);

/// Special registers, after inlining: in the kernel they are SSA values, elsewhere loads (E2).
void lower_special_registers(Compilation& compilation);

/// Runs after all instrumentation. The CPU knows the scopes of a host thread and of the whole system only.
void lower_sync_scopes(Compilation& compilation);

/// Runs after all lowering. @throws CompileError naming what the CPU cannot run, and where it is used
void refuse_unknown_functions(const Compilation& compilation);

/// The loop over the threads of a block, in the entry function.
struct ThreadLoop {
    llvm::BasicBlock*
        head;  ///< tid and thread are known; ends in an unconditional branch to the kernel's body
    llvm::BasicBlock* next;  ///< where the body ends; goes on to the next thread
    llvm::Value* thread;     ///< linear index
};

/// Wraps the kernel body into the loop over the threads of a block (E1). `kernel` is the entry afterwards.
/// @param groups of make_thread_groups(): runs what threads it can
ThreadLoop build_entry(Compilation& compilation, llvm::Function* groups = nullptr);

/// The kernel's own arguments, out of the parameter buffer.
[[nodiscard]] std::vector<llvm::Value*> parameter_values(const Compilation& compilation,
                                                         llvm::IRBuilderBase& builder, llvm::Value* buffer);
/// Says so of the loads from arguments that are passed by value. Call after SROA.
void mark_parameters_invariant(Compilation& compilation);

/// Index of the first parameter of the kernel's own in the body function.
inline constexpr unsigned body_parameters = 5;

}  // namespace cudasim::jit
