// What a debugger shows after a fault: the values that the program's variables have where a thread can fault.
//
//   front end            stores to a variable's slot at each assignment; debug info says whose slot it is
//   insert_captures()    before slots become registers: a call of `cudasim.capture` in front of each fault
//                        hook, on its cold path, with the values of the variables of all functions that are
//                        inlined there
//   drop_costly_captures()  in coroutines: what would be saved at barriers for this alone is computed again,
//                        or given up
//   lower_captures()     after optimisation: constants and kernel parameters go to a table
//                        (KernelFacts::captures), the other values are stored to BlockContext::captured,
//                        still on the cold path
//
// The path without a fault has no instruction of this. The engine reads it in execution/captured_values.h.
#pragma once

#include "simulator/jit/lowering.h"

namespace cudasim::jit {

/// Moves a function's descriptions of variables to the end of its entry block, where each call of it begins,
/// and drops all other debug records.
void gather_variable_descriptions(llvm::Function& function);

/// Inserts captures. Runs after inlining and before local variables become registers; it leaves no debug
/// records.
void insert_captures(Compilation& compilation);

[[nodiscard]] bool is_capture(const llvm::Value& value);

/// The call that insert_captures() has put in front of a memory access, in case that it gets a check; else
/// nullptr.
[[nodiscard]] llvm::CallInst* capture_before(const llvm::Instruction& access);
/// Copies a capture to the cold path of the access's check.
void copy_capture(const llvm::CallInst& capture, llvm::Instruction& before);
/// Drops the captures in front of accesses. Called when all checks have theirs.
void drop_captures_of_accesses(Compilation& compilation);

/// Drops the captures that would keep too many values alive. Runs before a kernel is split at its barriers.
void drop_costly_captures(Compilation& compilation, const ThreadLoop& loop);

/// Lowers captures to a table and stores. Runs after optimisation.
void lower_captures(Compilation& compilation);

}  // namespace cudasim::jit
