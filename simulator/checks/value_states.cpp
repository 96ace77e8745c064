// See value_states.h.
#include "simulator/checks/value_states.h"

#include <llvm/IR/Module.h>
#include <llvm/IR/PatternMatch.h>

#include <string>

#include "simulator/jit/function_context.h"

namespace cudasim::checks {

using namespace llvm;

namespace {

constexpr const char* nothing_prefix = "cudasim.nothing.";

bool is_made_nothing(const Value& value) {
    const auto* call = dyn_cast<CallInst>(&value);
    const Function* callee = call ? call->getCalledFunction() : nullptr;
    return callee && callee->getName().starts_with(nothing_prefix);
}

/// What SROA makes of a filling with one byte: the byte times 0x0101...
bool is_splat(const Value& value) {
    const auto* product = dyn_cast<BinaryOperator>(&value);
    if (!product || product->getOpcode() != Instruction::Mul || !isa<Constant>(product->getOperand(1)))
        return false;
    const auto* word = dyn_cast<ZExtInst>(product->getOperand(0));
    return word && is_made_nothing(*word->getOperand(0));
}

/// Shifts by a constant amount, which packing is made of.
bool is_constant_shift(const Value& value) {
    const auto* shift = dyn_cast<BinaryOperator>(&value);
    return shift && shift->isShift() && isa<Constant>(shift->getOperand(1));
}

/// An operand of an `or` that has only some of the word's bits.
bool is_part(const Value& value) {
    if (isa<ZExtInst>(value) || is_constant_shift(value)) return true;
    const auto* both = dyn_cast<BinaryOperator>(&value);
    if (!both) return false;
    if (both->getOpcode() == Instruction::And) return isa<Constant>(both->getOperand(1));
    return both->getOpcode() == Instruction::Or &&
           (is_part(*both->getOperand(0)) || is_part(*both->getOperand(1)));
}

/// A byte that was loaded, made a truth value: a copy of a bool.
bool is_bool_of_byte(const Instruction& instruction) {
    const auto* comparison = dyn_cast<ICmpInst>(&instruction);
    return comparison && comparison->isEquality() && isa<LoadInst>(comparison->getOperand(0)) &&
           comparison->getOperand(0)->getType()->isIntegerTy(8) &&
           match(comparison->getOperand(1), PatternMatch::m_Zero());
}

Value* to_width(IRBuilderBase& builder, Value* state, Type* type) {
    return state->getType() == type ? state : builder.CreateZExtOrTrunc(state, type);
}

/// @param type an array or a struct
unsigned element_count(const Type& type) {
    return type.isArrayTy() ? static_cast<unsigned>(type.getArrayNumElements()) : type.getStructNumElements();
}

/// visit(index, type of the element, place of its states) for each element.
/// @param states where those of the whole are
template <typename Visit>
void for_each_element(IRBuilderBase& builder, Type& type, Value& states, Visit visit) {
    const DataLayout& layout = builder.GetInsertBlock()->getDataLayout();
    auto* record = dyn_cast<StructType>(&type);
    for (unsigned i = 0; i < element_count(type); ++i) {
        Type* element = record ? record->getElementType(i) : type.getArrayElementType();
        const std::uint64_t offset = record
                                         ? layout.getStructLayout(record)->getElementOffset(i).getFixedValue()
                                         : i * layout.getTypeAllocSize(element).getFixedValue();
        visit(
            i, *element,
            offset == 0 ? states : *builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), &states, offset));
    }
}

}  // namespace

Type* state_type(Type& type, const DataLayout& layout) {
    LLVMContext& context = type.getContext();
    if (type.isIntegerTy()) return &type;
    if (type.isPointerTy()) return layout.getIntPtrType(&type);
    if (type.isFloatingPointTy())
        return Type::getIntNTy(context, static_cast<unsigned>(layout.getTypeSizeInBits(&type)));
    if (auto* vector = dyn_cast<FixedVectorType>(&type)) {
        Type* element = state_type(*vector->getElementType(), layout);
        return element ? FixedVectorType::get(element, vector->getNumElements()) : nullptr;
    }
    if (auto* array = dyn_cast<ArrayType>(&type)) {
        Type* element = state_type(*array->getElementType(), layout);
        return element ? ArrayType::get(element, array->getNumElements()) : nullptr;
    }
    if (auto* record = dyn_cast<StructType>(&type)) {
        SmallVector<Type*, 8> elements;
        for (Type* each : record->elements()) {
            elements.push_back(state_type(*each, layout));
            if (!elements.back()) return nullptr;
        }
        return StructType::get(context, elements);
    }
    return nullptr;
}

Constant* all_unwritten(Type& type) {
    if (auto* array = dyn_cast<ArrayType>(&type))
        return ConstantArray::get(array, SmallVector<Constant*, 8>(array->getNumElements(),
                                                                   all_unwritten(*array->getElementType())));
    if (auto* record = dyn_cast<StructType>(&type)) {
        SmallVector<Constant*, 8> elements;
        for (Type* each : record->elements()) elements.push_back(all_unwritten(*each));
        return ConstantStruct::get(record, elements);
    }
    return Constant::getAllOnesValue(&type);
}

Value* any_unwritten(IRBuilderBase& builder, Value& state) {
    Type* type = state.getType();
    if (type->isAggregateType()) {
        Value* any = builder.getFalse();
        for (unsigned i = 0; i < element_count(*type); ++i)
            any = builder.CreateOr(any, any_unwritten(builder, *builder.CreateExtractValue(&state, i)));
        return any;
    }
    Value* bits = &state;
    if (type->isVectorTy())
        bits = builder.CreateBitCast(
            bits, builder.getIntNTy(static_cast<unsigned>(type->getPrimitiveSizeInBits().getFixedValue())));
    return builder.CreateIsNotNull(bits);
}

namespace {

/// The type in which states of a scalar or a vector lie in memory; nullptr where its elements are no bytes.
Type* stored_type(Type& state) {
    Type* element = state.getScalarType();
    const unsigned bits = (element->getIntegerBitWidth() + 7) / 8 * 8;
    if (!state.isVectorTy()) return Type::getIntNTy(state.getContext(), bits);
    return bits == element->getIntegerBitWidth() ? &state : nullptr;
}

}  // namespace

Value* load_state(IRBuilderBase& builder, Type& type, Value& states) {
    const DataLayout& layout = builder.GetInsertBlock()->getDataLayout();
    Type* result = state_type(type, layout);
    if (type.isAggregateType()) {
        Value* all = Constant::getNullValue(result);
        for_each_element(builder, type, states, [&](unsigned index, Type& element, Value& at) {
            all = builder.CreateInsertValue(all, load_state(builder, element, at), index);
        });
        return all;
    }
    Type* stored = stored_type(*result);
    if (!stored) return Constant::getNullValue(result);
    LoadInst* written = builder.CreateAlignedLoad(stored, &states, Align(1));
    jit::mark_internal(*written);
    return to_width(builder, builder.CreateNot(written), result);
}

void store_state(IRBuilderBase& builder, Type& type, Value* state, Value& states) {
    const DataLayout& layout = builder.GetInsertBlock()->getDataLayout();
    if (type.isAggregateType()) {
        for_each_element(builder, type, states, [&](unsigned index, Type& element, Value& at) {
            store_state(builder, element, state ? builder.CreateExtractValue(state, index) : nullptr, at);
        });
        return;
    }
    Type* own = state_type(type, layout);
    Type* stored = stored_type(*own);
    if (!stored) {
        stored =
            builder.getIntNTy(static_cast<unsigned>(layout.getTypeStoreSizeInBits(&type).getFixedValue()));
        state = nullptr;
    }
    Value* written =
        state ? builder.CreateNot(to_width(builder, state, stored)) : Constant::getAllOnesValue(stored);
    jit::mark_internal(*builder.CreateAlignedStore(written, &states, Align(1)));
}

LoadInst* load_behind(Value* value) {
    constexpr unsigned most_steps = 8;
    for (unsigned step = 0; step < most_steps; ++step) {
        if (auto* load = dyn_cast<LoadInst>(value)) return load;
        auto* instruction = dyn_cast<Instruction>(value);
        if (!instruction || isa<PHINode, SelectInst>(instruction) || instruction->getNumOperands() == 0 ||
            instruction->getOpcode() == Instruction::Or || isa<CallInst>(instruction))
            return nullptr;
        value = instruction->getOperand(0);
    }
    return nullptr;
}

bool carries_state(const Use& operand) {
    const auto& instruction = *cast<Instruction>(operand.getUser());
    if (is_nothing(instruction)) return true;
    const unsigned index = operand.getOperandNo();
    switch (instruction.getOpcode()) {
        case Instruction::PHI:
        case Instruction::Freeze:
        case Instruction::Trunc:
        case Instruction::ZExt:
        case Instruction::SExt:
        case Instruction::BitCast:
        case Instruction::PtrToInt:
        case Instruction::IntToPtr:
        case Instruction::ExtractValue:
        case Instruction::InsertValue:
        case Instruction::ShuffleVector:
            return true;
        case Instruction::Select:
            return index != 0;
        case Instruction::ExtractElement:
            return index == 0 && isa<Constant>(instruction.getOperand(1));
        case Instruction::InsertElement:
            return index < 2 && isa<Constant>(instruction.getOperand(2));
        case Instruction::Shl:
        case Instruction::LShr:
        case Instruction::AShr:
        case Instruction::And:
            return index == 0 && isa<Constant>(instruction.getOperand(1));
        case Instruction::Or:
            return isa<Constant>(instruction.getOperand(1)) || is_part(*instruction.getOperand(0)) ||
                   is_part(*instruction.getOperand(1));
        default:
            return is_bool_of_byte(instruction);
    }
}

Value* carried_state(IRBuilderBase& builder, Instruction& instruction,
                     function_ref<Value*(Value&)> state_of) {
    Type* type = state_type(*instruction.getType(), instruction.getDataLayout());
    if (is_nothing(instruction)) return all_unwritten(*type);
    const auto operand = [&](unsigned index) { return state_of(*instruction.getOperand(index)); };
    switch (instruction.getOpcode()) {
        case Instruction::Freeze:
            return operand(0);
        case Instruction::Trunc:
            return builder.CreateTrunc(operand(0), type);
        case Instruction::ZExt:
            return builder.CreateZExt(operand(0), type);
        case Instruction::SExt:
            return builder.CreateSExt(operand(0), type);
        case Instruction::BitCast:
            return builder.CreateBitCast(operand(0), type);
        case Instruction::PtrToInt:
        case Instruction::IntToPtr:
            return to_width(builder, operand(0), type);
        case Instruction::ExtractValue:
            return builder.CreateExtractValue(operand(0), cast<ExtractValueInst>(instruction).getIndices());
        case Instruction::InsertValue:
            return builder.CreateInsertValue(operand(0), operand(1),
                                             cast<InsertValueInst>(instruction).getIndices());
        case Instruction::ShuffleVector:
            return builder.CreateShuffleVector(operand(0), operand(1),
                                               cast<ShuffleVectorInst>(instruction).getShuffleMask());
        case Instruction::Select: {
            Value* condition = instruction.getOperand(0);
            return builder.CreateSelect(condition, operand(1), operand(2));
        }
        case Instruction::ExtractElement:
            return builder.CreateExtractElement(operand(0), instruction.getOperand(1));
        case Instruction::InsertElement:
            return builder.CreateInsertElement(operand(0), operand(1), instruction.getOperand(2));
        case Instruction::Shl:
        case Instruction::LShr:
        case Instruction::AShr:
        case Instruction::And:
            return builder.CreateBinOp(cast<BinaryOperator>(instruction).getOpcode(), operand(0),
                                       instruction.getOperand(1));
        case Instruction::Or:
            return builder.CreateOr(operand(0), operand(1));
        default:  // a byte made a truth value
            return builder.CreateIsNotNull(operand(0));
    }
}

Value* make_nothing(IRBuilderBase& builder, Type& type) {
    Module& module = *builder.GetInsertBlock()->getModule();
    Function* maker = nullptr;
    for (Function& function : module)
        if (function.getReturnType() == &type && function.getName().starts_with(nothing_prefix))
            maker = &function;
    if (!maker) {
        maker = Function::Create(FunctionType::get(&type, false), GlobalValue::ExternalLinkage,
                                 nothing_prefix + std::to_string(module.size()), module);
        maker->setDoesNotThrow();
        maker->setWillReturn();
        maker->setDoesNotAccessMemory();
    }
    CallInst* call = builder.CreateCall(maker);
    call->setDebugLoc({});
    return call;
}

bool is_nothing(const Value& value) {
    return is_made_nothing(value) || is_splat(value);
}

void replace_nothing(Module& module) {
    for (Function& function : make_early_inc_range(module)) {
        if (!function.getName().starts_with(nothing_prefix)) continue;
        for (User* user : make_early_inc_range(function.users())) {
            auto* call = cast<CallInst>(user);
            // The poison that local variables have anyway (V3). Not undef: a branch on it would be undefined,
            // also behind the report.
            Type* type = call->getType();
            Constant* poison =
                type->isPointerTy()
                    ? ConstantExpr::getIntToPtr(
                          Constant::getAllOnesValue(Type::getInt64Ty(type->getContext())), type)
                    : Constant::getAllOnesValue(type);
            call->replaceAllUsesWith(poison);
            call->eraseFromParent();
        }
        function.eraseFromParent();
    }
}

}  // namespace cudasim::checks
