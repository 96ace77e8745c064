// Powers: constant exponents multiply, integers square and multiply, floats call libdevice.
#include <llvm/IR/Constants.h>

#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {

llvm::Value* FunctionEmitter::power_by_squaring(llvm::Value* base, std::uint64_t exponent) {
    const bool is_float = base->getType()->isFloatingPointTy();
    auto multiply = [&](llvm::Value* a, llvm::Value* b) {
        return is_float ? builder.CreateFMul(a, b) : builder.CreateMul(a, b);
    };
    llvm::Value* result = nullptr;
    for (llvm::Value* square = base; exponent; exponent >>= 1) {
        if (exponent & 1) result = result ? multiply(result, square) : square;
        if (exponent > 1) square = multiply(square, square);
    }
    if (result) return result;
    return is_float ? llvm::ConstantFP::get(base->getType(), 1.0)
                    : llvm::ConstantInt::get(base->getType(), 1);
}

Emitted FunctionEmitter::power(const Emitted& left, const Emitted& right, TypeRef result,
                               TypeRef exponent_type) {
    const TypeRef type = result;
    llvm::Value* base = convert(left, type).value();
    const bool is_float = type->is(TypeKind::floating);
    // Small constant exponents multiply, as Numba's static power does.
    const std::int64_t known =
        right.type->literal && right.type->is(TypeKind::integer) ? *right.type->literal : -1000;
    if (known >= 0 && known <= 64)
        return number(power_by_squaring(base, static_cast<std::uint64_t>(known)), type);
    if (is_float && known >= -64 && known < 0) {
        llvm::Value* divisor = power_by_squaring(base, static_cast<std::uint64_t>(-known));
        check_float_divisor(divisor);
        return number(builder.CreateFDiv(llvm::ConstantFP::get(divisor->getType(), 1.0), divisor), type);
    }
    if (!is_float) {
        return number(integer_power(base, convert(right, exponent_type).value(), exponent_type->is_signed),
                      type);
    }
    llvm::Value* exponent = convert(right, type).value();
    return number(call(type->bits == 32 ? "__nv_powf" : "__nv_pow", base->getType(), {base, exponent}), type);
}

/// Square and multiply; wraps. A negative exponent gives what integer division 1 // base**n gives: 0, 1 or
/// -1, and a zero base is a division by zero.
llvm::Value* FunctionEmitter::integer_power(llvm::Value* base, llvm::Value* exponent, bool signed_exponent) {
    llvm::Type* type = base->getType();
    llvm::Value* zero = llvm::ConstantInt::get(type, 0);
    llvm::Value* one = llvm::ConstantInt::get(type, 1);
    llvm::AllocaInst* start = entry_alloca(type, "power.base");
    llvm::AllocaInst* count = entry_alloca(type, "power.exponent");
    builder.CreateStore(base, start);
    builder.CreateStore(exponent, count);
    if (signed_exponent) {
        llvm::BasicBlock* negative = new_block("power.negative");
        llvm::BasicBlock* ready = new_block("power.ready");
        builder.CreateCondBr(builder.CreateICmpSLT(exponent, zero), negative, ready);
        builder.SetInsertPoint(negative);
        builder.CreateStore(builder.CreateSDiv(one, base), start);
        builder.CreateStore(builder.CreateNeg(exponent), count);
        builder.CreateBr(ready);
        builder.SetInsertPoint(ready);
    }
    llvm::AllocaInst* product = entry_alloca(type, "power.product");
    builder.CreateStore(one, product);
    llvm::BasicBlock* head = new_block("power.head");
    llvm::BasicBlock* loop = new_block("power.loop");
    llvm::BasicBlock* done = new_block("power.done");
    builder.CreateBr(head);
    builder.SetInsertPoint(head);
    llvm::Value* left = builder.CreateLoad(type, count);
    builder.CreateCondBr(builder.CreateICmpNE(left, zero), loop, done);
    builder.SetInsertPoint(loop);
    llvm::Value* square = builder.CreateLoad(type, start);
    llvm::Value* so_far = builder.CreateLoad(type, product);
    llvm::Value* odd = builder.CreateTrunc(left, builder.getInt1Ty());
    builder.CreateStore(builder.CreateSelect(odd, builder.CreateMul(so_far, square), so_far), product);
    builder.CreateStore(builder.CreateMul(square, square), start);
    builder.CreateStore(builder.CreateLShr(left, one), count);
    builder.CreateBr(head);
    builder.SetInsertPoint(done);
    return builder.CreateLoad(type, product);
}

}  // namespace cudasim::pykernel
