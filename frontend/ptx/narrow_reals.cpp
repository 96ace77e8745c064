// Numbers in 8 and 16 bits (PTX ISA, "Alternate Floating-Point Data Formats"): made of float and double with
// integer instructions, so that they are rounded once and have the NaN of a GPU.
#include <llvm/IR/Intrinsics.h>

#include "frontend/ptx/translation.h"

namespace cudasim::ptx {
namespace {

using llvm::Value;
namespace Intrinsic = llvm::Intrinsic;

/// The type of as many integers as the value has elements.
llvm::Type* integers(Value* value, unsigned width) {
    return value->getType()->getWithNewType(llvm::IntegerType::get(value->getContext(), width));
}

/// A float for a double, rounded to odd: what is not exact gets a last bit of 1.
Value* float_to_odd(llvm::IRBuilder<>& b, Value* value) {
    Value* nearest = b.CreateFPTrunc(value, b.getFloatTy());
    Value* back = b.CreateFPExt(nearest, b.getDoubleTy());
    Value* bits = b.CreateBitCast(nearest, b.getInt32Ty());
    Value* is_inexact = b.CreateFCmpONE(back, value);
    Value* is_even = b.CreateIsNull(b.CreateAnd(bits, 1));
    Value* is_short = b.CreateFCmpOLT(b.CreateUnaryIntrinsic(Intrinsic::fabs, back),
                                      b.CreateUnaryIntrinsic(Intrinsic::fabs, value));
    Value* odd = b.CreateSelect(is_short, b.CreateAdd(bits, b.getInt32(1)), b.CreateSub(bits, b.getInt32(1)));
    bits = b.CreateSelect(b.CreateAnd(is_inexact, is_even), odd, bits);
    return b.CreateBitCast(bits, b.getFloatTy());
}

/// Of a magnitude in 8 bits.
struct ByteFormat {
    unsigned fraction_bits;
    int bias;
    std::uint32_t largest;
};

constexpr ByteFormat format_of(Type::Kind kind) {
    return kind == Type::e4m3_pair ? ByteFormat{3, 7, 0x7E} : ByteFormat{2, 15, 0x7B};
}

constexpr std::uint32_t byte_nan = 0x7F;

}  // namespace

Value* for_each_element(llvm::IRBuilder<>& b, llvm::ArrayRef<Value*> operands,
                        llvm::function_ref<Value*(llvm::ArrayRef<Value*>)> function) {
    const auto* vector = llvm::dyn_cast<llvm::FixedVectorType>(operands[0]->getType());
    if (!vector) return function(operands);
    Value* result = nullptr;
    for (std::uint64_t i = 0; i < vector->getNumElements(); ++i) {
        llvm::SmallVector<Value*> elements;
        for (Value* operand : operands) elements.push_back(b.CreateExtractElement(operand, i));
        Value* element = function(elements);
        if (!result)
            result = llvm::PoisonValue::get(
                llvm::FixedVectorType::get(element->getType(), vector->getNumElements()));
        result = b.CreateInsertElement(result, element, i);
    }
    return result;
}

Value* brain_of(llvm::IRBuilder<>& b, Value* value) {
    return brain_of(b, value, Rounding::nearest);
}

/// The upper half of a float, with what the lower half adds to it: a carry goes into the exponent, and from
/// the largest number to infinity.
Value* brain_of(llvm::IRBuilder<>& b, Value* value, Rounding rounding) {
    if (value->getType()->isDoubleTy()) value = float_to_odd(b, value);
    llvm::Type* word = integers(value, 32);
    const auto number = [&](std::uint32_t n) { return llvm::ConstantInt::get(word, n); };
    Value* bits = b.CreateBitCast(value, word);
    Value* added = nullptr;
    if (rounding == Rounding::nearest) {
        added = b.CreateAdd(b.CreateAnd(b.CreateLShr(bits, 16), number(1)), number(0x7FFF));
    } else if (rounding == Rounding::to_zero) {
        added = number(0);
    } else {
        Value* negative = b.CreateICmpSLT(bits, number(0));
        Value* outward = rounding == Rounding::down ? negative : b.CreateNot(negative);
        added = b.CreateSelect(outward, number(0xFFFF), number(0));
    }
    Value* is_infinite = b.CreateICmpEQ(b.CreateAnd(bits, number(0x7FFFFFFF)), number(0x7F800000));
    Value* rounded = b.CreateSelect(is_infinite, bits, b.CreateAdd(bits, added));
    rounded = b.CreateSelect(b.CreateFCmpUNO(value, value), number(0x7FFF0000), rounded);
    return b.CreateTrunc(b.CreateLShr(rounded, 16), integers(value, 16));
}

Value* byte_of(llvm::IRBuilder<>& b, Value* value, Type::Kind kind) {
    const ByteFormat format = format_of(kind);
    const unsigned cut = 23 - format.fraction_bits;
    Value* bits = b.CreateBitCast(value, b.getInt32Ty());
    Value* sign = b.CreateLShr(b.CreateAnd(bits, 0x80000000U), 24);
    Value* magnitude = b.CreateAnd(bits, 0x7FFFFFFF);
    // Normal numbers: rounded where they are cut, then with the other bias.
    Value* last = b.CreateAnd(b.CreateLShr(magnitude, cut), 1);
    Value* rounded = b.CreateAdd(magnitude, b.CreateAdd(last, b.getInt32((1U << (cut - 1)) - 1)));
    Value* normal =
        b.CreateSub(b.CreateLShr(rounded, cut),
                    b.getInt32(static_cast<std::uint32_t>(127 - format.bias) << format.fraction_bits));
    // The others are multiples of the smallest one.
    const float scale = static_cast<float>(
        std::uint64_t{1} << (static_cast<unsigned>(format.bias) - 1 + format.fraction_bits));
    const float least_normal = static_cast<float>(1U << format.fraction_bits) / scale;
    Value* absolute = b.CreateBitCast(magnitude, b.getFloatTy());
    Value* is_small = b.CreateFCmpOLT(absolute, llvm::ConstantFP::get(b.getFloatTy(), least_normal));
    Value* scaled = b.CreateSelect(is_small, absolute, llvm::ConstantFP::getZero(b.getFloatTy()));
    scaled = b.CreateFMul(scaled, llvm::ConstantFP::get(b.getFloatTy(), scale));
    Value* small = b.CreateFPToUI(b.CreateUnaryIntrinsic(Intrinsic::rint, scaled), b.getInt32Ty());
    Value* code = b.CreateSelect(is_small, small, normal);
    code = b.CreateBinaryIntrinsic(Intrinsic::umin, code, b.getInt32(format.largest));
    code = b.CreateOr(code, sign);
    code = b.CreateSelect(b.CreateFCmpUNO(value, value), b.getInt32(byte_nan), code);
    return b.CreateTrunc(code, b.getInt8Ty());
}

/// Both formats are the upper bits of an f16, e4m3 with an exponent that is less by 8.
Value* real_of_byte(llvm::IRBuilder<>& b, Value* byte, Type::Kind kind) {
    const bool has_4_bits = kind == Type::e4m3_pair;
    Value* bits = b.CreateZExt(byte, b.getInt16Ty());
    Value* magnitude = b.CreateAnd(bits, 0x7F);
    Value* sign = b.CreateShl(b.CreateAnd(bits, 0x80), 8);
    Value* half = b.CreateOr(sign, b.CreateShl(magnitude, has_4_bits ? 7 : 8));
    Value* value = b.CreateFPExt(b.CreateBitCast(half, b.getHalfTy()), b.getFloatTy());
    if (has_4_bits) value = b.CreateFMul(value, llvm::ConstantFP::get(b.getFloatTy(), 256.0));
    Value* is_nan = has_4_bits ? b.CreateICmpEQ(magnitude, b.getInt16(byte_nan))
                               : b.CreateICmpUGT(magnitude, b.getInt16(0x7C));
    return b.CreateSelect(is_nan, llvm::ConstantFP::getNaN(b.getFloatTy()), value);
}

Value* tensor_real_of(llvm::IRBuilder<>& b, Value* value, bool ties_away, bool to_zero) {
    constexpr unsigned cut = 13;
    Value* bits = b.CreateBitCast(value, b.getInt32Ty());
    Value* added = b.getInt32(to_zero ? 0 : 1U << (cut - 1));
    if (!to_zero && !ties_away)
        added = b.CreateAdd(b.CreateAnd(b.CreateLShr(bits, cut), 1), b.getInt32((1U << (cut - 1)) - 1));
    Value* is_finite = b.createIsFPClass(value, llvm::fcFinite);
    Value* rounded = b.CreateSelect(is_finite, b.CreateAdd(bits, added), bits);
    rounded = b.CreateAnd(rounded, ~((1U << cut) - 1));
    return b.CreateSelect(b.CreateFCmpUNO(value, value), b.getInt32(0x7FFFFFFF), rounded);
}

/// The product is exact; what the sum loses is known exactly too (Knuth's TwoSum).
Value* fused_to_odd(llvm::IRBuilder<>& builder, Value* a, Value* b, Value* c) {
    llvm::Type* wide = builder.getDoubleTy();
    Value* product = builder.CreateFMul(builder.CreateFPExt(a, wide), builder.CreateFPExt(b, wide));
    Value* addend = builder.CreateFPExt(c, wide);
    Value* sum = builder.CreateFAdd(product, addend);
    Value* part = builder.CreateFSub(sum, product);
    Value* lost = builder.CreateFAdd(builder.CreateFSub(product, builder.CreateFSub(sum, part)),
                                     builder.CreateFSub(addend, part));
    Value* bits = builder.CreateBitCast(sum, builder.getInt64Ty());
    Value* zero = llvm::ConstantFP::getZero(wide);
    Value* is_even = builder.CreateIsNull(builder.CreateAnd(bits, 1));
    Value* outward =
        builder.CreateICmpEQ(builder.CreateFCmpOGT(lost, zero), builder.CreateFCmpOGT(sum, zero));
    Value* odd = builder.CreateSelect(outward, builder.CreateAdd(bits, builder.getInt64(1)),
                                      builder.CreateSub(bits, builder.getInt64(1)));
    Value* adjusts = builder.CreateAnd(builder.CreateFCmpONE(lost, zero), is_even);
    return builder.CreateBitCast(builder.CreateSelect(adjusts, odd, bits), wide);
}

Value* double_to_odd(InstructionContext& at, Value* integer, bool is_signed) {
    auto& b = at.b;
    Value* cut = at.call(is_signed ? "__nv_ll2double_rz" : "__nv_ull2double_rz", b.getDoubleTy(), {integer});
    Value* back = is_signed ? b.CreateFPToSI(cut, b.getInt64Ty()) : b.CreateFPToUI(cut, b.getInt64Ty());
    Value* sticky = b.CreateZExt(b.CreateICmpNE(back, integer), b.getInt64Ty());
    return b.CreateBitCast(b.CreateOr(b.CreateBitCast(cut, b.getInt64Ty()), sticky), b.getDoubleTy());
}

Rounding rounding_of(const InstructionContext& at) {
    return at.has("rz")   ? Rounding::to_zero
           : at.has("rm") ? Rounding::down
           : at.has("rp") ? Rounding::up
                          : Rounding::nearest;
}

}  // namespace cudasim::ptx
