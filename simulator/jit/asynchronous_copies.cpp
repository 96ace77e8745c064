// See asynchronous_copies.h.
#include "simulator/jit/asynchronous_copies.h"

#include <array>
#include <string>

namespace cudasim::jit {
namespace {

using namespace llvm;

constexpr const char* mark_prefix = "cudasim.copy.";
constexpr std::array<const char*, 3> step_names{"begin", "commit", "wait"};

/// It seems to access memory that nobody else knows: passes neither remove a call nor move it over another.
Function* mark_function(Module& module, CopyStep step, ArrayRef<Value*> arguments) {
    const std::string name = mark_prefix + std::string(step_names[static_cast<std::size_t>(step)]);
    if (Function* known = module.getFunction(name)) return known;
    SmallVector<Type*, 4> types;
    for (const Value* argument : arguments) types.push_back(argument->getType());
    auto* type = FunctionType::get(Type::getVoidTy(module.getContext()), types, false);
    auto* function = Function::Create(type, GlobalValue::ExternalLinkage, name, module);
    function->setDoesNotThrow();
    function->setWillReturn();
    function->setOnlyAccessesInaccessibleMemory();
    return function;
}

}  // namespace

void mark_copy(IRBuilderBase& builder, const CopyMark& mark) {
    SmallVector<Value*, 4> arguments;
    if (mark.step == CopyStep::begin)
        arguments = {mark.target, mark.source, mark.bytes, mark.source_bytes};
    else if (mark.step == CopyStep::wait)
        arguments = {mark.groups};
    Module& module = *builder.GetInsertBlock()->getModule();
    builder.CreateCall(mark_function(module, mark.step, arguments), arguments);
}

std::optional<CopyMark> copy_mark_at(const Instruction& instruction) {
    const auto* call = dyn_cast<CallInst>(&instruction);
    const Function* callee = call ? call->getCalledFunction() : nullptr;
    if (!callee || !marks_copies(*callee)) return std::nullopt;
    if (call->arg_size() == 4)
        return CopyMark{CopyStep::begin,        call->getArgOperand(0), call->getArgOperand(1),
                        call->getArgOperand(2), call->getArgOperand(3), nullptr};
    CopyMark mark{call->arg_empty() ? CopyStep::commit : CopyStep::wait};
    if (!call->arg_empty()) mark.groups = call->getArgOperand(0);
    return mark;
}

bool marks_copies(const Function& function) {
    return function.getName().starts_with(mark_prefix);
}

void release_copy_marks(Compilation& compilation) {
    for (Function& function : make_early_inc_range(*compilation.module)) {
        if (!marks_copies(function)) continue;
        for (User* user : make_early_inc_range(function.users())) cast<Instruction>(user)->eraseFromParent();
        function.eraseFromParent();
    }
}

}  // namespace cudasim::jit
