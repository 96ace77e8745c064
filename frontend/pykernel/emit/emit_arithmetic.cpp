// Arithmetic and comparisons of numbers of one type. Integer division, shifts and conversions to integers
// are the plain LLVM instructions: simulator/jit gives them PTX's meaning (V2) and reports zero divisors.
// Floor division and modulo follow Python's signs.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {

llvm::Value* FunctionEmitter::compare(Operator op, llvm::Value* left, llvm::Value* right, TypeRef type) {
    using Predicate = llvm::CmpInst::Predicate;
    static constexpr Predicate floats[] = {Predicate::FCMP_OEQ, Predicate::FCMP_UNE, Predicate::FCMP_OLT,
                                           Predicate::FCMP_OLE, Predicate::FCMP_OGT, Predicate::FCMP_OGE};
    static constexpr Predicate signed_[] = {Predicate::ICMP_EQ,  Predicate::ICMP_NE,  Predicate::ICMP_SLT,
                                            Predicate::ICMP_SLE, Predicate::ICMP_SGT, Predicate::ICMP_SGE};
    static constexpr Predicate unsigned_[] = {Predicate::ICMP_EQ,  Predicate::ICMP_NE,  Predicate::ICMP_ULT,
                                              Predicate::ICMP_ULE, Predicate::ICMP_UGT, Predicate::ICMP_UGE};
    const int row = static_cast<int>(op) - static_cast<int>(Operator::equal);
    if (type->is(TypeKind::floating)) return builder.CreateFCmp(floats[row], left, right);
    const bool is_signed = type->is(TypeKind::integer) && type->is_signed;
    return builder.CreateICmp(is_signed ? signed_[row] : unsigned_[row], left, right);
}

llvm::Value* FunctionEmitter::integer_binary(Operator op, llvm::Value* left, llvm::Value* right,
                                             bool is_signed) {
    switch (op) {
        case Operator::add:
            return builder.CreateAdd(left, right);
        case Operator::subtract:
            return builder.CreateSub(left, right);
        case Operator::multiply:
            return builder.CreateMul(left, right);
        case Operator::bit_and:
            return builder.CreateAnd(left, right);
        case Operator::bit_or:
            return builder.CreateOr(left, right);
        case Operator::bit_xor:
            return builder.CreateXor(left, right);
        case Operator::left_shift:
            return builder.CreateShl(left, right);
        case Operator::right_shift:
            return is_signed ? builder.CreateAShr(left, right) : builder.CreateLShr(left, right);
        case Operator::floor_divide:
            return is_signed ? floor_quotient(left, right, false) : builder.CreateUDiv(left, right);
        default:
            return is_signed ? floor_quotient(left, right, true) : builder.CreateURem(left, right);
    }
}

/// Rounds towards minus infinity: where the remainder is not zero and has another sign than the divisor,
/// the quotient is one less and the remainder one divisor more.
llvm::Value* FunctionEmitter::floor_quotient(llvm::Value* left, llvm::Value* right, bool want_remainder) {
    return each_way(right,
                    [&](llvm::Value* divisor) { return floor_quotient_by(left, divisor, want_remainder); });
}

llvm::Value* FunctionEmitter::floor_quotient_by(llvm::Value* left, llvm::Value* right, bool want_remainder) {
    llvm::Value* zero = llvm::ConstantInt::get(left->getType(), 0);
    auto* known = llvm::dyn_cast<llvm::ConstantInt>(right);
    if (known && known->getValue().isPowerOf2() && !known->isNegative()) {
        if (want_remainder)
            return builder.CreateAnd(left, llvm::ConstantInt::get(module.context, known->getValue() - 1));
        return builder.CreateAShr(left, known->getValue().logBase2());
    }
    llvm::Value* rest = builder.CreateSRem(left, right);
    if (known && known->getValue().isStrictlyPositive()) {
        llvm::Value* negative = builder.CreateICmpSLT(rest, zero);
        if (want_remainder) return builder.CreateAdd(rest, builder.CreateSelect(negative, right, zero));
        return builder.CreateSub(builder.CreateSDiv(left, right),
                                 builder.CreateZExt(negative, left->getType()));
    }
    llvm::Value* other_sign = builder.CreateICmpSLT(builder.CreateXor(rest, right), zero);
    llvm::Value* fix = builder.CreateAnd(builder.CreateICmpNE(rest, zero), other_sign);
    if (want_remainder) return builder.CreateAdd(rest, builder.CreateSelect(fix, right, zero));
    return builder.CreateSub(builder.CreateSDiv(left, right), builder.CreateZExt(fix, left->getType()));
}

void FunctionEmitter::check_float_divisor(llvm::Value* divisor) {
    if (auto* known = known_constant<llvm::ConstantFP>(divisor); known && !known->isZero()) return;
    llvm::Value* zero = llvm::ConstantFP::get(divisor->getType(), 0.0);
    call("__cudasim_check_float_division", builder.getVoidTy(), {builder.CreateFCmpOEQ(divisor, zero)});
}

/// Python's float % and // (Python language reference, 6.7): the remainder has the divisor's sign and
/// quotient * divisor + remainder is about the dividend. A zero divisor gives what IEEE division gives.
llvm::Value* FunctionEmitter::float_binary(Operator op, llvm::Value* left, llvm::Value* right) {
    if (op == Operator::add) return builder.CreateFAdd(left, right);
    if (op == Operator::subtract) return builder.CreateFSub(left, right);
    if (op == Operator::multiply) return builder.CreateFMul(left, right);
    check_float_divisor(right);
    llvm::Type* type = left->getType();
    llvm::Value* quotient = builder.CreateFDiv(left, right);
    if (op == Operator::true_divide) return quotient;
    llvm::Value* zero = llvm::ConstantFP::get(type, 0.0);
    llvm::Value* one = llvm::ConstantFP::get(type, 1.0);
    llvm::Value* rest = call(type->isFloatTy() ? "__nv_fmodf" : "__nv_fmod", type, {left, right});
    llvm::Value* has_rest = builder.CreateFCmpUNE(rest, zero);
    llvm::Value* other_sign =
        builder.CreateXor(builder.CreateFCmpOLT(right, zero), builder.CreateFCmpOLT(rest, zero));
    llvm::Value* fix = builder.CreateAnd(has_rest, other_sign);
    if (op == Operator::modulo) {
        llvm::Value* signed_zero = builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, right);
        llvm::Value* shifted = builder.CreateSelect(fix, builder.CreateFAdd(rest, right), rest);
        return builder.CreateSelect(has_rest, shifted, signed_zero);
    }
    llvm::Value* exact = builder.CreateFDiv(builder.CreateFSub(left, rest), right);
    exact = builder.CreateSelect(fix, builder.CreateFSub(exact, one), exact);
    llvm::Value* down = builder.CreateUnaryIntrinsic(llvm::Intrinsic::floor, exact);
    llvm::Value* half = llvm::ConstantFP::get(type, 0.5);
    llvm::Value* too_low = builder.CreateFCmpOGT(builder.CreateFSub(exact, down), half);
    llvm::Value* floored = builder.CreateSelect(too_low, builder.CreateFAdd(down, one), down);
    llvm::Value* signed_zero = builder.CreateBinaryIntrinsic(llvm::Intrinsic::copysign, zero, quotient);
    floored = builder.CreateSelect(builder.CreateFCmpUNE(exact, zero), floored, signed_zero);
    return builder.CreateSelect(builder.CreateFCmpOEQ(right, zero), quotient, floored);
}

llvm::Value* FunctionEmitter::negated(llvm::Value* value, TypeRef type) {
    if (type->is(TypeKind::bfloat)) return builder.CreateXor(value, builder.getInt16(0x8000));
    return type->is(TypeKind::floating) ? builder.CreateFNeg(value) : builder.CreateNeg(value);
}

}  // namespace cudasim::pykernel
