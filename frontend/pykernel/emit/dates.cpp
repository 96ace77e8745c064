// See dates.h.
#include "frontend/pykernel/emit/dates.h"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace cudasim::pykernel {
namespace {

using namespace date_units;

/// Days from 1970-01-01 to the first day of a month, counted in months from 1970-01 (the proleptic Gregorian
/// calendar repeats after 400 years of 146,097 days).
Emitted days_of_months(FunctionEmitter& e, const Emitted& month_count) {
    const TypeRef type = e.types().int64;
    auto number = [&](std::int64_t value) { return e.number(e.int64(value), type); };
    auto compute = [&](Operator op, const Emitted& a, std::int64_t b) { return e.binary(op, a, number(b)); };
    // Years that begin in March, so that a leap day is the last day of its year.
    const Emitted shifted = compute(Operator::add, month_count, 1970 * 12 - 2);
    const Emitted year = compute(Operator::floor_divide, shifted, 12),
                  month = compute(Operator::modulo, shifted, 12);
    const Emitted era = compute(Operator::floor_divide, year, 400),
                  in_era = compute(Operator::modulo, year, 400);
    const Emitted day_of_year = compute(
        Operator::floor_divide, compute(Operator::add, compute(Operator::multiply, month, 153), 2), 5);
    Emitted result = e.binary(Operator::add, compute(Operator::multiply, era, 146097),
                              compute(Operator::multiply, in_era, 365));
    result = e.binary(Operator::add, result, compute(Operator::floor_divide, in_era, 4));
    result = e.binary(Operator::subtract, result, compute(Operator::floor_divide, in_era, 100));
    return compute(Operator::subtract, e.binary(Operator::add, result, day_of_year), 719468);
}

/// The number of finer units; what is NaT stays so only by luck: callers ask before.
Emitted in_finer_unit(FunctionEmitter& e, const Emitted& date, int to) {
    const TypeRef whole = e.types().int64;
    Emitted count = e.number(date.value(), whole);
    int from = date.type->unit;
    if (from == bare || from == to) return count;
    auto scale = [&](int first, int last) {
        std::int64_t factor = 1;
        for (int unit = first; unit < last; ++unit)
            factor = static_cast<std::int64_t>(static_cast<std::uint64_t>(factor) *
                                               static_cast<std::uint64_t>(units[unit].of_next));
        if (factor != 1) count = e.binary(Operator::multiply, count, e.number(e.int64(factor), whole));
    };
    if (by_calendar(from) && !by_calendar(to)) {
        scale(from, months);
        count = days_of_months(e, count);
        if (to == weeks) return e.binary(Operator::floor_divide, count, e.number(e.int64(7), whole));
        from = days;
    }
    scale(from, to);
    return count;
}

llvm::Value* nat(FunctionEmitter& e) {
    return e.int64(std::numeric_limits<std::int64_t>::min());
}

Emitted unless_nat(FunctionEmitter& e, llvm::Value* missing, llvm::Value* value, TypeRef type) {
    return {type, {e.builder.CreateSelect(missing, nat(e), value)}};
}

/// A duration times or by a number: towards zero; by zero or NaN it is NaT.
Emitted scaled(FunctionEmitter& e, Operator op, const Emitted& duration, const Emitted& factor) {
    const TypeRef whole = e.types().int64, type = duration.type;
    const Emitted count = e.number(duration.value(), whole);
    llvm::Value* missing = is_nat(e, duration);
    if (factor.type->is(TypeKind::integer)) {
        llvm::Value* by = e.convert(factor, whole).value();
        if (op == Operator::multiply)
            return unless_nat(e, missing, e.builder.CreateMul(count.value(), by), type);
        llvm::Value* zero = e.builder.CreateICmpEQ(by, e.int64(0));
        llvm::Value* quotient =
            e.builder.CreateSDiv(count.value(), e.builder.CreateSelect(zero, e.int64(1), by));
        return unless_nat(e, e.builder.CreateOr(missing, zero), quotient, type);
    }
    llvm::Value* real = e.convert(count, factor.type).value();
    llvm::Value* by = factor.value();
    if (op == Operator::multiply)
        return unless_nat(e, missing,
                          e.convert(e.number(e.builder.CreateFMul(real, by), factor.type), whole).value(),
                          type);
    llvm::Value* zero = e.builder.CreateFCmpUEQ(by, llvm::ConstantFP::get(by->getType(), 0.0));
    const Emitted quotient = e.number(e.builder.CreateFDiv(real, by), factor.type);
    return unless_nat(e, e.builder.CreateOr(missing, zero), e.convert(quotient, whole).value(), type);
}

}  // namespace

llvm::Value* is_nat(FunctionEmitter& e, const Emitted& date) {
    return e.builder.CreateICmpEQ(date.value(), nat(e));
}

Emitted emit_date_operation(FunctionEmitter& e, Operator op, const Emitted& left, const Emitted& right) {
    if (!left.type->is_date()) return scaled(e, op, right, left);
    if (!right.type->is_date()) return scaled(e, op, left, right);
    const TypeRef type = date_operation_type(e.types(), op, left.type, right.type);
    const int unit = *common_unit(left.type->unit, right.type->unit, true);
    const Emitted a = in_finer_unit(e, left, unit), b = in_finer_unit(e, right, unit);
    llvm::Value* missing = e.builder.CreateOr(is_nat(e, left), is_nat(e, right));
    if (op == Operator::add || op == Operator::subtract)
        return unless_nat(e, missing, e.binary(op, a, b).value(), type);
    if (op == Operator::true_divide) {
        llvm::Value* quotient = e.builder.CreateFDiv(e.convert(a, type).value(), e.convert(b, type).value());
        return e.number(
            e.builder.CreateSelect(missing, llvm::ConstantFP::getNaN(quotient->getType()), quotient), type);
    }
    // NaT is unequal to everything and in no order.
    llvm::Value* holds = e.binary(op, a, b).value();
    const bool unequal = op == Operator::not_equal || op == Operator::is_not;
    return e.number(unequal ? e.builder.CreateOr(missing, holds)
                            : e.builder.CreateAnd(e.builder.CreateNot(missing), holds),
                    type);
}

Emitted negated_duration(FunctionEmitter& e, const Emitted& duration) {
    return {duration.type, {e.builder.CreateNeg(duration.value())}};  // NaT stays
}

Emitted absolute_duration(FunctionEmitter& e, const Emitted& duration) {
    llvm::Value* negative = e.builder.CreateICmpSLT(duration.value(), e.int64(0));
    return {duration.type,
            {e.builder.CreateSelect(negative, e.builder.CreateNeg(duration.value()), duration.value())}};
}

Emitted date_extremum(FunctionEmitter& e, const Emitted& a, const Emitted& b, bool want_max) {
    llvm::Value* first = want_max ? e.builder.CreateICmpSGE(a.value(), b.value())
                                  : e.builder.CreateICmpSLE(a.value(), b.value());
    llvm::Value* missing = e.builder.CreateOr(is_nat(e, a), is_nat(e, b));
    return unless_nat(e, missing, e.builder.CreateSelect(first, a.value(), b.value()), a.type);
}

}  // namespace cudasim::pykernel
