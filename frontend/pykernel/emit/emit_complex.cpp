// Complex numbers: two floats, each a part of the value (emission.h). Rules: C99 Annex G for what is infinite
// or NaN, CPython's (Objects/complexobject.c is where Numba points too) for quotients and powers.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {
namespace {

std::string libdevice(std::string_view name, llvm::Value* value) {
    return "__nv_" + std::string(name) + (value->getType()->isFloatTy() ? "f" : "");
}

}  // namespace

llvm::Value* FunctionEmitter::complex_magnitude(const Emitted& value) {
    return call(libdevice("hypot", value.parts[0]), value.parts[0]->getType(),
                {value.parts[0], value.parts[1]});
}

/// Both of one complex type.
Emitted FunctionEmitter::complex_binary(Operator op, const Emitted& left, const Emitted& right) {
    llvm::Value *a = left.parts[0], *b = left.parts[1], *c = right.parts[0], *d = right.parts[1];
    switch (op) {
        case Operator::add:
            return {left.type, {builder.CreateFAdd(a, c), builder.CreateFAdd(b, d)}};
        case Operator::subtract:
            return {left.type, {builder.CreateFSub(a, c), builder.CreateFSub(b, d)}};
        case Operator::multiply:
            return {left.type,
                    {builder.CreateFSub(builder.CreateFMul(a, c), builder.CreateFMul(b, d)),
                     builder.CreateFAdd(builder.CreateFMul(a, d), builder.CreateFMul(b, c))}};
        case Operator::true_divide:
            return complex_quotient(left, right);
        case Operator::power:
            return complex_power(left, right);
        default:
            break;
    }
    llvm::Value* equal = builder.CreateAnd(builder.CreateFCmpOEQ(a, c), builder.CreateFCmpOEQ(b, d));
    const bool positive = op == Operator::equal || op == Operator::is;
    return number(positive ? equal : builder.CreateNot(equal), types().boolean);
}

/// Smith's method: scaled by the divisor's larger component, so that nothing overflows on the way. A zero
/// divisor gives NaNs and is counted as one of a float's division is (C3).
Emitted FunctionEmitter::complex_quotient(const Emitted& left, const Emitted& right) {
    llvm::Value *a = left.parts[0], *b = left.parts[1], *c = right.parts[0], *d = right.parts[1];
    llvm::Value* zero = llvm::ConstantFP::get(c->getType(), 0.0);
    call("__cudasim_check_float_division", builder.getVoidTy(),
         {builder.CreateAnd(builder.CreateFCmpOEQ(c, zero), builder.CreateFCmpOEQ(d, zero))});
    auto size = [&](llvm::Value* x) { return builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x); };
    llvm::Value* by_real = builder.CreateFCmpOGE(size(c), size(d));
    auto choose = [&](llvm::Value* x, llvm::Value* y) { return builder.CreateSelect(by_real, x, y); };
    llvm::Value *large = choose(c, d), *small = choose(d, c), *first = choose(a, b), *second = choose(b, a);
    llvm::Value* ratio = builder.CreateFDiv(small, large);
    llvm::Value* divisor = builder.CreateFAdd(large, builder.CreateFMul(small, ratio));
    llvm::Value* real = builder.CreateFAdd(first, builder.CreateFMul(second, ratio));
    llvm::Value* scaled = builder.CreateFMul(first, ratio);
    llvm::Value* imaginary = choose(builder.CreateFSub(second, scaled), builder.CreateFSub(scaled, second));
    return {left.type, {builder.CreateFDiv(real, divisor), builder.CreateFDiv(imaginary, divisor)}};
}

/// base ** exponent in polar form, |base|**c * e**(-d*angle) at angle*c + d*log|base|; 1 for an exponent of
/// zero, 0 for a base of zero, and a square by multiplication, which is more exact.
Emitted FunctionEmitter::complex_power(const Emitted& base, const Emitted& exponent) {
    llvm::Value *a = base.parts[0], *b = base.parts[1], *c = exponent.parts[0], *d = exponent.parts[1];
    llvm::Type* real = a->getType();
    llvm::Value *zero = llvm::ConstantFP::get(real, 0.0), *one = llvm::ConstantFP::get(real, 1.0),
                *two = llvm::ConstantFP::get(real, 2.0);
    auto function = [&](std::string_view name, llvm::ArrayRef<llvm::Value*> arguments) {
        return call(libdevice(name, a), real, arguments);
    };
    llvm::AllocaInst *re = entry_alloca(real, "power.real"), *im = entry_alloca(real, "power.imaginary");
    auto give = [&](llvm::Value* x, llvm::Value* y) {
        builder.CreateStore(x, re);
        builder.CreateStore(y, im);
    };
    llvm::BasicBlock *square = new_block("power.square"), *other = new_block("power.other"),
                     *done = new_block("power.done");
    llvm::Value* is_real = builder.CreateFCmpOEQ(d, zero);
    builder.CreateCondBr(builder.CreateAnd(builder.CreateFCmpOEQ(c, two), is_real), square, other);
    builder.SetInsertPoint(square);
    const Emitted product = complex_binary(Operator::multiply, base, base);
    give(product.parts[0], product.parts[1]);
    builder.CreateBr(done);
    builder.SetInsertPoint(other);
    llvm::Value* size = function("hypot", {a, b});
    llvm::Value* angle = function("atan2", {b, a});
    llvm::Value* length = function("pow", {size, c});
    llvm::Value* turn = builder.CreateFMul(angle, c);
    llvm::Value* shrunk = builder.CreateFDiv(length, function("exp", {builder.CreateFMul(angle, d)}));
    llvm::Value* turned = builder.CreateFAdd(turn, builder.CreateFMul(d, function("log", {size})));
    length = builder.CreateSelect(is_real, length, shrunk);
    turn = builder.CreateSelect(is_real, turn, turned);
    llvm::Value* no_power = builder.CreateAnd(builder.CreateFCmpOEQ(c, zero), is_real);
    llvm::Value* no_base = builder.CreateFCmpOEQ(size, zero);
    auto unless_special = [&](llvm::Value* x, llvm::Value* at_zero) {
        return builder.CreateSelect(no_power, at_zero, builder.CreateSelect(no_base, zero, x));
    };
    give(unless_special(builder.CreateFMul(length, function("cos", {turn})), one),
         unless_special(builder.CreateFMul(length, function("sin", {turn})), zero));
    builder.CreateBr(done);
    builder.SetInsertPoint(done);
    return {base.type, {builder.CreateLoad(real, re), builder.CreateLoad(real, im)}};
}

}  // namespace cudasim::pykernel
