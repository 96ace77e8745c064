// See operators.h. What is known while compiling has a literal bool as its type, so that branches on it are
// decided by type (inference.cpp).
#include "frontend/pykernel/infer/operators.h"

#include <algorithm>
#include <iterator>

#include "frontend/pykernel/types/character_types.h"
#include "frontend/pykernel/types/date_types.h"

namespace cudasim::pykernel {
namespace {

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
    if (characters_operation(program.types, op, left, right)) return true;
    if (left->is(TypeKind::member) && left == right)
        return op == Operator::equal || op == Operator::not_equal || op == Operator::is ||
               op == Operator::is_not;
    return program.promotion.binary(op, left->present(), right->present()) != nullptr;
}

bool is_equality(Operator op) {
    return op == Operator::equal || op == Operator::not_equal;
}

/// `x is None`, `x == None`: known from the type, except for optional values. Null: neither is None.
TypeRef comparison_with_none(TypeTable& types, Operator op, TypeRef left, TypeRef right) {
    const bool positive = op == Operator::is || op == Operator::equal;
    if (!positive && op != Operator::is_not && op != Operator::not_equal) return nullptr;
    const bool left_none = left->is(TypeKind::none), right_none = right->is(TypeKind::none);
    if (!left_none && !right_none) return nullptr;
    const TypeRef other = left_none ? right : left;
    if (other->is(TypeKind::optional)) return types.boolean;
    return types.literal(types.boolean, (left_none && right_none) == positive);
}

/// `x in (1, 2)`, of elements of one type (of strings it is known while compiling), `x in array`,
/// `x in range(n)`. Null: not defined for these types.
TypeRef membership(Program& program, TypeRef value, TypeRef container) {
    if (container->is(TypeKind::array) || container->is(TypeKind::range)) {
        const bool defined = value->is_scalar() && container->element()->is_scalar() &&
                             comparable(program, Operator::equal, value, container->element());
        return defined ? program.types.boolean : nullptr;
    }
    if (!container->is(TypeKind::tuple)) return nullptr;
    const TypeRef plain = program.types.without_literal(container);
    if (plain->elements.empty()) return program.types.literal(program.types.boolean, 0);
    const auto is_text = [](TypeRef t) { return t->is(TypeKind::text); };
    if (is_text(value) && std::ranges::all_of(plain->elements, is_text))
        return program.types.literal(program.types.boolean,
                                     std::ranges::find(plain->elements, value) != plain->elements.end());
    const TypeRef element = plain->elements[0];
    const bool uniform = std::ranges::all_of(plain->elements, [&](TypeRef t) { return t == element; });
    const bool constants =
        value->is(TypeKind::characters) && std::ranges::all_of(plain->elements, [&](TypeRef t) {
            return character_size(t) == character_size(value);
        });
    if (!constants && (!uniform || !comparable(program, Operator::equal, value, element))) return nullptr;
    return program.types.boolean;
}

/// Strings and types are known while compiling, so comparing them is too. Null: neither is one.
TypeRef comparison_of_names(TypeTable& types, Operator op, TypeRef left, TypeRef right) {
    const bool texts = left->is(TypeKind::text) || right->is(TypeKind::text);
    const bool data_types = left->is(TypeKind::data_type) && right->is(TypeKind::data_type);
    if (!is_equality(op) || (!texts && !data_types)) return nullptr;
    return types.literal(types.boolean, (left == right) == (op == Operator::equal));
}

/// Strings are known while compiling, and so is what operators make of them; comparison is by code points,
/// which UTF-8 keeps. Null: not defined.
TypeRef text_operation(TypeTable& types, Operator op, TypeRef left, TypeRef right) {
    const bool repeated = op == Operator::multiply && left->is(TypeKind::text) != right->is(TypeKind::text);
    if (repeated) {
        const TypeRef text = left->is(TypeKind::text) ? left : right, count = text == left ? right : left;
        const bool sensible = count->is(TypeKind::integer) && count->literal && *count->literal < 10000;
        if (!sensible) return nullptr;
        std::string result;
        for (std::int64_t i = 0; i < *count->literal; ++i) result += text->text;
        return types.text(result);
    }
    if (!left->is(TypeKind::text) || !right->is(TypeKind::text)) return nullptr;
    const std::string a = left->text, b = right->text;
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

TypeRef tuple_operation(Program& program, Operator op, TypeRef left, TypeRef right) {
    if (op == Operator::add && left->names.empty() && right->names.empty()) {
        std::vector<TypeRef> elements = left->elements;
        elements.insert(elements.end(), right->elements.begin(), right->elements.end());
        return program.types.tuple(std::move(elements));
    }
    const bool compares = op >= Operator::equal && op <= Operator::greater_equal;
    return compares && comparable(program, op, left, right) ? program.types.boolean : nullptr;
}

TypeRef find_binary(Program& program, Operator op, TypeRef left, TypeRef right) {
    TypeTable& types = program.types;
    if (const TypeRef known = comparison_with_none(types, op, left, right)) return known;
    if (const TypeRef known = characters_operation(types, op, left->present(), right->present()))
        return known;
    if (const TypeRef known = comparison_of_names(types, op, left, right)) return known;
    if (const TypeRef known = text_operation(types, op, left, right)) return known;
    left = left->present();
    right = right->present();
    if (op == Operator::in || op == Operator::not_in) {
        const TypeRef result = membership(program, left, right);
        if (!result || !result->literal) return result;
        return types.literal(types.boolean, (*result->literal != 0) == (op == Operator::in));
    }
    if (left->is(TypeKind::tuple) && right->is(TypeKind::tuple))
        return tuple_operation(program, op, left, right);
    if (left->is_date() || right->is_date()) return date_operation_type(types, op, left, right);
    const bool members = left->is(TypeKind::member) && right->is(TypeKind::member);
    if (members && left->name == right->name && left->element()->is(TypeKind::text)) {
        if (op == Operator::is || op == Operator::is_not)
            return types.literal(types.boolean, (left == right) == (op == Operator::is));
        return is_equality(op) ? types.literal(types.boolean, (left == right) == (op == Operator::equal))
                               : nullptr;
    }
    if (members) return comparable(program, op, left, right) ? types.boolean : nullptr;
    const Signature* signature = program.promotion.binary(op, left, right);
    return signature ? signature->result : nullptr;
}

/// The name in Python's module operator, by which Numba calls an operator.
const char* function_name(Operator op) {
    static constexpr const char* names[] = {
        "add",  "sub", "mul",    "truediv",  "floordiv", "mod", "pow", "lshift", "rshift",
        "and_", "or_", "xor",    "matmul",   "eq",       "ne",  "lt",  "le",     "gt",
        "ge",   "is_", "is_not", "contains", "contains", "neg", "pos", "invert", "not_"};
    static_assert(std::size(names) == static_cast<std::size_t>(Operator::logical_not) + 1);
    return names[static_cast<std::size_t>(op)];
}

}  // namespace

TypeRef binary_type(Program& program, Operator op, TypeRef left, TypeRef right, Location place) {
    if (const TypeRef result = find_binary(program, op, left, right)) return result;
    TypeTable& types = program.types;
    const bool text = left->is(TypeKind::text) && right->is(TypeKind::text);
    const std::string name = function_name(op);
    refuse_no_implementation("<built-in function " + name + ">", name,
                             {types.without_literal(left)->name, types.without_literal(right)->name}, place,
                             std::string("the operator ") + spelling(op),
                             text ? Standing::not_yet : Standing::not_gpu_code);
}

TypeRef unary_type(Program& program, Operator op, TypeRef operand, Location place) {
    if (op == Operator::logical_not && !operand->present()->is(TypeKind::tuple)) {
        if (!operand->is(TypeKind::bfloat)) check_condition(operand, place);
        return program.types.boolean;
    }
    const bool sign = op == Operator::negate || op == Operator::plus;
    if (sign && operand->present()->is(TypeKind::timedelta64)) return operand->present();
    const Signature* signature =
        op == Operator::logical_not ? nullptr : program.promotion.unary(op, operand->present());
    if (signature) return signature->result;
    const std::string name = function_name(op);
    refuse_no_implementation("<built-in function " + name + ">", name, {operand->name}, place,
                             std::string("the operator ") + spelling(op));
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
