// See placed_globals.h. Address space 4 disappears from all types: values that point to constant memory may
// be stored, passed to functions, and be members of structures.
#include "gpu_backend/placed_globals.h"

#include <llvm/Analysis/ValueTracking.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Transforms/Utils/ValueMapper.h>

#include <map>
#include <string>
#include <vector>

#include "simulator/image/globals_placement.h"

namespace cudasim::gpu_backend {
namespace {

constexpr unsigned generic = 0, global = 1, constant = 4;

/// Types with address space 1 in the place of 4.
class InGlobalMemory final : public llvm::ValueMapTypeRemapper {
  public:
    llvm::Type* remapType(llvm::Type* type) override {
        if (const auto known = known_.find(type); known != known_.end()) return known->second;
        llvm::Type* result = remapped(type);
        known_[type] = result;
        return result;
    }

  private:
    llvm::Type* remapped(llvm::Type* type) {
        if (auto* pointer = llvm::dyn_cast<llvm::PointerType>(type))
            return pointer->getAddressSpace() == constant ? llvm::PointerType::get(type->getContext(), global)
                                                          : type;
        if (auto* array = llvm::dyn_cast<llvm::ArrayType>(type))
            return llvm::ArrayType::get(remapType(array->getElementType()), array->getNumElements());
        if (auto* vector = llvm::dyn_cast<llvm::VectorType>(type))
            return llvm::VectorType::get(remapType(vector->getElementType()), vector->getElementCount());
        if (auto* structure = llvm::dyn_cast<llvm::StructType>(type)) {
            bool changes = false;
            std::vector<llvm::Type*> members;
            for (llvm::Type* member : structure->elements()) {
                members.push_back(remapType(member));
                changes |= members.back() != member;
            }
            // Structures with a name are others than those without; only their layout matters here.
            return changes ? llvm::StructType::get(type->getContext(), members, structure->isPacked()) : type;
        }
        if (auto* function = llvm::dyn_cast<llvm::FunctionType>(type)) {
            std::vector<llvm::Type*> parameters;
            for (llvm::Type* parameter : function->params()) parameters.push_back(remapType(parameter));
            return llvm::FunctionType::get(remapType(function->getReturnType()), parameters,
                                           function->isVarArg());
        }
        return type;
    }

    std::map<llvm::Type*, llvm::Type*> known_;
};

/// Whether the pointer is only printed: given to vprintf, or put into its list of arguments.
bool is_only_printed(const llvm::Value& pointer) {
    for (const llvm::User* user : pointer.users()) {
        if (llvm::isa<llvm::AddrSpaceCastOperator, llvm::GEPOperator, llvm::BitCastOperator>(user)) {
            if (!is_only_printed(*user)) return false;
            continue;
        }
        if (const auto* call = llvm::dyn_cast<llvm::CallBase>(user)) {
            const llvm::Function* callee = call->getCalledFunction();
            if (callee != nullptr && callee->getName() == "vprintf") continue;
        }
        if (const auto* store = llvm::dyn_cast<llvm::StoreInst>(user)) {
            const bool is_local =
                llvm::isa<llvm::AllocaInst>(llvm::getUnderlyingObject(store->getPointerOperand()));
            if (store->getValueOperand() == &pointer && is_local) continue;
        }
        return false;
    }
    return true;
}

bool is_printed_text(const llvm::GlobalVariable& variable) {
    const auto* array = llvm::dyn_cast<llvm::ArrayType>(variable.getValueType());
    return variable.isConstant() && variable.hasLocalLinkage() && array != nullptr &&
           array->getElementType()->isIntegerTy(8) && is_only_printed(variable);
}

/// The same text in the module, in global memory, where compilers of CUDA C++ put it.
llvm::GlobalVariable* text_in_global_memory(llvm::Module& module, const llvm::GlobalVariable& text) {
    auto* copy = new llvm::GlobalVariable(
        module, text.getValueType(), true, llvm::GlobalValue::InternalLinkage,
        text.hasInitializer() ? const_cast<llvm::Constant*>(text.getInitializer()) : nullptr, "", nullptr,
        llvm::GlobalValue::NotThreadLocal, global);
    copy->setAlignment(text.getAlign());
    return copy;
}

/// An equal function whose type has no address space 4. The body moves.
llvm::Function* retyped(llvm::Function& function, llvm::FunctionType* type, llvm::ValueToValueMapTy& values) {
    auto* copy = llvm::Function::Create(type, function.getLinkage(), function.getAddressSpace(), "",
                                        function.getParent());
    const std::string name = function.getName().str();
    function.setName("");
    copy->setName(name);
    if (function.isIntrinsic()) {
        if (const auto remangled = llvm::Intrinsic::remangleIntrinsicFunction(copy)) {
            copy->eraseFromParent();
            copy = *remangled;
        }
        return copy;
    }
    copy->copyAttributesFrom(&function);
    copy->setSubprogram(function.getSubprogram());
    copy->splice(copy->begin(), &function);
    for (unsigned i = 0; i < function.arg_size(); ++i) {
        copy->getArg(i)->takeName(function.getArg(i));
        values[function.getArg(i)] = copy->getArg(i);
    }
    return copy;
}

}  // namespace

void place_globals_at(llvm::Module& module, std::uint64_t base) {
    const image::GlobalsPlacement placement = image::place_globals(module);
    InGlobalMemory types;
    llvm::ValueToValueMapTy values;
    // `values` does not say which: RemapFunction() adds what stays as it is.
    std::vector<llvm::GlobalVariable*> gone;
    auto* word = llvm::Type::getInt64Ty(module.getContext());
    for (const auto& [variable, offset] : placement.offsets) {
        if (is_printed_text(*variable)) {
            if (variable->getAddressSpace() != constant) continue;
            values[variable] = text_in_global_memory(module, *variable);
            gone.push_back(variable);
            continue;
        }
        const unsigned space = variable->getAddressSpace() == generic ? generic : global;
        values[variable] = llvm::ConstantExpr::getIntToPtr(
            llvm::ConstantInt::get(word, base + offset), llvm::PointerType::get(module.getContext(), space));
        gone.push_back(variable);
    }
    std::vector<llvm::Function*> functions, replaced;
    for (llvm::Function& function : module) functions.push_back(&function);
    for (llvm::Function* function : functions) {
        auto* type = llvm::cast<llvm::FunctionType>(types.remapType(function->getFunctionType()));
        if (type == function->getFunctionType()) continue;
        values[function] = retyped(*function, type, values);
        replaced.push_back(function);
    }
    const llvm::RemapFlags flags = llvm::RF_IgnoreMissingLocals | llvm::RF_NoModuleLevelChanges;
    for (llvm::Function& function : module)
        if (!function.isDeclaration()) llvm::RemapFunction(function, values, flags, &types);
    // Lists of what must stay, debug information and annotations of variables name what is gone.
    for (const char* list : {"llvm.used", "llvm.compiler.used"})
        if (auto* used = module.getNamedGlobal(list)) used->eraseFromParent();
    for (llvm::GlobalVariable* variable : gone) {
        variable->eraseMetadata(llvm::LLVMContext::MD_dbg);
        variable->setInitializer(nullptr);
    }
    for (llvm::Function* function : replaced) {
        if (auto* annotations = module.getNamedMetadata("nvvm.annotations"))
            for (llvm::MDNode* node : annotations->operands())
                if (node->getNumOperands() > 0 && node->getOperand(0) &&
                    llvm::mdconst::dyn_extract<llvm::Function>(node->getOperand(0)) == function)
                    node->replaceOperandWith(
                        0, llvm::ConstantAsMetadata::get(llvm::cast<llvm::Function>(&*values[function])));
        function->replaceAllUsesWith(llvm::PoisonValue::get(function->getType()));
        function->eraseFromParent();
    }
    for (llvm::GlobalVariable* variable : gone) {
        variable->replaceAllUsesWith(llvm::PoisonValue::get(variable->getType()));
        variable->eraseFromParent();
    }
}

}  // namespace cudasim::gpu_backend
