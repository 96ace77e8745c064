#include "simulator/image/defined_arithmetic.h"

#include <llvm/IR/IRBuilder.h>

namespace cudasim::image {

using namespace llvm;

bool is_division(const Instruction& instruction) {
    switch (instruction.getOpcode()) {
        case Instruction::SDiv:
        case Instruction::UDiv:
        case Instruction::SRem:
        case Instruction::URem:
            return true;
        default:
            return false;
    }
}

namespace {

/// `chosen` where the condition holds in the place of the instruction's result.
SelectInst* replace_result(Value* condition, Value* chosen, Instruction& instruction) {
    auto* choice =
        SelectInst::Create(condition, chosen, &instruction, "", instruction.getNextNode()->getIterator());
    choice->setDebugLoc(instruction.getDebugLoc());
    instruction.replaceUsesWithIf(choice, [&](Use& use) { return use.getUser() != choice; });
    return choice;
}

}  // namespace

void define_division_by_zero(BinaryOperator& division) {
    Value* divisor = division.getOperand(1);
    if (const auto* known = dyn_cast<ConstantInt>(divisor); known && !known->isZero()) return;
    IRBuilder<> builder(&division);
    Type* type = division.getType();
    Value* is_zero = builder.CreateICmpEQ(divisor, Constant::getNullValue(type));
    division.setOperand(1, builder.CreateSelect(is_zero, ConstantInt::get(type, 1), divisor));
    replace_result(is_zero, Constant::getAllOnesValue(type), division);
}

/// Dividing by 1 instead and choosing afterwards traps never.
void define_signed_overflow(BinaryOperator& division) {
    Value* divisor = division.getOperand(1);
    if (isa<ConstantInt>(divisor) && !cast<ConstantInt>(divisor)->isMinusOne()) return;
    IRBuilder<> builder(&division);
    Type* type = division.getType();
    Value* minus_one = builder.CreateICmpEQ(divisor, Constant::getAllOnesValue(type));
    division.setOperand(1, builder.CreateSelect(minus_one, ConstantInt::get(type, 1), divisor));
    builder.SetInsertPoint(division.getNextNode());
    builder.SetCurrentDebugLocation(division.getDebugLoc());
    Value* negated = division.getOpcode() == Instruction::SDiv
                         ? builder.CreateNeg(division.getOperand(0))
                         : static_cast<Value*>(ConstantInt::get(type, 0));
    SelectInst* choice = replace_result(minus_one, negated, division);
    if (auto* negation = dyn_cast<Instruction>(negated)) choice->moveAfter(negation);
}

void define_shift(BinaryOperator& shift) {
    Value* amount = shift.getOperand(1);
    const unsigned width = shift.getType()->getIntegerBitWidth();
    if (const auto* known = dyn_cast<ConstantInt>(amount); known && known->getValue().ult(width)) return;
    IRBuilder<> builder(&shift);
    Value* last = ConstantInt::get(shift.getType(), width - 1);
    Value* in_range = builder.CreateICmpULE(amount, last);
    if (shift.getOpcode() == Instruction::AShr) {
        shift.setOperand(1, builder.CreateSelect(in_range, amount, last));
        return;
    }
    Value* zero = ConstantInt::get(shift.getType(), 0);
    shift.setOperand(1, builder.CreateSelect(in_range, amount, zero));
    auto* result = SelectInst::Create(in_range, &shift, zero, "", shift.getNextNode()->getIterator());
    result->setDebugLoc(shift.getDebugLoc());
    shift.replaceUsesWithIf(result, [&](Use& use) { return use.getUser() != result; });
}

std::vector<Instruction*> scalarised(Instruction& instruction) {
    auto* type = dyn_cast<FixedVectorType>(instruction.getType());
    if (!type) return {&instruction};
    std::vector<Instruction*> parts;
    IRBuilder<> builder(&instruction);
    Value* result = PoisonValue::get(type);
    for (unsigned i = 0; i < type->getNumElements(); ++i) {
        Instruction* part = instruction.clone();
        for (unsigned k = 0; k < part->getNumOperands(); ++k) {
            part->setOperand(k, builder.CreateExtractElement(instruction.getOperand(k), i));
        }
        part->mutateType(type->getElementType());
        builder.Insert(part);
        parts.push_back(part);
        result = builder.CreateInsertElement(result, part, i);
    }
    instruction.replaceAllUsesWith(result);
    instruction.eraseFromParent();
    return parts;
}

}  // namespace cudasim::image
