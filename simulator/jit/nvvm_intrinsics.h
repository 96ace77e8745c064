// NVVM intrinsics whose names follow PTX's grammar: operation, rounding, .ftz, types (LLVM's "User Guide for
// NVPTX Back-end"; the meaning is that of the PTX instruction).
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>

#include <optional>

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// What the call computes, written at `builder`; nullopt for an intrinsic that is not known here.
[[nodiscard]] std::optional<llvm::Value*> lowered_by_name(llvm::CallInst& call, llvm::IRBuilder<>& builder,
                                                          const Compilation& compilation);

/// llvm.fmuladd leaves the choice to the target; ours is an option (V5).
void lower_multiply_add(llvm::IntrinsicInst& call, bool contract);

}  // namespace cudasim::jit
