// Python's math module, by way of libdevice (V1: float32 in, float32 out; integers compute in float64).
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <numbers>

#include "frontend/pykernel/calls/callables.h"

namespace cudasim::pykernel {
namespace {

std::string libdevice(std::string_view name, TypeRef type) {
    return "__nv_" + std::string(name) + (type->bits == 32 ? "f" : "");
}

/// The float type in which a function of one argument computes.
TypeRef type_unary(const CallTyping& call) {
    if (!call[0]->is_real()) call.no_match();
    const bool narrow = !call[0]->is_integral() && call[0]->bits <= 32;
    return narrow ? call.types().float32 : call.types().float64;
}

TypeRef type_halves(const CallTyping& call) {
    return call[0] == call.types().float16 ? call[0] : type_unary(call);
}

TypeRef type_shorts(const CallTyping& call) {
    return call[0]->is(TypeKind::bfloat) ? call[0] : type_halves(call);
}

TypeRef type_overloads(const CallTyping& call, std::span<const Signature> overloads) {
    const Signature* best = best_signature(overloads, call.arguments);
    if (!best) call.no_match();
    return best->result;
}

TypeRef type_binary(const CallTyping& call) {
    const TypeTable& t = call.types();
    const Signature overloads[] = {{{t.int64, t.int64}, t.float64},
                                   {{t.uint64, t.uint64}, t.float64},
                                   {{t.float32, t.float32}, t.float32},
                                   {{t.float64, t.float64}, t.float64}};
    return type_overloads(call, overloads);
}

TypeRef type_reals(const CallTyping& call) {
    const TypeTable& t = call.types();
    const Signature overloads[] = {{{t.float32, t.float32}, t.float32}, {{t.float64, t.float64}, t.float64}};
    return type_overloads(call, overloads);
}

TypeRef type_power(const CallTyping& call) {
    const TypeTable& t = call.types();
    const Signature overloads[] = {{{t.float32, t.float32}, t.float32},
                                   {{t.float64, t.float64}, t.float64},
                                   {{t.float32, t.int32}, t.float32},
                                   {{t.float64, t.int32}, t.float64}};
    return type_overloads(call, overloads);
}

/// The plain instructions of the GPU need no library function.
llvm::Intrinsic::ID instruction_for(std::string_view name) {
    if (name == "sqrt") return llvm::Intrinsic::sqrt;
    if (name == "fabs") return llvm::Intrinsic::fabs;
    if (name == "floor") return llvm::Intrinsic::floor;
    if (name == "ceil") return llvm::Intrinsic::ceil;
    if (name == "trunc") return llvm::Intrinsic::trunc;
    return llvm::Intrinsic::not_intrinsic;
}

std::string_view libdevice_name(std::string_view callable) {
    static constexpr std::pair<std::string_view, std::string_view> names[] = {
#define MATH(python, device, overloads) {"math." #python, #device},
#include "frontend/pykernel/calls/math_functions.def"
#undef MATH
    };
    for (const auto& [python, device] : names) {
        if (python == callable) return device;
    }
    return {};
}

Emitted emit_libdevice(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    if (type->bits == 16) {  // computed in float32 and rounded
        Instruction wide = call.call;
        wide.type = e.types().float32;
        CallEmission inner{e, call.callable, wide, call.resolution, call.arguments};
        return e.convert(emit_libdevice(inner), type);
    }
    llvm::SmallVector<llvm::Value*> values;
    for (const Emitted& argument : call.arguments) values.push_back(e.convert(argument, type).value());
    const std::string_view name = libdevice_name(call.callable.name);
    if (const auto id = instruction_for(name); id != llvm::Intrinsic::not_intrinsic) {
        return e.number(e.builder.CreateUnaryIntrinsic(id, values[0]), type);
    }
    return e.number(e.call(libdevice(name, type), values[0]->getType(), values), type);
}

TypeRef type_test(const CallTyping& call) {
    if (!call[0]->is_real()) call.no_match();
    return call.types().boolean;
}

Emitted emit_test(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const std::string_view name = call.callable.name;
    const bool finite = name == "math.isfinite";
    if (call[0].type->is_integral()) return e.number(e.builder.getInt1(finite), call.call.type);
    const bool narrow = call[0].type->is(TypeKind::bfloat);
    llvm::Value* x = narrow ? e.convert(call[0], e.types().float32).value() : call[0].value();
    if (name == "math.isnan") return e.number(e.builder.CreateFCmpUNO(x, x), call.call.type);
    llvm::Value* size = e.builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    llvm::Value* infinity = llvm::ConstantFP::getInfinity(x->getType());
    return e.number(
        finite ? e.builder.CreateFCmpOLT(size, infinity) : e.builder.CreateFCmpOEQ(size, infinity),
        call.call.type);
}

Emitted emit_angle(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    llvm::Value* x = e.convert(call[0], call.call.type).value();
    const double factor =
        call.callable.name == "math.degrees" ? 180.0 / std::numbers::pi : std::numbers::pi / 180.0;
    return e.number(e.builder.CreateFMul(x, llvm::ConstantFP::get(x->getType(), factor)), call.call.type);
}

TypeRef type_ldexp(const CallTyping& call) {
    if (!call[0]->is_real() || !call[1]->is_real()) call.no_match();
    return conversion(call[0], call.types().float32) <= Conversion::safe ? call.types().float32
                                                                         : call.types().float64;
}

Emitted emit_ldexp(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    llvm::Value* x = e.convert(call[0], type).value();
    return e.number(
        e.call(libdevice("ldexp", type), x->getType(), {x, e.convert(call[1], e.types().int32).value()}),
        type);
}

/// math.frexp: (mantissa, exponent: int32).
TypeRef type_frexp(const CallTyping& call) {
    if (!call[0]->is_real()) call.no_match();
    const bool single = conversion(call[0], call.types().float32) <= Conversion::safe;
    return call.types().tuple({single ? call.types().float32 : call.types().float64, call.types().int32});
}

/// math.modf: (fraction, whole), both floats.
TypeRef type_modf(const CallTyping& call) {
    const TypeRef type = call[0]->is_real() && call[0]->bits == 16 ? call.types().float64 : type_unary(call);
    return call.types().tuple({type, type});
}

/// Calls frexp or modf, which leave their second result in memory.
Emitted emit_split(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef first = call.call.type->elements[0];
    const TypeRef second = call.call.type->elements[1];
    llvm::AllocaInst* place = e.entry_alloca(e.module.value_type(second), "split");
    llvm::Value* x = e.convert(call[0], first).value();
    const std::string_view name = call.callable.name == "math.frexp" ? "frexp" : "modf";
    llvm::Value* result = e.call(libdevice(name, first), x->getType(), {x, place});
    return {call.call.type, {result, e.builder.CreateLoad(e.module.value_type(second), place)}};
}

constexpr const char* unary_parameters = "x";
constexpr const char* halves_parameters = "x";
constexpr const char* shorts_parameters = "x";
constexpr const char* binary_parameters = "x y";
constexpr const char* reals_parameters = "x y";
constexpr const char* power_parameters = "x y";

constexpr Callable rows[] = {
#define MATH(python, device, overloads) \
    {"math." #python, overloads##_parameters, type_##overloads, emit_libdevice},
#include "frontend/pykernel/calls/math_functions.def"
#undef MATH
    {"math.isnan", "x", type_test, emit_test},     {"math.isinf", "x", type_test, emit_test},
    {"math.isfinite", "x", type_test, emit_test},  {"math.degrees", "x", type_unary, emit_angle},
    {"math.radians", "x", type_unary, emit_angle}, {"math.ldexp", "x i", type_ldexp, emit_ldexp},
    {"math.frexp", "x", type_frexp, emit_split},   {"math.modf", "x", type_modf, emit_split},
};

}  // namespace

std::span<const Callable> math_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
