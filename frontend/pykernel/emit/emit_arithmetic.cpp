// Operators. Integer division, shifts and conversions to integers are the plain LLVM instructions:
// simulator/jit gives them PTX's meaning (V2) and reports zero divisors. Floor division and modulo follow
// Python's signs.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "frontend/pykernel/emit/characters.h"
#include "frontend/pykernel/emit/dates.h"
#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {

Emitted FunctionEmitter::binary(Operator op, const Emitted& left, const Emitted& right) {
    if (left.type->is(TypeKind::none) || right.type->is(TypeKind::none)) {  // one is optional
        llvm::Value* there = left.type->is(TypeKind::none) ? right.value() : left.value();
        const bool positive = op == Operator::is || op == Operator::equal;
        return number(positive ? builder.CreateNot(there) : there, types().boolean);
    }
    if (left.type->is(TypeKind::optional) || right.type->is(TypeKind::optional))
        return binary(op, present(left), present(right));
    const bool characters = left.type->is(TypeKind::characters) || right.type->is(TypeKind::characters);
    if (is_comparison(op) && (characters || (is_bytes_constant(left.type) && is_bytes_constant(right.type))))
        return emit_characters_operation(*this, op, left, right);
    if (op == Operator::in || op == Operator::not_in) {
        llvm::Value* found = contains(right, left);
        return number(op == Operator::in ? found : builder.CreateNot(found), types().boolean);
    }
    if (left.type->is(TypeKind::member) || right.type->is(TypeKind::member)) {
        auto value = [](const Emitted& of) {
            return of.type->is(TypeKind::member) ? Emitted{of.type->element(), of.parts} : of;
        };
        return binary(op, value(left), value(right));
    }
    if (right.type->is(TypeKind::tuple)) {
        if (is_comparison(op)) return compare_tuples(op, left, right);
        std::vector<TypeRef> elements = left.type->elements;
        elements.insert(elements.end(), right.type->elements.begin(), right.type->elements.end());
        Emitted result{types().tuple(std::move(elements)), left.parts};
        result.parts.append(right.parts);
        return result;
    }
    if (left.type->is_date() || right.type->is_date()) return emit_date_operation(*this, op, left, right);
    if (op == Operator::is || op == Operator::is_not)
        op = op == Operator::is ? Operator::equal : Operator::not_equal;
    const Signature& signature = *module.program.promotion.binary(op, left.type, right.type);
    if (signature.parameters[0]->is(TypeKind::complex)) {
        const TypeRef type = signature.parameters[0];
        // A constant square multiplies (Numba asks for an exponent of 2 while the kernel runs, with the same
        // result).
        const bool square = op == Operator::power && right.type->literal && *right.type->literal == 2;
        const Emitted base = convert(left, type);
        if (square) return complex_binary(Operator::multiply, base, base);
        return complex_binary(op, base, convert(right, type));
    }
    if (op == Operator::power) return power(left, right, signature);
    if (is_comparison(op)) {
        const bool narrow =
            signature.parameters[0]->is(TypeKind::bfloat);  // which float32 holds, as all that converts to it
        const TypeRef type = narrow ? types().float32 : signature.parameters[0];
        return number(compare(op, convert(left, type).value(), convert(right, type).value(), type),
                      types().boolean);
    }
    const TypeRef type = signature.result;
    if (type->is(TypeKind::bfloat)) {  // two roundings are one: float32 has more than twice the bits
        const TypeRef single = types().float32;
        llvm::Value* wide = float_binary(op, convert(left, single).value(), convert(right, single).value());
        return convert(number(wide, single), type);
    }
    llvm::Value* a = convert(left, type).value();
    llvm::Value* b = convert(right, type).value();
    if (type->is(TypeKind::floating)) return number(float_binary(op, a, b), type);
    const bool is_signed = type->is(TypeKind::integer) && type->is_signed;
    return number(integer_binary(op, a, b, is_signed), type);
}

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

Emitted FunctionEmitter::unary(Operator op, const Emitted& operand, TypeRef result) {
    if (op == Operator::logical_not) {
        const auto negated = [&](llvm::Value* value) -> llvm::Value* {
            if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(value))
                return builder.getInt1(known->isZero());
            return builder.CreateNot(value);
        };
        return number(each_way(truth(operand), negated), result);
    }
    if (op == Operator::plus) return convert(operand, result);
    if (result->is_date()) return negated_duration(*this, operand);
    if (result->is(TypeKind::bfloat))
        return number(builder.CreateXor(convert(operand, result).value(), builder.getInt16(0x8000)), result);
    if (result->is(TypeKind::complex))
        return {result, {builder.CreateFNeg(operand.parts[0]), builder.CreateFNeg(operand.parts[1])}};
    // Integers are negated and inverted in their own width and widened afterwards: -uint8(3) is 253 (a fact
    // about Numba).
    const TypeRef own = operand.type->is(TypeKind::integer) ? types().without_literal(operand.type) : result;
    llvm::Value* value = convert(operand, own).value();
    if (op == Operator::invert) return convert(number(builder.CreateNot(value), own), result);
    value = own->is(TypeKind::floating) ? builder.CreateFNeg(value) : builder.CreateNeg(value);
    return convert(number(value, own), result);
}

}  // namespace cudasim::pykernel
