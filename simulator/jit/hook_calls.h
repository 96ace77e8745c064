// Calls from compiled code into the engine (hooks.def), and the small control flow around them: every check
// is an inline test whose failing side, weighted as never taken, calls a hook.
//
// A call gets its site only in the very last pass (site_numbering.h); until then the operand is 0.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <optional>
#include <string_view>

#include "simulator/findings/finding.h"
#include "simulator/jit/compilation.h"

namespace cudasim::jit {

enum class Hook {
#define HOOK(identifier, result, returns, parameters) identifier,
#include "simulator/jit/hooks.def"
#undef HOOK
};

/// "cudasim_hook_barrier"
[[nodiscard]] std::string_view symbol_of(Hook hook);
/// The hook that a call calls, if any.
[[nodiscard]] std::optional<Hook> hook_called_by(const llvm::Instruction& instruction);
/// Host addresses of all hooks, in the order of the enumeration.
[[nodiscard]] const std::vector<std::pair<std::string_view, void*>>& hook_addresses();

/// Emits a call; `arguments` without the context, which is the function's parameter 0, and without the site.
llvm::CallInst* call_hook(llvm::IRBuilderBase& builder, Hook hook, llvm::ArrayRef<llvm::Value*> arguments);

/// Emits hook `fault` and ends the block. The builder must stand at the end of an unterminated block.
void emit_fault(llvm::IRBuilderBase& builder, findings::FindingKind kind);

/// Splits the block before `at` and branches to a new cold block when `condition` holds. Returns the cold
/// block's terminator: a branch back to `at`, or `unreachable` when `returns` is false; emit before it.
llvm::Instruction* branch_cold(llvm::Value* condition, llvm::Instruction* at, bool returns);

}  // namespace cudasim::jit
