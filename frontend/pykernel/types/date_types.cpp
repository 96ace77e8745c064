#include "frontend/pykernel/types/date_types.h"

#include <algorithm>
#include <iterator>

#include "frontend/pykernel/types/promotion.h"

namespace cudasim::pykernel {
namespace date_units {

std::optional<int> common_unit(int a, int b, bool through_calendar) {
    if (a == bare || b == bare) return a == bare ? b : a;
    if (by_calendar(a) != by_calendar(b) && !through_calendar) return std::nullopt;
    return std::max(a, b);
}

}  // namespace date_units

namespace {

using namespace date_units;

bool is_timedelta64(TypeRef type) {
    return type->is(TypeKind::timedelta64);
}
bool is_datetime64(TypeRef type) {
    return type->is(TypeKind::datetime64);
}
bool is_factor(TypeRef type) {
    return type->is(TypeKind::integer) || (type->is(TypeKind::floating) && type->bits >= 32);
}

TypeRef in_unit(TypeTable& types, TypeKind kind, std::optional<int> unit) {
    return unit ? types.date(kind, *unit) : nullptr;
}

TypeRef sum_type(TypeTable& types, Operator op, TypeRef left, TypeRef right) {
    const int a = left->unit, b = right->unit;
    if (is_timedelta64(left) && is_timedelta64(right))
        return in_unit(types, TypeKind::timedelta64, common_unit(a, b, false));
    if (is_datetime64(left) && is_datetime64(right)) {
        return op == Operator::subtract ? in_unit(types, TypeKind::timedelta64, common_unit(a, b, true))
                                        : nullptr;
    }
    if (is_timedelta64(left) && op == Operator::subtract) return nullptr;
    const int moment = is_datetime64(left) ? a : b, duration = is_datetime64(left) ? b : a;
    // A date in days and a duration in months have no sum.
    const bool defined = moment == bare || duration == bare || by_calendar(moment) || !by_calendar(duration);
    return defined ? in_unit(types, TypeKind::datetime64, common_unit(moment, duration, true)) : nullptr;
}

}  // namespace

TypeRef date_operation_type(TypeTable& types, Operator op, TypeRef left, TypeRef right) {
    const bool both = left->is_date() && right->is_date();
    switch (op) {
        case Operator::add:
        case Operator::subtract:
            return both ? sum_type(types, op, left, right) : nullptr;
        case Operator::multiply:
            if (is_timedelta64(left) && is_factor(right)) return left;
            return is_factor(left) && is_timedelta64(right) ? right : nullptr;
        case Operator::true_divide:
        case Operator::floor_divide:
            if (is_timedelta64(left) && is_factor(right)) return left;
            if (!is_timedelta64(left) || !is_timedelta64(right) || op == Operator::floor_divide)
                return nullptr;
            return common_unit(left->unit, right->unit, false) ? types.float64 : nullptr;
        default:
            break;
    }
    if (!both || left->kind != right->kind || !is_comparison(op)) return nullptr;
    return common_unit(left->unit, right->unit, is_datetime64(left)) ? types.boolean : nullptr;
}

}  // namespace cudasim::pykernel
