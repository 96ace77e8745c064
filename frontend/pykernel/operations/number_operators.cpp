// Operators on numbers: which overload they get is in Numba's tables (types/promotion.h).
#include <llvm/IR/Constants.h>

#include "frontend/pykernel/infer/added_operations.h"
#include "frontend/pykernel/operations/rules.h"

namespace cudasim::pykernel {
namespace {

/// `is` compares numbers as == does.
Operator comparing(Operator op) {
    return op == Operator::is ? Operator::equal : op == Operator::is_not ? Operator::not_equal : op;
}

/// What an operator gives for operands whose overload a rule is for.
template <bool (*is_for)(Operator, const Signature&)>
TypeRef type_binary(const CallTyping& operation) {
    const Operator op = operation.resolution.op;
    const Signature* signature = operation.program.promotion.binary(op, operation[0], operation[1]);
    if (!signature || !is_for(op, *signature)) return nullptr;
    operation.resolution.op = comparing(op);
    operation.resolution.parameters = signature->parameters;
    return signature->result;
}

bool of_complex(Operator, const Signature& signature) {
    return signature.parameters[0]->is(TypeKind::complex);
}

bool is_power(Operator op, const Signature&) {
    return op == Operator::power;
}

bool compares(Operator op, const Signature&) {
    return is_comparison(op);
}

bool gives_bfloat(Operator, const Signature& signature) {
    return signature.result->is(TypeKind::bfloat);
}

bool gives_number(Operator, const Signature&) {
    return true;
}

Emitted emit_complex(CallEmission& operation) {
    FunctionEmitter& e = operation.emitter;
    const Operator op = operation.resolution.op;
    const TypeRef type = operation.resolution.parameters[0], exponent = operation[1].type;
    // A constant square multiplies (Numba asks for an exponent of 2 while the kernel runs, with the same
    // result).
    const bool square = op == Operator::power && exponent->literal && *exponent->literal == 2;
    const Emitted base = e.convert(operation[0], type);
    if (square) return e.complex_binary(Operator::multiply, base, base);
    return e.complex_binary(op, base, e.convert(operation[1], type));
}

Emitted emit_power(CallEmission& operation) {
    return operation.emitter.power(operation[0], operation[1], operation.resolution.result,
                                   operation.resolution.parameters[1]);
}

Emitted emit_comparison(CallEmission& operation) {
    FunctionEmitter& e = operation.emitter;
    const TypeRef parameter = operation.resolution.parameters[0];
    const bool narrow = parameter->is(TypeKind::bfloat);  // which float32 holds, as all that converts to it
    const TypeRef type = narrow ? e.types().float32 : parameter;
    return e.number(e.compare(operation.resolution.op, e.convert(operation[0], type).value(),
                              e.convert(operation[1], type).value(), type),
                    e.types().boolean);
}

/// Two roundings are one: float32 has more than twice the bits.
Emitted emit_bfloat(CallEmission& operation) {
    FunctionEmitter& e = operation.emitter;
    const TypeRef single = e.types().float32;
    llvm::Value* wide = e.float_binary(operation.resolution.op, e.convert(operation[0], single).value(),
                                       e.convert(operation[1], single).value());
    return e.convert(e.number(wide, single), operation.resolution.result);
}

Emitted emit_number(CallEmission& operation) {
    FunctionEmitter& e = operation.emitter;
    const Operator op = operation.resolution.op;
    const TypeRef type = operation.resolution.result;
    llvm::Value* a = e.convert(operation[0], type).value();
    llvm::Value* b = e.convert(operation[1], type).value();
    if (type->is(TypeKind::floating)) return e.number(e.float_binary(op, a, b), type);
    return e.number(e.integer_binary(op, a, b, type->is(TypeKind::integer) && type->is_signed), type);
}

/// What a program says of operator.not_, or what it says of bool().
Resolution negation_of_added(const CallTyping& operation) {
    Program& program = operation.program;
    const Location place = operation.call.location;
    try {
        if (auto own = added_operator(program, Operator::logical_not, {&operation.arguments[0], 1}, place))
            return std::move(*own);
    } catch (const SourceError& refused) {
        if (refused.error_class != ErrorClass::typing) throw;
    }
    return added_condition(program, operation[0], place);
}

TypeRef type_not(const CallTyping& operation) {
    const TypeRef operand = operation[0];
    if (operation.resolution.op != Operator::logical_not || operand->present()->is(TypeKind::tuple))
        return nullptr;
    if (operand->present()->is(TypeKind::added)) {
        const Resolution& added = operation.resolution.inner.emplace_back(negation_of_added(operation));
        return added.op == Operator::logical_not ? added.result : operation.types().boolean;
    }
    if (!operand->is(TypeKind::bfloat)) check_condition(operand, operation.call.location);
    return operation.types().boolean;
}

Emitted emit_not(CallEmission& operation) {
    FunctionEmitter& e = operation.emitter;
    const auto negated = [&](llvm::Value* value) -> llvm::Value* {
        if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(value)) return e.builder.getInt1(known->isZero());
        return e.builder.CreateNot(value);
    };
    const std::vector<Resolution>& added = operation.resolution.inner;
    const Emitted tested = added.empty() ? operation[0] : operation.apply(0, {operation[0]});
    if (!added.empty() && added[0].op == Operator::logical_not) return tested;
    return e.number(e.each_way(e.truth(tested), negated), operation.resolution.result);
}

template <Operator op>
TypeRef type_unary(const CallTyping& operation) {
    if (operation.resolution.op != op) return nullptr;
    const Signature* signature = operation.program.promotion.unary(op, operation[0]);
    return signature ? signature->result : nullptr;
}

Emitted emit_plus(CallEmission& operation) {
    return operation.emitter.convert(operation[0], operation.resolution.result);
}

/// Integers are negated and inverted in their own width and widened afterwards: -uint8(3) is 253 (a fact
/// about Numba).
Emitted in_own_width(CallEmission& operation) {
    FunctionEmitter& e = operation.emitter;
    const TypeRef given = operation[0].type;
    const bool integer = given->is(TypeKind::integer);
    return e.convert(operation[0], integer ? given : operation.resolution.result);
}

Emitted emit_negation(CallEmission& operation) {
    FunctionEmitter& e = operation.emitter;
    const TypeRef result = operation.resolution.result;
    if (result->is(TypeKind::complex)) {
        const Parts& given = operation[0].parts;
        return {result, {e.builder.CreateFNeg(given[0]), e.builder.CreateFNeg(given[1])}};
    }
    const Emitted own = in_own_width(operation);
    return e.convert(e.number(e.negated(own.value(), own.type), own.type), result);
}

Emitted emit_inversion(CallEmission& operation) {
    FunctionEmitter& e = operation.emitter;
    const Emitted own = in_own_width(operation);
    return e.convert(e.number(e.builder.CreateNot(own.value()), own.type), operation.resolution.result);
}

constexpr Rule rows[] = {
    {"complex numbers", "left right", type_binary<of_complex>, emit_complex},
    {"a power", "left right", type_binary<is_power>, emit_power},
    {"a comparison of numbers", "left right", type_binary<compares>, emit_comparison},
    {"arithmetic in bfloat16", "left right", type_binary<gives_bfloat>, emit_bfloat},
    {"arithmetic", "left right", type_binary<gives_number>, emit_number},
    {"not", "operand", type_not, emit_not, true},
    {"+", "operand", type_unary<Operator::plus>, emit_plus},
    {"-", "operand", type_unary<Operator::negate>, emit_negation},
    {"~", "operand", type_unary<Operator::invert>, emit_inversion},
};

}  // namespace

std::span<const Rule> number_operators() {
    return rows;
}

}  // namespace cudasim::pykernel
