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
    if (to.kind == Type::brain) {
        llvm::Type* wide = at.b.getDoubleTy();
        Value* number = from.width == 64 ? double_to_odd(at, value, is_signed)
                        : is_signed      ? at.b.CreateSIToFP(value, wide)
                                         : at.b.CreateUIToFP(value, wide);
        return brain_of(at.b, number, rounding_of(at));
    }
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

/// .relu: negative numbers become 0. .satfinite: beyond the largest number it is that.
Value* limited(InstructionContext& at, Value* value, double largest) {
    auto& b = at.b;
    llvm::Type* type = value->getType();
    if (at.has("relu")) {
        Value* zero = llvm::Constant::getNullValue(type);
        value = b.CreateSelect(b.CreateFCmpOLE(value, zero), zero, value);
    }
    if (!at.has("satfinite")) return value;
    Value* limit = llvm::ConstantFP::get(type, largest);
    Value* is_beyond = b.CreateFCmpOGT(b.CreateUnaryIntrinsic(Intrinsic::fabs, value), limit);
    return b.CreateSelect(is_beyond, b.CreateBinaryIntrinsic(Intrinsic::copysign, limit, value), value);
}

constexpr double largest_half = 65504, largest_brain = 0x1.FEp127, largest_tensor_real = 0x1.FFCp127;

/// An f16 or the bits of a bf16, which at least as many bits become.
Value* narrowed(InstructionContext& at, Value* value, bool to_brain) {
    auto& b = at.b;
    if (value->getType()->isHalfTy()) value = b.CreateFPExt(value, b.getFloatTy());
    if (to_brain) return brain_of(b, limited(at, value, largest_brain), rounding_of(at));
    return half_rounded(at, limited(at, value, largest_half));
}

Value* real_to_real(InstructionContext& at, Value* value, Type from, Type to) {
    if (to.kind == Type::tensor_real)
        return tensor_real_of(at.b, limited(at, value, largest_tensor_real), at.has("rna"), at.has("rz"));
    const bool same = from == to;
    if (from.width == to.width) value = rounded_to_integer(at, value);
    const bool is_directed = to.width < from.width && !directed_rounding(at).empty();
    const bool is_narrowed = to.width == 16 && !(same && to.kind == Type::real);
    value = is_narrowed   ? narrowed(at, value, to.kind == Type::brain)
            : is_directed ? rounded_conversion(at, "double", value, to)
                          : at.b.CreateFPCast(value, at.function.module.type(to));
    if (!at.has("sat")) return value;
    if (to.kind != Type::real || to.width == 64) at.refuse();
    llvm::Type* single = at.b.getFloatTy();
    Value* saturated = at.call("__nv_saturatef", single, {at.b.CreateFPExt(value, single)});
    return at.b.CreateFPTrunc(saturated, value->getType());
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

/// Two numbers in one register, the first one of the instruction in the upper half.
Value* pair_of(InstructionContext& at, Value* upper, Value* lower) {
    auto& b = at.b;
    const unsigned width = upper->getType()->getPrimitiveSizeInBits().getFixedValue();
    llvm::Type* part = b.getIntNTy(width);
    llvm::Type* whole = b.getIntNTy(2 * width);
    Value* high = b.CreateShl(b.CreateZExt(b.CreateBitCast(upper, part), whole), width);
    return b.CreateOr(high, b.CreateZExt(b.CreateBitCast(lower, part), whole));
}

bool is_byte_pair(Type type) {
    return type.kind == Type::e4m3_pair || type.kind == Type::e5m2_pair;
}

/// cvt.rn.f16x2.e4m3x2 d, a.
void translate_cvt_of_bytes(InstructionContext& at, Type from, Type to) {
    auto& b = at.b;
    if (to.kind != Type::half_pair) at.refuse();
    Value* bits = at.read(1, {Type::bits, 16});
    const auto half = [&](unsigned shift) {
        Value* byte = b.CreateTrunc(b.CreateLShr(bits, shift), b.getInt8Ty());
        return as_half(at, limited(at, real_of_byte(b, byte, from.kind), largest_half));
    };
    Value* upper = half(8);
    at.write(pair_of(at, upper, half(0)));
}

/// cvt.{rn, rz}.f16x2.f32 d, a, b, and the same for bf16x2, e4m3x2 and e5m2x2, which are made of f16x2 and
/// bf16x2 too.
void translate_cvt_to_pair(InstructionContext& at, Type from, Type to) {
    auto& b = at.b;
    if (is_byte_pair(from)) return translate_cvt_of_bytes(at, from, to);
    Value* upper = nullptr;
    Value* lower = nullptr;
    if (from == Type{Type::real, 32}) {
        upper = at.read(1), lower = at.read(2);
    } else if ((from.kind == Type::half_pair || from.kind == Type::brain_pair) && is_byte_pair(to)) {
        Value* pair = at.read(1);
        upper = b.CreateFPExt(b.CreateExtractElement(pair, 1), b.getFloatTy());
        lower = b.CreateFPExt(b.CreateExtractElement(pair, std::uint64_t{0}), b.getFloatTy());
    } else {
        at.refuse();
    }
    const auto part = [&](Value* value) {
        if (is_byte_pair(to)) return byte_of(b, limited(at, value, largest_brain), to.kind);
        return narrowed(at, value, to.kind == Type::brain_pair);
    };
    upper = part(upper);
    at.write(pair_of(at, upper, part(lower)));
}

/// cvt.pack.sat.to.s32{.b32} d, a, b{, c}: numbers of 16 bits, or of 8 above the lower half of c.
void translate_pack(InstructionContext& at) {
    auto& b = at.b;
    const bool has_rest = at.instruction.operands.size() == 4;
    const Type from = at.type(has_rest ? 1 : 0), to = at.type(has_rest ? 2 : 1);
    if (to.width != (has_rest ? 8 : 16) || from != Type{Type::signed_, 32}) at.refuse();
    const auto part = [&](std::size_t i) { return integer_to_integer(at, at.read(i, from), from, to); };
    Value* upper = part(1);
    Value* packed = pair_of(at, upper, part(2));
    if (!has_rest) return at.write(packed);
    Value* rest = b.CreateShl(at.read(3, u32), 16);
    at.write(b.CreateOr(rest, b.CreateZExt(packed, b.getInt32Ty())));
}

void translate_cvt(InstructionContext& at) {
    if (at.has("pack")) return translate_pack(at);
    const Type from = at.type(), to = at.type(1);
    const auto is_real = [](Type type) {
        return type.kind == Type::real || type.kind == Type::brain || type.kind == Type::tensor_real;
    };
    const auto is_pair = [](Type type) {
        return type.kind == Type::half_pair || type.kind == Type::brain_pair || is_byte_pair(type);
    };
    if (is_pair(to)) return translate_cvt_to_pair(at, from, to);
    if (is_pair(from) || from.kind == Type::tensor_real || at.has("scaled")) at.refuse();
    Value* value = at.read(1, from);
    const bool from_real = is_real(from), to_real = is_real(to);
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
