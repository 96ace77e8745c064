// Reductions of arrays: a.sum(), np.mean(a) and their family, as Numba's CUDA target has them. They go
// through the elements one after another in the order of memory (C order unless the array's layout is F), so
// that sums of floats round as Numba's do. a.min() and a.max() are refused as there; min(a) and max(a) are
// builtins.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "frontend/pykernel/accumulator.h"
#include "frontend/pykernel/callables.h"

namespace cudasim::pykernel {
namespace {

std::string_view own_name(const Callable& callable) {
    return callable.name.substr(callable.name.find('.') + 1);
}

/// `body` for every element in the order of memory.
void for_each(FunctionEmitter& e, const Emitted& array, const std::function<void(const Emitted&)>& body) {
    Emitted ordered = array;
    if (array.type->layout == 'F') {
        const auto n = static_cast<std::ptrdiff_t>(array.type->dimensions);
        std::reverse(ordered.parts.begin() + 1, ordered.parts.begin() + 1 + n);
        std::reverse(ordered.parts.begin() + 1 + n, ordered.parts.end());
    }
    e.for_each_element(ordered,
                       [&](llvm::Value* place) { body(e.load_element(place, array.type->element(), array.type->aligned)); });
}

void require_array(const CallTyping& call) {
    if (!call[0]->is(TypeKind::array)) call.no_match();
}

/// Of sums and products: integers grow to 64 bits.
TypeRef accumulating(TypeTable& types, TypeRef element) {
    if (element->is(TypeKind::floating)) return element;
    return element->is(TypeKind::integer) && !element->is_signed ? types.uint64 : types.int64;
}

/// sum(axis=None, dtype=None): a sum along an axis would be an array.
TypeRef type_sum(const CallTyping& call) {
    require_array(call);
    if (call[1] && !call[1]->is(TypeKind::none))
        call.refuse(
            "a sum along an axis would allocate memory, which kernels cannot, by Numba's CUDA target "
            "neither; write a loop");
    if (!call[2] || call[2]->is(TypeKind::none)) return accumulating(call.types(), call[0]->element());
    if (!call[2]->is(TypeKind::data_type) || !call[2]->element()->is_number()) call.no_match();
    return call[2]->element();
}

TypeRef type_product(const CallTyping& call) {
    require_array(call);
    return accumulating(call.types(), call[0]->element());
}

/// np.nansum, np.nanprod: every integer and boolean as an int64.
TypeRef type_nan_fold(const CallTyping& call) {
    require_array(call);
    const TypeRef element = call[0]->element();
    return element->is(TypeKind::floating) ? element : call.types().int64;
}

/// sum, prod, nansum, nanprod.
Emitted emit_fold(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef type = call.call.type;
    std::string_view name = own_name(call.callable);
    const bool skips_nan = name.starts_with("nan");
    if (skips_nan) name.remove_prefix(3);
    const Operator op = name == "sum" ? Operator::add : Operator::multiply;
    Accumulator total(e, known(e, type, op == Operator::add ? 0 : 1));
    for_each(e, call[0], [&](const Emitted& element) {
        const Emitted before = total.get();
        Emitted after = e.convert(e.binary(op, before, e.convert(element, type)), type);
        if (skips_nan && element.type->is(TypeKind::floating)) {
            llvm::Value* missing = e.builder.CreateFCmpUNO(element.value(), element.value());
            after = e.number(e.builder.CreateSelect(missing, before.value(), after.value()), type);
        }
        total.set(after);
    });
    return total.get();
}

TypeRef type_float64(const CallTyping& call) {
    require_array(call);
    return call.types().float64;
}

llvm::Value* quotient(FunctionEmitter& e, const Emitted& total, const Emitted& count) {
    return e.builder.CreateFDiv(e.convert(total, e.types().float64).value(),
                                e.convert(count, e.types().float64).value());
}

/// Floats are added up in their own type, integers as float64.
Emitted mean(FunctionEmitter& e, const Emitted& array, bool skips_nan) {
    const TypeRef element = array.type->element();
    const TypeRef type = element->is(TypeKind::floating) && !skips_nan ? element : e.types().float64;
    Accumulator total(e, known(e, type, 0)), count(e, known(e, e.types().int64, 0));
    for_each(e, array, [&](const Emitted& value) {
        const Emitted before = total.get();
        Emitted after = e.binary(Operator::add, before, e.convert(value, type));
        llvm::Value* one = e.int64(1);
        if (skips_nan && element->is(TypeKind::floating)) {
            llvm::Value* missing = e.builder.CreateFCmpUNO(value.value(), value.value());
            after.parts[0] = e.builder.CreateSelect(missing, before.value(), after.value());
            one = e.builder.CreateSelect(missing, e.int64(0), one);
        }
        total.set(after);
        count.set(e.number(e.builder.CreateAdd(count.get().value(), one), e.types().int64));
    });
    return e.number(quotient(e, total.get(), count.get()), e.types().float64);
}

Emitted emit_mean(CallEmission& call) {
    return mean(call.emitter, call[0], own_name(call.callable) == "nanmean");
}

/// var, std: the mean square of the distances from the mean, and its root.
Emitted emit_variance(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef real = e.types().float64;
    const Emitted middle = mean(e, call[0], false);
    Accumulator total(e, known(e, real, 0));
    for_each(e, call[0], [&](const Emitted& element) {
        llvm::Value* distance = e.builder.CreateFSub(e.convert(element, real).value(), middle.value());
        llvm::Value* square = e.builder.CreateFMul(distance, distance);
        total.set(e.number(e.builder.CreateFAdd(total.get().value(), square), real));
    });
    const Emitted count = e.number(e.array_size(call[0]), e.types().int64);
    llvm::Value* variance = quotient(e, total.get(), count);
    if (own_name(call.callable) == "var") return e.number(variance, real);
    llvm::Value* half = llvm::ConstantFP::get(variance->getType(), 0.5);
    return e.number(e.call("__nv_pow", variance->getType(), {variance, half}), real);
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
    const bool whole = !call[1] || call[1]->is(TypeKind::none) ||
                       (call[0]->dimensions == 1 && call[1]->literal && *call[1]->literal == 0);
    if (!whole)
        call.refuse(
            "an extremum along an axis would allocate memory, which kernels cannot, by Numba's CUDA "
            "target neither; write a loop");
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
    Accumulator best(e, e.load_element(call[0].parts[0], element, call[0].type->aligned)), at(e, known(e, index, 0)),
        position(e, known(e, index, 0));
    e.for_each_element(call[0], [&](llvm::Value* place) {
        const Emitted value = e.load_element(place, element, call[0].type->aligned), before = best.get();
        llvm::Value* better = e.binary(smallest ? Operator::less : Operator::greater, value, before).value();
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
    {"array.mean", "self", type_float64, emit_mean},
    {"array.var", "self", type_float64, emit_variance},
    {"array.std", "self", type_float64, emit_variance},
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
    {"numpy.mean", "a", type_float64, emit_mean},
    {"numpy.nanmean", "a", type_float64, emit_mean},
    {"numpy.var", "a", type_float64, emit_variance},
    {"numpy.std", "a", type_float64, emit_variance},
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
