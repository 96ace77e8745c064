// Operators on None, strings, types, characters, dates and members of enumerations. What is known while
// compiling has a literal bool as its type, so that branches on it are decided by type (inference.cpp).
#include <algorithm>

#include "frontend/pykernel/emit/characters.h"
#include "frontend/pykernel/emit/dates.h"
#include "frontend/pykernel/operations/rules.h"
#include "frontend/pykernel/types/character_types.h"
#include "frontend/pykernel/types/date_types.h"

namespace cudasim::pykernel {
namespace {

bool is_equality(Operator op) {
    return op == Operator::equal || op == Operator::not_equal;
}
bool is_identity(Operator op) {
    return op == Operator::is || op == Operator::is_not;
}
/// == and `is`.
bool holds_for_equals(Operator op) {
    return op == Operator::equal || op == Operator::is;
}

bool with_none(const CallTyping& operation) {
    const Operator op = operation.resolution.op;
    return (is_equality(op) || is_identity(op)) &&
           (operation[0]->is(TypeKind::none) || operation[1]->is(TypeKind::none));
}

TypeRef type_none(const CallTyping& operation) {
    const TypeRef left = operation[0], right = operation[1];
    if (!with_none(operation) || left->is(TypeKind::optional) || right->is(TypeKind::optional))
        return nullptr;
    const bool both = left->is(TypeKind::none) && right->is(TypeKind::none);
    return operation.types().literal(operation.types().boolean,
                                     both == holds_for_equals(operation.resolution.op));
}

TypeRef type_optional(const CallTyping& operation) {
    return with_none(operation) ? operation.types().boolean : nullptr;
}

Emitted emit_optional(CallEmission& operation) {
    FunctionEmitter& e = operation.emitter;
    const Emitted& optional = operation[operation[0].type->is(TypeKind::none) ? 1 : 0];
    llvm::Value* there = optional.value();
    const bool positive = holds_for_equals(operation.resolution.op);
    return e.number(positive ? e.builder.CreateNot(there) : there, e.types().boolean);
}

TypeRef type_characters(const CallTyping& operation) {
    const TypeRef type =
        characters_operation(operation.types(), operation.resolution.op, operation[0], operation[1]);
    return type && !type->literal ? type : nullptr;
}

Emitted emit_characters(CallEmission& operation) {
    return emit_characters_operation(operation.emitter, operation.resolution.op, operation[0], operation[1]);
}

/// Bytes and strings are never equal.
TypeRef type_unequal_characters(const CallTyping& operation) {
    return characters_operation(operation.types(), operation.resolution.op, operation[0]->present(),
                                operation[1]->present());
}

TypeRef type_names(const CallTyping& operation) {
    const TypeRef left = operation[0], right = operation[1];
    const bool texts = left->is(TypeKind::text) || right->is(TypeKind::text);
    const bool data_types = left->is(TypeKind::data_type) && right->is(TypeKind::data_type);
    const Operator op = operation.resolution.op;
    if (!is_equality(op) || (!texts && !data_types)) return nullptr;
    return operation.types().literal(operation.types().boolean, (left == right) == (op == Operator::equal));
}

/// "ab" * 2, of a reasonable length.
TypeRef repeated_text(TypeTable& types, TypeRef text, TypeRef count) {
    const bool sensible = count->is(TypeKind::integer) && count->literal && *count->literal < 10000;
    if (!sensible) return nullptr;
    std::string result;
    for (std::int64_t i = 0; i < *count->literal; ++i) result += text->text;
    return types.text(result);
}

/// Comparison is by code points, which UTF-8 keeps.
TypeRef type_texts(const CallTyping& operation) {
    TypeTable& types = operation.types();
    const TypeRef left = operation[0], right = operation[1];
    const Operator op = operation.resolution.op;
    if (op == Operator::multiply && left->is(TypeKind::text) != right->is(TypeKind::text))
        return left->is(TypeKind::text) ? repeated_text(types, left, right)
                                        : repeated_text(types, right, left);
    if (!left->is(TypeKind::text) || !right->is(TypeKind::text)) return nullptr;
    const std::string &a = left->text, &b = right->text;
    auto known = [&](bool value) { return types.literal(types.boolean, value); };
    switch (op) {
        case Operator::add:
            return types.text(a + b);
        case Operator::less:
            return known(a < b);
        case Operator::less_equal:
            return known(a <= b);
        case Operator::greater:
            return known(a > b);
        case Operator::greater_equal:
            return known(a >= b);
        case Operator::in:
        case Operator::not_in:
            return known((b.find(a) != std::string::npos) == (op == Operator::in));
        default:
            return nullptr;
    }
}

TypeRef type_dates(const CallTyping& operation) {
    if (!operation[0]->is_date() && !operation[1]->is_date()) return nullptr;
    return date_operation_type(operation.types(), operation.resolution.op, operation[0], operation[1]);
}

Emitted emit_dates(CallEmission& operation) {
    return emit_date_operation(operation.emitter, operation.resolution.op, operation[0], operation[1],
                               operation.resolution.result);
}

TypeRef type_signed_duration(const CallTyping& operation) {
    const Operator op = operation.resolution.op;
    const bool sign = op == Operator::negate || op == Operator::plus;
    return sign && operation[0]->is(TypeKind::timedelta64) ? operation[0] : nullptr;
}

Emitted emit_signed_duration(CallEmission& operation) {
    if (operation.resolution.op == Operator::plus) return operation[0];
    return negated_duration(operation.emitter, operation[0]);
}

bool members(const CallTyping& operation) {
    return operation[0]->is(TypeKind::member) && operation[1]->is(TypeKind::member);
}

/// Members whose values are strings are known while compiling.
TypeRef type_text_members(const CallTyping& operation) {
    const TypeRef left = operation[0]->present(), right = operation[1]->present();
    const Operator op = operation.resolution.op;
    const bool texts = left->is(TypeKind::member) && right->is(TypeKind::member) &&
                       left->name == right->name && left->element()->is(TypeKind::text);
    if (!texts || (!is_equality(op) && !is_identity(op))) return nullptr;
    return operation.types().literal(operation.types().boolean, (left == right) == holds_for_equals(op));
}

/// Members of one enumeration are equal where their values are.
TypeRef type_members(const CallTyping& operation) {
    const Operator op = operation.resolution.op;
    if (!members(operation) || operation[0] != operation[1] || (!is_equality(op) && !is_identity(op)))
        return nullptr;
    const TypeRef value = operation[0]->element();
    return operation.apply(holds_for_equals(op) ? Operator::equal : Operator::not_equal, value, value)
               ? operation.types().boolean
               : nullptr;
}

Emitted emit_members(CallEmission& operation) {
    auto value = [&](std::size_t i) -> Emitted { return {operation[i].type->element(), operation[i].parts}; };
    return operation.apply(0, {value(0), value(1)});
}

constexpr Rule rows[] = {
    {"None", "left right", type_none, emit_known, true},
    {"an optional value and None", "left right", type_optional, emit_optional, true},
    {"characters", "left right", type_characters, emit_characters},
    {"characters of two sizes", "left right", type_unequal_characters, emit_known, true},
    {"names", "left right", type_names, emit_known, true},
    {"strings", "left right", type_texts, emit_known, true},
    {"dates", "left right", type_dates, emit_dates},
    {"members with strings", "left right", type_text_members, emit_known, true},
    {"members", "left right", type_members, emit_members},
    {"the sign of a duration", "operand", type_signed_duration, emit_signed_duration},
};

}  // namespace

std::span<const Rule> other_operators() {
    return rows;
}

bool comparable(Program& program, Operator op, TypeRef left, TypeRef right) {
    if (left->is(TypeKind::tuple) && right->is(TypeKind::tuple)) {
        const std::size_t shared = std::min(left->elements.size(), right->elements.size());
        for (std::size_t i = 0; i < shared; ++i) {
            if (!comparable(program, op, left->elements[i], right->elements[i])) return false;
        }
        return true;
    }
    if (left->is_date() || right->is_date())
        return date_operation_type(program.types, op, left, right) != nullptr;
    if (left->is(TypeKind::added) || right->is(TypeKind::added))
        return program.operation(std::string("operator.") + function_name(op)).has_value();
    if (characters_operation(program.types, op, left, right)) return true;
    if (left->is(TypeKind::member) && left == right) return is_equality(op) || is_identity(op);
    return program.promotion.binary(op, left->present(), right->present()) != nullptr;
}

}  // namespace cudasim::pykernel
