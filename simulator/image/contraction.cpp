// See contraction.h.
#include "simulator/image/contraction.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>

#include <optional>

namespace cudasim::image {
namespace {

using namespace llvm;

using NoUse = std::function<bool(const Value&)>;

bool has_one_use(const Value& value, const NoUse& no_use) {
    return count_if(value.users(), [&](const User* user) { return !no_use(*user); }) == 1;
}

bool is_contractible_product(const Value* value, const NoUse& no_use) {
    const auto* product = dyn_cast<BinaryOperator>(value);
    return product && product->getOpcode() == Instruction::FMul && product->hasAllowContract() &&
           has_one_use(*product, no_use);
}

/// The operand of a sum or difference that is fused with it: the left one where both are products.
std::optional<unsigned> product_in(const BinaryOperator& sum, const NoUse& no_use) {
    if ((sum.getOpcode() != Instruction::FAdd && sum.getOpcode() != Instruction::FSub) ||
        !sum.hasAllowContract())
        return std::nullopt;
    for (const unsigned operand : {0U, 1U})
        if (is_contractible_product(sum.getOperand(operand), no_use)) return operand;
    return std::nullopt;
}

/// The fused form of a sum or difference, or nullptr.
Value* fused(BinaryOperator& sum, const NoUse& no_use) {
    const auto operand = product_in(sum, no_use);
    if (!operand) return nullptr;
    const bool difference = sum.getOpcode() == Instruction::FSub;
    IRBuilder<> builder(&sum);
    const auto fma = [&](Value* a, Value* b, Value* c) {
        return builder.CreateIntrinsic(Intrinsic::fma, {sum.getType()}, {a, b, c});
    };
    const auto* product = cast<BinaryOperator>(sum.getOperand(*operand));
    Value *factor = product->getOperand(0), *other = product->getOperand(1);
    Value* addend = sum.getOperand(1 - *operand);
    if (*operand == 0) return fma(factor, other, difference ? builder.CreateFNeg(addend) : addend);
    return fma(difference ? builder.CreateFNeg(factor) : factor, other, addend);
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

std::vector<const Instruction*> multiply_adds(const Module& module) {
    const NoUse none = [](const Value&) { return false; };
    std::vector<const Instruction*> found;
    for (const Function& function : module)
        for (const Instruction& instruction : instructions(function))
            if (const auto* sum = dyn_cast<BinaryOperator>(&instruction); sum && product_in(*sum, none))
                found.push_back(sum);
    return found;
}

}  // namespace cudasim::image
