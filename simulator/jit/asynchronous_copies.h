// cp.async: copies from global to shared memory that are complete when the thread that started them has
// waited for them (PTX ISA, "Data Movement and Conversion Instructions: Non-bulk copy"). Compiled code copies
// at once, which is one of the times that hardware may choose; the group and wait operations then have
// nothing to do. What the kernel said stays in the IR as calls of marks, for instrumentations that ask when a
// copy is complete.
#pragma once

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>

#include <optional>

#include "simulator/jit/compilation.h"

namespace cudasim::jit {

enum class CopyStep {
    begin,   ///< behind the instructions that copy
    commit,  ///< cp.async.commit_group: what the thread has begun since the last one is a group
    wait     ///< cp.async.wait_group, or wait_all
};

struct CopyMark {
    CopyStep step = CopyStep::begin;
    llvm::Value *target = nullptr, *source = nullptr;  ///< of `begin`: pointers
    llvm::Value* bytes = nullptr;         ///< of `begin`: i64, how many are written, a constant: 4, 8 or 16
    llvm::Value* source_bytes = nullptr;  ///< of `begin`: i64, how many of them are read; the others become 0
    llvm::Value* groups =
        nullptr;  ///< of `wait`: i32, how many of the last groups may be incomplete behind it;
                  ///< -1: copies that are in no group yet are waited for, too
};

/// Emits a mark. In lowering; marks are there until release_copy_marks().
void mark_copy(llvm::IRBuilderBase& builder, const CopyMark& mark);

/// nullopt for an instruction that is no mark.
[[nodiscard]] std::optional<CopyMark> copy_mark_at(const llvm::Instruction& instruction);

/// Whether the function is one that marks call: calls of it do not count as calls of the kernel's.
[[nodiscard]] bool marks_copies(const llvm::Function& function);

/// Called after the last late().
void release_copy_marks(Compilation& compilation);

}  // namespace cudasim::jit
