// CUDA's built-in vector types (CUDA Programming Guide, "Built-in Vector Types"): cuda.float32x4(x, y, z, w)
// and its kind make one. The components come one by one or in smaller vectors of the same base type, in any
// mixture that fills it.
#include "frontend/pykernel/calls/callables.h"

namespace cudasim::pykernel {
namespace {

/// The vector type that a callable makes, such as "cuda.float32x4".
TypeRef made_by(TypeTable& types, std::string_view callable) {
    const std::string_view name = callable.substr(callable.find('.') + 1);
    return types.vector(types.scalar_named(name.substr(0, name.size() - 2)),
                        static_cast<unsigned>(name.back() - '0'));
}

TypeRef type_vector(const CallTyping& call) {
    const TypeRef vector = made_by(call.types(), call.callable.name);
    std::size_t components = 0;
    for (TypeRef argument : call.arguments) {
        const bool part = argument->is(TypeKind::vector) && argument->element() == vector->element();
        if (!part && !argument->is_number()) call.no_match();
        components += part ? argument->elements.size() : 1;
    }
    if (components != vector->elements.size()) call.no_match();
    return vector;
}

Emitted emit_vector(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    Emitted vector{call.call.type, {}};
    for (const Emitted& argument : call.arguments) {
        const bool part = argument.type->is(TypeKind::vector);
        vector.parts.append(part ? argument.parts : e.convert(argument, vector.type->element()).parts);
    }
    return vector;
}

#define VECTORS(base)                                          \
    {"cuda." #base "x1", "*", type_vector, emit_vector},       \
        {"cuda." #base "x2", "*", type_vector, emit_vector},   \
        {"cuda." #base "x3", "*", type_vector, emit_vector}, { \
        "cuda." #base "x4", "*", type_vector, emit_vector      \
    }
constexpr Callable rows[] = {
    VECTORS(int8),   VECTORS(int16),  VECTORS(int32),  VECTORS(int64),   VECTORS(uint8),
    VECTORS(uint16), VECTORS(uint32), VECTORS(uint64), VECTORS(float32), VECTORS(float64),
};
#undef VECTORS

}  // namespace

std::span<const Callable> vector_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
