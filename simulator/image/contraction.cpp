// See contraction.h.
#include "simulator/image/contraction.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

namespace cudasim::image {
namespace {

using namespace llvm;

using NoUse = std::function<bool(const Value&)>;

bool has_one_use(const Value& value, const NoUse& no_use) {
    return count_if(value.users(), [&](const User* user) { return !no_use(*user); }) == 1;
}

BinaryOperator* contractible_product(Value* value, const NoUse& no_use) {
    auto* product = dyn_cast<BinaryOperator>(value);
    const bool fits = product && product->getOpcode() == Instruction::FMul && product->hasAllowContract() &&
                      has_one_use(*product, no_use);
    return fits ? product : nullptr;
}

/// The fused form of a sum or difference, or nullptr. The left product is taken when both operands are
/// products.
Value* fused(BinaryOperator& sum, const NoUse& no_use) {
    const bool difference = sum.getOpcode() == Instruction::FSub;
    if ((!difference && sum.getOpcode() != Instruction::FAdd) || !sum.hasAllowContract()) return nullptr;
    IRBuilder<> builder(&sum);
    const auto fma = [&](Value* a, Value* b, Value* c) {
        return builder.CreateIntrinsic(Intrinsic::fma, {sum.getType()}, {a, b, c});
    };
    if (auto* product = contractible_product(sum.getOperand(0), no_use)) {
        Value* addend = sum.getOperand(1);
        return fma(product->getOperand(0), product->getOperand(1),
                   difference ? builder.CreateFNeg(addend) : addend);
    }
    if (auto* product = contractible_product(sum.getOperand(1), no_use)) {
        Value* factor = product->getOperand(0);
        return fma(difference ? builder.CreateFNeg(factor) : factor, product->getOperand(1),
                   sum.getOperand(0));
    }
    return nullptr;
}

void contract(Function& function, const NoUse& no_use) {
    for (Instruction& instruction : make_early_inc_range(instructions(function))) {
        auto* sum = dyn_cast<BinaryOperator>(&instruction);
        Value* replacement = sum ? fused(*sum, no_use) : nullptr;
        if (!replacement) continue;
        sum->replaceAllUsesWith(replacement);
        SmallVector<Value*, 2> operands(sum->operand_values());
        sum->eraseFromParent();
        for (Value* operand : operands) {
            auto* product = dyn_cast<BinaryOperator>(operand);
            if (product && product->use_empty() && product->getOpcode() == Instruction::FMul)
                product->eraseFromParent();
        }
    }
}

}  // namespace

void contract_multiply_adds(Module& module, const NoUse& no_use) {
    for (Function& function : module) {
        contract(function, no_use);
        for (Instruction& instruction : instructions(function))
            if (isa<FPMathOperator>(instruction)) instruction.setHasAllowContract(false);
    }
}

}  // namespace cudasim::image
