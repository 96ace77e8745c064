#include "frontend/pykernel/infer/operators.h"

#include <algorithm>
#include <array>
#include <iterator>

#include "frontend/pykernel/infer/added_operations.h"

namespace cudasim::pykernel {
const char* function_name(Operator op) {
    static constexpr const char* names[] = {
        "add",  "sub", "mul",    "truediv",  "floordiv", "mod", "pow", "lshift", "rshift",
        "and_", "or_", "xor",    "matmul",   "eq",       "ne",  "lt",  "le",     "gt",
        "ge",   "is_", "is_not", "contains", "contains", "neg", "pos", "invert", "not_"};
    static_assert(std::size(names) == static_cast<std::size_t>(Operator::logical_not) + 1);
    return names[static_cast<std::size_t>(op)];
}

Resolution by_rule(Program& program, const Instruction& at, const Rule& rule,
                   std::initializer_list<TypeRef> operands, Operator op) {
    Resolution found{.rule = &rule, .op = op};
    CallTyping typing{program, rule, at, found, operands};
    if (!rule.takes_optional)
        for (TypeRef& operand : typing.arguments) operand = operand->present();
    found.result = rule.type(typing);
    return found;
}

/// What a rule has written that is not for the operands.
static void forget(Resolution& found) {
    found.rule = nullptr;
    found.op = Operator::add;
    found.parameters.clear();
    found.inner.clear();
    found.positions.clear();
    found.field = nullptr;
    found.global = nullptr;
    found.sources.clear();
    found.function = nullptr;
}

Resolution by_first_rule(Program& program, const Instruction& at, std::span<const Rule* const> rules,
                         std::initializer_list<TypeRef> operands, Operator op) {
    std::vector<TypeRef> present = operands, raw;
    for (TypeRef& operand : present) operand = operand->present();
    const bool is_optional = !std::ranges::equal(present, operands);
    if (is_optional) raw = operands;
    Resolution found;
    for (const Rule* rule : rules) {
        found.rule = rule;
        found.op = op;
        std::vector<TypeRef>& given = is_optional && rule->takes_optional ? raw : present;
        CallTyping typing{program, *rule, at, found, std::move(given)};
        found.result = rule->type(typing);
        if (found.result) break;
        given = std::move(typing.arguments);
        forget(found);
    }
    return found;
}

/// An operator on numbers, for an operand of a type that a program has added and that converts to what the
/// operator takes (lower_cast).
static Resolution by_conversion(Program& program, const Instruction& at, Operator op, TypeRef left,
                                TypeRef right) {
    const bool swapped = right->is(TypeKind::added);
    const TypeRef own = swapped ? right : left, other = program.types.without_literal(swapped ? left : right);
    const TypeTable& types = program.types;
    for (TypeRef number : {other, types.float64, types.int64, types.complex128}) {
        const bool as_number =
            number->is_numeric() && other->is_numeric() && program.ask_for_cast(own, number, at.location);
        if (!as_number) continue;
        const TypeRef first = swapped ? left : number, second = swapped ? number : right;
        Resolution found = by_first_rule(program, at, binary_rules(), {first, second}, op);
        if (!found.result) continue;
        // It is converted at once to what the operator computes with.
        const TypeRef computed = is_comparison(op) ? found.parameters[0] : found.result;
        if (program.ask_for_cast(own, computed, at.location)) return found;
    }
    return {};
}

Resolution find_binary(Program& program, const Instruction& at, Operator op, TypeRef left, TypeRef right) {
    Resolution found = by_first_rule(program, at, binary_rules(), {left, right}, op);
    if (found.result) return found;
    const bool converts = left->is(TypeKind::added) != right->is(TypeKind::added) && op != Operator::power;
    try {
        if (auto added = added_operator(program, op, std::array{left, right}, at.location))
            return std::move(*added);
    } catch (const SourceError& refused) {
        if (converts && refused.error_class == ErrorClass::typing)
            found = by_conversion(program, at, op, left, right);
        if (!found.result) throw;
        return found;
    }
    return converts ? by_conversion(program, at, op, left, right) : Resolution{};
}

Resolution resolve_binary(Program& program, const Instruction& at, Operator op, TypeRef left, TypeRef right) {
    Resolution found = find_binary(program, at, op, left, right);
    if (found.result) return found;
    TypeTable& types = program.types;
    const bool text = left->is(TypeKind::text) && right->is(TypeKind::text);
    const std::string name = function_name(op);
    refuse_no_implementation("<built-in function " + name + ">", name,
                             {types.without_literal(left)->name, types.without_literal(right)->name},
                             at.location, std::string("the operator ") + spelling(op),
                             text ? Standing::not_yet : Standing::not_gpu_code);
}

Resolution resolve_unary(Program& program, const Instruction& at, Operator op, TypeRef operand) {
    Resolution found = by_first_rule(program, at, unary_rules(), {operand}, op);
    if (found.result) return found;
    if (auto added = added_operator(program, op, {&operand, 1}, at.location)) return std::move(*added);
    const std::string name = function_name(op);
    refuse_no_implementation("<built-in function " + name + ">", name, {operand->name}, at.location,
                             std::string("the operator ") + spelling(op));
}

TypeRef CallTyping::apply(Operator op, TypeRef left, TypeRef right) const {
    Resolution found = find_binary(program, call, op, left, right);
    const TypeRef result = found.result;
    if (result) resolution.inner.push_back(std::move(found));
    return result;
}

void check_castable(TypeRef from, TypeRef target, Location place) {
    const bool loses_a_part =
        from->is(TypeKind::complex) && target->is_real() && !target->is(TypeKind::boolean);
    const bool no_way = (from->is(TypeKind::bfloat) || target->is(TypeKind::bfloat)) &&
                        !from->is(TypeKind::boolean) && !target->is(TypeKind::boolean) &&
                        !can_cast(from, target);
    if (!loses_a_part && !no_way) return;
    throw SourceError(ErrorClass::not_implemented,
                      "Cannot cast " + from->name + " to " + target->name +
                          (loses_a_part ? ": take its .real or its abs()" : ": convert it to float32 first"),
                      place);
}

void check_condition(TypeRef type, Location place) {
    const TypeRef value = type->present();
    if (value->is(TypeKind::bfloat))  // a fact about Numba
        throw SourceError(ErrorClass::not_implemented,
                          "No definition for lowering <class 'bool'>(" + value->name +
                              ",) -> bool: compare it with a number",
                          place);
    if (value->is(TypeKind::characters) || value->is(TypeKind::text)) return;
    if (value->is_numeric() || value->is(TypeKind::none) || value->is(TypeKind::tuple)) return;
    refuse_typing("a value of type " + type->name + " cannot be a condition", place);
}

}  // namespace cudasim::pykernel
