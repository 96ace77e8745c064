// len, sum, tuple, isinstance, type: what asks for elements or for types.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "frontend/pykernel/callables.h"

namespace cudasim::pykernel {
namespace {

std::int64_t characters(const std::string& text) {
    return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

TypeRef type_len(const CallTyping& call) {
    const bool array = call[0]->is(TypeKind::array) && call[0]->dimensions > 0;
    const bool sized = call[0]->is(TypeKind::tuple) || call[0]->is(TypeKind::text) ||
                       call[0]->is(TypeKind::range) || call[0]->is(TypeKind::flat);
    if (!array && !sized) call.no_match();
    return call.types().int64;
}

Emitted emit_len(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call[0].type;
    if (type->is(TypeKind::array)) return e.number(call[0].parts[1], e.types().int64);
    if (type->is(TypeKind::range))
        return e.convert(e.number(e.range_length(call[0]), type->element()), e.types().int64);
    if (type->is(TypeKind::flat))
        return e.number(e.array_size({type->element(), call[0].parts}), e.types().int64);
    const auto count = type->is(TypeKind::text) ? characters(type->text())
                                                : static_cast<std::int64_t>(type->elements.size());
    return e.number(e.int64(count), e.types().int64);
}

/// sum(tuple, start): the additions one after another, from start (0).
TypeRef type_sum(const CallTyping& call) {
    if (!call[0]->is(TypeKind::tuple)) call.no_match();
    TypeRef total = call[1] ? call[1] : call.types().int64;
    for (TypeRef element : call[0]->elements) {
        const Signature* signature = call.program.promotion.binary(Operator::add, total, element);
        if (!signature) call.no_match();
        total = signature->result;
    }
    return total;
}

Emitted emit_sum(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    Emitted total = call.has(1) ? call[1] : e.number(e.int64(0), e.types().int64);
    for (std::size_t i = 0; i < call[0].type->elements.size(); ++i) {
        total = e.binary(Operator::add, total, e.element_of(call[0], i));
    }
    return total;
}

TypeRef type_tuple(const CallTyping& call) {
    if (!call[0]) return call.types().tuple({});
    if (!call[0]->is(TypeKind::tuple)) call.no_match();
    return call[0];
}

Emitted emit_tuple(CallEmission& call) {
    return call.has(0) ? call[0] : Emitted{call.call.type, {}};
}

bool is_instance(const CallTyping& call, TypeRef value, TypeRef wanted) {
    if (wanted->is(TypeKind::tuple)) {
        return std::ranges::any_of(wanted->elements,
                                   [&](TypeRef one) { return is_instance(call, value, one); });
    }
    value = call.types().without_literal(value);
    if (wanted->is(TypeKind::data_type)) return value == wanted->element();
    const bool known = wanted->is(TypeKind::object) && wanted->global->kind == GlobalKind::intrinsic;
    const std::string_view name = known ? std::string_view(wanted->global->text) : std::string_view();
    if (name == "int") return value == call.types().int64;  // as in Numba: no other width is an int
    if (name == "float") return value == call.types().float64;
    if (name == "bool") return value->is(TypeKind::boolean);
    if (name == "tuple") return value->is(TypeKind::tuple);
    if (name == "str") return value->is(TypeKind::text);
    call.refuse("the second argument must be a type that kernels know, or a tuple of them");
}

TypeRef type_isinstance(const CallTyping& call) {
    return call.types().literal(call.types().boolean, is_instance(call, call[0], call[1]));
}

Emitted emit_isinstance(CallEmission& call) {
    return call.emitter.number(call.emitter.builder.getInt1(*call.call.type->literal != 0), call.call.type);
}

TypeRef type_type(const CallTyping& call) {
    if (!call[0]->is_number()) call.no_match();
    return call.types().data_type(call.types().without_literal(call[0]));
}

Emitted emit_type(CallEmission& call) {
    return {call.call.type, {}};
}

constexpr Callable rows[] = {
    {"len", "obj", type_len, emit_len},
    {"sum", "iterable start=", type_sum, emit_sum},
    {"tuple", "iterable=", type_tuple, emit_tuple},
    {"isinstance", "obj class_or_tuple", type_isinstance, emit_isinstance},
    {"type", "object", type_type, emit_type},
};

}  // namespace

std::span<const Callable> sequence_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
