// The tables of overloads are facts about Numba 0.68 / numba-cuda 0.30, read off its typing context.
#include "frontend/pykernel/promotion.h"

#include <algorithm>
#include <array>
#include <tuple>

namespace cudasim::pykernel {

namespace {

Conversion conversion_to_complex(TypeRef from, TypeRef to) {
    if (from->is(TypeKind::complex)) return from->bits < to->bits ? Conversion::promote : Conversion::unsafe;
    if (from->is(TypeKind::bfloat)) return Conversion::none;
    if (to->bits == 128 || from->is(TypeKind::boolean)) return Conversion::safe;
    const bool fits = from->is(TypeKind::floating) ? from->bits <= 32
                                                   : from->bits == 8 || (from->bits == 16 && from->is_signed);
    return fits ? Conversion::safe : Conversion::unsafe;
}

/// Integers of 8 bits rank high among what becomes bfloat16, and then Numba cannot convert them.
bool lacks_cast(TypeRef from, TypeRef to) {
    return to->is(TypeKind::bfloat) && from->is(TypeKind::integer) && from->bits == 8;
}

/// One of them is a bfloat16. There is no way from it to float16, nor to or from booleans.
Conversion conversion_of_bfloat(TypeRef from, TypeRef to) {
    const TypeRef other = from->is(TypeKind::bfloat) ? to : from;
    if (!other->is(TypeKind::integer) && !other->is(TypeKind::floating)) return Conversion::none;
    if (other == to) {
        if (to->is(TypeKind::integer)) return Conversion::unsafe;
        return to->bits == 16 ? Conversion::none : Conversion::promote;
    }
    return lacks_cast(from, to) ? Conversion::safe : Conversion::unsafe;
}

/// Unless its operands cannot be converted.
const Signature* castable(const Signature* signature, std::span<const TypeRef> arguments) {
    for (std::size_t i = 0; signature && i < arguments.size(); ++i)
        if (lacks_cast(arguments[i], signature->parameters[i])) return nullptr;
    return signature;
}

/// The memory that a value lies in that comes from either of two places.
unsigned common_space(TypeRef a, TypeRef b) {
    if (!a->indices_guard_memory() || !b->indices_guard_memory()) return pointed_space;
    return a->address_space == b->address_space ? a->address_space : unsigned{generic_space};
}

}  // namespace

bool can_cast(TypeRef from, TypeRef to) {
    return conversion(from, to) != Conversion::none && !lacks_cast(from, to);
}

Conversion conversion(TypeRef from, TypeRef to) {
    if (from->kind == to->kind && from->bits == to->bits && from->is_signed == to->is_signed &&
        from->is_numeric()) {
        return Conversion::exact;
    }
    if (to->is(TypeKind::complex) && from->is_numeric()) return conversion_to_complex(from, to);
    if (from->is(TypeKind::bfloat) || to->is(TypeKind::bfloat)) return conversion_of_bfloat(from, to);
    if (!from->is_number() || !to->is_number()) return from == to ? Conversion::exact : Conversion::none;
    if (from->is(TypeKind::boolean)) return Conversion::safe;
    if (to->is(TypeKind::boolean)) return Conversion::unsafe;
    if (from->is(TypeKind::floating)) {
        return to->is(TypeKind::floating) && to->bits > from->bits ? Conversion::promote : Conversion::unsafe;
    }
    if (to->is(TypeKind::floating)) {
        if (to->bits == 64) return Conversion::safe;
        if (to->bits == 16) return from->bits == 8 && from->is_signed ? Conversion::safe : Conversion::unsafe;
        const bool fits = from->bits == 8 || (from->bits == 16 && from->is_signed);
        return fits ? Conversion::safe : Conversion::unsafe;
    }
    if (to->bits <= from->bits) return Conversion::unsafe;
    if (from->is_signed == to->is_signed) return Conversion::promote;
    return to->is_signed ? Conversion::safe : Conversion::unsafe;
}

const Signature* best_signature(std::span<const Signature> candidates, std::span<const TypeRef> arguments) {
    using Rating = std::tuple<int, int, int>;
    const Signature* best = nullptr;
    Rating best_rating;
    for (const Signature& candidate : candidates) {
        if (candidate.parameters.size() != arguments.size()) continue;
        std::array<int, 5> count{};
        for (std::size_t i = 0; i < arguments.size(); ++i) {
            ++count[static_cast<int>(conversion(arguments[i], candidate.parameters[i]))];
        }
        if (count[static_cast<int>(Conversion::none)]) continue;
        const Rating rating{count[static_cast<int>(Conversion::unsafe)],
                            count[static_cast<int>(Conversion::safe)],
                            count[static_cast<int>(Conversion::promote)]};
        if (!best || rating < best_rating) {
            best = &candidate;
            best_rating = rating;
        }
    }
    return best;
}

Promotion::Promotion(TypeTable& types) : types_(types) {
    TypeTable& t = types;
    const std::vector<Signature> integers = {{{t.int64, t.int64}, t.int64},
                                             {{t.int64, t.uint64}, t.int64},
                                             {{t.uint64, t.int64}, t.int64},
                                             {{t.uint64, t.uint64}, t.uint64}};
    const std::vector<Signature> floats = {{{t.float32, t.float32}, t.float32},
                                           {{t.float64, t.float64}, t.float64}};
    auto join = [](std::vector<Signature> a, const std::vector<Signature>& b) {
        a.insert(a.end(), b.begin(), b.end());
        return a;
    };
    const std::vector<Signature> complexes = {{{t.complex64, t.complex64}, t.complex64},
                                              {{t.complex128, t.complex128}, t.complex128}};
    floored_ = join(integers, floats);
    const std::vector<Signature> halves = {{{t.float16, t.float16}, t.float16},
                                           {{t.bfloat16, t.bfloat16}, t.bfloat16}};
    arithmetic_ = join(join(join(integers, halves), floats), complexes);
    division_ = arithmetic_;
    for (Signature& signature : division_) {
        if (signature.result->is(TypeKind::integer)) signature.result = t.float64;
    }
    power_ = integers;
    for (TypeRef base : {t.float32, t.float64}) {
        for (TypeRef exponent : {t.int32, t.int64, t.uint64}) power_.push_back({{base, exponent}, base});
    }
    power_ = join(join(power_, floats), complexes);
    bitwise_ = join({{{t.boolean, t.boolean}, t.boolean}}, integers);
    for (TypeRef type : {t.boolean, t.int8, t.int16, t.int32, t.int64, t.uint8, t.uint16, t.uint32, t.uint64,
                         t.float16, t.bfloat16, t.float32, t.float64}) {
        comparison_.push_back({{type, type}, t.boolean});
    }
    equality_ = comparison_;
    for (TypeRef type : {t.complex64, t.complex128}) equality_.push_back({{type, type}, t.boolean});
    for (TypeRef left : {t.int64, t.uint64}) {
        for (TypeRef right : {t.int64, t.uint64}) shift_.push_back({{left, right}, left});
    }
    sign_ = {{{t.int64}, t.int64},         {{t.uint64}, t.uint64},        {{t.float32}, t.float32},
             {{t.float64}, t.float64},     {{t.float16}, t.float16},      {{t.bfloat16}, t.bfloat16},
             {{t.complex64}, t.complex64}, {{t.complex128}, t.complex128}};
    invert_ = {{{t.boolean}, t.boolean}, {{t.int64}, t.int64}, {{t.uint64}, t.uint64}};
}

const Signature* Promotion::binary(Operator op, TypeRef left, TypeRef right) const {
    if (!left->is_numeric() || !right->is_numeric()) return nullptr;
    const std::array arguments{left, right};
    switch (op) {
        case Operator::add:
        case Operator::subtract:
        case Operator::multiply:
            return castable(best_signature(arithmetic_, arguments), arguments);
        case Operator::floor_divide:
        case Operator::modulo:
            return best_signature(floored_, arguments);
        case Operator::true_divide:
            return castable(best_signature(division_, arguments), arguments);
        case Operator::power:
            return best_signature(power_, arguments);
        case Operator::left_shift:
        case Operator::right_shift:
        case Operator::bit_and:
        case Operator::bit_or:
        case Operator::bit_xor: {
            if (!left->is_integral() || !right->is_integral()) return nullptr;
            const bool shift = op == Operator::left_shift || op == Operator::right_shift;
            return best_signature(shift ? shift_ : bitwise_, arguments);
        }
        case Operator::equal:
        case Operator::not_equal:
        case Operator::is:
        case Operator::is_not:
            return castable(best_signature(equality_, arguments), arguments);
        default:
            return is_comparison(op) ? castable(best_signature(comparison_, arguments), arguments) : nullptr;
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

TypeRef Promotion::unify_numbers(TypeRef a, TypeRef b) const {
    if (conversion(a, b) <= Conversion::safe) return b;
    if (conversion(b, a) <= Conversion::safe) return a;
    if (a->is(TypeKind::bfloat) || b->is(TypeKind::bfloat)) {
        const TypeRef other = a->is(TypeKind::bfloat) ? b : a;
        return conversion(other, types_.float32) <= Conversion::safe ? types_.float32 : types_.float64;
    }
    // Neither holds the other: NumPy's promotion.
    if (a->is(TypeKind::complex)) return b->bits <= 16 ? a : types_.complex128;
    if (b->is(TypeKind::complex)) return a->bits <= 16 ? b : types_.complex128;
    if (a->is(TypeKind::floating) || b->is(TypeKind::floating)) {
        const TypeRef other = a->is(TypeKind::floating) ? b : a;
        const TypeRef real = other == a ? b : a;
        if (real->bits == 16 && other->bits == 8) return real;
        return other->bits <= 16 ? types_.float32 : types_.float64;
    }
    const unsigned bits = 2 * std::max(a->bits, b->bits);
    return bits <= 64 ? types_.integer(bits, true) : types_.float64;
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
    if (a->is_numeric() && b->is_numeric()) return unify_numbers(a, b);
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
