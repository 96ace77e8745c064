// Python's math module, by way of libdevice (V1: float32 in, float32 out; integers compute in float64).
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <numbers>

#include "frontend/pykernel/callables.h"

namespace cudasim::pykernel {
namespace {

std::string libdevice(std::string_view name, TypeRef type) {
    return "__nv_" + std::string(name) + (type->bits == 32 ? "f" : "");
}

/// The float type in which a math function computes.
TypeRef type_real(const CallTyping& call) {
    bool single = true;
    for (TypeRef argument : call.arguments) {
        if (!argument->is_number()) call.no_match();
        single &= argument == call.types().float32;
    }
    return single ? call.types().float32 : call.types().float64;
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
#define MATH(python, device, arguments) {"math." #python, #device},
#include "frontend/pykernel/math_functions.def"
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
    llvm::SmallVector<llvm::Value*> values;
    for (const Emitted& argument : call.arguments) values.push_back(e.convert(argument, type).value());
    const std::string_view name = libdevice_name(call.callable.name);
    if (const auto id = instruction_for(name); id != llvm::Intrinsic::not_intrinsic) {
        return e.number(e.builder.CreateUnaryIntrinsic(id, values[0]), type);
    }
    return e.number(e.call(libdevice(name, type), values[0]->getType(), values), type);
}

TypeRef type_test(const CallTyping& call) {
    if (!call[0]->is_number()) call.no_match();
    return call.types().boolean;
}

Emitted emit_test(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const std::string_view name = call.callable.name;
    const bool finite = name == "math.isfinite";
    if (!call[0].type->is(TypeKind::floating)) return e.number(e.builder.getInt1(finite), call.call.type);
    llvm::Value* x = call[0].value();
    if (name == "math.isnan") return e.number(e.builder.CreateFCmpUNO(x, x), call.call.type);
    llvm::Value* size = e.builder.CreateUnaryIntrinsic(llvm::Intrinsic::fabs, x);
    llvm::Value* infinity = llvm::ConstantFP::getInfinity(x->getType());
    return e.number(finite ? e.builder.CreateFCmpOLT(size, infinity) : e.builder.CreateFCmpOEQ(size, infinity), call.call.type);
}

Emitted emit_angle(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    llvm::Value* x = e.convert(call[0], call.call.type).value();
    const double factor = call.callable.name == "math.degrees" ? 180.0 / std::numbers::pi : std::numbers::pi / 180.0;
    return e.number(e.builder.CreateFMul(x, llvm::ConstantFP::get(x->getType(), factor)), call.call.type);
}

TypeRef type_ldexp(const CallTyping& call) {
    if (!call[0]->is_number() || !call[1]->is_integral()) call.no_match();
    return call[0] == call.types().float32 ? call.types().float32 : call.types().float64;
}

Emitted emit_ldexp(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    llvm::Value* x = e.convert(call[0], type).value();
    return e.number(e.call(libdevice("ldexp", type), x->getType(), {x, e.convert(call[1], e.types().int32).value()}), type);
}

/// math.frexp: (mantissa, exponent: int32).
TypeRef type_frexp(const CallTyping& call) {
    if (!call[0]->is_number()) call.no_match();
    const bool single = conversion(call[0], call.types().float32) <= Conversion::safe;
    return call.types().tuple({single ? call.types().float32 : call.types().float64, call.types().int32});
}

/// math.modf: (fraction, whole), both floats.
TypeRef type_modf(const CallTyping& call) {
    const TypeRef type = type_real(call);
    return call.types().tuple({type, type});
}

/// Both leave their second result in memory.
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

constexpr const char* parameter_names[] = {"", "x", "x y"};

constexpr Callable rows[] = {
#define MATH(python, device, arguments) {"math." #python, parameter_names[arguments], type_real, emit_libdevice},
#include "frontend/pykernel/math_functions.def"
#undef MATH
    {"math.isnan", "x", type_test, emit_test},
    {"math.isinf", "x", type_test, emit_test},
    {"math.isfinite", "x", type_test, emit_test},
    {"math.degrees", "x", type_real, emit_angle},
    {"math.radians", "x", type_real, emit_angle},
    {"math.ldexp", "x i", type_ldexp, emit_ldexp},
    {"math.frexp", "x", type_frexp, emit_split},
    {"math.modf", "x", type_modf, emit_split},
};

}  // namespace

std::span<const Callable> math_callables() { return rows; }

}  // namespace cudasim::pykernel
