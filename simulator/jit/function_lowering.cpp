// Rewrites every function: context parameter, address space 0 only, variables and function values resolved.
// Types are changed in place, value by value; between the start and the end of lower_functions() the module
// is not valid IR.
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>

#include "simulator/image/function_handles.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/parameter_buffer.h"
#include "simulator/jit/source_places.h"
#include "simulator/jit/source_variables.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Every pointer type becomes `ptr`, inside aggregates too.
class TypeMap {
  public:
    Type* operator()(Type* type) {
        auto& mapped = known_[type];
        if (!mapped) {
            Type* result = map(type);
            return known_[type] = result;
        }
        return mapped;
    }

    FunctionType* function(FunctionType* type, ArrayRef<Type*> leading) {
        SmallVector<Type*, 8> parameters(leading);
        for (Type* parameter : type->params()) parameters.push_back((*this)(parameter));
        return FunctionType::get((*this)(type->getReturnType()), parameters, type->isVarArg());
    }

  private:
    Type* map(Type* type) {
        if (type->isPointerTy()) return PointerType::get(type->getContext(), 0);
        if (auto* array = dyn_cast<ArrayType>(type)) {
            return ArrayType::get((*this)(array->getElementType()), array->getNumElements());
        }
        if (auto* vector = dyn_cast<VectorType>(type)) {
            return VectorType::get((*this)(vector->getElementType()), vector->getElementCount());
        }
        if (auto* function_type = dyn_cast<FunctionType>(type)) return function(function_type, {});
        if (auto* structure = dyn_cast<StructType>(type); structure && !structure->isOpaque()) {
            SmallVector<Type*, 8> elements;
            for (Type* element : structure->elements()) elements.push_back((*this)(element));
            if (elements == structure->elements()) return type;
            return StructType::get(type->getContext(), elements, structure->isPacked());
        }
        return type;
    }

    std::map<Type*, Type*> known_;
};

class FunctionLowering {
  public:
    explicit FunctionLowering(Compilation& compilation)
        : compilation_(compilation), pointer_(PointerType::get(*compilation.context, 0)) {
        for (std::size_t i = 0; i < compilation.layout.functions.size(); ++i) {
            handles_[compilation.layout.functions[i]] = image::function_handle(i);
        }
    }

    void run() {
        std::vector<Function*> old;
        for (Function& function : *compilation_.module) {
            if (!function.isDeclaration()) old.push_back(&function);
        }
        for (Function* function : old) move_body(*function);
        for (Function* function : old) rewrite(*moved_.at(function));
        for (auto& function : compilation_.layout.functions)
            function = moved_.contains(function) ? moved_[function] : nullptr;
        compilation_.kernel = moved_.at(compilation_.kernel);
        // Initialisers mention functions; they were laid out long ago (globals_layout.h).
        for (auto& variable : compilation_.module->globals()) variable.setInitializer(nullptr);
        for (Function* function : old) {
            function->removeDeadConstantUsers();
            function->replaceAllUsesWith(PoisonValue::get(function->getType()));
            function->eraseFromParent();
        }
    }

  private:
    void move_body(Function& old) {
        const bool kernel = &old == compilation_.kernel;
        SmallVector<Type*, 8> leading{pointer_};
        if (kernel) leading.append(4, Type::getInt32Ty(*compilation_.context));
        auto* type = types_.function(old.getFunctionType(), leading);
        auto* function = Function::Create(type, GlobalValue::InternalLinkage, "", *compilation_.module);
        function->takeName(&old);
        function->splice(function->begin(), &old);
        function->setSubprogram(old.getSubprogram());
        old.setSubprogram(nullptr);
        SmallVector<AttributeSet, 8> attributes(leading.size());
        for (unsigned i = 0; i < old.arg_size(); ++i)
            attributes.push_back(old.getAttributes().getParamAttrs(i));
        function->setAttributes(AttributeList::get(*compilation_.context, old.getAttributes().getFnAttrs(),
                                                   old.getAttributes().getRetAttrs(), attributes));
        for (unsigned i = 0; i < old.arg_size(); ++i) {
            Argument* argument = old.getArg(i);
            argument->mutateType(function->getArg(i + leading.size())->getType());
            argument->replaceAllUsesWith(function->getArg(i + leading.size()));
            function->getArg(i + leading.size())->takeName(argument);
        }
        function->getArg(0)->setName("context");
        moved_[&old] = function;
    }

    void rewrite(Function& function) {
        FunctionContext head(function);
        variables_.clear();
        SmallVector<Instruction*, 64> all;
        for (Instruction& instruction : instructions(function)) all.push_back(&instruction);
        for (Instruction* instruction : all) {
            if (auto* cast = dyn_cast<IntToPtrInst>(instruction); cast && cast->getAddressSpace() == shared)
                complete_shared_address(*cast, head);
            rewrite_types(*instruction);
            rewrite_operands(*instruction, head);
        }
        for (Instruction* instruction : all) {
            if (auto* cast = dyn_cast<AddrSpaceCastInst>(instruction)) {
                cast->replaceAllUsesWith(cast->getOperand(0));
                cast->eraseFromParent();
            } else if (auto* call = dyn_cast<CallBase>(instruction)) {
                rewrite_call(*call);
            }
        }
    }

    /// CUDA's shared addresses fit 32 bits, and programs count on it (CUDA C++ Programming Guide,
    /// "__cvta_generic_to_shared() and __cvta_shared_to_generic()"): what counts of a number that becomes one
    /// is the distance of its lower half to where the block's shared memory begins.
    void complete_shared_address(IntToPtrInst& cast, FunctionContext& head) {
        Value* number = cast.getOperand(0);
        const auto* sum = dyn_cast<BinaryOperator>(number);
        if (sum && sum->getOpcode() == Instruction::Add && isa<SExtInst>(sum->getOperand(1)))
            return;  // frontend/ptx has done it
        IRBuilder<> builder(&cast);
        Type* wide = builder.getInt64Ty();
        Type* narrow = builder.getInt32Ty();
        Value* base =
            builder.CreatePtrToInt(head.block_field(offsetof(BlockContext, shared_base), pointer_), wide);
        Value* distance =
            builder.CreateSub(builder.CreateZExtOrTrunc(number, narrow), builder.CreateTrunc(base, narrow));
        cast.setOperand(0, builder.CreateAdd(base, builder.CreateSExt(distance, wide)));
    }

    void rewrite_types(Instruction& instruction) {
        if (auto* alloca = dyn_cast<AllocaInst>(&instruction)) {
            alloca->setAllocatedType(types_(alloca->getAllocatedType()));
        } else if (auto* element = dyn_cast<GetElementPtrInst>(&instruction)) {
            element->setSourceElementType(types_(element->getSourceElementType()));
            element->setResultElementType(types_(element->getResultElementType()));
        } else if (auto* call = dyn_cast<CallBase>(&instruction)) {
            if (call->isInlineAsm()) {
                refuse(instruction,
                       "inline PTX assembly cannot run on the CPU; guard it, or write it in CUDA C++");
            }
            call->mutateFunctionType(cast<FunctionType>(types_(call->getFunctionType())));
        }
        instruction.mutateType(types_(instruction.getType()));
    }

    void rewrite_operands(Instruction& instruction, FunctionContext& head) {
        auto* call = dyn_cast<CallBase>(&instruction);
        for (Use& use : instruction.operands()) {
            auto* value = dyn_cast<Constant>(use.get());
            if (!value || (call && call->isCallee(&use) && is_direct(*call))) continue;
            if (auto* variable = dyn_cast<llvm::GlobalVariable>(value)) {
                use.set(address_of(*variable, instruction, head));
            } else if (auto* function = dyn_cast<Function>(value)) {
                use.set(handle_of(*function, instruction));
            } else if (isa<GlobalAlias, GlobalIFunc>(value)) {
                refuse(instruction, "symbol aliases are not supported: '" + value->getName().str() + "'");
            } else if (types_(value->getType()) != value->getType()) {
                use.set(map_constant(*value));
            }
        }
    }

    bool is_direct(const CallBase& call) {
        const auto* callee = dyn_cast<Function>(call.getCalledOperand());
        return callee && types_(callee->getFunctionType()) == call.getFunctionType();
    }

    /// Only null, undefined, poison and aggregates of them are left of constants that hold pointers.
    Constant* map_constant(Constant& value) {
        Type* type = types_(value.getType());
        if (isa<PoisonValue>(value)) return PoisonValue::get(type);
        if (isa<UndefValue>(value)) return UndefValue::get(type);
        if (value.isNullValue()) return Constant::getNullValue(type);
        SmallVector<Constant*, 8> elements;
        for (Value* element : value.operands()) {
            elements.push_back(types_(element->getType()) == element->getType()
                                   ? cast<Constant>(element)
                                   : map_constant(*cast<Constant>(element)));
        }
        if (auto* structure = dyn_cast<StructType>(type)) return ConstantStruct::get(structure, elements);
        if (auto* array = dyn_cast<ArrayType>(type)) return ConstantArray::get(array, elements);
        return ConstantVector::get(elements);
    }

    Value* address_of(llvm::GlobalVariable& variable, Instruction& user, FunctionContext& head) {
        auto& known = variables_[&variable];
        if (known) return known;
        const bool is_shared = variable.getAddressSpace() == shared;
        const auto& offsets = is_shared ? compilation_.shared.offsets : compilation_.layout.offsets;
        const auto found = offsets.find(&variable);
        if (found == offsets.end()) {
            refuse(user, "the variable '" + variable.getName().str() +
                             "' is declared but not defined in this image");
        }
        const unsigned base =
            is_shared ? offsetof(BlockContext, shared_base) : offsetof(BlockContext, globals_base);
        Value* start = head.block_field(base, pointer_);
        auto* address = GetElementPtrInst::Create(
            Type::getInt8Ty(*compilation_.context), start,
            ConstantInt::get(Type::getInt64Ty(*compilation_.context), found->second), variable.getName());
        address->insertBefore(head.head());
        mark_variable(*address, variable);
        return known = address;
    }

    void mark_variable(GetElementPtrInst& address, const llvm::GlobalVariable& variable) {
        auto& context = *compilation_.context;
        const bool dynamic = variable.getAddressSpace() == shared && variable.isDeclaration();
        const auto& data_layout = compilation_.module->getDataLayout();
        const std::uint64_t bytes =
            dynamic ? 0 : data_layout.getTypeAllocSize(variable.getValueType()).getFixedValue();
        const unsigned space = variable.isConstant() ? unsigned{constant} : variable.getAddressSpace();
        auto number = [&](std::uint64_t value) {
            return ConstantAsMetadata::get(ConstantInt::get(Type::getInt64Ty(context), value));
        };
        address.setMetadata(marks::variable, MDNode::get(context, {number(bytes), number(space)}));
    }

    Constant* handle_of(const Function& function, Instruction& user) {
        const auto found = handles_.find(&function);
        if (found == handles_.end()) {
            refuse(user, "the address of '" + function.getName().str() + "' cannot be taken in a kernel");
        }
        auto* number = ConstantInt::get(Type::getInt64Ty(*compilation_.context), found->second);
        return ConstantExpr::getIntToPtr(number, pointer_);
    }

    void rewrite_call(CallBase& call) {
        if (!isa<CallInst>(call)) refuse(call, "exception handling cannot run in a kernel");
        if (!is_direct(call)) return add_context(call, call.getCalledOperand());
        auto* callee = cast<Function>(call.getCalledOperand());
        if (const auto found = moved_.find(callee); found != moved_.end())
            return add_context(call, found->second);
        if (callee->getFunctionType() == call.getFunctionType()) return;
        call.setCalledFunction(redeclare(*callee, call.getFunctionType()));
    }

    Function* redeclare(Function& old, FunctionType* type) {
        auto& known = redeclared_[&old];
        if (known) return known;
        if (old.isIntrinsic()) {
            SmallVector<Type*, 4> overloaded;
            if (Intrinsic::getIntrinsicSignature(old.getIntrinsicID(), type, overloaded)) {
                return known = Intrinsic::getDeclaration(compilation_.module.get(), old.getIntrinsicID(),
                                                         overloaded);
            }
        }
        known = Function::Create(type, GlobalValue::ExternalLinkage, "", *compilation_.module);
        known->takeName(&old);
        return known;
    }

    void add_context(CallBase& call, Value* callee) {
        SmallVector<Value*, 8> arguments{call.getFunction()->getArg(0)};
        arguments.append(call.arg_begin(), call.arg_end());
        SmallVector<Type*, 8> parameters{pointer_};
        for (Type* parameter : call.getFunctionType()->params()) parameters.push_back(parameter);
        auto* type = FunctionType::get(call.getType(), parameters, call.getFunctionType()->isVarArg());
        auto* replacement = CallInst::Create(type, callee, arguments, "", call.getIterator());
        SmallVector<AttributeSet, 8> attributes(1);
        for (unsigned i = 0; i < call.arg_size(); ++i)
            attributes.push_back(call.getAttributes().getParamAttrs(i));
        replacement->setAttributes(AttributeList::get(call.getContext(), AttributeSet(),
                                                      call.getAttributes().getRetAttrs(), attributes));
        replacement->setDebugLoc(call.getDebugLoc());
        replacement->takeName(&call);
        call.replaceAllUsesWith(replacement);
        call.eraseFromParent();
    }

    Compilation& compilation_;
    Type* pointer_;
    TypeMap types_;
    std::map<Function*, Function*> moved_, redeclared_;
    std::map<const Function*, std::uint64_t> handles_;
    std::map<llvm::GlobalVariable*, Value*> variables_;
};

/// Parameters passed by value become ordinary local variables: a copy at the function's head. The kernel's
/// own live in the launch's parameter buffer, where the copy comes from.
void copy_parameters_by_value(Function& function, bool kernel) {
    const auto& data_layout = function.getParent()->getDataLayout();
    BasicBlock& entry = function.getEntryBlock();
    // Behind the descriptions of variables, in front of the source's first statement: what comes before its
    // description assigns nothing to a variable. Addresses of globals may have been computed in front of it.
    const auto is_by_value = [](const Value* each) {
        const auto* argument = dyn_cast<Argument>(each);
        return argument != nullptr && argument->hasByValAttr();
    };
    const auto behind = find_if(entry, [&](const Instruction& each) {
        return each.hasDbgRecords() || each.isTerminator() || any_of(each.operand_values(), is_by_value);
    });
    IRBuilder<> builder(&entry, entry.getFirstInsertionPt()), filler(&entry, behind);
    builder.SetCurrentDebugLocation({});
    filler.SetCurrentDebugLocation({});
    for (Argument& argument : function.args()) {
        if (!argument.hasByValAttr()) continue;
        Type* type = argument.getParamByValType();
        const Align alignment = argument.getParamAlign().value_or(data_layout.getABITypeAlign(type));
        if (kernel) {
            argument.removeAttr(Attribute::ByVal);
            argument.removeAttr(Attribute::Alignment);
        }
        auto* copy = builder.CreateAlloca(type, nullptr, argument.getName() + ".copy");
        copy->setAlignment(alignment);
        argument.replaceAllUsesWith(copy);
        const Align source = kernel ? std::min(alignment, Align(parameter_buffer_alignment)) : alignment;
        auto* fill =
            filler.CreateMemCpy(copy, alignment, &argument, source, data_layout.getTypeAllocSize(type));
        mark_internal(*fill);
    }
}

void remove_variables(Compilation& compilation) {
    for (auto& variable : make_early_inc_range(compilation.module->globals())) {
        variable.removeDeadConstantUsers();
        variable.replaceAllUsesWith(PoisonValue::get(variable.getType()));
        variable.eraseFromParent();
    }
    compilation.layout.offsets.clear();
    compilation.shared.offsets.clear();
    for (auto& function : make_early_inc_range(*compilation.module)) {
        if (function.isDeclaration() && function.use_empty()) function.eraseFromParent();
    }
}

}  // namespace

void lower_functions(Compilation& compilation) {
    lay_out_shared(compilation);
    FunctionLowering(compilation).run();
    for (Argument& argument : drop_begin(compilation.kernel->args(), body_parameters)) {
        compilation.by_value.push_back(argument.hasByValAttr());
    }
    for (Function& function : *compilation.module) {
        if (!function.isDeclaration()) copy_parameters_by_value(function, &function == compilation.kernel);
    }
    if (auto* annotations = compilation.module->getNamedMetadata("nvvm.annotations"))
        annotations->eraseFromParent();
    note_source_variables(compilation);
    remove_variables(compilation);
}

}  // namespace cudasim::jit
