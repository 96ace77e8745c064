// mov and cvt (PTX ISA, "Data Movement and Conversion Instructions", cvt with its rounding and saturation
// modifiers).
#include <llvm/IR/Intrinsics.h>

#include "frontend/ptx/translation.h"

namespace cudasim::ptx {
namespace {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

/// {a, b} to or from one register of all their bits, the first one lowest.
void translate_vector_move(InstructionContext& at, const Operand& target, const Operand& from) {
    auto& b = at.b;
    const Type whole = at.type();
    const Operand& group = target.kind == Operand::vector ? target : from;
    const auto count = static_cast<unsigned>(group.elements.size());
    if (count == 0 || whole.width % count != 0) at.refuse();
    const Type part{Type::bits, whole.width / count};
    if (target.kind == Operand::vector) {
        Value* bits = at.function.read(from, {Type::bits, whole.width});
        for (unsigned i = 0; i < count; ++i)
            at.function.write(group.elements[i], b.CreateTrunc(b.CreateLShr(bits, i * part.width),
                                                               at.function.module.type(part)));
        return;
    }
    Value* bits = b.getIntN(whole.width, 0);
    for (unsigned i = 0; i < count; ++i) {
        Value* piece = b.CreateZExt(at.function.read(group.elements[i], part), bits->getType());
        bits = b.CreateOr(bits, b.CreateShl(piece, i * part.width));
    }
    at.function.write(target, bits);
}

void translate_mov(InstructionContext& at) {
    if (at.operand(0).kind == Operand::vector || at.operand(1).kind == Operand::vector)
        return translate_vector_move(at, at.operand(0), at.operand(1));
    at.write(at.read(1));
}

/// Rounds to an integral value: .rni to nearest even, .rzi towards zero, .rmi down, .rpi up.
Value* rounded_to_integer(InstructionContext& at, Value* value) {
    const Intrinsic::ID id = at.has("rni")   ? Intrinsic::rint
                             : at.has("rmi") ? Intrinsic::floor
                             : at.has("rpi") ? Intrinsic::ceil
                             : at.has("rzi") ? Intrinsic::trunc
                                             : Intrinsic::not_intrinsic;
    return id == Intrinsic::not_intrinsic ? value : at.b.CreateUnaryIntrinsic(id, value);
}

/// What does not fit becomes the nearest that does. NaN becomes 0, or the highest bit alone where the source
/// is f64 or the result has 64 bits.
Value* real_to_integer(InstructionContext& at, Value* value, Type to) {
    value = rounded_to_integer(at, value);
    const Intrinsic::ID id = to.kind == Type::signed_ ? Intrinsic::fptosi_sat : Intrinsic::fptoui_sat;
    llvm::Type* type = at.function.module.type(to);
    Value* result = at.b.CreateIntrinsic(id, {type, value->getType()}, {value});
    if (!value->getType()->isDoubleTy() && to.width != 64) return result;
    Value* of_nan = llvm::ConstantInt::get(type, llvm::APInt::getSignMask(to.width));
    return at.b.CreateSelect(at.b.CreateFCmpUNO(value, value), of_nan, result);
}

/// libdevice's conversion with a rounding of its own: __nv_ll2float_rz.
Value* rounded_conversion(InstructionContext& at, const std::string& what, Value* value, Type to) {
    const std::string name =
        "__nv_" + what + (to.width == 64 ? "2double_" : "2float_") + std::string(directed_rounding(at));
    return at.call(name.c_str(), at.function.module.type(to), {value});
}

/// Every NaN becomes the canonical one of GPUs, 0x7fff (docs/gpu_results.md: float2half_rn).
Value* as_half(InstructionContext& at, Value* value) {
    llvm::Type* half = at.b.getHalfTy();
    Value* nan = at.b.CreateBitCast(at.b.getInt16(0x7fff), half);
    return at.b.CreateSelect(at.b.CreateFCmpUNO(value, value), nan, at.b.CreateFPTrunc(value, half));
}

/// f16 in one of the directions that LLVM has no conversion for: the nearest number, or its neighbour where
/// that lies on the wrong side.
Value* half_rounded(InstructionContext& at, Value* value) {
    auto& b = at.b;
    const std::string_view direction = directed_rounding(at);
    if (value->getType()->isFloatTy()) value = at.flushed(value);
    Value* nearest = as_half(at, value);
    if (direction.empty()) return nearest;
    Value* back = b.CreateFPExt(nearest, value->getType());
    Value* is_above = b.CreateFCmpOGT(back, value);
    Value* is_below = b.CreateFCmpOLT(back, value);
    Value* bits = b.CreateBitCast(nearest, b.getInt16Ty());
    Value* is_negative = b.CreateICmpSLT(bits, b.getInt16(0));
    Value* is_wrong = direction == "rd"   ? is_above
                      : direction == "ru" ? is_below
                                          : b.CreateSelect(is_negative, is_below, is_above);
    // A neighbour further from zero has the next larger bits, below zero too.
    Value* is_outward = direction == "rd"   ? is_negative
                        : direction == "ru" ? b.CreateNot(is_negative)
                                            : static_cast<Value*>(b.getFalse());
    Value* step = b.CreateSelect(is_outward, b.getInt16(1), b.getInt16(0xFFFF));
    bits = b.CreateSelect(is_wrong, b.CreateAdd(bits, step), bits);
    return b.CreateBitCast(bits, b.getHalfTy());
}

Value* integer_to_real(InstructionContext& at, Value* value, Type from, Type to) {
    const bool is_signed = from.kind == Type::signed_;
    const bool is_exact = from.width <= 16 || (from.width == 32 && to.width == 64);
    if (!directed_rounding(at).empty() && to.width == 16) {
        // What float64 does not hold is beyond the largest float16 anyway.
        llvm::Type* wide = at.b.getDoubleTy();
        return half_rounded(at, is_signed ? at.b.CreateSIToFP(value, wide) : at.b.CreateUIToFP(value, wide));
    }
    if (!directed_rounding(at).empty() && !is_exact)
        return rounded_conversion(at, (is_signed ? "" : "u") + std::string(from.width == 64 ? "ll" : "int"),
                                  value, to);
    llvm::Type* type = at.function.module.type(to);
    return is_signed ? at.b.CreateSIToFP(value, type) : at.b.CreateUIToFP(value, type);
}

Value* real_to_real(InstructionContext& at, Value* value, Type from, Type to) {
    if (from.width == to.width) value = rounded_to_integer(at, value);
    const bool is_directed = to.width < from.width && !directed_rounding(at).empty();
    const bool to_half = to.width == 16 && from.width > 16;
    value = to_half       ? half_rounded(at, value)
            : is_directed ? rounded_conversion(at, "double", value, to)
                          : at.b.CreateFPCast(value, at.function.module.type(to));
    if (!at.has("sat")) return value;
    if (to.width != 32) at.refuse();
    return at.call("__nv_saturatef", value->getType(), {value});
}

Value* integer_to_integer(InstructionContext& at, Value* value, Type from, Type to) {
    auto& b = at.b;
    const bool from_signed = from.kind == Type::signed_, to_signed = to.kind == Type::signed_;
    llvm::Type* wide = b.getIntNTy(2 * std::max(from.width, to.width));
    if (!at.has("sat")) return b.CreateIntCast(value, at.function.module.type(to), from_signed);
    Value* exact = b.CreateIntCast(value, wide, from_signed);
    const unsigned bits = wide->getIntegerBitWidth();
    const llvm::APInt low =
        to_signed ? llvm::APInt::getSignedMinValue(to.width).sext(bits) : llvm::APInt(bits, 0);
    const llvm::APInt high = to_signed ? llvm::APInt::getSignedMaxValue(to.width).sext(bits)
                                       : llvm::APInt::getMaxValue(to.width).zext(bits);
    exact = b.CreateBinaryIntrinsic(Intrinsic::smax, exact, llvm::ConstantInt::get(wide, low));
    exact = b.CreateBinaryIntrinsic(Intrinsic::smin, exact, llvm::ConstantInt::get(wide, high));
    return b.CreateTrunc(exact, at.function.module.type(to));
}

/// cvt.{rn, rz}.f16x2.f32 d, a, b: a becomes the upper half.
void translate_cvt_to_pair(InstructionContext& at) {
    auto& b = at.b;
    if (at.has("relu") || at.has("satfinite") || at.type() != Type{Type::real, 32}) at.refuse();
    llvm::Type* half = b.getHalfTy();
    Value* pair = llvm::PoisonValue::get(llvm::FixedVectorType::get(half, 2));
    pair = b.CreateInsertElement(pair, half_rounded(at, at.read(2)), std::uint64_t{0});
    at.write(b.CreateInsertElement(pair, half_rounded(at, at.read(1)), std::uint64_t{1}));
}

void translate_cvt(InstructionContext& at) {
    const Type from = at.type(), to = at.type(1);
    if (to.kind == Type::half_pair) return translate_cvt_to_pair(at);
    if (from.kind == Type::half_pair || to.kind == Type::half_pair || at.has("pack")) at.refuse();
    Value* value = at.read(1, from);
    const bool from_real = from.kind == Type::real, to_real = to.kind == Type::real;
    if (from_real && to_real) return at.write(real_to_real(at, value, from, to));
    if (from_real) return at.write(real_to_integer(at, value, to), to.kind == Type::signed_);
    if (!to_real) return at.write(integer_to_integer(at, value, from, to), to.kind == Type::signed_);
    at.write(integer_to_real(at, value, from, to));
}

constexpr Row rows[] = {
    {"mov", translate_mov},
    {"cvt", translate_cvt},
};

}  // namespace

std::span<const Row> conversion_rows() {
    return rows;
}

}  // namespace cudasim::ptx
