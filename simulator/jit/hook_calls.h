// Calls from compiled code into the engine (hooks.def) and into instrumentations, and the small control flow
// around them: every check is an inline test whose failing side, weighted as never taken, calls a hook.
//
// A call gets its site only in the very last pass (site_numbering.h); until then the operand is 0.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <optional>
#include <string_view>

#include "simulator/findings/finding.h"
#include "simulator/jit/compilation.h"

namespace cudasim::jit {

/// Names of hooks, and of nothing else, begin so.
inline constexpr std::string_view hook_prefix = "cudasim_hook_";

enum class Hook {
#define HOOK(identifier, result, returns, parameters) identifier,
#include "simulator/jit/hooks.def"
#undef HOOK
};

/// "cudasim_hook_barrier"
[[nodiscard]] std::string_view symbol_of(Hook hook);
/// The hook of the engine that a call calls, if any.
[[nodiscard]] std::optional<Hook> hook_called_by(const llvm::Instruction& instruction);
/// The hook that a call calls, the engine's or an instrumentation's; else nullptr.
[[nodiscard]] const llvm::Function* any_hook_called_by(const llvm::Instruction& instruction);
/// Whether this is a hook of the engine or of one of the compilation's instrumentations.
[[nodiscard]] bool is_known_hook(const llvm::Function& function, const CompileOptions& options);

/// Emits a call; `arguments` without the context, which is the function's parameter 0, and without the site.
llvm::CallInst* call_hook(llvm::IRBuilderBase& builder, Hook hook, llvm::ArrayRef<llvm::Value*> arguments);

/// Declares a hook of an instrumentation (Instrumentation::hooks). `type` has the ThreadContext's address as
/// first and the site, an i32, as last parameter. What may be assumed of its effects on memory is the
/// caller's to say; it must not throw.
[[nodiscard]] llvm::Function* declare_hook(llvm::Module& module, std::string_view symbol,
                                           llvm::FunctionType* type);
/// Emits a call of such a hook; `arguments` as above.
llvm::CallInst* call_hook(llvm::IRBuilderBase& builder, llvm::Function& hook,
                          llvm::ArrayRef<llvm::Value*> arguments);

/// Emits hook `fault` and ends the block. The builder must stand at the end of an unterminated block.
void emit_fault(llvm::IRBuilderBase& builder, findings::FindingKind kind);

/// Splits the block before `at` and branches to a new cold block when `condition` holds. Returns the cold
/// block's terminator: a branch back to `at`, or `unreachable` when `returns` is false; emit before it.
llvm::Instruction* branch_cold(llvm::Value* condition, llvm::Instruction* at, bool returns);

}  // namespace cudasim::jit
