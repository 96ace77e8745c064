// `x in y`: tuples, arrays of any number of dimensions, ranges.
#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {

llvm::Value* FunctionEmitter::contains(const Emitted& container, const Emitted& value) {
    if (container.type->is(TypeKind::range)) return range_contains(container, value);
    if (container.type->is(TypeKind::tuple)) {
        llvm::Value* found = builder.getFalse();
        for (std::size_t i = 0; i < container.type->elements.size(); ++i) {
            found = builder.CreateOr(found, binary(Operator::equal, value, element_of(container, i)).value());
        }
        return found;
    }
    const TypeRef element = container.type->element();
    llvm::AllocaInst* found = entry_alloca(builder.getInt8Ty(), "found");
    builder.CreateStore(builder.getInt8(0), found);
    for_each_element(container, [&](llvm::Value* place) {
        llvm::Value* equal =
            binary(Operator::equal, value, load_element(place, element, container.type)).value();
        llvm::Value* before = builder.CreateLoad(builder.getInt8Ty(), found);
        builder.CreateStore(builder.CreateOr(before, builder.CreateZExt(equal, builder.getInt8Ty())), found);
    });
    return builder.CreateICmpNE(builder.CreateLoad(builder.getInt8Ty(), found), builder.getInt8(0));
}

/// A whole number between start and stop, a multiple of the step away from start.
llvm::Value* FunctionEmitter::range_contains(const Emitted& range, const Emitted& value) {
    const TypeRef whole = types().int64;
    auto part = [&](std::size_t i) {
        return convert(number(range.parts[i], range.type->element()), whole).value();
    };
    llvm::Value *start = part(0), *stop = part(1), *step = part(2);
    const Emitted rounded = convert(value, whole);
    llvm::Value* x = rounded.value();
    llvm::Value* up = builder.CreateICmpSGT(step, int64(0));
    llvm::Value* above = builder.CreateAnd(builder.CreateICmpSGE(x, start), builder.CreateICmpSLT(x, stop));
    llvm::Value* below = builder.CreateAnd(builder.CreateICmpSLE(x, start), builder.CreateICmpSGT(x, stop));
    llvm::Value* inside = builder.CreateSelect(up, above, below);
    llvm::Value* distance =
        builder.CreateSelect(up, builder.CreateSub(x, start), builder.CreateSub(start, x));
    llvm::Value* stride = builder.CreateSelect(up, step, builder.CreateNeg(step));
    require(builder.CreateICmpNE(step, int64(0)), "ValueError", "range() arg 3 must not be zero");
    llvm::Value* on_step = builder.CreateICmpEQ(builder.CreateURem(distance, stride), int64(0));
    llvm::Value* is_whole = binary(Operator::equal, value, rounded).value();
    return builder.CreateAnd(is_whole, builder.CreateAnd(inside, on_step));
}

}  // namespace cudasim::pykernel
