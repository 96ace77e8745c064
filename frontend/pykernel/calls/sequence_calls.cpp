// len, min, max, sum, tuple, isinstance, type, t.index: what asks for elements or for types.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "frontend/pykernel/calls/callables.h"
#include "frontend/pykernel/emit/accumulator.h"
#include "frontend/pykernel/emit/characters.h"
#include "frontend/pykernel/emit/dates.h"
#include "frontend/pykernel/infer/named_attributes.h"
#include "frontend/pykernel/infer/operators.h"
#include "frontend/pykernel/infer/subscripts.h"

namespace cudasim::pykernel {
namespace {

std::int64_t characters(const std::string& text) {
    return std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; });
}

TypeRef type_len(const CallTyping& call) {
    const bool array = call[0]->is(TypeKind::array) && call[0]->dimensions > 0;
    const bool sized = call[0]->is(TypeKind::tuple) || call[0]->is(TypeKind::text) ||
                       call[0]->is(TypeKind::range) || call[0]->is(TypeKind::flat) ||
                       call[0]->is(TypeKind::characters);
    if (!array && !sized) call.no_match();
    return call.types().int64;
}

Emitted emit_len(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call[0].type;
    if (type->is(TypeKind::array)) return e.number(call[0].parts[1], e.types().int64);
    if (type->is(TypeKind::characters)) return e.number(characters_length(e, call[0]), e.types().int64);
    if (type->is(TypeKind::range))
        return e.convert(e.number(e.range_length(call[0]), type->element()), e.types().int64);
    if (type->is(TypeKind::flat))
        return e.number(e.array_size({type->element(), call[0].parts}), e.types().int64);
    const auto count =
        type->is(TypeKind::text) ? characters(type->text) : static_cast<std::int64_t>(type->elements.size());
    return e.number(e.int64(count), e.types().int64);
}

/// The parameters are the iterator and what it yields.
void loop_over(const CallTyping& call, TypeRef over) {
    const TypeRef iterator = iterator_over(call.program, over, call.call.id, 0, call.call.location);
    call.resolution.parameters = {iterator, element_type(call.types(), iterator)};
}

/// `body` for every element of what loop_over() was told.
void for_each_of(CallEmission& call, const Emitted& over, const std::function<void(const Emitted&)>& body) {
    FunctionEmitter& e = call.emitter;
    const TypeRef iterator = call.resolution.parameters[0];
    e.begin_iteration(iterator, over, false);
    llvm::BasicBlock *head = e.new_block("each.head"), *inside = e.new_block("each"),
                     *end = e.new_block("each.end");
    e.builder.CreateBr(head);
    e.builder.SetInsertPoint(head);
    e.builder.CreateCondBr(e.has_next(iterator), inside, end);
    e.builder.SetInsertPoint(inside);
    body(e.take_next(iterator, call.resolution.parameters[1]));
    e.builder.CreateBr(head);
    e.builder.SetInsertPoint(end);
}

TypeRef type_iterable_extremum(const CallTyping& call) {
    const TypeRef element = element_type(call.types(), call[0]);
    if (!element) call.refuse("needs numbers, or something to loop over");
    const Operator op = call.callable.name == "max" ? Operator::greater : Operator::less;
    const TypeRef result = call.types().without_literal(element);
    call.resolution.inner.push_back(resolve_binary(call.program, call.call, op, result, result));
    loop_over(call, call[0]);
    return result;
}

/// The first of those that no other is beyond; a NaN is beyond nothing.
Emitted iterable_extremum(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    Emitted none{type, {}};
    llvm::SmallVector<llvm::Type*> parts;
    e.module.part_types(type, false, parts);
    for (llvm::Type* part : parts) none.parts.push_back(llvm::Constant::getNullValue(part));
    Accumulator best(e, none), any(e, known(e, e.types().boolean, 0));
    for_each_of(call, call[0], [&](const Emitted& element) {
        const Emitted value = e.convert(element, type), before = best.get();
        llvm::Value* first = e.builder.CreateNot(any.get().value());
        llvm::Value* better = e.builder.CreateOr(first, call.apply(0, {value, before}).value());
        Emitted chosen{type, {}};
        for (std::size_t i = 0; i < parts.size(); ++i)
            chosen.parts.push_back(e.builder.CreateSelect(better, value.parts[i], before.parts[i]));
        best.set(chosen);
        any.set(known(e, e.types().boolean, 1));
    });
    e.require(any.get().value(), "StopIteration", "");
    return best.get();
}

/// min(a, b, ...), min(tuple) and min(iterable).
TypeRef type_extremum(const CallTyping& call) {
    if (call.size() == 1 && !call[0]->is(TypeKind::tuple)) return type_iterable_extremum(call);
    const bool one_tuple = call.size() == 1 && call[0]->is(TypeKind::tuple);
    const std::vector<TypeRef> numbers = one_tuple ? call[0]->elements : call.arguments;
    if (numbers.empty()) call.refuse("needs at least one number");
    if (numbers[0]->is_date()) {
        if (std::ranges::any_of(numbers, [&](TypeRef type) { return type != numbers[0]; })) call.no_match();
        return numbers[0];
    }
    TypeRef result = nullptr;
    for (TypeRef number : numbers) {
        if (!number->is_real()) call.no_match();
        if (number->is(TypeKind::bfloat) != numbers[0]->is(TypeKind::bfloat)) call.no_match();
        result = result ? call.program.promotion.unify(result, number) : number;
    }
    result = call.types().without_literal(result);
    call.apply(call.callable.name == "max" ? Operator::greater : Operator::less, result, result);
    return result;
}

/// The first of two floats unless the second compares as better, as in Python: a NaN stays and does not come.
llvm::Value* compared_extremum(CallEmission& call, llvm::Value* a, llvm::Value* b, TypeRef type) {
    const Emitted first{type, {a}}, second{type, {b}};
    llvm::Value* better = call.apply(0, {second, first}).value();
    return call.emitter.builder.CreateSelect(better, b, a);
}

/// A NaN loses against a number, as in PTX's min and max (V2); of bfloat16, which Numba compares, as in
/// Python.
llvm::Value* extremum(CallEmission& call, llvm::Value* a, llvm::Value* b, TypeRef type, bool want_max) {
    FunctionEmitter& e = call.emitter;
    if (type->is(TypeKind::bfloat)) return compared_extremum(call, a, b, type);
    if (type == e.types().float16) {
        auto wide = [&](llvm::Value* x) { return e.convert(e.number(x, type), e.types().float32).value(); };
        llvm::Value* chosen = extremum(call, wide(a), wide(b), e.types().float32, want_max);
        return e.convert(e.number(chosen, e.types().float32), type).value();
    }
    if (type->is(TypeKind::floating)) {
        const std::string name =
            std::string(want_max ? "__nv_fmax" : "__nv_fmin") + (type->bits == 32 ? "f" : "");
        return e.call(name, a->getType(), {a, b});
    }
    const bool is_signed = type->is(TypeKind::integer) && type->is_signed;
    llvm::Value* first = want_max
                             ? (is_signed ? e.builder.CreateICmpSGT(a, b) : e.builder.CreateICmpUGT(a, b))
                             : (is_signed ? e.builder.CreateICmpSLT(a, b) : e.builder.CreateICmpULT(a, b));
    return e.builder.CreateSelect(first, a, b);
}

Emitted emit_extremum(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    const bool want_max = call.callable.name == "max";
    if (call.arguments.size() == 1 && !call[0].type->is(TypeKind::tuple)) return iterable_extremum(call);
    const bool one_tuple = call[0].type->is(TypeKind::tuple);
    const std::size_t count = one_tuple ? call[0].type->elements.size() : call.arguments.size();
    auto number = [&](std::size_t i) {
        return e.convert(one_tuple ? e.element_of(call[0], i) : call[i], type).value();
    };
    llvm::Value* result = number(0);
    if (type->is_date()) {
        for (std::size_t i = 1; i < count; ++i)
            result = date_extremum(e, {type, {result}}, {type, {number(i)}}, want_max).value();
        return {type, {result}};
    }
    // Numba has PTX's min and max for two floats and compares a float with an integer (so does an H100: NaN,
    // 0 and -0.0, seen on 23 November 2026).
    const auto is_float = [&](std::size_t i) {
        return (one_tuple ? call[0].type->elements[i] : call[i].type)->is(TypeKind::floating);
    };
    bool found_float = is_float(0);
    for (std::size_t i = 1; i < count; ++i) {
        const bool mixed = type->is(TypeKind::floating) && found_float != is_float(i);
        result = mixed ? compared_extremum(call, result, number(i), type)
                       : extremum(call, result, number(i), type, want_max);
        found_float |= is_float(i);
    }
    return e.number(result, type);
}

/// sum(iterable, start): the additions one after another, from start (0). A loop's total has one type.
TypeRef type_sum(const CallTyping& call) {
    const TypeRef over = call[0];
    const bool loop = over->is(TypeKind::array) || over->is(TypeKind::range);
    if (!loop && !over->is(TypeKind::tuple)) call.no_match();
    TypeRef total = call[1] ? call.types().without_literal(call[1]) : call.types().int64;
    const std::vector<TypeRef> elements =
        loop ? std::vector<TypeRef>{2, element_type(call.types(), over)} : over->elements;
    for (TypeRef element : elements) {
        const Signature* signature =
            element ? call.program.promotion.binary(Operator::add, total, element) : nullptr;
        if (!signature) call.no_match();
        if (!loop) call.apply(Operator::add, total, element);
        total = loop ? call.program.promotion.unify(total, signature->result) : signature->result;
    }
    if (loop) {
        loop_over(call, over);
        call.apply(Operator::add, total, elements[0]);
    }
    return total;
}

Emitted emit_sum(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    Emitted total = call.has(1) ? call[1] : e.number(e.int64(0), e.types().int64);
    if (!call[0].type->is(TypeKind::tuple)) {
        Accumulator sum(e, e.convert(total, call.call.type));
        for_each_of(call, call[0],
                    [&](const Emitted& element) { sum.set(call.apply(0, {sum.get(), element})); });
        return sum.get();
    }
    for (std::size_t i = 0; i < call[0].type->elements.size(); ++i) {
        total = call.apply(i, {total, e.element_of(call[0], i)});
    }
    return total;
}

/// t.index(value), of a tuple of one type.
TypeRef type_index(const CallTyping& call) {
    const TypeRef element = element_type(call.types(), call[0]);
    const bool defined = element && element->is_scalar() && call[1]->is_scalar();
    if (!defined) call.no_match();
    for (TypeRef one : call[0]->elements)
        if (!call.apply(Operator::equal, one, call[1])) call.no_match();
    return call.types().int64;
}

Emitted emit_index(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    llvm::Value* position = e.int64(-1);
    for (std::size_t i = call[0].type->elements.size(); i-- > 0;) {
        llvm::Value* here = call.apply(i, {e.element_of(call[0], i), call[1]}).value();
        position = e.builder.CreateSelect(here, e.int64(static_cast<std::int64_t>(i)), position);
    }
    e.require(e.builder.CreateICmpSGE(position, e.int64(0)), "ValueError", "tuple.index(x): x not in tuple");
    return e.number(position, call.call.type);
}

/// ord("a"): of a string that is known while compiling.
TypeRef type_ord(const CallTyping& call) {
    if (!call[0]->is(TypeKind::text) || characters(call[0]->text) != 1) call.no_match();
    return call.types().int64;
}

Emitted emit_ord(CallEmission& call) {
    const std::string bytes = call[0].type->text;
    const auto first = static_cast<unsigned char>(bytes[0]);
    std::int64_t point = first < 0x80 ? first : first & (0xFF >> (bytes.size() + 1));
    for (std::size_t i = 1; i < bytes.size(); ++i)
        point = point << 6 | (static_cast<unsigned char>(bytes[i]) & 0x3F);
    return call.emitter.number(call.emitter.int64(point), call.call.type);
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
    if (name == "complex") return value == call.types().complex128;
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

TypeRef type_hasattr(const CallTyping& call) {
    if (!call[1]->is(TypeKind::text)) call.no_match("RequireLiteralValue: the name must be a literal string");
    const bool found = has_attribute(call.program, call[0], call[1]->text, call.call.location);
    return call.types().literal(call.types().boolean, found);
}

/// Of a value without the attribute (infer/named_attributes.h).
TypeRef type_getattr(const CallTyping& call) {
    return call[2];
}

Emitted emit_getattr(CallEmission& call) {
    return call[2];
}

TypeRef type_type(const CallTyping& call) {
    if (!call[0]->is_numeric()) call.no_match();
    return call.types().data_type(call.types().without_literal(call[0]));
}

Emitted emit_type(CallEmission& call) {
    return {call.call.type, {}};
}

constexpr Callable rows[] = {
    {"len", "obj", type_len, emit_len},
    {"min", "*", type_extremum, emit_extremum},
    {"max", "*", type_extremum, emit_extremum},
    {"tuple.index", "self value", type_index, emit_index},
    {"sum", "iterable start=", type_sum, emit_sum},
    {"ord", "c", type_ord, emit_ord},
    {"tuple", "iterable=", type_tuple, emit_tuple},
    {"isinstance", "obj class_or_tuple", type_isinstance, emit_isinstance},
    {"hasattr", "object name", type_hasattr, emit_isinstance},
    {"getattr", "object name default", type_getattr, emit_getattr},
    {"type", "object", type_type, emit_type},
};

}  // namespace

std::span<const Callable> sequence_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
