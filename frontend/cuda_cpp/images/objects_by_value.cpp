// See objects_by_value.h.
#include "frontend/cuda_cpp/images/objects_by_value.h"

#include <llvm/IR/DIBuilder.h>
#include <llvm/IR/DebugProgramInstruction.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include <set>

#include "simulator/image/annotated_kernels.h"

namespace cudasim::cuda_cpp {
namespace {

/// The variable that describes a parameter whose object lies at the argument's address.
llvm::DbgVariableRecord* description_of(const llvm::Argument& argument) {
    for (llvm::Instruction& instruction : const_cast<llvm::Function*>(argument.getParent())->getEntryBlock())
        for (llvm::DbgVariableRecord& record : llvm::filterDbgVars(instruction.getDbgRecordRange()))
            if (record.isDbgDeclare() && record.getAddress() == &argument) return &record;
    return nullptr;
}

/// Whether C++ says that an object of this type is passed by its address.
bool is_passed_by_address(const llvm::DIType* type) {
    while (const auto* derived = llvm::dyn_cast_or_null<llvm::DIDerivedType>(type))
        type = derived->getBaseType();
    return type != nullptr && (type->getFlags() & llvm::DINode::FlagTypePassByReference) != 0;
}

/// Debuggers see a reference to the object: one that the function did not make.
void describe_as_reference(llvm::Argument& argument, llvm::DbgVariableRecord& record) {
    llvm::Function& function = *argument.getParent();
    llvm::Module& module = *function.getParent();
    const llvm::DILocalVariable* by_value = record.getVariable();
    llvm::DIBuilder types(module, false, function.getSubprogram()->getUnit());
    llvm::DIType* reference =
        types.createReferenceType(llvm::dwarf::DW_TAG_reference_type, by_value->getType(),
                                  module.getDataLayout().getPointerSizeInBits());
    llvm::DILocalVariable* variable = llvm::DILocalVariable::get(
        module.getContext(), by_value->getScope(), by_value->getName(), by_value->getFile(),
        by_value->getLine(), reference, by_value->getArg(), by_value->getFlags(), by_value->getAlignInBits(),
        by_value->getAnnotations());
    llvm::IRBuilder<> builder(&*function.getEntryBlock().getFirstInsertionPt());
    builder.SetCurrentDebugLocation({});
    llvm::AllocaInst* slot = builder.CreateAlloca(argument.getType());
    builder.CreateStore(&argument, slot);
    record.setVariable(variable);
    record.replaceVariableLocationOp(&argument, slot);
}

}  // namespace

void pass_objects_themselves(llvm::Module& module) {
    const auto kernels = image::annotated_kernels(module);
    std::set<const llvm::Type*> by_address;
    for (llvm::Function& function : module) {
        if (function.isDeclaration() || kernels.contains(&function)) continue;
        for (llvm::Argument& argument : function.args()) {
            if (!argument.hasByValAttr()) continue;
            llvm::DbgVariableRecord* record = description_of(argument);
            if (record == nullptr || !is_passed_by_address(record->getVariable()->getType())) continue;
            by_address.insert(argument.getParamByValType());
            argument.removeAttr(llvm::Attribute::ByVal);
            describe_as_reference(argument, *record);
        }
    }
    for (llvm::Function& function : module)
        for (llvm::Instruction& instruction : llvm::instructions(function)) {
            auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
            if (call == nullptr) continue;
            const llvm::Function* callee = call->getCalledFunction();
            for (unsigned i = 0; i < call->arg_size(); ++i) {
                if (!call->isByValArgument(i)) continue;
                // What functions of other files take is known when those are linked
                // (simulator/jit/compiler.cpp).
                const bool is_known = callee != nullptr && !callee->isDeclaration() && i < callee->arg_size();
                if (is_known ? !callee->getArg(i)->hasByValAttr()
                             : by_address.contains(call->getParamByValType(i)))
                    call->removeParamAttr(i, llvm::Attribute::ByVal);
            }
        }
}

}  // namespace cudasim::cuda_cpp
