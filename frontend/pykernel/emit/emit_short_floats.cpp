// Conversions to and from floats of 16 bits, each with one rounding: float16, which LLVM knows, and bfloat16,
// which lies in an integer of 16 bits: neither every GPU nor the host computes with it, and float32 holds all
// its results before they are rounded.
#include <llvm/IR/Intrinsics.h>

#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {

/// Rounds a float64 to a float32 that will be rounded again to fewer bits. An inexact result gets an odd last
/// bit, which no tie has.
llvm::Value* FunctionEmitter::narrow_to_odd(llvm::Value* wide) {
    llvm::Type *single = builder.getFloatTy(), *bits = builder.getInt32Ty();
    llvm::Value* narrow = builder.CreateFPTrunc(wide, single);
    llvm::Value* back = builder.CreateFPExt(narrow, builder.getDoubleTy());
    auto size = [&](llvm::Value* x) { return builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); };
    llvm::Value* pattern = builder.CreateBitCast(narrow, bits);
    llvm::Value* even =
        builder.CreateICmpEQ(builder.CreateAnd(pattern, builder.getInt32(1)), builder.getInt32(0));
    llvm::Value* inexact = builder.CreateAnd(even, builder.CreateFCmpONE(back, wide));
    llvm::Value* step = builder.CreateSelect(builder.CreateFCmpOGT(size(back), size(wide)),
                                             builder.getInt32(~0U), builder.getInt32(1));
    llvm::Value* odd = builder.CreateBitCast(builder.CreateAdd(pattern, step), single);
    return builder.CreateSelect(inexact, odd, narrow);
}

llvm::Value* FunctionEmitter::narrow_to_half(llvm::Value* value, TypeRef from) {
    if (from != types().float32) value = narrow_to_odd(convert_number(value, from, types().float64));
    return builder.CreateFPTrunc(value, builder.getHalfTy());
}

llvm::Value* FunctionEmitter::widen_bfloat(llvm::Value* bits) {
    llvm::Value* word = builder.CreateShl(builder.CreateZExt(bits, builder.getInt32Ty()), 16);
    return builder.CreateBitCast(word, builder.getFloatTy());
}

/// A 64-bit integer's float64 for a second rounding to fewer bits: what lies below its last bits becomes one
/// bit.
llvm::Value* FunctionEmitter::sticky_float(llvm::Value* value, bool is_signed) {
    auto constant = [&](std::uint64_t bits) { return builder.getInt64(bits); };
    llvm::Value* shifted = is_signed ? builder.CreateAdd(value, constant(std::uint64_t{1} << 53)) : value;
    llvm::Value* large = builder.CreateICmpUGT(shifted, constant(std::uint64_t{1} << (is_signed ? 54 : 53)));
    llvm::Value* lost = builder.CreateICmpNE(builder.CreateAnd(value, constant(0xfff)), constant(0));
    llvm::Value* kept = builder.CreateOr(builder.CreateAnd(value, constant(~std::uint64_t{0xfff})),
                                         builder.CreateSelect(lost, constant(0x800), constant(0)));
    value = builder.CreateSelect(large, kept, value);
    llvm::Type* real = builder.getDoubleTy();
    return is_signed ? builder.CreateSIToFP(value, real) : builder.CreateUIToFP(value, real);
}

llvm::Value* FunctionEmitter::exact_float(const Emitted& value) {
    const bool is_long = value.type->is(TypeKind::integer) && value.type->bits == 64;
    return is_long ? sticky_float(value.value(), value.type->is_signed)
                   : convert(value, types().float64).value();
}

/// Rounds to nearest, ties to even; NaN becomes CUDA's, 0x7fff.
llvm::Value* FunctionEmitter::narrow_to_bfloat(llvm::Value* value, TypeRef from) {
    const bool fits = from == types().float16 || from == types().float32;
    llvm::Value* single =
        fits ? convert_number(value, from, types().float32) : narrow_to_odd(exact_float(number(value, from)));
    llvm::Value* bits = builder.CreateBitCast(single, builder.getInt32Ty());
    llvm::Value* odd = builder.CreateAnd(builder.CreateLShr(bits, 16), builder.getInt32(1));
    llvm::Value* rounded = builder.CreateAdd(bits, builder.CreateAdd(odd, builder.getInt32(0x7fff)));
    rounded = builder.CreateTrunc(builder.CreateLShr(rounded, 16), builder.getInt16Ty());
    return builder.CreateSelect(builder.CreateFCmpUNO(single, single), builder.getInt16(0x7fff), rounded);
}

}  // namespace cudasim::pykernel
