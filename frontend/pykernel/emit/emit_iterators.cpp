// Iterators: of ranges, arrays, tuples, a.flat, np.ndindex and np.ndenumerate, and enumerate and zip of them.
//
// The state of an iterator lives in allocas of the function, found through the iterator's type
// (TypeTable::iterator), so that its values need no parts. A range with step 1 or -1 compares its position
// with the stop, the form that optimisers know best; any other counts its remaining iterations, so that
// stepping past the largest integer cannot loop for ever.
#include <llvm/IR/Constants.h>

#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {

/// Makes the iterator `type` over `over`. An iterator that a variable may carry elsewhere keeps what it needs
/// in memory; that of a `for` stands right before its loop.
void FunctionEmitter::begin_iteration(TypeRef type, const Emitted& over, bool may_travel) {
    if (over.type->is_iterator()) return;
    Iterator iterator;
    iterator.over_type = over.type;
    if (over.type->is(TypeKind::added)) {
        begin_added(iterator, over, may_travel);
        iterators_[type] = std::move(iterator);
        return;
    }
    for (llvm::Value* part : over.parts) iterator.over.push_back(hold(part, may_travel));
    if (over.type->is(TypeKind::range)) {
        begin_range(iterator, over);
    } else {
        iterator.position = entry_alloca(builder.getInt64Ty(), "loop.index");
        builder.CreateStore(int64(0), iterator.position);
        iterator.step = {int64(1)};
        iterator.stop = hold(iteration_count(over), may_travel);
    }
    iterators_[type] = std::move(iterator);
}

/// What the loop runs over is getiter's result then.
void FunctionEmitter::begin_added(Iterator& iterator, const Emitted& over, bool may_travel) {
    const Iteration& iteration = module.program.iteration(over.type);
    for (llvm::Value* part : emit_added(iteration.begin, {&over, 1}).parts)
        iterator.over.push_back(hold(part, may_travel));
    llvm::SmallVector<llvm::Type*> parts;
    module.part_types(iteration.next.result, false, parts);
    for (llvm::Type* part : parts) iterator.taken.push_back(entry_alloca(part, "iterator.taken"));
}

FunctionEmitter::Held FunctionEmitter::hold(llvm::Value* value, bool in_memory) {
    if (!in_memory) return {value};
    llvm::Value* stored = image::stored_value(value);
    if (llvm::isa<llvm::Constant>(stored) || llvm::isa<llvm::Argument>(stored)) return {stored};
    Held held{nullptr, entry_alloca(value->getType(), "loop.over")};
    builder.CreateStore(value, held.slot);
    return held;
}

llvm::Value* FunctionEmitter::get(const Held& held) {
    return held.slot ? builder.CreateLoad(held.slot->getAllocatedType(), held.slot) : held.value;
}

llvm::Value* FunctionEmitter::iteration_count(const Emitted& over) {
    const TypeRef type = over.type;
    if (type->is(TypeKind::array)) return over.parts[1];
    if (type->is(TypeKind::tuple)) return int64(static_cast<std::int64_t>(type->elements.size()));
    if (type->is(TypeKind::index_grid)) {
        llvm::Value* count = int64(1);
        for (llvm::Value* extent : over.parts) {
            // A negative extent is an empty grid.
            llvm::Value* some = builder.CreateICmpSGT(extent, int64(0));
            count = builder.CreateMul(count, builder.CreateSelect(some, extent, int64(0)));
        }
        return count;
    }
    return array_size({type->element(), over.parts});  // flat, index_items
}

void FunctionEmitter::begin_range(Iterator& iterator, const Emitted& range) {
    llvm::Value* start = range.parts[0];
    iterator.stop = iterator.over[1];
    iterator.step = iterator.over[2];
    iterator.position = entry_alloca(start->getType(), "range.next");
    builder.CreateStore(start, iterator.position);
    auto* known = known_constant<llvm::ConstantInt>(range.parts[2]);
    const bool unit = known && (known->isOne() || (known->isMinusOne() && range.type->element()->is_signed));
    if (unit) {
        iterator.step = {known};
        return;
    }
    iterator.remaining = entry_alloca(start->getType(), "range.remaining");
    builder.CreateStore(range_length(range), iterator.remaining);
}

/// Python reference, ranges: as many values as there are between start and stop; step 0 is a ValueError.
llvm::Value* FunctionEmitter::range_length(const Emitted& range) {
    llvm::Value *start = range.parts[0], *end = range.parts[1], *step = range.parts[2];
    llvm::Value* zero = llvm::ConstantInt::get(start->getType(), 0);
    llvm::Value* one = llvm::ConstantInt::get(start->getType(), 1);
    require(builder.CreateICmpNE(step, zero), "ValueError", "range() arg 3 must not be zero");
    const bool is_signed = range.type->element()->is_signed;
    llvm::Value* up = is_signed ? builder.CreateICmpSGT(step, zero) : builder.getInt1(true);
    llvm::Value* low = builder.CreateSelect(up, start, end);
    llvm::Value* high = builder.CreateSelect(up, end, start);
    llvm::Value* stride = builder.CreateSelect(up, step, builder.CreateNeg(step));
    llvm::Value* any = is_signed ? builder.CreateICmpSLT(low, high) : builder.CreateICmpULT(low, high);
    llvm::Value* span = builder.CreateSub(builder.CreateSub(high, low), one);
    llvm::Value* length = builder.CreateAdd(builder.CreateUDiv(span, stride), one);
    return builder.CreateSelect(any, length, zero);
}

void FunctionEmitter::begin_counting(TypeRef enumerated, llvm::Value* first) {
    llvm::AllocaInst*& counter = counters_[enumerated];
    counter = entry_alloca(builder.getInt64Ty(), "enumerate.count");
    builder.CreateStore(first, counter);
}

void FunctionEmitter::begin_shared_zip(TypeRef zipped, TypeRef elements) {
    llvm::SmallVector<llvm::Type*> parts;
    module.part_types(elements, false, parts);
    SharedZip& shared = shared_zips_[zipped];
    shared.elements = elements;
    for (llvm::Type* part : parts) shared.slots.push_back(entry_alloca(part, "zip.taken"));
}

/// Takes an element of each iterator, as Python's zip does: where one is exhausted, those before it have lost
/// an element.
llvm::Value* FunctionEmitter::take_one_of_each(TypeRef zipped) {
    llvm::AllocaInst* all = entry_alloca(builder.getInt1Ty(), "zip.all");
    builder.CreateStore(builder.getFalse(), all);
    llvm::BasicBlock* end = new_block("zip.end");
    const SharedZip& shared = shared_zips_.at(zipped);
    auto slot = shared.slots.begin();
    for (std::size_t i = 0; i < zipped->elements.size(); ++i) {
        const TypeRef iterator = zipped->elements[i];
        llvm::Value* more = has_next(iterator);
        llvm::BasicBlock* takes = new_block("zip.takes");
        builder.CreateCondBr(more, takes, end);
        builder.SetInsertPoint(takes);
        for (llvm::Value* part : take_next(iterator, shared.elements->elements[i]).parts)
            builder.CreateStore(part, *slot++);
    }
    builder.CreateStore(builder.getTrue(), all);
    builder.CreateBr(end);
    builder.SetInsertPoint(end);
    return builder.CreateLoad(builder.getInt1Ty(), all);
}

/// Whether there is a next element; a shared zip, and an iterator that a program has added, takes it already.
llvm::Value* FunctionEmitter::has_next(TypeRef type) {
    if (type->is(TypeKind::enumerated)) return has_next(type->element());
    if (shared_zips_.contains(type)) return take_one_of_each(type);
    if (type->is(TypeKind::zipped)) {
        llvm::Value* all = builder.getInt1(!type->elements.empty());
        for (TypeRef element : type->elements) {
            llvm::Value* more = has_next(element);
            all = llvm::isa<llvm::Constant>(all) ? more : builder.CreateAnd(all, more);
        }
        return all;
    }
    const Iterator& iterator = iterators_.at(type);
    if (!iterator.taken.empty()) {
        const Iteration& iteration = module.program.iteration(iterator.over_type);
        Emitted state{iteration.begin.result, {}};
        for (const Held& part : iterator.over) state.parts.push_back(get(part));
        const Emitted next = emit_added(iteration.next, {&state, 1});
        for (std::size_t i = 0; i < next.parts.size(); ++i)
            builder.CreateStore(next.parts[i], iterator.taken[i]);
        return truth(element_of(next, 0));
    }
    llvm::Type* number_type = iterator.position->getAllocatedType();
    if (iterator.remaining) {
        llvm::Value* left = builder.CreateLoad(number_type, iterator.remaining);
        return builder.CreateICmpNE(left, llvm::ConstantInt::get(number_type, 0));
    }
    llvm::Value* next = builder.CreateLoad(number_type, iterator.position);
    llvm::Value* stop = get(iterator.stop);
    if (llvm::cast<llvm::ConstantInt>(iterator.step.value)->isMinusOne())
        return builder.CreateICmpSGT(next, stop);
    const bool is_signed =
        !iterator.over_type->is(TypeKind::range) || iterator.over_type->element()->is_signed;
    return is_signed ? builder.CreateICmpSLT(next, stop) : builder.CreateICmpULT(next, stop);
}

/// Takes the next element, which has_next() found.
Emitted FunctionEmitter::take_next(TypeRef type, TypeRef result) {
    if (type->is(TypeKind::zipped)) {
        Emitted elements{result, {}};
        if (const auto taken = shared_zips_.find(type); taken != shared_zips_.end()) {
            for (llvm::AllocaInst* slot : taken->second.slots)
                elements.parts.push_back(builder.CreateLoad(slot->getAllocatedType(), slot));
            return elements;
        }
        for (std::size_t i = 0; i < type->elements.size(); ++i)
            elements.parts.append(take_next(type->elements[i], result->elements[i]).parts);
        return elements;
    }
    if (type->is(TypeKind::enumerated)) {
        llvm::AllocaInst* counter = counters_.at(type);
        llvm::Value* count = builder.CreateLoad(builder.getInt64Ty(), counter);
        builder.CreateStore(builder.CreateAdd(count, int64(1)), counter);
        Emitted pair{result, {count}};
        pair.parts.append(take_next(type->element(), result->elements[1]).parts);
        return pair;
    }
    const Iterator& iterator = iterators_.at(type);
    if (!iterator.taken.empty()) {
        Emitted next{module.program.iteration(iterator.over_type).next.result, {}};
        for (llvm::AllocaInst* slot : iterator.taken)
            next.parts.push_back(builder.CreateLoad(slot->getAllocatedType(), slot));
        return element_of(next, 1);
    }
    llvm::Type* number_type = iterator.position->getAllocatedType();
    llvm::Value* position = builder.CreateLoad(number_type, iterator.position);
    builder.CreateStore(builder.CreateAdd(position, get(iterator.step)), iterator.position);
    if (iterator.remaining) {
        llvm::Value* left = builder.CreateLoad(number_type, iterator.remaining);
        builder.CreateStore(builder.CreateSub(left, llvm::ConstantInt::get(number_type, 1)),
                            iterator.remaining);
    }
    Emitted over{iterator.over_type, {}};
    for (const Held& part : iterator.over) over.parts.push_back(get(part));
    return element_at(over, position, result);
}

Emitted FunctionEmitter::element_at(const Emitted& over, llvm::Value* position, TypeRef result) {
    switch (over.type->kind) {
        case TypeKind::range:
            return number(position, result);
        case TypeKind::array:
            return item_at(over, std::array{position}, result);
        case TypeKind::flat:
            return load_element(flat_address({over.type->element(), over.parts}, position), result,
                                over.type->element());
        case TypeKind::index_grid:
            return {result, split_index(over.parts, position)};
        case TypeKind::index_items: {
            const Emitted array{over.type->element(), over.parts};
            const unsigned n = array.type->dimensions;
            Parts indices = split_index(std::span(array.parts).subspan(1, n), position);
            const Emitted element = item_at(array, indices, result->elements[1]);
            indices.append(element.parts);
            return {result, indices};
        }
        default:
            return any_element_of(over, number(position, types().int64), result);
    }
}

/// The indices of the element that is number `position` in C order.
Parts FunctionEmitter::split_index(std::span<llvm::Value* const> shape, llvm::Value* position) {
    Parts indices(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        indices[axis] = axis ? builder.CreateURem(position, shape[axis]) : position;
        if (axis) position = builder.CreateUDiv(position, shape[axis]);
    }
    return indices;
}

llvm::Value* FunctionEmitter::flat_address(const Emitted& array, llvm::Value* position) {
    if (array.type->layout == 'C' && array.type->dimensions > 0)
        return builder.CreateGEP(module.memory_type(array.type->element()), array.parts[0], position);
    const Parts indices = split_index(std::span(array.parts).subspan(1, array.type->dimensions), position);
    return address(array, indices);
}

}  // namespace cudasim::pykernel
