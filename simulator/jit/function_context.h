// What a compiled function reaches through its parameter 0: the ThreadContext and, behind it, the block's
// constants (abi.h). Loads are emitted at the function's head, so they dominate every use; they are
// invariant, so the optimiser shares and hoists them.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <map>

namespace cudasim::jit {

class FunctionContext {
  public:
    explicit FunctionContext(llvm::Function& function) : function_(function) {}

    /// The address of the block's BlockContext.
    llvm::Value* block();
    /// A field of BlockContext that never changes while the function runs.
    llvm::Value* block_field(unsigned offset, llvm::Type* type);
    /// A field of ThreadContext that never changes while the function runs (tid, thread).
    llvm::Value* thread_field(unsigned offset, llvm::Type* type);
    /// Where further head-of-function code goes: after the loads made so far.
    llvm::Instruction* head();

  private:
    llvm::Value* field(llvm::Value* base, unsigned offset, llvm::Type* type, bool invariant);
    llvm::Function& function_;
    llvm::Value* block_ = nullptr;
    llvm::Instruction* last_ = nullptr;
    std::map<unsigned, llvm::Value*> block_fields_, thread_fields_;
};

/// Marks a load or store as the compiler's own (marks::internal).
void mark_internal(llvm::Instruction& access);

/// Whether the access is the compiler's own, or in bounds by a declared check (image::in_bounds_mark): a
/// memory check would find nothing. Checks of another kind, for races say, look at the second kind.
[[nodiscard]] bool needs_no_memory_check(const llvm::Instruction& access);

}  // namespace cudasim::jit
