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
                         const std::vector<TypeRef>& operands, Operator op) {
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

/// An operator by the rules for these types, or what a program has said of it, or on numbers that operands
/// of added types convert to.
static Resolution find_operator(Program& program, const Instruction& at, Operator op,
                                std::span<const Rule* const> rules, std::vector<TypeRef> operands) {
    const auto by_rules = [&](const std::vector<TypeRef>& given) {
        return by_first_rule(program, at, rules, given, op);
    };
    Resolution found = by_rules(operands);
    if (found.result) return found;
    const bool converts = op != Operator::is && op != Operator::is_not;
    try {
        if (auto added = added_operator(program, op, operands, at.location)) return std::move(*added);
    } catch (const SourceError& refused) {
        if (converts && refused.error_class == ErrorClass::typing)
            found = by_conversion(program, at.location, operands, by_rules);
        if (!found.result) throw;
        return found;
    }
    return converts ? by_conversion(program, at.location, operands, by_rules) : Resolution{};
}

Resolution find_binary(Program& program, const Instruction& at, Operator op, TypeRef left, TypeRef right) {
    return find_operator(program, at, op, binary_rules(), {left, right});
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
    Resolution found = find_operator(program, at, op, unary_rules(), {operand});
    if (found.result) return found;
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
