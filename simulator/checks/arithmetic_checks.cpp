// See arithmetic_checks.h. Arithmetic has been given its meaning by now (simulator/jit/arithmetic.cpp), so a
// shift and a conversion are looked for in the form that they have there.
#include "simulator/checks/arithmetic_checks.h"

#include <llvm/ADT/APFloat.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/IntrinsicInst.h>
#include <llvm/IR/PatternMatch.h>

#include <vector>

#include "simulator/checks/access_roles.h"
#include "simulator/image/defined_arithmetic.h"
#include "simulator/jit/captured_variables.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/lowering.h"

namespace cudasim::checks {
namespace {

using namespace llvm;
using jit::Hook;

/// The amount of a shift before it was cut; nullptr where it is known to be small.
Value* amount_of(BinaryOperator& shift) {
    using namespace PatternMatch;
    Value *amount = nullptr, *condition = nullptr;
    if (!match(shift.getOperand(1), m_Select(m_Value(condition), m_Value(amount), m_Constant())))
        return nullptr;
    ICmpInst::Predicate predicate{};
    if (!match(condition, m_ICmp(predicate, m_Specific(amount), m_ConstantInt()))) return nullptr;
    return predicate == ICmpInst::ICMP_ULE ? amount : nullptr;
}

bool computes_float(const Instruction& instruction) {
    if (!instruction.getType()->isFloatingPointTy()) return false;
    switch (instruction.getOpcode()) {
        case Instruction::FAdd:
        case Instruction::FSub:
        case Instruction::FMul:
        case Instruction::FDiv:
        case Instruction::FRem:
        case Instruction::FPTrunc:
            return true;
        case Instruction::Call: {
            const auto& call = cast<CallInst>(instruction);
            return !jit::any_hook_called_by(call) &&
                   all_of(call.args(), [](const Use& use) { return use->getType()->isFloatingPointTy(); }) &&
                   !call.arg_empty();
        }
        default:
            return false;
    }
}

Value* is_finite(IRBuilder<>& builder, Value* value) {
    // Ordered and below infinity; a NaN is neither.
    Value* size = builder.CreateUnaryIntrinsic(Intrinsic::fabs, value);
    return builder.CreateFCmpOLT(size, ConstantFP::getInfinity(value->getType()));
}

void report(Value* condition, Instruction& at, const Instruction& place, Hook hook) {
    IRBuilder<> cold(jit::branch_cold(condition, &at, true));
    cold.SetCurrentDebugLocation(place.getDebugLoc());
    jit::call_hook(cold, hook, {});
}

void check_shift(BinaryOperator& shift) {
    Value* amount = amount_of(shift);
    if (amount == nullptr) return;
    IRBuilder<> builder(&shift);
    builder.SetCurrentDebugLocation({});
    Value* width = ConstantInt::get(amount->getType(), amount->getType()->getIntegerBitWidth());
    report(builder.CreateICmpUGE(amount, width), shift, shift, Hook::shift_range);
}

/// Outside of the values that the integer has, or NaN.
void check_conversion(IntrinsicInst& conversion) {
    const bool is_signed = conversion.getIntrinsicID() == Intrinsic::fptosi_sat;
    Value* source = conversion.getArgOperand(0);
    unsigned width = conversion.getType()->getIntegerBitWidth();
    // Small integers are converted at 16 bits, or at 32, and cut.
    for (const User* user : conversion.users())
        if (const auto* cut = dyn_cast<TruncInst>(user);
            cut != nullptr && (width == 16 || cut->hasMetadata(image::cut_conversion_mark)))
            width = cut->getType()->getIntegerBitWidth();
    const fltSemantics& format = source->getType()->getFltSemantics();
    const auto bound = [&](const APInt& integer, bool sign) {
        APFloat value(format);
        value.convertFromAPInt(integer, sign, APFloat::rmTowardZero);
        return ConstantFP::get(source->getContext(), value);
    };
    // The source is cut to an integer first: it fits from one below the least to one above the greatest, both
    // excluded. A bound that the format cannot hold is one that it cannot go past either.
    const APInt above = APInt::getOneBitSet(width + 1, is_signed ? width - 1 : width);
    IRBuilder<> builder(&conversion);
    builder.SetCurrentDebugLocation({});
    Value* whole = builder.CreateUnaryIntrinsic(Intrinsic::trunc, source);
    Value* too_great = builder.CreateFCmpUGE(whole, bound(above, false));
    Value* too_small = is_signed ? builder.CreateFCmpULT(whole, bound(APInt::getSignedMinValue(width), true))
                                 : builder.CreateFCmpULT(whole, ConstantFP::get(source->getType(), 0.0));
    report(builder.CreateOr(too_great, too_small), conversion, conversion, Hook::float_to_integer);
}

void check_finite(Instruction& instruction) {
    for (const Use& operand : instruction.operands())
        if (const auto* constant = dyn_cast<ConstantFP>(operand);
            constant && !constant->getValueAPF().isFinite())
            return;
    Instruction& behind = *instruction.getNextNode();
    IRBuilder<> builder(&behind);
    builder.SetCurrentDebugLocation({});
    Value* first = builder.CreateNot(is_finite(builder, &instruction));
    const auto* call = dyn_cast<CallInst>(&instruction);
    const unsigned operands = call ? call->arg_size() : instruction.getNumOperands();
    for (unsigned i = 0; i < operands; ++i) {
        Value* operand = instruction.getOperand(i);
        if (!isa<ConstantFP>(operand)) first = builder.CreateAnd(first, is_finite(builder, operand));
    }
    report(first, behind, instruction, Hook::not_finite);
}

void check(Function& function) {
    std::vector<Instruction*> all;
    for (Instruction& instruction : instructions(function))
        if (!is_internal(instruction) && !jit::is_capture(instruction)) all.push_back(&instruction);
    for (Instruction* instruction : all) {
        if (auto* operation = dyn_cast<BinaryOperator>(instruction); operation && operation->isShift())
            check_shift(*operation);
        else if (auto* conversion = dyn_cast<IntrinsicInst>(instruction);
                 conversion && (conversion->getIntrinsicID() == Intrinsic::fptosi_sat ||
                                conversion->getIntrinsicID() == Intrinsic::fptoui_sat))
            check_conversion(*conversion);
        else if (computes_float(*instruction))
            check_finite(*instruction);
    }
}

class ArithmeticCheckInstrumentation final : public jit::Instrumentation {
  public:
    [[nodiscard]] std::string_view name() const override { return "arithmetic_checks"; }
    [[nodiscard]] std::uint32_t version() const override { return 2; }

    void late(jit::Compilation& compilation) const override {
        for (Function& function : *compilation.module)
            if (!function.isDeclaration()) check(function);
    }
};

}  // namespace

const jit::Instrumentation& arithmetic_checks() {
    static const ArithmeticCheckInstrumentation instrumentation;
    return instrumentation;
}

}  // namespace cudasim::checks
