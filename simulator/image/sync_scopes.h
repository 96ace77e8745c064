// The scopes of NVVM IR's atomic operations and fences: names of LLVM's sync scopes, as front ends write them
// and all consumers of an image read them.
#pragma once

#include <llvm/IR/LLVMContext.h>

#include "simulator/image/scope.h"

namespace llvm {
class Instruction;
}

namespace cudasim::image {

/// The scope as LLVM's: "singlethread", "block", "cluster", "device" (NVVM IR
/// specification), "" for the system.
[[nodiscard]] llvm::SyncScope::ID sync_scope(llvm::LLVMContext& context, Scope scope);

/// The scope of an atomic load, store, update, compare-and-exchange or fence. The names that LLVM has for
/// GPUs of others count, too; a name that nobody knows is the system, the safe answer for those that make
/// code of it. `thread` for an instruction without a scope.
[[nodiscard]] Scope scope_of(const llvm::Instruction& instruction);

}  // namespace cudasim::image
