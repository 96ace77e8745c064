// Gives integer division, shifts and float-to-integer conversion their PTX meaning (V2, C3). Where PTX and
// LLVM IR agree nothing is added: constants in range cost nothing.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "simulator/jit/early_instrumentation.h"
#include "simulator/jit/hook_calls.h"

namespace cudasim::jit {
namespace {

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

bool needs_work(const Instruction& instruction) {
    return is_division(instruction) || instruction.isShift() || isa<FPToSIInst, FPToUIInst>(instruction);
}

/// -1 as divisor: LLVM's result is undefined for the smallest dividend, PTX's wraps. Dividing by 1 instead
/// and choosing afterwards traps never.
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
    auto* choice =
        SelectInst::Create(minus_one, negated, &division, "", division.getNextNode()->getIterator());
    if (auto* negation = dyn_cast<Instruction>(negated)) choice->moveAfter(negation);
    choice->setDebugLoc(division.getDebugLoc());
    division.replaceUsesWithIf(choice, [&](Use& use) { return use.getUser() != choice; });
}

void define_division(BinaryOperator& division) {
    Value* divisor = division.getOperand(1);
    const auto* known = dyn_cast<ConstantInt>(divisor);
    if (!known || known->isZero()) {
        IRBuilder<> builder(&division);
        Value* zero = builder.CreateICmpEQ(divisor, ConstantInt::get(divisor->getType(), 0));
        Instruction* cold = branch_cold(zero, &division, false);
        builder.SetInsertPoint(cold);
        builder.SetCurrentDebugLocation(division.getDebugLoc());
        emit_fault(builder, findings::FindingKind::integer_division);
        cold->eraseFromParent();
    }
    const bool is_signed =
        division.getOpcode() == Instruction::SDiv || division.getOpcode() == Instruction::SRem;
    if (is_signed) define_signed_overflow(division);
}

/// Amounts of the width and more: all bits leave (shl, lshr) or the sign fills (ashr).
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

/// PTX cvt.rzi: saturates; NaN gives 0, except that 1 << (width - 1) where the source is f64 or the
/// destination is 64 bits wide (PTX ISA, cvt). Destinations below 16 bits are converted at 16 bits and cut,
/// as LLVM's NVPTX back end does.
Value* converted(CastInst& conversion) {
    IRBuilder<> builder(&conversion);
    const bool is_signed = isa<FPToSIInst>(conversion);
    Value* source = conversion.getOperand(0);
    const bool from_double = source->getType()->isDoubleTy();
    if (!from_double && !source->getType()->isFloatTy())
        source = builder.CreateFPExt(source, builder.getFloatTy());
    const unsigned width = std::max(16U, conversion.getType()->getIntegerBitWidth());
    Type* type = builder.getIntNTy(width);
    Value* result = builder.CreateIntrinsic(is_signed ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat,
                                            {type, source->getType()}, {source});
    if (from_double || width == 64) {
        Value* indefinite = ConstantInt::get(type, APInt::getOneBitSet(width, width - 1));
        result = builder.CreateSelect(builder.CreateFCmpUNO(source, source), indefinite, result);
    }
    return builder.CreateTrunc(result, conversion.getType());
}

void define(Instruction& instruction) {
    if (auto* conversion = dyn_cast<CastInst>(&instruction)) {
        conversion->replaceAllUsesWith(converted(*conversion));
        conversion->eraseFromParent();
    } else if (is_division(instruction)) {
        define_division(cast<BinaryOperator>(instruction));
    } else {
        define_shift(cast<BinaryOperator>(instruction));
    }
}

/// One scalar operation per element, so that everything below is about scalars.
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

}  // namespace

void define_arithmetic(Compilation& compilation) {
    for (Function& function : *compilation.module) {
        std::vector<Instruction*> work;
        for (Instruction& instruction : instructions(function)) {
            if (needs_work(instruction)) work.push_back(&instruction);
        }
        for (Instruction* instruction : work) {
            for (Instruction* part : scalarised(*instruction)) define(*part);
        }
    }
}

}  // namespace cudasim::jit
