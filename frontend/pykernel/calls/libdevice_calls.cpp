// cuda.libdevice.*: one overload each, as on Numba's CUDA target; a number converts to what the parameter is.
// What a function leaves in memory becomes part of its result: sincos(x) gives a tuple.
#include <algorithm>

#include "frontend/pykernel/calls/callables.h"
#include "simulator/libdevice/signatures.h"

namespace cudasim::pykernel {
namespace {

using libdevice::Parameter;
using libdevice::ValueKind;

const libdevice::Signature& signature_of(const Callable& callable);

TypeRef type_of(const TypeTable& types, ValueKind kind) {
    switch (kind) {
        case ValueKind::none:
            return types.none;
        case ValueKind::int16:
            return types.int16;
        case ValueKind::int32:
            return types.int32;
        case ValueKind::int64:
            return types.int64;
        case ValueKind::float32:
            return types.float32;
        case ValueKind::float64:
            return types.float64;
    }
    return nullptr;
}

TypeRef type_call(const CallTyping& call) {
    const libdevice::Signature& function = signature_of(call.callable);
    const auto wanted =
        std::ranges::count_if(function.parameters, [](const Parameter& p) { return !p.is_result; });
    const bool numbers = std::ranges::all_of(call.arguments, [](TypeRef type) { return type->is_real(); });
    if (static_cast<std::size_t>(wanted) != call.size() || !numbers) call.no_match();
    std::vector<TypeRef> results;
    if (function.result != ValueKind::none) results.push_back(type_of(call.types(), function.result));
    for (const Parameter& parameter : function.parameters) {
        if (parameter.is_result) results.push_back(type_of(call.types(), parameter.kind));
    }
    return results.size() == 1 ? results.front() : call.types().tuple(results);
}

Emitted emit_call(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const libdevice::Signature& function = signature_of(call.callable);
    llvm::SmallVector<llvm::Value*> arguments;
    llvm::SmallVector<std::pair<llvm::AllocaInst*, TypeRef>> places;
    std::size_t next = 0;
    for (const Parameter& parameter : function.parameters) {
        const TypeRef type = type_of(e.types(), parameter.kind);
        if (parameter.is_result) {
            places.emplace_back(e.entry_alloca(e.module.value_type(type), "libdevice.result"), type);
            arguments.push_back(places.back().first);
        } else {
            arguments.push_back(e.convert(call[next++], type).value());
        }
    }
    const bool is_void = function.result == ValueKind::none;
    llvm::Type* result =
        is_void ? e.builder.getVoidTy() : e.module.value_type(type_of(e.types(), function.result));
    llvm::Value* value = e.call("__nv_" + std::string(function.name), result, arguments);
    Emitted emitted{call.call.type, {}};
    if (!is_void) emitted.parts.push_back(value);
    for (const auto& [place, type] : places)
        emitted.parts.push_back(e.builder.CreateLoad(e.module.value_type(type), place));
    return emitted;
}

constexpr Callable rows[] = {
#define LIBDEVICE(name, type, function, lowering) {"cuda.libdevice." #name, "*", type_call, emit_call},
#include "simulator/libdevice/functions.def"
#undef LIBDEVICE
};

const libdevice::Signature& signature_of(const Callable& callable) {
    return libdevice::signatures()[static_cast<std::size_t>(&callable -
                                                            rows)];  // both are in the table's order
}

}  // namespace

std::span<const Callable> libdevice_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
