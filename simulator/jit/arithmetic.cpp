// Gives integer division, shifts and float-to-integer conversion their PTX meaning (V2, C3). Where PTX and
// LLVM IR agree nothing is added: constants in range cost nothing.
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include "simulator/image/defined_arithmetic.h"
#include "simulator/jit/early_instrumentation.h"
#include "simulator/jit/hook_calls.h"

namespace cudasim::jit {
namespace {

using namespace llvm;
using image::is_division;

bool needs_work(const Instruction& instruction) {
    return is_division(instruction) || instruction.isShift() || isa<FPToSIInst, FPToUIInst>(instruction);
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
    if (is_signed) image::define_signed_overflow(division);
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
        image::define_shift(cast<BinaryOperator>(instruction));
    }
}

}  // namespace

void define_arithmetic(Compilation& compilation) {
    for (Function& function : *compilation.module) {
        std::vector<Instruction*> work;
        for (Instruction& instruction : instructions(function)) {
            if (needs_work(instruction)) work.push_back(&instruction);
        }
        for (Instruction* instruction : work) {
            for (Instruction* part : image::scalarised(*instruction)) define(*part);
        }
    }
}

}  // namespace cudasim::jit
