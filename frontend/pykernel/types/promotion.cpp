#include "frontend/pykernel/types/promotion.h"

#include <algorithm>
#include <array>

namespace cudasim::pykernel {

namespace {

using numba_rules::Number;

/// Number::none for what is not a number.
Number number_of(TypeRef type) {
    using enum Number;
    auto of_bits = [&](Number of8, Number of16, Number of32, Number of64) {
        return type->bits == 8 ? of8 : type->bits == 16 ? of16 : type->bits == 32 ? of32 : of64;
    };
    switch (type->kind) {
        case TypeKind::boolean:
            return boolean;
        case TypeKind::integer:
            return type->is_signed ? of_bits(int8, int16, int32, int64)
                                   : of_bits(uint8, uint16, uint32, uint64);
        case TypeKind::floating:
            return of_bits(none, float16, float32, float64);
        case TypeKind::bfloat:
            return bfloat16;
        case TypeKind::complex:
            return type->bits == 64 ? complex64 : complex128;
        default:
            return none;
    }
}

TypeRef type_of(const TypeTable& t, Number number) {
    const std::array<TypeRef, numba_rules::number_count> types{
        t.boolean, t.int8,     t.int16,   t.int32,   t.int64,   t.uint8,     t.uint16,    t.uint32,
        t.uint64,  t.bfloat16, t.float16, t.float32, t.float64, t.complex64, t.complex128};
    return types[static_cast<std::size_t>(number)];
}

template <typename Overloads>
std::vector<Signature> signatures(const TypeTable& types, const Overloads& overloads) {
    std::vector<Signature> result;
    for (const auto& overload : overloads) {
        Signature& signature = result.emplace_back();
        for (Number parameter : overload.parameters)
            signature.parameters.push_back(type_of(types, parameter));
        signature.result = type_of(types, overload.result);
    }
    return result;
}

/// Unless its operands cannot be converted.
const Signature* castable(const Signature* signature, std::span<const TypeRef> arguments) {
    for (std::size_t i = 0; signature && i < arguments.size(); ++i)
        if (!can_cast(arguments[i], signature->parameters[i])) return nullptr;
    return signature;
}

/// The memory that a value lies in that comes from either of two places.
unsigned common_space(TypeRef a, TypeRef b) {
    if (!a->indices_guard_memory() || !b->indices_guard_memory()) return pointed_space;
    return a->address_space == b->address_space ? a->address_space : unsigned{generic_space};
}

}  // namespace

bool can_cast(TypeRef from, TypeRef to) {
    return conversion(from, to) != Conversion::none &&
           !numba_rules::lacks_cast(number_of(from), number_of(to));
}

Conversion conversion(TypeRef from, TypeRef to) {
    const Number a = number_of(from), b = number_of(to);
    if (a == Number::none || b == Number::none) return from == to ? Conversion::exact : Conversion::none;
    return numba_rules::conversion(a, b);
}

const Signature* best_signature(std::span<const Signature> candidates, std::span<const TypeRef> arguments) {
    return numba_rules::best_overload<Signature, TypeRef>(candidates, arguments, &conversion);
}

Promotion::Overloads::Overloads(const TypeTable& types, const numba_rules::PairTable& table)
    : table(table), signatures(pykernel::signatures(types, table.overloads())) {}

Promotion::Promotion(TypeTable& types)
    : types_(types),
      arithmetic_(types, numba_rules::arithmetic_table),
      floored_(types, numba_rules::floored_table),
      division_(types, numba_rules::division_table),
      power_(types, numba_rules::power_table),
      bitwise_(types, numba_rules::bitwise_table),
      comparison_(types, numba_rules::comparison_table),
      equality_(types, numba_rules::equality_table),
      shift_(types, numba_rules::shift_table),
      sign_(signatures(types, numba_rules::sign)),
      invert_(signatures(types, numba_rules::invert)) {}

const Signature* Promotion::best(const Overloads& overloads, TypeRef left, TypeRef right) {
    const auto found = overloads.table.best(number_of(left), number_of(right));
    return found ? &overloads.signatures[*found] : nullptr;
}

const Signature* Promotion::binary(Operator op, TypeRef left, TypeRef right) const {
    if (!left->is_numeric() || !right->is_numeric()) return nullptr;
    const std::array arguments{left, right};
    switch (op) {
        case Operator::add:
        case Operator::subtract:
        case Operator::multiply:
            return castable(best(arithmetic_, left, right), arguments);
        case Operator::floor_divide:
        case Operator::modulo:
            return best(floored_, left, right);
        case Operator::true_divide:
            return castable(best(division_, left, right), arguments);
        case Operator::power:
            return best(power_, left, right);
        case Operator::left_shift:
        case Operator::right_shift:
        case Operator::bit_and:
        case Operator::bit_or:
        case Operator::bit_xor: {
            if (!left->is_integral() || !right->is_integral()) return nullptr;
            const bool shift = op == Operator::left_shift || op == Operator::right_shift;
            return best(shift ? shift_ : bitwise_, left, right);
        }
        case Operator::equal:
        case Operator::not_equal:
        case Operator::is:
        case Operator::is_not:
            return castable(best(equality_, left, right), arguments);
        default:
            return is_comparison(op) ? castable(best(comparison_, left, right), arguments) : nullptr;
    }
}

const Signature* Promotion::unary(Operator op, TypeRef operand) const {
    if (!operand->is_numeric()) return nullptr;
    const std::array arguments{operand};
    if (op != Operator::invert) return best_signature(sign_, arguments);
    return operand->is_integral() ? best_signature(invert_, arguments) : nullptr;
}

TypeRef Promotion::range(std::span<const TypeRef> arguments) const {
    std::vector<Signature> candidates;
    for (TypeRef type : {types_.int32, types_.int64, types_.uint64}) {
        candidates.push_back({std::vector<TypeRef>(arguments.size(), type), type});
    }
    const Signature* best = best_signature(candidates, arguments);
    return best ? best->result : nullptr;
}

/// At least one of them may be None.
TypeRef Promotion::unify_optional(TypeRef a, TypeRef b) const {
    a = a->present();
    b = b->present();
    const TypeRef value = a->is(TypeKind::none) ? b : b->is(TypeKind::none) ? a : unify(a, b);
    const bool can_be_absent = value && (value->lies_in_memory() || value->is(TypeKind::tuple) ||
                                         value->is(TypeKind::member) || value->is(TypeKind::array));
    return can_be_absent ? types_.optional(value) : nullptr;
}

TypeRef Promotion::unify(TypeRef a, TypeRef b) const {
    if (a == b) return a;
    a = types_.without_literal(a);
    b = types_.without_literal(b);
    if (a == b) return a;
    if (a->is_numeric() && b->is_numeric())
        return type_of(types_, numba_rules::unified(number_of(a), number_of(b)));
    if (a->is(TypeKind::none) || b->is(TypeKind::none) || a->is(TypeKind::optional) ||
        b->is(TypeKind::optional)) {
        return unify_optional(a, b);
    }
    if (a->is_integer_member() || b->is_integer_member()) return unify(a->present(), b->present());
    const bool named = !a->names.empty() || !b->names.empty();
    if (a->is(TypeKind::tuple) && b->is(TypeKind::tuple) && a->elements.size() == b->elements.size() &&
        !named) {
        std::vector<TypeRef> elements;
        for (std::size_t i = 0; i < a->elements.size(); ++i) {
            elements.push_back(unify(a->elements[i], b->elements[i]));
            if (!elements.back()) return nullptr;
        }
        return types_.tuple(std::move(elements));
    }
    if (a->is(TypeKind::slice) && b->is(TypeKind::slice) && a->elements.size() == b->elements.size())
        return types_.slice(std::vector<TypeRef>(a->elements.size(), types_.int64));
    if (a->is(TypeKind::record) && b->is(TypeKind::record) && a->name == b->name)
        return types_.record_in(a, common_space(a, b), a->read_only || b->read_only);
    if (!a->is(TypeKind::array) || !b->is(TypeKind::array)) return nullptr;
    if (a->element() != b->element() || a->dimensions != b->dimensions) return nullptr;
    const char layout = a->layout == b->layout ? a->layout : 'A';
    return types_.array(a->element(), a->dimensions, layout, common_space(a, b), a->read_only || b->read_only,
                        a->aligned && b->aligned);
}

bool is_comparison(Operator op) {
    return op >= Operator::equal && op <= Operator::is_not;
}

const char* spelling(Operator op) {
    static constexpr const char* names[] = {"+",  "-",  "*",      "/",  "//",     "%",  "**", "<<", ">>",
                                            "&",  "|",  "^",      "@",  "==",     "!=", "<",  "<=", ">",
                                            ">=", "is", "is not", "in", "not in", "-",  "+",  "~",  "not"};
    return names[static_cast<int>(op)];
}

}  // namespace cudasim::pykernel
