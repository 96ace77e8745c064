// Reductions of arrays: a.sum(), np.mean(a) and their family, as Numba's CUDA target has them. They go
// through the elements one after another in the order of memory (C order unless the array's layout is F), so
// that sums of floats round as Numba's do. a.min() and a.max() are refused as there; min(a) and max(a) are
// builtins.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "frontend/pykernel/calls/callables.h"
#include "frontend/pykernel/emit/accumulator.h"

namespace cudasim::pykernel {
namespace {

std::string_view own_name(const Callable& callable) {
    return callable.name.substr(callable.name.find('.') + 1);
}

/// Emits `body` for every element, in the order of memory.
void for_each(FunctionEmitter& e, const Emitted& array, const std::function<void(const Emitted&)>& body) {
    Emitted ordered = array;
    if (array.type->layout == 'F') {
        const auto n = static_cast<std::ptrdiff_t>(array.type->dimensions);
        std::reverse(ordered.parts.begin() + 1, ordered.parts.begin() + 1 + n);
        std::reverse(ordered.parts.begin() + 1 + n, ordered.parts.end());
    }
    e.for_each_element(
        ordered, [&](llvm::Value* place) { body(e.load_element(place, array.type->element(), array.type)); });
}

void require_array(const CallTyping& call) {
    const bool numbers = call[0]->is(TypeKind::array) && call[0]->element()->is_numeric();
    if (!numbers || call[0]->element() == call.types().float16 || call[0]->element()->is(TypeKind::bfloat))
        call.no_match();
}

/// Whether the argument is an array of timedelta64, which has sum() and mean() only.
bool of_durations(const CallTyping& call) {
    return call[0]->is(TypeKind::array) && call[0]->element()->is(TypeKind::timedelta64);
}

/// The type of a sum or product of such elements: integers grow to 64 bits.
TypeRef accumulating(TypeTable& types, TypeRef element) {
    if (element->is(TypeKind::floating) || element->is(TypeKind::complex)) return element;
    return element->is(TypeKind::integer) && !element->is_signed ? types.uint64 : types.int64;
}

/// `result`, the type of the total that the operator makes of the elements.
TypeRef folding(const CallTyping& call, TypeRef result) {
    const bool sums = own_name(call.callable).ends_with("sum") || own_name(call.callable).ends_with("mean");
    call.apply(sums ? Operator::add : Operator::multiply, result, result);
    return result;
}

/// sum(axis=None, dtype=None): a sum along an axis would be an array.
TypeRef type_sum(const CallTyping& call) {
    if (of_durations(call) && !call[1] && !call[2]) return folding(call, call[0]->element());
    require_array(call);
    if (call[1] && !call[1]->is(TypeKind::none))
        call.refuse(
            "a sum along an axis would allocate memory, which kernels cannot, by Numba's CUDA target "
            "neither; write a loop");
    if (!call[2] || call[2]->is(TypeKind::none))
        return folding(call, accumulating(call.types(), call[0]->element()));
    if (!call[2]->is(TypeKind::data_type) || !call[2]->element()->is_numeric() ||
        conversion(call[0]->element(), call[2]->element()) == Conversion::none)
        call.no_match();
    return folding(call, call[2]->element());
}

TypeRef type_product(const CallTyping& call) {
    require_array(call);
    return folding(call, accumulating(call.types(), call[0]->element()));
}

/// np.nansum, np.nanprod: every integer and boolean as an int64.
TypeRef type_nan_fold(const CallTyping& call) {
    require_array(call);
    const TypeRef element = call[0]->element();
    return folding(call, element->is_integral() ? call.types().int64 : element);
}

/// Whether a float, or a component of a complex number, is NaN; null for other types.
llvm::Value* is_missing(FunctionEmitter& e, const Emitted& value) {
    if (value.type->is_integral()) return nullptr;
    return e.builder.CreateFCmpUNO(value.parts.front(), value.parts.back());
}

Emitted select(FunctionEmitter& e, llvm::Value* condition, const Emitted& yes, const Emitted& no) {
    Emitted result{yes.type, {}};
    for (std::size_t i = 0; i < yes.parts.size(); ++i)
        result.parts.push_back(e.builder.CreateSelect(condition, yes.parts[i], no.parts[i]));
    return result;
}

/// sum, prod, nansum, nanprod.
Emitted emit_fold(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    const bool skips_nan = own_name(call.callable).starts_with("nan");
    Accumulator total(e, known(e, type, call.resolution.inner[0].op == Operator::add ? 0 : 1));
    for_each(e, call[0], [&](const Emitted& element) {
        const Emitted before = total.get();
        Emitted after = e.convert(call.apply(0, {before, e.convert(element, type)}), type);
        llvm::Value* missing = skips_nan ? is_missing(e, element) : nullptr;
        if (missing) after = select(e, missing, before, after);
        total.set(after);
    });
    return total.get();
}

/// The sum of which a mean is made. Floats are added up in their own type, integers as float64.
void type_total(const CallTyping& call) {
    require_array(call);
    const TypeRef element = call[0]->element();
    const TypeRef wide = element->is(TypeKind::complex) ? call.types().complex128 : call.types().float64;
    const bool skips_nan = own_name(call.callable).starts_with("nan");
    const TypeRef type = element->is_integral() || skips_nan ? wide : element;
    call.apply(Operator::add, type, type);
    call.resolution.parameters = {type};
}

TypeRef type_variance(const CallTyping& call) {
    type_total(call);
    return call.types().float64;
}

TypeRef type_mean(const CallTyping& call) {
    if (of_durations(call)) {
        call.apply(Operator::true_divide, folding(call, call[0]->element()), call.types().int64);
        return call[0]->element();
    }
    type_total(call);
    return call[0]->element()->is(TypeKind::complex) ? call.types().complex128 : call.types().float64;
}

/// Divides in float64 or complex128. 0 / 0 is NaN, without a finding.
Emitted quotient(FunctionEmitter& e, const Emitted& total, const Emitted& count) {
    const bool is_complex = total.type->is(TypeKind::complex);
    const TypeRef wide = is_complex ? e.types().complex128 : e.types().float64;
    llvm::Value* divisor = e.convert(count, e.types().float64).value();
    Emitted result{wide, {}};
    for (llvm::Value* part : e.convert(total, wide).parts)
        result.parts.push_back(e.builder.CreateFDiv(part, divisor));
    return result;
}

Emitted mean(CallEmission& call, bool skips_nan) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.resolution.parameters[0];
    Accumulator total(e, known(e, type, 0)), count(e, known(e, e.types().int64, 0));
    for_each(e, call[0], [&](const Emitted& value) {
        const Emitted before = total.get();
        Emitted after = call.apply(0, {before, e.convert(value, type)});
        llvm::Value* one = e.int64(1);
        if (llvm::Value* missing = skips_nan ? is_missing(e, value) : nullptr) {
            after = select(e, missing, before, after);
            one = e.builder.CreateSelect(missing, e.int64(0), one);
        }
        total.set(after);
        count.set(e.number(e.builder.CreateAdd(count.get().value(), one), e.types().int64));
    });
    return quotient(e, total.get(), count.get());
}

Emitted emit_mean(CallEmission& call) {
    if (call.call.type->is_date()) {
        FunctionEmitter& e = call.emitter;
        llvm::Value* count = e.array_size(call[0]);
        return call.apply(1, {emit_fold(call), e.number(count, e.types().int64)});
    }
    return mean(call, own_name(call.callable) == "nanmean");
}

/// var, std, nanvar, nanstd: the mean square of the distances from the mean, and its root.
Emitted emit_variance(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef real = e.types().float64, whole = e.types().int64;
    std::string_view name = own_name(call.callable);
    const bool skips_nan = name.starts_with("nan");
    if (skips_nan) name.remove_prefix(3);
    const Emitted middle = mean(call, skips_nan);
    Accumulator total(e, known(e, real, 0)), count(e, known(e, whole, 0));
    for_each(e, call[0], [&](const Emitted& element) {
        const Emitted before = total.get();
        llvm::Value* square = nullptr;
        const Emitted wide = e.convert(element, middle.type);
        for (std::size_t i = 0; i < wide.parts.size(); ++i) {
            llvm::Value* distance = e.builder.CreateFSub(wide.parts[i], middle.parts[i]);
            llvm::Value* part = e.builder.CreateFMul(distance, distance);
            square = square ? e.builder.CreateFAdd(square, part) : part;
        }
        llvm::Value* after = e.builder.CreateFAdd(before.value(), square);
        llvm::Value* one = e.int64(1);
        if (llvm::Value* missing = skips_nan ? is_missing(e, element) : nullptr) {
            after = e.builder.CreateSelect(missing, before.value(), after);
            one = e.builder.CreateSelect(missing, e.int64(0), one);
        }
        total.set(e.number(after, real));
        count.set(e.number(e.builder.CreateAdd(count.get().value(), one), whole));
    });
    Emitted variance = quotient(e, total.get(), count.get());
    if (name == "var") return variance;
    llvm::Type* type = variance.value()->getType();
    return e.number(e.call("__nv_pow", type, {variance.value(), llvm::ConstantFP::get(type, 0.5)}), real);
}

TypeRef type_truth(const CallTyping& call) {
    require_array(call);
    return call.types().boolean;
}

Emitted emit_truth(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const bool all = own_name(call.callable) == "all";
    Accumulator result(e, e.number(e.builder.getInt1(all), e.types().boolean));
    for_each(e, call[0], [&](const Emitted& element) {
        llvm::Value *before = result.get().value(), *now = e.truth(element);
        result.set(e.number(all ? e.builder.CreateAnd(before, now) : e.builder.CreateOr(before, now),
                            e.types().boolean));
    });
    return result.get();
}

/// argmin(axis=None); axis 0 of one dimension is the same.
TypeRef type_position(const CallTyping& call) {
    require_array(call);
    if (call[0]->element()->is(TypeKind::complex)) call.no_match();
    const bool whole = !call[1] || call[1]->is(TypeKind::none) ||
                       (call[0]->dimensions == 1 && call[1]->literal && *call[1]->literal == 0);
    if (!whole)
        call.refuse(
            "an extremum along an axis would allocate memory, which kernels cannot, by Numba's CUDA "
            "target neither; write a loop");
    const bool smallest = own_name(call.callable) == "argmin";
    call.apply(smallest ? Operator::less : Operator::greater, call[0]->element(), call[0]->element());
    return call.types().int64;
}

/// Number of the first extremum in C order; the first NaN is one.
Emitted emit_position(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef element = call[0].type->element(), index = e.types().int64;
    const bool smallest = own_name(call.callable) == "argmin";
    e.require(e.builder.CreateICmpNE(e.array_size(call[0]), e.int64(0)), "ValueError",
              smallest ? "attempt to get argmin of an empty sequence"
                       : "attempt to get argmax of an empty sequence");
    Accumulator best(e, e.load_element(call[0].parts[0], element, call[0].type)), at(e, known(e, index, 0)),
        position(e, known(e, index, 0));
    e.for_each_element(call[0], [&](llvm::Value* place) {
        const Emitted value = e.load_element(place, element, call[0].type), before = best.get();
        llvm::Value* better = call.apply(0, {value, before}).value();
        if (element->is(TypeKind::floating)) {
            llvm::Value* is_nan = e.builder.CreateFCmpUNO(value.value(), value.value());
            llvm::Value* was_number = e.builder.CreateFCmpORD(before.value(), before.value());
            better = e.builder.CreateOr(better, e.builder.CreateAnd(is_nan, was_number));
        }
        const Emitted now = position.get();
        best.set(e.number(e.builder.CreateSelect(better, value.value(), before.value()), element));
        at.set(e.number(e.builder.CreateSelect(better, now.value(), at.get().value()), index));
        position.set(e.number(e.builder.CreateAdd(now.value(), e.int64(1)), index));
    });
    return at.get();
}

TypeRef type_count(const CallTyping& call) {
    require_array(call);
    return call.types().int64;
}

Emitted emit_count(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    Accumulator count(e, known(e, call.call.type, 0));
    for_each(e, call[0], [&](const Emitted& element) {
        llvm::Value* one = e.builder.CreateZExt(e.truth(element), e.builder.getInt64Ty());
        count.set(e.number(e.builder.CreateAdd(count.get().value(), one), call.call.type));
    });
    return count.get();
}

[[noreturn]] TypeRef type_array_extremum(const CallTyping& call) {
    const std::string name(call.callable.name.ends_with("min") ? "min" : "max");
    call.refuse("No implementation in Numba's CUDA target either; write " + name + "(a) for one dimension, " +
                name + "(a.flat) for more");
}

Emitted emit_nothing(CallEmission& call) {
    return {call.call.type, {}};
}

constexpr Callable rows[] = {
    {"array.sum", "self axis= dtype=", type_sum, emit_fold},
    {"array.prod", "self", type_product, emit_fold},
    {"array.mean", "self", type_mean, emit_mean},
    {"array.var", "self", type_variance, emit_variance},
    {"array.std", "self", type_variance, emit_variance},
    {"array.all", "self", type_truth, emit_truth},
    {"array.any", "self", type_truth, emit_truth},
    {"array.argmin", "self axis=", type_position, emit_position},
    {"array.argmax", "self axis=", type_position, emit_position},
    {"array.min", "self *", type_array_extremum, emit_nothing},
    {"array.max", "self *", type_array_extremum, emit_nothing},
    {"numpy.sum", "a axis= dtype=", type_sum, emit_fold},
    {"numpy.prod", "a", type_product, emit_fold},
    {"numpy.nansum", "a", type_nan_fold, emit_fold},
    {"numpy.nanprod", "a", type_nan_fold, emit_fold},
    {"numpy.mean", "a", type_mean, emit_mean},
    {"numpy.nanmean", "a", type_mean, emit_mean},
    {"numpy.var", "a", type_variance, emit_variance},
    {"numpy.nanvar", "a", type_variance, emit_variance},
    {"numpy.nanstd", "a", type_variance, emit_variance},
    {"numpy.std", "a", type_variance, emit_variance},
    {"numpy.all", "a", type_truth, emit_truth},
    {"numpy.any", "a", type_truth, emit_truth},
    {"numpy.argmin", "a axis=", type_position, emit_position},
    {"numpy.argmax", "a axis=", type_position, emit_position},
    {"numpy.count_nonzero", "a", type_count, emit_count},
    {"numpy.min", "*", type_array_extremum, emit_nothing},
    {"numpy.max", "*", type_array_extremum, emit_nothing},
};

}  // namespace

std::span<const Callable> reduction_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
