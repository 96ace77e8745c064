// cuda.fp16.* and cuda.bf16.*, as the table in simulator/libdevice/half_functions.def lists them. They
// compute in float32 (fused multiply-adds in float64) and round: which is what the GPU's own instructions
// give, correctly rounded as they are.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <algorithm>

#include "frontend/pykernel/calls/callables.h"
#include "simulator/libdevice/half_functions.h"
#include "simulator/libdevice/signatures.h"

namespace cudasim::pykernel {
namespace {

using libdevice::After;
using Predicate = llvm::CmpInst::Predicate;

enum class Kind { of_floats, test, from, to, same_bits, classify, negated, to_float };

/// A row of the table; what its kind does not use is left out.
struct HalfFunction {
    Kind kind;
    std::string_view module;
    std::string_view function = {};  ///< of libdevice
    After after = After::as_is;
    Predicate predicate = Predicate::FCMP_FALSE;
    std::string_view parameter = "half", result = "half";  ///< C++'s types
    libdevice::Rounding rounding = libdevice::nearest;
};

constexpr HalfFunction functions[] = {
#define HALF_OF_FLOATS(in, name, of, then) \
    {.kind = Kind::of_floats, .module = #in, .function = #of, .after = After::then},
#define HALF_TEST(in, name, how) \
    {.kind = Kind::test, .module = #in, .predicate = Predicate::FCMP_##how, .result = "bool"},
#define HALF_FROM(in, name, type, way) \
    {.kind = Kind::from, .module = #in, .parameter = #type, .rounding = libdevice::way},
#define HALF_TO(in, name, type, of) {.kind = Kind::to, .module = #in, .function = #of, .result = #type},
#define HALF_SAME_BITS(in, name, from, to) \
    {.kind = Kind::same_bits, .module = #in, .parameter = #from, .result = #to},
#define HALF_CLASS(in, name, type, finding) \
    {.kind = Kind::classify, .module = #in, .function = #finding, .result = #type},
#define HALF_NEGATED(in, name) {.kind = Kind::negated, .module = #in},
#define HALF_TO_FLOAT(in, name) {.kind = Kind::to_float, .module = #in, .result = "float"},
#include "simulator/libdevice/half_functions.def"
};

const HalfFunction& function_of(const Callable& callable);

/// The module's own type.
TypeRef half_of(const TypeTable& types, const HalfFunction& function) {
    return function.module == "bf16" ? types.bfloat16 : types.float16;
}

/// A type of the table.
TypeRef type_of(const TypeTable& types, const HalfFunction& function, std::string_view name) {
    const std::pair<std::string_view, TypeRef> rows[] = {
        {"half", half_of(types, function)}, {"float", types.float32},
        {"double", types.float64},          {"bool", types.boolean},
        {"std::int8_t", types.int8},        {"std::uint8_t", types.uint8},
        {"std::int16_t", types.int16},      {"std::uint16_t", types.uint16},
        {"std::int32_t", types.int32},      {"std::uint32_t", types.uint32},
        {"std::int64_t", types.int64},      {"std::uint64_t", types.uint64}};
    return std::ranges::find(rows, name, &std::pair<std::string_view, TypeRef>::first)->second;
}

const libdevice::Signature& signature_of(std::string_view libdevice_function) {
    return *std::ranges::find(libdevice::signatures(), libdevice_function, &libdevice::Signature::name);
}

std::size_t arity(const HalfFunction& function) {
    if (function.kind == Kind::of_floats) return signature_of(function.function).parameters.size();
    return function.kind == Kind::test ? 2 : 1;
}

TypeRef type_call(const CallTyping& call) {
    const HalfFunction& function = function_of(call.callable);
    const TypeRef parameter = type_of(call.types(), function, function.parameter);
    const bool fit = std::ranges::all_of(
        call.arguments, [&](TypeRef type) { return type->is_real() && can_cast(type, parameter); });
    if (call.size() != arity(function) || !fit) call.no_match();
    return type_of(call.types(), function, function.result);
}

/// The numbers in 16 bits, and these as a wider float.
Parts widened(CallEmission& call, TypeRef wide) {
    FunctionEmitter& e = call.emitter;
    const TypeRef half = half_of(e.types(), function_of(call.callable));
    Parts values;
    for (const Emitted& argument : call.arguments)
        values.push_back(e.convert(e.convert(argument, half), wide).value());
    return values;
}

llvm::Value* finished(FunctionEmitter& e, After after, llvm::Value* value, const Parts& arguments) {
    Builder& b = e.builder;
    llvm::Value* zero = llvm::ConstantFP::get(value->getType(), 0.0);
    if (after == After::saturated) {
        llvm::Value* one = llvm::ConstantFP::get(value->getType(), 1.0);
        value = b.CreateSelect(b.CreateFCmpOGT(value, zero), value, zero);
        return b.CreateSelect(b.CreateFCmpOGT(value, one), one, value);
    }
    if (after == After::not_negative) return b.CreateSelect(b.CreateFCmpOLE(value, zero), zero, value);
    if (after == After::nan_of_arguments) {
        llvm::Value* has_nan = b.CreateFCmpUNO(arguments[0], arguments[1]);
        return b.CreateSelect(has_nan, llvm::ConstantFP::getNaN(value->getType()), value);
    }
    return value;
}

/// See simulator/libdevice/half_functions.h, multiply_add_odd().
llvm::Value* multiply_add_odd(Builder& b, const Parts& values) {
    llvm::Value* product = b.CreateFMul(values[0], values[1]);
    llvm::Value* sum = b.CreateFAdd(product, values[2]);
    llvm::Value* rest = b.CreateFSub(sum, product);
    llvm::Value* lost =
        b.CreateFAdd(b.CreateFSub(product, b.CreateFSub(sum, rest)), b.CreateFSub(values[2], rest));
    llvm::Value* bits = b.CreateBitCast(sum, b.getInt64Ty());
    llvm::Value* zero = llvm::ConstantFP::get(sum->getType(), 0.0);
    llvm::Value* even = b.CreateICmpEQ(b.CreateAnd(bits, b.getInt64(1)), b.getInt64(0));
    llvm::Value* inexact = b.CreateAnd(even, b.CreateFCmpONE(lost, zero));
    llvm::Value* outward = b.CreateICmpEQ(b.CreateFCmpOGT(lost, zero), b.CreateFCmpOGT(sum, zero));
    llvm::Value* step = b.CreateSelect(outward, b.getInt64(1), b.getInt64(~std::uint64_t{0}));
    llvm::Value* odd = b.CreateBitCast(b.CreateAdd(bits, step), sum->getType());
    return b.CreateSelect(inexact, odd, sum);
}

Emitted emit_of_floats(CallEmission& call, const HalfFunction& function) {
    FunctionEmitter& e = call.emitter;
    const bool fused = function.function == "fma";
    const TypeRef type = fused ? e.types().float64 : e.types().float32;
    const Parts values = widened(call, type);
    llvm::Value* result =
        fused ? multiply_add_odd(e.builder, values)
              : e.call("__nv_" + std::string(function.function), values[0]->getType(), values);
    return e.convert(e.number(finished(e, function.after, result, values), type), call.call.type);
}

/// The number of 16 bits beside another one in a direction; their bits.
llvm::Value* neighbour(Builder& b, llvm::Value* bits, bool upward) {
    llvm::Value* negative = b.CreateICmpSLT(bits, b.getInt16(0));
    llvm::Value* away = b.CreateAdd(bits, b.getInt16(1));
    llvm::Value* inward = b.CreateSub(bits, b.getInt16(1));
    llvm::Value* step =
        upward ? b.CreateSelect(negative, inward, away) : b.CreateSelect(negative, away, inward);
    llvm::Value* is_zero = b.CreateICmpEQ(b.CreateAnd(bits, b.getInt16(0x7fff)), b.getInt16(0));
    return b.CreateSelect(is_zero, b.getInt16(upward ? 0x0001 : 0x8001), step);
}

Emitted emit_from(CallEmission& call, const HalfFunction& function) {
    FunctionEmitter& e = call.emitter;
    Builder& b = e.builder;
    const TypeRef half = call.call.type, wide = e.types().float64;
    llvm::Value* x = e.exact_float(e.convert(call[0], type_of(e.types(), function, function.parameter)));
    Emitted nearest = e.convert(e.number(x, wide), half);
    if (function.rounding == libdevice::nearest) return nearest;
    llvm::Value* back = e.convert(nearest, wide).value();
    llvm::Value* bits = b.CreateBitCast(nearest.value(), b.getInt16Ty());
    llvm::Value* too_high = b.CreateFCmpOGT(back, x);
    llvm::Value* too_low = b.CreateFCmpOLT(back, x);
    llvm::Value* positive = b.CreateFCmpOGT(x, llvm::ConstantFP::get(x->getType(), 0.0));
    const bool to_zero = function.rounding == libdevice::zero;
    if (to_zero) {
        too_high = b.CreateAnd(too_high, positive);
        too_low = b.CreateAnd(too_low, b.CreateNot(positive));
    }
    if (to_zero || function.rounding == libdevice::down)
        bits = b.CreateSelect(too_high, neighbour(b, bits, false), bits);
    if (to_zero || function.rounding == libdevice::up)
        bits = b.CreateSelect(too_low, neighbour(b, bits, true), bits);
    return e.number(b.CreateBitCast(bits, e.module.value_type(half)), half);
}

/// Uses libdevice's conversion to 32 or 64 bits and truncates its result.
Emitted emit_to(CallEmission& call, const HalfFunction& function) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    const TypeRef wide = e.types().integer(std::max(32U, type->bits), type->is_signed);
    llvm::Value* value = e.call("__nv_" + std::string(function.function), e.module.value_type(wide),
                                widened(call, e.types().float32));
    if (type->bits >= 32) return e.number(value, type);
    const auto limits =
        type->is_signed ? llvm::APInt::getSignedMaxValue(type->bits) : llvm::APInt::getMaxValue(type->bits);
    const auto high = type->is_signed ? limits.sext(32) : limits.zext(32);
    using llvm::Intrinsic::ID;
    const ID smaller = type->is_signed ? llvm::Intrinsic::smin : llvm::Intrinsic::umin;
    value = e.builder.CreateBinaryIntrinsic(smaller, value, llvm::ConstantInt::get(value->getType(), high));
    if (type->is_signed) {
        const auto low = llvm::APInt::getSignedMinValue(type->bits).sext(32);
        value = e.builder.CreateBinaryIntrinsic(llvm::Intrinsic::smax, value,
                                                llvm::ConstantInt::get(value->getType(), low));
    }
    return e.convert(e.number(value, wide), type);
}

Emitted emit_same_bits(CallEmission& call, const HalfFunction& function) {
    FunctionEmitter& e = call.emitter;
    llvm::Value* value = e.convert(call[0], type_of(e.types(), function, function.parameter)).value();
    return e.number(e.builder.CreateBitCast(value, e.module.value_type(call.call.type)), call.call.type);
}

Emitted emit_class(CallEmission& call, const HalfFunction& function) {
    FunctionEmitter& e = call.emitter;
    Builder& b = e.builder;
    llvm::Value* x = widened(call, e.types().float32)[0];
    if (function.function == "is_nan") return e.number(b.CreateFCmpUNO(x, x), call.call.type);
    llvm::Constant* infinity = llvm::ConstantFP::getInfinity(x->getType());
    llvm::Constant* minus_infinity = llvm::ConstantFP::getInfinity(x->getType(), /*Negative=*/true);
    llvm::Value* sign = b.CreateSelect(b.CreateFCmpOEQ(x, minus_infinity), b.getInt32(~0U), b.getInt32(0));
    return e.number(b.CreateSelect(b.CreateFCmpOEQ(x, infinity), b.getInt32(1), sign), call.call.type);
}

Emitted emit_call(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const HalfFunction& function = function_of(call.callable);
    const TypeRef half = half_of(e.types(), function), single = e.types().float32;
    switch (function.kind) {
        case Kind::of_floats:
            return emit_of_floats(call, function);
        case Kind::from:
            return emit_from(call, function);
        case Kind::to:
            return emit_to(call, function);
        case Kind::same_bits:
            return emit_same_bits(call, function);
        case Kind::classify:
            return emit_class(call, function);
        case Kind::negated:
            return e.number(e.negated(e.convert(call[0], half).value(), half), half);
        case Kind::to_float:
            return e.number(widened(call, single)[0], single);
        case Kind::test:
            break;
    }
    const Parts values = widened(call, single);
    return e.number(e.builder.CreateFCmp(function.predicate, values[0], values[1]), call.call.type);
}

constexpr Callable rows[] = {
#define HALF_ROW(module, name) {"cuda." #module "." #name, "*", type_call, emit_call},
#define HALF_OF_FLOATS(module, name, function, after) HALF_ROW(module, name)
#define HALF_TEST(module, name, predicate) HALF_ROW(module, name)
#define HALF_FROM(module, name, type, rounding) HALF_ROW(module, name)
#define HALF_TO(module, name, type, function) HALF_ROW(module, name)
#define HALF_SAME_BITS(module, name, from, to) HALF_ROW(module, name)
#define HALF_CLASS(module, name, type, finding) HALF_ROW(module, name)
#define HALF_NEGATED(module, name) HALF_ROW(module, name)
#define HALF_TO_FLOAT(module, name) HALF_ROW(module, name)
#include "simulator/libdevice/half_functions.def"
#undef HALF_ROW
};

/// Both arrays are in the table's order.
const HalfFunction& function_of(const Callable& callable) {
    return functions[&callable - rows];
}

}  // namespace

std::span<const Callable> half_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
