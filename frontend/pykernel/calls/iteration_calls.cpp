// enumerate, zip, reversed, iter, next, slice, np.ndindex, np.ndenumerate. What Numba's CUDA target has of
// them: no keyword arguments. It has no reversed: compile.cpp notes where a kernel uses it.
#include <algorithm>

#include "frontend/pykernel/calls/callables.h"
#include "frontend/pykernel/infer/added_operations.h"
#include "frontend/pykernel/infer/subscripts.h"

namespace cudasim::pykernel {
namespace {

/// Of an iterable that a program has added the program's own iterator, as a value; of all others one whose
/// state is in variables of the function.
TypeRef type_iter(const CallTyping& call) {
    if (!call[0]->is(TypeKind::added))
        return iterator_over(call.program, call[0], call.call.id, 0, call.call.location);
    return call.resolution.inner
        .emplace_back(call.program.ask_for_iteration(call[0], call.call.location).begin)
        .result;
}

Emitted emit_iter(CallEmission& call) {
    if (call[0].type->is(TypeKind::added)) return call.apply(0, {call[0]});
    call.emitter.begin_iteration(call.call.type, call[0], true);
    return {call.call.type, {}};
}

TypeRef type_next(const CallTyping& call) {
    if (call[0]->is_iterator()) return element_type(call.types(), call[0]);
    if (!is_added_iterator(call.program, call[0], call.call.location)) call.no_match();
    return call.resolution.inner
        .emplace_back(resolve_added(call.program, call.call.location, "iternext", {&call.arguments[0], 1}))
        .result->elements[1];
}

Emitted emit_next(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    if (call[0].type->is(TypeKind::added)) {
        const Emitted taken = call.apply(0, {call[0]});
        e.require(e.truth(e.element_of(taken, 0)), "StopIteration", "");
        return e.element_of(taken, 1);
    }
    e.require(e.has_next(call[0].type), "StopIteration", "");
    return e.take_next(call[0].type, call.call.type);
}

TypeRef type_enumerate(const CallTyping& call) {
    const TypeRef start = call.size() == 2 ? call[1] : nullptr;
    if (call.size() < 1 || call.size() > 2 || (start && !start->is(TypeKind::integer))) call.no_match();
    const TypeRef counted = iterator_over(call.program, call[0], call.call.id, 0, call.call.location);
    return call.types().enumerated(counted, call.call.id);
}

Emitted emit_enumerate(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    e.begin_iteration(call.call.type->element(), call[0], true);
    e.begin_counting(call.call.type,
                     call.arguments.size() == 2 ? e.convert(call[1], e.types().int64).value() : e.int64(0));
    return {call.call.type, {}};
}

TypeRef type_zip(const CallTyping& call) {
    std::vector<TypeRef> iterators;
    for (std::size_t i = 0; i < call.size(); ++i)
        iterators.push_back(iterator_over(call.program, call[i], call.call.id, i, call.call.location));
    const TypeRef zipped = call.types().zipped(std::move(iterators), call.call.id);
    call.resolution.parameters = {element_type(call.types(), zipped)};
    return zipped;
}

Emitted emit_zip(CallEmission& call) {
    for (std::size_t i = 0; i < call.arguments.size(); ++i)
        call.emitter.begin_iteration(call.call.type->elements[i], call[i], true);
    const auto takes_at_once = [](const Emitted& over) {  // has_next() has taken the element already
        return over.type->is_iterator() || over.type->is(TypeKind::added);
    };
    if (std::ranges::any_of(call.arguments, takes_at_once))
        call.emitter.begin_shared_zip(call.call.type, call.resolution.parameters[0]);
    return {call.call.type, {}};
}

/// A range backwards has signed values: its step is negative. An array backwards is a[::-1].
TypeRef type_reversed(const CallTyping& call) {
    TypeTable& types = call.types();
    const TypeRef over = call[0];
    if (over->is(TypeKind::range))
        return types.range(over->element()->is_signed ? over->element() : types.int64);
    if (over->is(TypeKind::array) && over->dimensions > 0)
        return types.array_like(over, over->element(), over->dimensions, 'A');
    if (over->is(TypeKind::tuple)) return types.tuple({over->elements.rbegin(), over->elements.rend()});
    refuse_typing("a value of type " + over->name + " is not reversible", call.call.location);
}

Emitted emit_reversed(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const Emitted& over = call[0];
    Emitted result{call.call.type, over.parts};
    if (over.type->is(TypeKind::tuple)) {
        result.parts.clear();
        for (std::size_t i = over.type->elements.size(); i-- > 0;)
            result.parts.append(e.element_of(over, i).parts);
        return result;
    }
    if (over.type->is(TypeKind::range)) {
        llvm::Value* count = e.range_length(over);
        auto number = [&](llvm::Value* value) {
            return e.convert(e.number(value, over.type->element()), call.call.type->element()).value();
        };
        llvm::Value *start = number(over.parts[0]), *step = number(over.parts[2]);
        llvm::Value* before = e.builder.CreateSub(start, step);
        result.parts = {e.builder.CreateAdd(before, e.builder.CreateMul(number(count), step)), before,
                        e.builder.CreateNeg(step)};
        return result;
    }
    llvm::Value*& stride = result.parts[1 + over.type->dimensions];
    llvm::Value* last = e.builder.CreateSub(over.parts[1], e.int64(1));
    result.parts[0] =
        e.builder.CreateGEP(e.builder.getInt8Ty(), over.parts[0], e.builder.CreateMul(last, stride));
    stride = e.builder.CreateNeg(stride);
    return result;
}

TypeRef type_slice(const CallTyping& call) {
    if (call.size() < 1 || call.size() > 3) call.refuse("takes one to three integers");
    std::vector<TypeRef> bounds = call.arguments;
    if (bounds.size() == 1) bounds.insert(bounds.begin(), call.types().none);
    return slice_type(call.types(), bounds, call.call.location);
}

Emitted emit_slice(CallEmission& call) {
    std::vector<Emitted> bounds = call.arguments;
    if (bounds.size() == 1) bounds.insert(bounds.begin(), Emitted{call.emitter.types().none, {}});
    return call.emitter.make_slice(call.call.type, bounds);
}

/// np.ndindex(2, 3) or np.ndindex((2, 3)).
TypeRef type_index_grid(const CallTyping& call) {
    const bool one_tuple = call.size() == 1 && call[0]->is(TypeKind::tuple);
    const std::vector<TypeRef>& extents = one_tuple ? call[0]->elements : call.arguments;
    if (extents.empty() || !std::ranges::all_of(extents, [](TypeRef t) { return t->is(TypeKind::integer); }))
        call.no_match();
    return call.types().wrapped(TypeKind::index_grid,
                                call.types().tuple(std::vector<TypeRef>(extents.size(), call.types().int64)));
}

Emitted emit_index_grid(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef extents = call.call.type->element();
    Emitted result{call.call.type, {}};
    if (call[0].type->is(TypeKind::tuple)) {
        result.parts = e.convert(call[0], extents).parts;
    } else {
        for (const Emitted& extent : call.arguments)
            result.parts.push_back(e.convert(extent, e.types().int64).value());
    }
    return result;
}

TypeRef type_index_items(const CallTyping& call) {
    if (!call[0]->is(TypeKind::array)) call.no_match();
    return call.types().wrapped(TypeKind::index_items, call[0]);
}

Emitted emit_index_items(CallEmission& call) {
    return {call.call.type, call[0].parts};
}

constexpr Callable rows[] = {
    {"iter", "object", type_iter, emit_iter},
    {"next", "iterator", type_next, emit_next},
    {"enumerate", "*", type_enumerate, emit_enumerate},
    {"zip", "*", type_zip, emit_zip},
    {"reversed", "sequence", type_reversed, emit_reversed},
    {"slice", "*", type_slice, emit_slice},
    {"numpy.ndindex", "*", type_index_grid, emit_index_grid},
    {"numpy.ndenumerate", "arr", type_index_items, emit_index_items},
};

}  // namespace

std::span<const Callable> iteration_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
