// What numbers and their types can be asked: np.finfo and np.iinfo, np.dtype, np.round, and the methods of
// numbers (view, item, conjugate, bit_count).
#include <llvm/IR/Constants.h>
#include <llvm/IR/Intrinsics.h>

#include <limits>
#include <optional>

#include "frontend/pykernel/calls/callables.h"
#include "frontend/pykernel/emit/dates.h"

namespace cudasim::pykernel {
namespace {

/// np.finfo(np.float32), np.finfo(x), np.finfo(a.dtype).
TypeRef type_limits(const CallTyping& call) {
    const TypeRef given = call[0]->is(TypeKind::data_type) ? call[0]->element() : call[0];
    TypeRef type = call.types().without_literal(given);
    if (type->is(TypeKind::complex)) type = call.types().component(type);
    const TypeKind wanted = call.callable.name == "numpy.finfo" ? TypeKind::floating : TypeKind::integer;
    if (!type->is(wanted) || type == call.types().float16) call.no_match();
    return call.types().wrapped(TypeKind::limits, type);
}

Emitted emit_type_only(CallEmission& call) {
    return {call.call.type, {}};
}

/// np.dtype('f4'), np.dtype(np.float32).
TypeRef type_dtype(const CallTyping& call) {
    if (!call[0]->is(TypeKind::text) && !call[0]->is(TypeKind::data_type)) call.no_match();
    return call.types().data_type(data_type(call, call[0]));
}

/// np.round(x), np.round(x, decimals): an int64 of an integer, a float64 of a float.
TypeRef type_round(const CallTyping& call) {
    const bool number = call[0]->is(TypeKind::integer) || call[0]->is(TypeKind::floating);
    if (!number || (call[1] && !call[1]->is(TypeKind::integer))) call.no_match();
    call.resolution.inner.push_back({.rule = find_callable("round")});
    const TypeRef whole = call.types().int64;
    call.apply(Operator::less, call[1] ? call[1] : whole, whole);
    return call[0]->is(TypeKind::integer) ? call.types().int64 : call.types().float64;
}

Emitted emit_round(CallEmission& call) {
    const Resolution& of_float = call.resolution.inner[0];
    FunctionEmitter& e = call.emitter;
    const Emitted digits = call.has(1) ? call[1] : e.number(e.int64(0), e.types().int64);
    Instruction as_float = call.call;
    as_float.type = e.types().float64;
    CallEmission inner{e, *of_float.rule, as_float, of_float, {e.convert(call[0], as_float.type), digits}};
    Emitted rounded = of_float.rule->emit(inner);
    if (!call[0].type->is(TypeKind::integer)) return rounded;
    const TypeRef type = call.call.type;  // an integer changes with negative digits only
    llvm::Value* to_tens = call.apply(1, {digits, e.number(e.int64(0), e.types().int64)}).value();
    return e.number(
        e.builder.CreateSelect(to_tens, e.convert(rounded, type).value(), e.convert(call[0], type).value()),
        type);
}

/// x.view(dtype): the same bits as another type of the same width.
TypeRef type_view(const CallTyping& call) {
    const bool fits = call[1]->is(TypeKind::data_type) && call[1]->element()->bits == call[0]->bits &&
                      call[1]->element()->is_number() && !call[0]->is(TypeKind::boolean) &&
                      !call[1]->element()->is(TypeKind::boolean);
    if (!fits) call.no_match();
    return call[1]->element();
}

Emitted emit_view(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    return e.number(e.builder.CreateBitCast(call[0].value(), e.module.value_type(call.call.type)),
                    call.call.type);
}

TypeRef type_itself(const CallTyping& call) {
    return call.types().without_literal(call[0]);
}

Emitted emit_itself(CallEmission& call) {
    return call.emitter.convert(call[0], call.call.type);
}

Emitted emit_conjugate(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    return {call.call.type, {call[0].parts[0], e.builder.CreateFNeg(call[0].parts[1])}};
}

/// np.isscalar, np.iscomplexobj, np.isrealobj. Their results depend on the type alone.
TypeRef type_of_object(const CallTyping& call) {
    const bool array = call[0]->is(TypeKind::array);
    const TypeRef element = array ? call[0]->element() : call[0];
    const std::string_view name = call.callable.name;
    const bool holds = name == "numpy.isscalar"
                           ? !array && (element->is_scalar() || element->is(TypeKind::text))
                       : name == "numpy.iscomplexobj" ? element->is(TypeKind::complex)
                                                      : !element->is(TypeKind::complex);
    return call.types().literal(call.types().boolean, holds);
}

Emitted emit_of_object(CallEmission& call) {
    return call.emitter.number(call.emitter.builder.getInt1(*call.call.type->literal != 0), call.call.type);
}

TypeRef type_is_nat(const CallTyping& call) {
    if (!call[0]->is_date()) call.no_match();
    return call.types().boolean;
}

Emitted emit_is_nat(CallEmission& call) {
    return call.emitter.number(is_nat(call.emitter, call[0]), call.call.type);
}

TypeRef type_bit_count(const CallTyping& call) {
    if (!call[0]->is(TypeKind::integer)) call.no_match();
    return call.types().int64;
}

/// Counts the bits of the absolute value, as Python does.
Emitted emit_bit_count(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    llvm::Value* value = call[0].value();
    if (call[0].type->is_signed) {
        llvm::Value* negative = e.builder.CreateICmpSLT(value, llvm::ConstantInt::get(value->getType(), 0));
        value = e.builder.CreateSelect(negative, e.builder.CreateNeg(value), value);
    }
    llvm::Value* count = e.builder.CreateUnaryIntrinsic(llvm::Intrinsic::ctpop, value);
    return e.number(e.builder.CreateZExt(count, e.builder.getInt64Ty()), call.call.type);
}

constexpr Callable rows[] = {
    {"numpy.dtype", "dtype", type_dtype, emit_type_only},
    {"numpy.finfo", "dtype", type_limits, emit_type_only},
    {"numpy.iinfo", "type", type_limits, emit_type_only},
    {"numpy.round", "a decimals=", type_round, emit_round},
    {"number.view", "self dtype", type_view, emit_view},
    {"number.item", "self", type_itself, emit_itself},
    {"number.conjugate", "self", type_itself, emit_itself},
    {"complex.item", "self", type_itself, emit_itself},
    {"complex.conjugate", "self", type_itself, emit_conjugate},
    {"numpy.isscalar", "element", type_of_object, emit_of_object},
    {"numpy.iscomplexobj", "x", type_of_object, emit_of_object},
    {"numpy.isrealobj", "x", type_of_object, emit_of_object},
    {"numpy.isnat", "x", type_is_nat, emit_is_nat},
    {"number.bit_count", "self", type_bit_count, emit_bit_count},
};

}  // namespace

std::span<const Callable> number_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
