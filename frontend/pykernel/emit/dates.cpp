// See dates.h.
#include "frontend/pykernel/emit/dates.h"

#include <llvm/IR/Constants.h>

#include <algorithm>
#include <limits>
#include <optional>

namespace cudasim::pykernel {
namespace {

using namespace date_units;

llvm::Value* compute(FunctionEmitter& e, Operator op, llvm::Value* a, std::int64_t b) {
    return e.integer_binary(op, a, e.int64(b), true);
}

/// Days from 1970-01-01 to the first day of a month, counted in months from 1970-01 (the proleptic Gregorian
/// calendar repeats after 400 years of 146,097 days).
llvm::Value* days_of_months(FunctionEmitter& e, llvm::Value* month_count) {
    // Years that begin in March, so that a leap day is the last day of its year.
    llvm::Value* shifted = compute(e, Operator::add, month_count, 1970 * 12 - 2);
    llvm::Value* year = compute(e, Operator::floor_divide, shifted, 12);
    llvm::Value* month = compute(e, Operator::modulo, shifted, 12);
    llvm::Value* era = compute(e, Operator::floor_divide, year, 400);
    llvm::Value* in_era = compute(e, Operator::modulo, year, 400);
    llvm::Value* day_of_year =
        compute(e, Operator::floor_divide,
                compute(e, Operator::add, compute(e, Operator::multiply, month, 153), 2), 5);
    llvm::Value* of_years = compute(e, Operator::multiply, in_era, 365);
    llvm::Value* of_eras = compute(e, Operator::multiply, era, 146097);
    llvm::Value* result = e.builder.CreateAdd(of_eras, of_years);
    result = e.builder.CreateAdd(result, compute(e, Operator::floor_divide, in_era, 4));
    result = e.builder.CreateSub(result, compute(e, Operator::floor_divide, in_era, 100));
    return compute(e, Operator::subtract, e.builder.CreateAdd(result, day_of_year), 719468);
}

/// The number of finer units; what is NaT stays so only by luck: callers ask before.
llvm::Value* in_finer_unit(FunctionEmitter& e, const Emitted& date, int to) {
    llvm::Value* count = date.value();
    int from = date.type->unit;
    if (from == bare || from == to) return count;
    auto scale = [&](int first, int last) {
        std::int64_t factor = 1;
        for (int unit = first; unit < last; ++unit)
            factor = static_cast<std::int64_t>(static_cast<std::uint64_t>(factor) *
                                               static_cast<std::uint64_t>(units[unit].of_next));
        if (factor != 1) count = compute(e, Operator::multiply, count, factor);
    };
    if (by_calendar(from) && !by_calendar(to)) {
        scale(from, months);
        count = days_of_months(e, count);
        if (to == weeks) return compute(e, Operator::floor_divide, count, 7);
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

Emitted emit_date_operation(FunctionEmitter& e, Operator op, const Emitted& left, const Emitted& right,
                            TypeRef result) {
    if (!left.type->is_date()) return scaled(e, op, right, left);
    if (!right.type->is_date()) return scaled(e, op, left, right);
    const TypeRef whole = e.types().int64;
    const int unit = *common_unit(left.type->unit, right.type->unit, true);
    llvm::Value *a = in_finer_unit(e, left, unit), *b = in_finer_unit(e, right, unit);
    llvm::Value* missing = e.builder.CreateOr(is_nat(e, left), is_nat(e, right));
    if (op == Operator::add || op == Operator::subtract)
        return unless_nat(e, missing, e.integer_binary(op, a, b, true), result);
    if (op == Operator::true_divide) {
        llvm::Value* quotient = e.builder.CreateFDiv(e.convert(e.number(a, whole), result).value(),
                                                     e.convert(e.number(b, whole), result).value());
        return e.number(
            e.builder.CreateSelect(missing, llvm::ConstantFP::getNaN(quotient->getType()), quotient), result);
    }
    // NaT is unequal to everything and in no order.
    const bool unequal = op == Operator::not_equal || op == Operator::is_not;
    llvm::Value* holds = e.compare(op == Operator::is       ? Operator::equal
                                   : op == Operator::is_not ? Operator::not_equal
                                                            : op,
                                   a, b, whole);
    return e.number(unequal ? e.builder.CreateOr(missing, holds)
                            : e.builder.CreateAnd(e.builder.CreateNot(missing), holds),
                    result);
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
