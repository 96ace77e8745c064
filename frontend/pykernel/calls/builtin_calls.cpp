// abs, int, float, bool, round, pow, divmod, range. Types as Numba's CUDA target gives them.
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <cstdlib>
#include <optional>

#include "frontend/pykernel/calls/callables.h"
#include "frontend/pykernel/emit/dates.h"

namespace cudasim::pykernel {
namespace {

bool all_numbers(const CallTyping& call) {
    for (TypeRef type : call.arguments) {
        if (type && !type->is_real()) return false;
    }
    return true;
}

TypeRef type_abs(const CallTyping& call) {
    if (call[0]->is(TypeKind::complex)) return call.types().component(call[0]);
    if (call[0]->is(TypeKind::timedelta64)) return call[0];
    if (!call[0]->is_real()) call.no_match();
    if (call[0]->is(TypeKind::bfloat)) return call.types().float32;
    return call[0]->is(TypeKind::boolean) ? call.types().int8 : call.types().without_literal(call[0]);
}

Emitted emit_abs(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    if (call[0].type->is(TypeKind::complex)) return e.number(e.complex_magnitude(call[0]), type);
    if (call[0].type->is_date()) return absolute_duration(e, call[0]);
    llvm::Value* value = e.convert(call[0], type).value();
    if (type->is(TypeKind::floating))
        return e.number(e.builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, value), type);
    if (!type->is_signed) return e.number(value, type);
    llvm::Value* zero = llvm::ConstantInt::get(value->getType(), 0);
    return e.number(
        e.builder.CreateSelect(e.builder.CreateICmpSLT(value, zero), e.builder.CreateNeg(value), value),
        type);
}

/// The number that a string literal spells; empty when it spells none.
std::optional<double> spelled_number(TypeRef text) {
    const std::string spelling = text->text;
    if (spelling.find_first_of("xX(") != std::string::npos) return std::nullopt;  // strtod's, not Python's
    char* end = nullptr;
    const double value = std::strtod(spelling.c_str(), &end);
    while (*end == ' ') ++end;
    return end != spelling.c_str() && *end == '\0' ? std::optional(value) : std::nullopt;
}

TypeRef type_conversion(const CallTyping& call) {
    const TypeTable& t = call.types();
    const bool to_float = call.callable.name == "float";
    if (to_float && call[0]->is(TypeKind::text)) {
        if (!spelled_number(call[0]))
            call.refuse("could not convert string to float: '" + call[0]->text + "'");
        return t.float64;
    }
    if (call.callable.name == "int" && call[0]->is(TypeKind::timedelta64)) return t.int64;
    const bool other =
        call[0]->is(TypeKind::tuple) || call[0]->is(TypeKind::complex) || call[0]->is(TypeKind::text);
    if (call.callable.name == "bool" && other) return t.boolean;
    const bool refused = to_float && call[0]->is(TypeKind::boolean);  // a fact about Numba
    if (!call[0]->is_number() || refused) call.no_match();
    const TypeRef from = call.types().without_literal(call[0]);
    if (call.callable.name == "bool") return t.boolean;
    if (call.callable.name == "int") return from->is(TypeKind::integer) ? from : t.int64;
    return from->is(TypeKind::floating) ? from : t.float64;
}

Emitted emit_conversion(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef from = call[0].type, to = call.call.type;
    if (from->is(TypeKind::text) && to->is(TypeKind::floating))
        return e.number(llvm::ConstantFP::get(e.builder.getDoubleTy(), *spelled_number(from)), to);
    if (from->is(TypeKind::tuple) || from->is(TypeKind::text)) return e.number(e.truth(call[0]), to);
    return e.convert(call[0], to);
}

/// complex(x), complex(x, y). Arguments that are all float32 give a complex64. Facts about Numba: complex(z)
/// is always a complex128, and complex(True) is refused.
TypeRef type_complex(const CallTyping& call) {
    const TypeTable& t = call.types();
    if (!call[0]) call.refuse("needs at least one number");
    if (!call[1] && call[0]->is(TypeKind::complex)) return t.complex128;
    bool narrow = true;
    for (TypeRef type : call.arguments) {
        if (type && (!type->is_number() || type->is(TypeKind::boolean) || type == t.float16)) call.no_match();
        narrow &= !type || type == t.float32;
    }
    return narrow ? t.complex64 : t.complex128;
}

Emitted emit_complex(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    Emitted result = e.convert(call[0], type);
    if (call.has(1)) result.parts[1] = e.convert(call[1], e.types().component(type)).value();
    return result;
}

/// round(x) is an int64; round(x, n) stays a float, and a small or 16-bit integer becomes a float32.
TypeRef type_round(const CallTyping& call) {
    if (!all_numbers(call)) call.no_match();
    if (!call[1]) return call.types().int64;
    const TypeRef x = call[0];
    if (x->is(TypeKind::floating) && x->bits >= 32) return x;
    return conversion(x, call.types().float32) <= Conversion::safe ? call.types().float32
                                                                   : call.types().float64;
}

/// Rounds half to even. With a number of digits it scales, rounds and scales back; a value that overflows
/// when scaled needs no rounding.
Emitted emit_round(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    if (!call.has(1)) {
        if (call[0].type->is_integral()) return e.convert(call[0], e.types().int64);
        const TypeRef type = call[0].type->bits == 16 ? e.types().float32 : call[0].type;
        llvm::Value* x = e.convert(call[0], type).value();
        llvm::Value* rounded =
            e.call(x->getType()->isFloatTy() ? "__nv_rintf" : "__nv_rint", x->getType(), {x});
        return e.convert(e.number(rounded, type), e.types().int64);
    }
    const TypeRef result = call.call.type;
    llvm::Type* real = e.builder.getDoubleTy();
    llvm::Value* x = e.convert(call[0], e.types().float64).value();
    llvm::Value* digits = e.convert(call[1], e.types().float64).value();
    llvm::Value* zero = llvm::ConstantFP::get(real, 0.0);
    llvm::Value* places = e.builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, digits);
    llvm::Value* scale = e.call("__nv_pow", real, {llvm::ConstantFP::get(real, 10.0), places});
    llvm::Value* fraction = e.builder.CreateFCmpOGE(digits, zero);
    llvm::Value* scaled =
        e.builder.CreateSelect(fraction, e.builder.CreateFMul(x, scale), e.builder.CreateFDiv(x, scale));
    llvm::Value* whole = e.call("__nv_rint", real, {scaled});
    llvm::Value* back = e.builder.CreateSelect(fraction, e.builder.CreateFDiv(whole, scale),
                                               e.builder.CreateFMul(whole, scale));
    llvm::Value* size = e.builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, scaled);
    llvm::Value* finite = e.builder.CreateFCmpOLT(size, llvm::ConstantFP::getInfinity(real));
    return e.convert(e.number(e.builder.CreateSelect(finite, back, x), e.types().float64), result);
}

TypeRef type_pow(const CallTyping& call) {
    const TypeRef result = call.apply(Operator::power, call[0], call[1]);
    if (!result) call.no_match();
    return result;
}

Emitted emit_pow(CallEmission& call) {
    return call.apply(0, {call[0], call[1]});
}

TypeRef type_divmod(const CallTyping& call) {
    const TypeTable& t = call.types();
    const Signature overloads[] = {{{t.int64, t.int64}, t.int64},
                                   {{t.uint64, t.uint64}, t.uint64},
                                   {{t.float32, t.float32}, t.float32},
                                   {{t.float64, t.float64}, t.float64}};
    const Signature* best = best_signature(overloads, call.arguments);
    if (!best) call.no_match();
    for (Operator op : {Operator::floor_divide, Operator::modulo}) call.apply(op, best->result, best->result);
    return call.types().tuple({best->result, best->result});
}

Emitted emit_divmod(CallEmission& call) {
    const TypeRef element = call.call.type->elements[0];
    const Emitted a = call.emitter.convert(call[0], element), b = call.emitter.convert(call[1], element);
    return {call.call.type, {call.apply(0, {a, b}).value(), call.apply(1, {a, b}).value()}};
}

TypeRef type_range(const CallTyping& call) {
    if (call.size() < 1 || call.size() > 3) call.refuse("takes one to three numbers");
    const TypeRef element = call.program.promotion.range(call.arguments);
    if (!element) call.no_match();
    return call.types().range(element);
}

Emitted emit_range(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef element = call.call.type->element();
    auto argument = [&](std::size_t i) { return e.convert(call[i], element).value(); };
    auto known = [&](std::uint64_t value) {
        return llvm::ConstantInt::get(e.module.value_type(element), value);
    };
    const std::size_t count = call.arguments.size();
    Emitted result{call.call.type, {}};
    result.parts.push_back(count == 1 ? known(0) : argument(0));
    result.parts.push_back(argument(count == 1 ? 0 : 1));
    result.parts.push_back(count == 3 ? argument(2) : known(1));
    return result;
}

constexpr Callable rows[] = {
    {"abs", "x", type_abs, emit_abs},
    {"int", "x", type_conversion, emit_conversion},
    {"float", "x", type_conversion, emit_conversion},
    {"bool", "x", type_conversion, emit_conversion},
    {"complex", "real= imag=", type_complex, emit_complex},
    {"round", "number ndigits=", type_round, emit_round},
    {"pow", "base exp", type_pow, emit_pow},
    {"divmod", "a b", type_divmod, emit_divmod},
    {"range", "*", type_range, emit_range},
};

}  // namespace

std::span<const Callable> builtin_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
