// See contraction.h.
#include "simulator/image/contraction.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

namespace cudasim::image {
namespace {

using namespace llvm;

BinaryOperator* contractible_product(Value* value) {
    auto* product = dyn_cast<BinaryOperator>(value);
    const bool fits = product && product->getOpcode() == Instruction::FMul && product->hasAllowContract() && product->hasOneUse();
    return fits ? product : nullptr;
}

/// The fused form of a sum or difference, or nullptr. The left product is taken when both operands are products.
Value* fused(BinaryOperator& sum) {
    const bool difference = sum.getOpcode() == Instruction::FSub;
    if ((!difference && sum.getOpcode() != Instruction::FAdd) || !sum.hasAllowContract()) return nullptr;
    IRBuilder<> builder(&sum);
    const auto fma = [&](Value* a, Value* b, Value* c) {
        return builder.CreateIntrinsic(Intrinsic::fma, {sum.getType()}, {a, b, c});
    };
    if (auto* product = contractible_product(sum.getOperand(0))) {
        Value* addend = sum.getOperand(1);
        return fma(product->getOperand(0), product->getOperand(1), difference ? builder.CreateFNeg(addend) : addend);
    }
    if (auto* product = contractible_product(sum.getOperand(1))) {
        Value* factor = product->getOperand(0);
        return fma(difference ? builder.CreateFNeg(factor) : factor, product->getOperand(1), sum.getOperand(0));
    }
    return nullptr;
}

void contract(Function& function) {
    for (Instruction& instruction : make_early_inc_range(instructions(function))) {
        auto* sum = dyn_cast<BinaryOperator>(&instruction);
        Value* replacement = sum ? fused(*sum) : nullptr;
        if (!replacement) continue;
        sum->replaceAllUsesWith(replacement);
        SmallVector<Value*, 2> operands(sum->operand_values());
        sum->eraseFromParent();
        for (Value* operand : operands) {
            auto* product = dyn_cast<BinaryOperator>(operand);
            if (product && product->use_empty() && product->getOpcode() == Instruction::FMul) product->eraseFromParent();
        }
    }
}

}  // namespace

void contract_multiply_adds(Module& module) {
    for (Function& function : module) {
        contract(function);
        for (Instruction& instruction : instructions(function))
            if (isa<FPMathOperator>(instruction)) instruction.setHasAllowContract(false);
    }
}

}  // namespace cudasim::image
