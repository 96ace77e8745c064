// Integer arithmetic (PTX ISA, "Integer Arithmetic Instructions", "Extended-Precision Integer Arithmetic
// Instructions"). Instructions with real operands are in real_arithmetic.cpp.
#include <llvm/IR/Intrinsics.h>

#include "frontend/ptx/translation.h"

namespace cudasim::ptx {
namespace {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

bool is_real(const InstructionContext& at) {
    const Type type = at.type();
    return type.kind == Type::real || type.kind == Type::half_pair || is_brain(type);
}

bool is_signed(const InstructionContext& at) {
    return at.type().kind == Type::signed_ || at.type().kind == Type::signed_pair;
}

/// What does not fit: the carry of an unsigned sum with up to three parts, kept for addc.
void write_with_carry(InstructionContext& at, Value* wide, llvm::Type* narrow) {
    at.b.CreateStore(at.b.CreateIsNotNull(at.b.CreateLShr(wide, narrow->getIntegerBitWidth())),
                     at.function.carry());
    at.write(at.b.CreateTrunc(wide, narrow));
}

/// add.cc, addc, sub.cc, subc: computed in a type that holds the carry; a borrow is the carry of a - b - c.
void translate_extended(InstructionContext& at, bool subtracts, bool takes_carry) {
    auto& b = at.b;
    llvm::Type* narrow = at.read(1)->getType();
    llvm::Type* wide = b.getIntNTy(2 * narrow->getIntegerBitWidth());
    Value* left = b.CreateZExt(at.read(1), wide);
    Value* right = b.CreateZExt(at.read(2), wide);
    Value* result = subtracts ? b.CreateSub(left, right) : b.CreateAdd(left, right);
    if (takes_carry) {
        Value* carry = b.CreateZExt(b.CreateLoad(b.getInt1Ty(), at.function.carry()), wide);
        result = subtracts ? b.CreateSub(result, carry) : b.CreateAdd(result, carry);
    }
    if (at.has("cc")) return write_with_carry(at, result, narrow);
    at.write(b.CreateTrunc(result, narrow));
}

void translate_add(InstructionContext& at) {
    if (is_real(at)) return translate_real(at, llvm::Instruction::FAdd, "add");
    if (at.has("cc")) return translate_extended(at, false, false);
    if (at.has("sat")) {
        Value* sum = at.b.CreateBinaryIntrinsic(Intrinsic::sadd_sat, at.read(1), at.read(2));
        return at.write(sum);
    }
    at.write(at.b.CreateAdd(at.read(1), at.read(2)));
}

void translate_sub(InstructionContext& at) {
    if (is_real(at)) return translate_real(at, llvm::Instruction::FSub, "sub");
    if (at.has("cc")) return translate_extended(at, true, false);
    if (at.has("sat"))
        return at.write(at.b.CreateBinaryIntrinsic(Intrinsic::ssub_sat, at.read(1), at.read(2)));
    at.write(at.b.CreateSub(at.read(1), at.read(2)));
}

void translate_addc(InstructionContext& at) {
    translate_extended(at, false, true);
}

void translate_subc(InstructionContext& at) {
    translate_extended(at, true, true);
}

/// The product in twice the width.
Value* wide_product(InstructionContext& at) {
    auto& b = at.b;
    llvm::Type* wide = b.getIntNTy(2 * at.type().width);
    const bool with_sign = is_signed(at);
    return b.CreateMul(b.CreateIntCast(at.read(1), wide, with_sign),
                       b.CreateIntCast(at.read(2), wide, with_sign));
}

/// .lo (or none), .hi, .wide; what mul and mad give before the sum.
Value* product(InstructionContext& at) {
    auto& b = at.b;
    if (at.has("wide")) return wide_product(at);
    if (at.has("hi"))
        return b.CreateTrunc(b.CreateLShr(wide_product(at), at.type().width),
                             at.function.module.type(at.type()));
    return b.CreateMul(at.read(1), at.read(2));
}

void translate_mul(InstructionContext& at) {
    if (is_real(at)) return translate_real(at, llvm::Instruction::FMul, "mul");
    at.write(product(at));
}

Type type_of_addend(const InstructionContext& at) {
    Type type = at.type();
    if (at.has("wide")) type.width *= 2;
    return type;
}

void translate_mad_sum(InstructionContext& at, bool takes_carry) {
    auto& b = at.b;
    Value* first = product(at);
    Value* addend = at.read(3, type_of_addend(at));
    if (at.has("sat")) return at.write(b.CreateBinaryIntrinsic(Intrinsic::sadd_sat, first, addend));
    if (!takes_carry && !at.has("cc")) return at.write(b.CreateAdd(first, addend));
    llvm::Type* wide = b.getIntNTy(2 * first->getType()->getIntegerBitWidth());
    Value* sum = b.CreateAdd(b.CreateZExt(first, wide), b.CreateZExt(addend, wide));
    if (takes_carry)
        sum = b.CreateAdd(sum, b.CreateZExt(b.CreateLoad(b.getInt1Ty(), at.function.carry()), wide));
    if (at.has("cc")) return write_with_carry(at, sum, first->getType());
    at.write(b.CreateTrunc(sum, first->getType()));
}

void translate_mad(InstructionContext& at) {
    if (is_real(at)) return translate_fma(at);
    translate_mad_sum(at, false);
}

void translate_madc(InstructionContext& at) {
    translate_mad_sum(at, true);
}

/// The low 24 bits of each; .lo: bits 0 to 31 of the product, .hi: bits 16 to 47.
Value* product_of_24_bits(InstructionContext& at) {
    auto& b = at.b;
    const auto cut = [&](Value* value) {
        Value* high = b.CreateShl(b.CreateZExt(value, b.getInt64Ty()), 40);
        return is_signed(at) ? b.CreateAShr(high, 40) : b.CreateLShr(high, 40);
    };
    Value* whole = b.CreateMul(cut(at.read(1)), cut(at.read(2)));
    return b.CreateTrunc(at.has("hi") ? b.CreateLShr(whole, 16) : whole, b.getInt32Ty());
}

void translate_mul24(InstructionContext& at) {
    at.write(product_of_24_bits(at));
}

void translate_mad24(InstructionContext& at) {
    if (at.has("sat") && !(at.has("hi") && is_signed(at))) at.refuse();
    Value* product = product_of_24_bits(at);
    at.write(at.has("sat") ? at.b.CreateBinaryIntrinsic(Intrinsic::sadd_sat, product, at.read(3))
                           : at.b.CreateAdd(product, at.read(3)));
}

/// div.approx.f32 multiplies by a reciprocal that is 0 for divisors above 2^126.
void translate_approximate_division(InstructionContext& at) {
    auto& b = at.b;
    Value* left = at.read(1);
    Value* right = at.read(2);
    Value* is_large = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(Intrinsic::fabs, right),
                                      llvm::ConstantFP::get(right->getType(), 0x1p126));
    Value* zero =
        b.CreateBinaryIntrinsic(Intrinsic::copysign, llvm::ConstantFP::getZero(right->getType()), right);
    at.write(b.CreateSelect(is_large, b.CreateFMul(left, zero), b.CreateFDiv(left, right)));
}

void translate_div(InstructionContext& at) {
    if (is_real(at) && at.has("approx")) return translate_approximate_division(at);
    if (is_real(at)) return translate_real(at, llvm::Instruction::FDiv, "div");
    at.write(is_signed(at) ? at.b.CreateSDiv(at.read(1), at.read(2))
                           : at.b.CreateUDiv(at.read(1), at.read(2)));
}

void translate_rem(InstructionContext& at) {
    at.write(is_signed(at) ? at.b.CreateSRem(at.read(1), at.read(2))
                           : at.b.CreateURem(at.read(1), at.read(2)));
}

/// The sign of each number of 16 bits.
constexpr std::uint32_t signs(Type type) {
    return type.width == 16 ? 0x8000 : 0x80008000;
}

void translate_abs(InstructionContext& at) {
    if (const Type type = at.type(); is_brain(type))
        return at.write(at.b.CreateAnd(at.read(1, {Type::bits, type.width}), ~std::uint64_t{signs(type)}));
    if (is_real(at)) return at.write(at.b.CreateUnaryIntrinsic(Intrinsic::fabs, at.read(1)));
    at.write(at.b.CreateBinaryIntrinsic(Intrinsic::abs, at.read(1), at.b.getFalse()));
}

void translate_neg(InstructionContext& at) {
    if (const Type type = at.type(); is_brain(type))
        return at.write(at.b.CreateXor(at.read(1, {Type::bits, type.width}), std::uint64_t{signs(type)}));
    at.write(is_real(at) ? at.b.CreateFNeg(at.read(1)) : at.b.CreateNeg(at.read(1)));
}

/// Real numbers: a NaN counts as missing, with .NaN it wins; -0 is below +0 (libdevice's fmin and fmax).
void translate_extremum(InstructionContext& at, bool largest) {
    auto& b = at.b;
    Value* left = at.read(1);
    Value* right = at.read(2);
    if (!is_real(at)) {
        const Intrinsic::ID id = is_signed(at) ? (largest ? Intrinsic::smax : Intrinsic::smin)
                                               : (largest ? Intrinsic::umax : Intrinsic::umin);
        Value* result = b.CreateBinaryIntrinsic(id, left, right);
        if (at.has("relu"))
            result = b.CreateBinaryIntrinsic(Intrinsic::smax, result,
                                             llvm::Constant::getNullValue(result->getType()));
        return at.write(result);
    }
    if (at.instruction.operands.size() > 3) at.refuse();
    const auto extremum = [&](Value* x, Value* y) -> Value* {
        if (at.has("NaN"))
            return b.CreateBinaryIntrinsic(largest ? Intrinsic::maximum : Intrinsic::minimum, x, y);
        const bool wide = x->getType()->isDoubleTy();
        const char* name =
            largest ? (wide ? "__nv_fmax" : "__nv_fmaxf") : (wide ? "__nv_fmin" : "__nv_fminf");
        return at.call(name, x->getType(), {x, y});
    };
    // .xorsign.abs: of the magnitudes, with the product of the signs.
    const auto of_floats = [&](Value* x, Value* y) -> Value* {
        if (!at.has("xorsign")) return extremum(x, y);
        Value* magnitude =
            extremum(b.CreateUnaryIntrinsic(Intrinsic::fabs, x), b.CreateUnaryIntrinsic(Intrinsic::fabs, y));
        Value* sign = b.CreateXor(b.CreateBitCast(x, b.getInt32Ty()), b.CreateBitCast(y, b.getInt32Ty()));
        return b.CreateBinaryIntrinsic(Intrinsic::copysign, magnitude, b.CreateBitCast(sign, b.getFloatTy()));
    };
    at.write(for_each_element(b, {left, right}, [&](llvm::ArrayRef<Value*> pair) -> Value* {
        llvm::Type* type = pair[0]->getType();
        if (!type->isHalfTy())
            return type->isFloatTy() ? of_floats(pair[0], pair[1]) : extremum(pair[0], pair[1]);
        // As float32: LLVM's f16 forms for x86 lose the sign of zero.
        return b.CreateFPTrunc(
            of_floats(b.CreateFPExt(pair[0], b.getFloatTy()), b.CreateFPExt(pair[1], b.getFloatTy())), type);
    }));
}

void translate_min(InstructionContext& at) {
    translate_extremum(at, false);
}

void translate_max(InstructionContext& at) {
    translate_extremum(at, true);
}

/// c + |a - b|.
void translate_sad(InstructionContext& at) {
    auto& b = at.b;
    Value* left = at.read(1);
    Value* right = at.read(2);
    Value* larger =
        b.CreateICmp(is_signed(at) ? llvm::CmpInst::ICMP_SGT : llvm::CmpInst::ICMP_UGT, left, right);
    Value* distance = b.CreateSelect(larger, b.CreateSub(left, right), b.CreateSub(right, left));
    at.write(b.CreateAdd(distance, at.read(3)));
}

/// The dot product of two halves of a with two bytes of b, the lower or the upper ones, plus c.
void translate_dp2a(InstructionContext& at) {
    auto& b = at.b;
    const bool left_signed = at.type(1).kind == Type::signed_, right_signed = is_signed(at);
    Value* sum = at.read(3, u32);
    for (unsigned i = 0; i < 2; ++i) {
        Value* half = b.CreateTrunc(b.CreateLShr(at.read(1, u32), 16 * i), b.getInt16Ty());
        const unsigned byte_number = i + (at.has("hi") ? 2 : 0);
        Value* byte = b.CreateTrunc(b.CreateLShr(at.read(2, u32), 8 * byte_number), b.getInt8Ty());
        sum = b.CreateAdd(sum, b.CreateMul(b.CreateIntCast(half, b.getInt32Ty(), left_signed),
                                           b.CreateIntCast(byte, b.getInt32Ty(), right_signed)));
    }
    at.write(sum);
}

/// The dot product of four bytes each, plus c.
void translate_dp4a(InstructionContext& at) {
    auto& b = at.b;
    const bool left_signed = at.type(1).kind == Type::signed_, right_signed = is_signed(at);
    Value* sum = at.read(3, u32);
    for (unsigned byte = 0; byte < 4; ++byte) {
        const auto part = [&](Value* word, bool with_sign) {
            return b.CreateIntCast(b.CreateTrunc(b.CreateLShr(word, 8 * byte), b.getInt8Ty()), b.getInt32Ty(),
                                   with_sign);
        };
        sum = b.CreateAdd(
            sum, b.CreateMul(part(at.read(1, u32), left_signed), part(at.read(2, u32), right_signed)));
    }
    at.write(sum);
}

constexpr Row rows[] = {
    {"add", translate_add},   {"sub", translate_sub},     {"addc", translate_addc},
    {"subc", translate_subc}, {"mul", translate_mul},     {"mad", translate_mad},
    {"madc", translate_madc}, {"mul24", translate_mul24}, {"mad24", translate_mad24},
    {"div", translate_div},   {"rem", translate_rem},     {"abs", translate_abs},
    {"neg", translate_neg},   {"min", translate_min},     {"max", translate_max},
    {"sad", translate_sad},   {"dp4a", translate_dp4a},   {"dp2a", translate_dp2a},
};

}  // namespace

std::span<const Row> arithmetic_rows() {
    return rows;
}

}  // namespace cudasim::ptx
