// See hook_calls.h.
#include "simulator/jit/hook_calls.h"

#include <llvm/IR/MDBuilder.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <array>

#include "simulator/jit/c_types.h"
#include "simulator/jit/hooks.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

constexpr bool yes = true;
constexpr bool no = false;

struct Row {
    std::string_view symbol;
    bool returns;
    FunctionType* (*type)(LLVMContext&);
};

const std::array rows = {
#define HOOK(identifier, result, returns, parameters) \
    Row{"cudasim_hook_" #identifier, returns,         \
        &FunctionTypeOf<std::remove_pointer_t<decltype(&cudasim_hook_##identifier)>>::get},
#include "simulator/jit/hooks.def"
#undef HOOK
};

/// Checks that mostly return leave the program's memory alone, but whatever was stored before must be there
/// when they end the thread: they read everything. What a stop's handler writes while a thread is held at a
/// watched access is seen from the thread's next statement on.
bool only_reads(Hook hook) {
    return hook == Hook::access_check || hook == Hook::float_division || hook == Hook::index_wraps ||
           hook == Hook::watched_access || hook == Hook::shift_range || hook == Hook::float_to_integer ||
           hook == Hook::not_finite;
}

Function* declare(Module& module, Hook hook) {
    const Row& row = rows[static_cast<std::size_t>(hook)];
    if (auto* known = module.getFunction(row.symbol)) return known;
    auto* function = declare_hook(module, row.symbol, row.type(module.getContext()));
    if (!row.returns) function->setDoesNotReturn();
    const bool statement =
        hook == Hook::stop || hook == Hook::enter || hook == Hook::leave || hook == Hook::returned;
    if (hook != Hook::barrier && hook != Hook::named_barrier && hook != Hook::passes && !statement)
        function->addFnAttr(Attribute::Cold);
    // A copy of a wait behind a thread-dependent branch would make threads of one barrier wait at different
    // calls, which the scheduler has to tell from divergence, and would save values at every copy.
    if (hook == Hook::barrier || hook == Hook::named_barrier || hook == Hook::warp) function->setConvergent();
    if (only_reads(hook)) {
        function->setMemoryEffects(MemoryEffects(ModRefInfo::Ref) | MemoryEffects::argMemOnly() |
                                   MemoryEffects::inaccessibleMemOnly());
    }
    if (hook == Hook::passes) function->setMemoryEffects(MemoryEffects::inaccessibleMemOnly());
    if (hook == Hook::returned) {
        function->addParamAttr(1, Attribute::NoCapture);
        function->setMemoryEffects(MemoryEffects::argMemOnly(ModRefInfo::Ref) |
                                   MemoryEffects::inaccessibleMemOnly());
    }
    return function;
}

}  // namespace

std::string_view symbol_of(Hook hook) {
    return rows[static_cast<std::size_t>(hook)].symbol;
}

std::optional<Hook> hook_called_by(const Instruction& instruction) {
    const auto* call = dyn_cast<CallInst>(&instruction);
    const Function* callee = call ? call->getCalledFunction() : nullptr;
    if (!callee || !callee->getName().starts_with(hook_prefix)) return std::nullopt;
    for (std::size_t i = 0; i < rows.size(); ++i) {
        if (std::string_view(callee->getName()) == rows[i].symbol) return static_cast<Hook>(i);
    }
    return std::nullopt;
}

const Function* any_hook_called_by(const Instruction& instruction) {
    const auto* call = dyn_cast<CallInst>(&instruction);
    const Function* callee = call ? call->getCalledFunction() : nullptr;
    return callee && callee->getName().starts_with(hook_prefix) ? callee : nullptr;
}

bool is_known_hook(const Function& function, const CompileOptions& options) {
    const std::string_view name = function.getName();
    if (!function.getName().starts_with(hook_prefix)) return false;
    return any_of(rows, [&](const Row& row) { return row.symbol == name; }) ||
           any_of(options.instrumentations, [&](const Instrumentation* each) {
               return any_of(each->hooks(), [&](const HookAddress& hook) { return hook.name == name; });
           });
}

Function* declare_hook(Module& module, std::string_view symbol, FunctionType* type) {
    if (auto* known = module.getFunction(symbol)) return known;
    auto* function = Function::Create(type, GlobalValue::ExternalLinkage, symbol, module);
    function->setDoesNotThrow();
    function->addParamAttr(0, Attribute::NoCapture);
    return function;
}

CallInst* call_hook(IRBuilderBase& builder, Function& hook, ArrayRef<Value*> arguments) {
    SmallVector<Value*, 8> all{builder.GetInsertBlock()->getParent()->getArg(0)};
    all.append(arguments.begin(), arguments.end());
    all.push_back(builder.getInt32(0));
    CallInst* call = builder.CreateCall(&hook, all);
    call->addFnAttr(Attribute::NoMerge);
    return call;
}

CallInst* call_hook(IRBuilderBase& builder, Hook hook, ArrayRef<Value*> arguments) {
    return call_hook(builder, *declare(*builder.GetInsertBlock()->getModule(), hook), arguments);
}

void emit_fault(IRBuilderBase& builder, findings::FindingKind kind) {
    call_hook(builder, Hook::fault, {builder.getInt32(static_cast<std::uint32_t>(kind))});
    builder.CreateUnreachable();
}

Instruction* branch_cold(Value* condition, Instruction* at, bool returns) {
    auto* weights = MDBuilder(at->getContext()).createUnlikelyBranchWeights();
    return SplitBlockAndInsertIfThen(condition, at->getIterator(), !returns, weights);
}

}  // namespace cudasim::jit
