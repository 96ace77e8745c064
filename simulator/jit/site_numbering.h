// Sites: indices into CompiledKernel::sites, by which compiled code says where it is. Calls of hooks learn
// theirs in the last pass over the IR; code that stores where it is asks for a site when it is made.
#pragma once

#include <llvm/IR/Constants.h>

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// Calls of one hook at one place of the source (copies that inlining, unrolling or jump threading made of
/// one another) share a site; barriers are told apart by which barrier of the source they are, too.
/// Sets Compilation::waits.
void number_sites(Compilation& compilation);

/// The site of an instruction's place in the source, as an i32. Instructions at one place, inlined along one
/// chain of calls, have the same; without debug info the place is the head of the function.
[[nodiscard]] llvm::ConstantInt* site_of(Compilation& compilation, const llvm::Instruction& instruction);

}  // namespace cudasim::jit
