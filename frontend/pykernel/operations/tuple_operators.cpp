// Tuples: sums and comparisons. `in`: tuples, arrays of any number of dimensions, ranges.
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "frontend/pykernel/operations/rules.h"
#include "frontend/pykernel/types/character_types.h"

namespace cudasim::pykernel {
namespace {

bool is_text(TypeRef type) {
    return type->is(TypeKind::text);
}

bool tuples(const CallTyping& operation) {
    return operation[0]->is(TypeKind::tuple) && operation[1]->is(TypeKind::tuple);
}

TypeRef type_sum(const CallTyping& operation) {
    const bool defined = operation.resolution.op == Operator::add && tuples(operation) &&
                         operation[0]->names.empty() && operation[1]->names.empty();
    if (!defined) return nullptr;
    std::vector<TypeRef> elements = operation[0]->elements;
    elements.insert(elements.end(), operation[1]->elements.begin(), operation[1]->elements.end());
    return operation.types().tuple(std::move(elements));
}

Emitted emit_sum(CallEmission& operation) {
    Emitted result{operation.resolution.result, operation[0].parts};
    result.parts.append(operation[1].parts);
    return result;
}

bool is_equality(Operator op) {
    return op == Operator::equal || op == Operator::not_equal;
}

/// Whether the operator compares them; notes its meaning.
bool compares(const CallTyping& operation, Operator op, TypeRef left, TypeRef right) {
    const TypeRef result = operation.apply(op, left, right);
    return result && result->is(TypeKind::boolean);  // a program's own operator may give anything
}

/// Pairs of elements are compared for equality; for an order the operator's own comparison follows each.
TypeRef type_comparison(const CallTyping& operation) {
    const Operator op = operation.resolution.op;
    const bool is_comparison = op >= Operator::equal && op <= Operator::greater_equal;
    if (!is_comparison || !tuples(operation) ||
        !comparable(operation.program, op, operation[0], operation[1]))
        return nullptr;
    const auto &left = operation[0]->elements, &right = operation[1]->elements;
    for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
        if (!compares(operation, Operator::equal, left[i], right[i])) return nullptr;
        if (!is_equality(op) && !compares(operation, op, left[i], right[i])) return nullptr;
    }
    return operation.types().boolean;
}

/// Lexicographic: the first pair that is not equal decides, else the lengths.
Emitted emit_comparison(CallEmission& operation) {
    FunctionEmitter& e = operation.emitter;
    const Operator op = operation.resolution.op;
    const Emitted &left = operation[0], &right = operation[1];
    const std::size_t a = left.type->elements.size(), b = right.type->elements.size(),
                      shared = std::min(a, b);
    if (is_equality(op)) {
        llvm::Value* equal = e.builder.getInt1(a == b);
        for (std::size_t i = 0; i < shared; ++i) {
            const Emitted pair = operation.apply(i, {e.element_of(left, i), e.element_of(right, i)});
            equal = e.builder.CreateAnd(equal, pair.value());
        }
        return e.number(op == Operator::equal ? equal : e.builder.CreateNot(equal), e.types().boolean);
    }
    const bool by_length = op == Operator::less         ? a < b
                           : op == Operator::less_equal ? a <= b
                           : op == Operator::greater    ? a > b
                                                        : a >= b;
    llvm::Value* result = e.builder.getInt1(by_length);
    for (std::size_t i = shared; i-- > 0;) {
        const Emitted x = e.element_of(left, i), y = e.element_of(right, i);
        llvm::Value* equal = operation.apply(2 * i, {x, y}).value();
        result = e.builder.CreateSelect(equal, result, operation.apply(2 * i + 1, {x, y}).value());
    }
    return e.number(result, e.types().boolean);
}

bool is_membership(Operator op) {
    return op == Operator::in || op == Operator::not_in;
}

/// Of strings, and in an empty tuple, it is known while compiling.
TypeRef type_known_membership(const CallTyping& operation) {
    const TypeRef value = operation[0], container = operation[1];
    if (!is_membership(operation.resolution.op) || !container->is(TypeKind::tuple)) return nullptr;
    const auto& elements = container->elements;
    if (!elements.empty() && (!is_text(value) || !std::ranges::all_of(elements, is_text))) return nullptr;
    const bool found = std::ranges::find(elements, value) != elements.end();
    return operation.types().literal(operation.types().boolean,
                                     found == (operation.resolution.op == Operator::in));
}

/// Elements of one type, or constants that characters compare with.
TypeRef type_in_tuple(const CallTyping& operation) {
    const TypeRef value = operation[0];
    if (!is_membership(operation.resolution.op) || !operation[1]->is(TypeKind::tuple)) return nullptr;
    const auto& elements = operation.types().without_literal(operation[1])->elements;
    const auto of_one_size = [&](TypeRef type) { return character_size(type) == character_size(value); };
    const bool uniform = std::ranges::all_of(elements, [&](TypeRef type) { return type == elements[0]; }),
               constants = value->is(TypeKind::characters) && std::ranges::all_of(elements, of_one_size);
    if (!constants && (!uniform || !comparable(operation.program, Operator::equal, value, elements[0])))
        return nullptr;
    for (TypeRef element : operation[1]->elements)
        if (!compares(operation, Operator::equal, value, element)) return nullptr;
    return operation.types().boolean;
}

Emitted answer(CallEmission& operation, llvm::Value* found) {
    FunctionEmitter& e = operation.emitter;
    const bool wanted = operation.resolution.op == Operator::in;
    return e.number(wanted ? found : e.builder.CreateNot(found), e.types().boolean);
}

Emitted emit_in_tuple(CallEmission& operation) {
    FunctionEmitter& e = operation.emitter;
    llvm::Value* found = e.builder.getFalse();
    for (std::size_t i = 0; i < operation[1].type->elements.size(); ++i) {
        const Emitted equal = operation.apply(i, {operation[0], e.element_of(operation[1], i)});
        found = e.builder.CreateOr(found, equal.value());
    }
    return answer(operation, found);
}

template <TypeKind kind>
TypeRef type_in(const CallTyping& operation) {
    const TypeRef value = operation[0], container = operation[1];
    if (!is_membership(operation.resolution.op) || !container->is(kind)) return nullptr;
    const TypeRef element = container->element();
    const bool defined = value->is_scalar() && element->is_scalar() &&
                         comparable(operation.program, Operator::equal, value, element);
    const TypeRef compared = kind == TypeKind::range ? operation.types().int64 : element;
    return defined && operation.apply(Operator::equal, value, compared) ? operation.types().boolean : nullptr;
}

Emitted emit_in_array(CallEmission& operation) {
    FunctionEmitter& e = operation.emitter;
    const Emitted &value = operation[0], &array = operation[1];
    const TypeRef element = array.type->element();
    llvm::AllocaInst* found = e.entry_alloca(e.builder.getInt8Ty(), "found");
    e.builder.CreateStore(e.builder.getInt8(0), found);
    e.for_each_element(array, [&](llvm::Value* place) {
        llvm::Value* equal = operation.apply(0, {value, e.load_element(place, element, array.type)}).value();
        llvm::Value* before = e.builder.CreateLoad(e.builder.getInt8Ty(), found);
        e.builder.CreateStore(e.builder.CreateOr(before, e.builder.CreateZExt(equal, e.builder.getInt8Ty())),
                              found);
    });
    return answer(operation, e.builder.CreateICmpNE(e.builder.CreateLoad(e.builder.getInt8Ty(), found),
                                                    e.builder.getInt8(0)));
}

/// A whole number between start and stop, a multiple of the step away from start.
Emitted emit_in_range(CallEmission& operation) {
    FunctionEmitter& e = operation.emitter;
    auto& builder = e.builder;
    const Emitted &value = operation[0], &range = operation[1];
    const TypeRef whole = e.types().int64;
    auto part = [&](std::size_t i) {
        return e.convert(e.number(range.parts[i], range.type->element()), whole).value();
    };
    llvm::Value *start = part(0), *stop = part(1), *step = part(2);
    const Emitted rounded = e.convert(value, whole);
    llvm::Value* x = rounded.value();
    llvm::Value* up = builder.CreateICmpSGT(step, e.int64(0));
    llvm::Value* above = builder.CreateAnd(builder.CreateICmpSGE(x, start), builder.CreateICmpSLT(x, stop));
    llvm::Value* below = builder.CreateAnd(builder.CreateICmpSLE(x, start), builder.CreateICmpSGT(x, stop));
    llvm::Value* inside = builder.CreateSelect(up, above, below);
    llvm::Value* distance =
        builder.CreateSelect(up, builder.CreateSub(x, start), builder.CreateSub(start, x));
    llvm::Value* stride = builder.CreateSelect(up, step, builder.CreateNeg(step));
    e.require(builder.CreateICmpNE(step, e.int64(0)), "ValueError", "range() arg 3 must not be zero");
    llvm::Value* on_step = builder.CreateICmpEQ(builder.CreateURem(distance, stride), e.int64(0));
    llvm::Value* is_whole = operation.apply(0, {value, rounded}).value();
    return answer(operation, builder.CreateAnd(is_whole, builder.CreateAnd(inside, on_step)));
}

constexpr Rule rows[] = {
    {"a sum of tuples", "left right", type_sum, emit_sum},
    {"a comparison of tuples", "left right", type_comparison, emit_comparison},
    {"in, known while compiling", "left right", type_known_membership, emit_known, true},
    {"in a tuple", "left right", type_in_tuple, emit_in_tuple},
    {"in an array", "left right", type_in<TypeKind::array>, emit_in_array},
    {"in a range", "left right", type_in<TypeKind::range>, emit_in_range},
};

}  // namespace

std::span<const Rule> tuple_operators() {
    return rows;
}

}  // namespace cudasim::pykernel
