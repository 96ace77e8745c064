// What `for` runs over: ranges, arrays, tuples.
//
// A range with step 1 or -1 compares its position with the stop, the form that optimisers know best; any
// other counts its remaining iterations, so that stepping past the largest integer cannot loop for ever.
#include <llvm/IR/Constants.h>

#include "frontend/pykernel/emission.h"

namespace cudasim::pykernel {

void FunctionEmitter::begin_iteration(ValueId id, const Emitted& over) {
    Iterator iterator;
    iterator.over = over;
    if (over.type->is(TypeKind::range)) {
        begin_range(iterator);
    } else {
        iterator.position = entry_alloca(builder.getInt64Ty(), "loop.index");
        builder.CreateStore(int64(0), iterator.position);
        iterator.step = int64(1);
        iterator.stop = over.type->is(TypeKind::array)
                            ? over.parts[1]
                            : int64(static_cast<std::int64_t>(over.type->elements.size()));
    }
    iterators_[id] = std::move(iterator);
}

void FunctionEmitter::begin_range(Iterator& iterator) {
    llvm::Value* start = iterator.over.parts[0];
    iterator.stop = iterator.over.parts[1];
    iterator.step = iterator.over.parts[2];
    iterator.position = entry_alloca(start->getType(), "range.next");
    builder.CreateStore(start, iterator.position);
    auto* known = llvm::dyn_cast<llvm::ConstantInt>(iterator.step);
    const bool unit =
        known && (known->isOne() || (known->isMinusOne() && iterator.over.type->element()->is_signed));
    if (unit) return;
    iterator.remaining = entry_alloca(start->getType(), "range.remaining");
    builder.CreateStore(range_length(iterator, start), iterator.remaining);
}

/// Python reference, ranges: as many values as there are between start and stop; step 0 is a ValueError.
llvm::Value* FunctionEmitter::range_length(const Iterator& iterator, llvm::Value* start) {
    llvm::Type* type = start->getType();
    llvm::Value* zero = llvm::ConstantInt::get(type, 0);
    llvm::Value* one = llvm::ConstantInt::get(type, 1);
    llvm::BasicBlock* bad = new_block("range.zero_step");
    llvm::BasicBlock* good = new_block("range.length");
    builder.CreateCondBr(builder.CreateICmpEQ(iterator.step, zero), bad, good);
    builder.SetInsertPoint(bad);
    raise("ValueError", "range() arg 3 must not be zero");
    builder.SetInsertPoint(good);
    const bool is_signed = iterator.over.type->element()->is_signed;
    llvm::Value* up = is_signed ? builder.CreateICmpSGT(iterator.step, zero) : builder.getInt1(true);
    llvm::Value* low = builder.CreateSelect(up, start, iterator.stop);
    llvm::Value* high = builder.CreateSelect(up, iterator.stop, start);
    llvm::Value* stride = builder.CreateSelect(up, iterator.step, builder.CreateNeg(iterator.step));
    llvm::Value* any = is_signed ? builder.CreateICmpSLT(low, high) : builder.CreateICmpULT(low, high);
    llvm::Value* span = builder.CreateSub(builder.CreateSub(high, low), one);
    llvm::Value* length = builder.CreateAdd(builder.CreateUDiv(span, stride), one);
    return builder.CreateSelect(any, length, zero);
}

Emitted FunctionEmitter::advance(ValueId id) {
    const Iterator& iterator = iterators_.at(id);
    llvm::Type* type = iterator.position->getAllocatedType();
    if (iterator.remaining) {
        llvm::Value* left = builder.CreateLoad(type, iterator.remaining);
        return number(builder.CreateICmpNE(left, llvm::ConstantInt::get(type, 0)), types().boolean);
    }
    llvm::Value* next = builder.CreateLoad(type, iterator.position);
    const bool down = llvm::cast<llvm::ConstantInt>(iterator.step)->isMinusOne();
    const bool is_signed =
        !iterator.over.type->is(TypeKind::range) || iterator.over.type->element()->is_signed;
    llvm::Value* more = down        ? builder.CreateICmpSGT(next, iterator.stop)
                        : is_signed ? builder.CreateICmpSLT(next, iterator.stop)
                                    : builder.CreateICmpULT(next, iterator.stop);
    return number(more, types().boolean);
}

Emitted FunctionEmitter::next_element(ValueId id, TypeRef result) {
    const Iterator& iterator = iterators_.at(id);
    llvm::Type* type = iterator.position->getAllocatedType();
    llvm::Value* position = builder.CreateLoad(type, iterator.position);
    builder.CreateStore(builder.CreateAdd(position, iterator.step), iterator.position);
    if (iterator.remaining) {
        llvm::Value* left = builder.CreateLoad(type, iterator.remaining);
        builder.CreateStore(builder.CreateSub(left, llvm::ConstantInt::get(type, 1)), iterator.remaining);
    }
    if (iterator.over.type->is(TypeKind::range)) return number(position, result);
    if (iterator.over.type->is(TypeKind::array)) return item_at(iterator.over, std::array{position}, result);
    return tuple_item(iterator.over, number(position, types().int64), result);
}

}  // namespace cudasim::pykernel
