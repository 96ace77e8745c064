// Views: slices, new axes, `...`, and assignment of one value to every element of a view.
//
// A slice is three int64, start, stop and step. A bound left out is what lies beyond every array in the
// direction of the step, so that clamping, which is Python's, treats it as any other.
#include <llvm/IR/Constants.h>

#include <limits>

#include "frontend/pykernel/emit/characters.h"
#include "frontend/pykernel/emit/emission.h"

namespace cudasim::pykernel {
namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

bool is_known(llvm::Value* value, std::int64_t number) {
    const auto* known = llvm::dyn_cast<llvm::ConstantInt>(value);
    return known && known->getSExtValue() == number;
}

}  // namespace

Emitted FunctionEmitter::make_slice(TypeRef type, std::span<const Emitted> bounds) {
    auto given = [&](std::size_t i) { return i < bounds.size() && !bounds[i].type->is(TypeKind::none); };
    auto number_of = [&](std::size_t i) -> llvm::Value* {
        llvm::Value* bound = convert(bounds[i], types().int64).value();
        llvm::Constant* known = known_constant(bound);  // which code is emitted depends on it
        return known ? known : bound;
    };
    llvm::Value* step = given(2) ? number_of(2) : int64(1);
    auto beyond = [&](std::int64_t forward, std::int64_t backward) -> llvm::Value* {
        if (auto* known = llvm::dyn_cast<llvm::ConstantInt>(step))
            return int64(known->isNegative() ? backward : forward);
        return builder.CreateSelect(builder.CreateICmpSLT(step, int64(0)), int64(backward), int64(forward));
    };
    llvm::Value* start = given(0) ? number_of(0) : beyond(0, highest);
    llvm::Value* stop = given(1) ? number_of(1) : beyond(highest, lowest);
    return {type, {start, stop, step}};
}

/// A bound as an index: counted from the end when negative, then clamped to what an upward or a downward
/// slice can reach ([0, size] or [-1, size - 1]).
llvm::Value* FunctionEmitter::clamp_bound(llvm::Value* bound, llvm::Value* size, llvm::Value* downward) {
    if (is_known(downward, 0) && is_known(bound, 0)) return bound;
    if (is_known(downward, 0) && is_known(bound, highest)) return size;
    llvm::Value* zero = int64(0);
    auto* known = llvm::dyn_cast<llvm::ConstantInt>(downward);
    llvm::Value* shift =
        known ? int64(known->isZero() ? 0 : -1) : builder.CreateSExt(downward, builder.getInt64Ty());
    llvm::Value* negative = builder.CreateICmpSLT(bound, zero);
    llvm::Value* from_end = builder.CreateAdd(bound, size);
    from_end = builder.CreateSelect(builder.CreateICmpSLT(from_end, zero), shift, from_end);
    llvm::Value* last = builder.CreateAdd(size, shift);
    llvm::Value* from_start = builder.CreateSelect(builder.CreateICmpSGT(bound, last), last, bound);
    return builder.CreateSelect(negative, from_end, from_start);
}

/// Start, length and step of a slice of an axis.
FunctionEmitter::AxisSlice FunctionEmitter::slice_axis(const Emitted& slice, llvm::Value* size) {
    llvm::Value* step = slice.parts[2];
    llvm::Value* zero = int64(0);
    auto* known = llvm::dyn_cast<llvm::ConstantInt>(step);
    if (!known || known->isZero()) {
        llvm::BasicBlock* bad = new_block("slice.zero_step");
        llvm::BasicBlock* good = new_block("slice");
        builder.CreateCondBr(builder.CreateICmpEQ(step, zero), bad, good);
        builder.SetInsertPoint(bad);
        raise("ValueError", "slice step cannot be zero");
        builder.SetInsertPoint(good);
    }
    llvm::Value* downward = known ? builder.getInt1(known->isNegative()) : builder.CreateICmpSLT(step, zero);
    llvm::Value* start = clamp_bound(slice.parts[0], size, downward);
    llvm::Value* stop = clamp_bound(slice.parts[1], size, downward);
    if (is_known(step, 1) && is_known(start, 0) && stop == size) return {start, size, step};
    auto one_way = [&](llvm::Value* low, llvm::Value* high, llvm::Value* stride) {
        llvm::Value* span = builder.CreateSub(high, low);
        if (!is_known(stride, 1)) {
            llvm::Value* before_last = builder.CreateSub(span, int64(1));
            span = builder.CreateAdd(builder.CreateUDiv(before_last, stride), int64(1));
        }
        return builder.CreateSelect(builder.CreateICmpSLT(low, high), span, zero);
    };
    if (!known) {
        llvm::Value* low = builder.CreateSelect(downward, stop, start);
        llvm::Value* high = builder.CreateSelect(downward, start, stop);
        llvm::Value* stride = builder.CreateSelect(downward, builder.CreateNeg(step), step);
        return {start, one_way(low, high, stride), step};
    }
    if (known->isNegative()) {
        const auto stride = static_cast<std::int64_t>(0 - static_cast<std::uint64_t>(known->getSExtValue()));
        return {start, one_way(stop, start, int64(stride)), step};
    }
    return {start, one_way(start, stop, step), step};
}

Emitted FunctionEmitter::selected(const Emitted& array, const Emitted& index, TypeRef result) {
    const bool several = index.type->is(TypeKind::tuple);
    const std::size_t count = several ? index.type->elements.size() : 1;
    const unsigned n = array.type->dimensions;
    std::size_t named = 0;  // axes that the index names
    for (std::size_t i = 0; i < count; ++i) {
        const TypeRef part = several ? index.type->elements[i] : index.type;
        named += part->is(TypeKind::integer) || part->is(TypeKind::slice);
    }
    unsigned axis = 0;
    Parts shape, strides;
    llvm::Value* offset = nullptr;
    auto move = [&](llvm::Value* steps, llvm::Value* stride) {
        if (is_known(steps, 0)) return;
        llvm::Value* bytes = builder.CreateMul(steps, stride);
        offset = offset ? builder.CreateAdd(offset, bytes) : bytes;
    };
    auto keep = [&](std::size_t axes) {
        for (; axes > 0; --axes, ++axis) {
            shape.push_back(array.parts[1 + axis]);
            strides.push_back(array.parts[1 + n + axis]);
        }
    };
    for (std::size_t i = 0; i < count; ++i) {
        const Emitted part = several ? element_of(index, i) : index;
        if (part.type->is(TypeKind::ellipsis)) {
            keep(n - named);
        } else if (part.type->is(TypeKind::none)) {
            shape.push_back(int64(1));
            strides.push_back(int64(0));
        } else {
            llvm::Value* size = array.parts[1 + axis];
            llvm::Value* stride = array.parts[1 + n + axis];
            if (part.type->is(TypeKind::integer)) {
                move(check_index(part, size, axis), stride);
            } else {
                const AxisSlice slice = slice_axis(part, size);
                move(slice.start, stride);
                shape.push_back(slice.length);
                strides.push_back(is_known(slice.step, 1) ? stride : builder.CreateMul(stride, slice.step));
            }
            ++axis;
        }
    }
    keep(n - axis);
    // The address is not inbounds: strides from outside may be anything, and an empty view may begin past the
    // end.
    llvm::Value* data =
        offset ? builder.CreateGEP(builder.getInt8Ty(), array.parts[0], offset) : array.parts[0];
    Emitted view{result, {data}};
    view.parts.append(shape);
    view.parts.append(strides);
    return view;
}

Emitted FunctionEmitter::load_element(llvm::Value* place, TypeRef element, TypeRef container) {
    if (element->is(TypeKind::record)) return {element, {place}};
    if (element->is(TypeKind::characters)) return load_characters(*this, place, element, container);
    Emitted result{element, {}};
    for (const auto& [part, type] : element_parts(place, element)) {
        auto* loaded = builder.CreateAlignedLoad(module.memory_type(type), part,
                                                 llvm::Align(container->aligned ? type->bytes() : 1));
        checked(loaded, container);
        result.parts.push_back(from_memory(loaded, type));
    }
    return result;
}

llvm::SmallVector<std::pair<llvm::Value*, TypeRef>, 2> FunctionEmitter::element_parts(llvm::Value* place,
                                                                                      TypeRef element) {
    if (element->is(TypeKind::added)) {
        llvm::SmallVector<std::pair<llvm::Value*, TypeRef>, 2> parts;
        for (const RecordField& field : element->fields)
            parts.emplace_back(builder.CreateConstInBoundsGEP1_64(builder.getInt8Ty(), place, field.offset),
                               field.type);
        return parts;
    }
    if (!element->is(TypeKind::complex)) return {{place, element}};
    const TypeRef component = types().component(element);
    return {{place, component},
            {builder.CreateConstInBoundsGEP1_64(module.value_type(component), place, 1), component}};
}

void FunctionEmitter::store_element(llvm::Value* place, const Emitted& value, TypeRef element,
                                    TypeRef container) {
    if (element->is(TypeKind::record)) return copy_record(place, value, element);
    const Emitted converted = convert(value, element);
    if (element->is(TypeKind::characters)) return store_characters(*this, place, converted, container);
    std::size_t i = 0;
    for (const auto& [part, type] : element_parts(place, element)) {
        llvm::Value* stored = to_memory(converted.parts[i++], type);
        auto* store =
            builder.CreateAlignedStore(stored, part, llvm::Align(container->aligned ? type->bytes() : 1));
        checked(store, container);
    }
}

/// Runs `body` with the address of every element of the view, in C order: one loop for each axis.
void FunctionEmitter::for_each_element(const Emitted& view, const std::function<void(llvm::Value*)>& body) {
    const unsigned n = view.type->dimensions;
    llvm::SmallVector<llvm::BasicBlock*> heads, ends;
    llvm::SmallVector<llvm::AllocaInst*> positions;
    llvm::Value* place = view.parts[0];
    for (unsigned axis = 0; axis < n; ++axis) {
        positions.push_back(entry_alloca(builder.getInt64Ty(), "fill.index"));
        builder.CreateStore(int64(0), positions[axis]);
        heads.push_back(new_block("fill.head"));
        ends.push_back(new_block("fill.end"));
        llvm::BasicBlock* inside = new_block("fill");
        builder.CreateBr(heads[axis]);
        builder.SetInsertPoint(heads[axis]);
        llvm::Value* position = builder.CreateLoad(builder.getInt64Ty(), positions[axis]);
        builder.CreateCondBr(builder.CreateICmpSLT(position, view.parts[1 + axis]), inside, ends[axis]);
        builder.SetInsertPoint(inside);
        place = builder.CreateGEP(builder.getInt8Ty(), place,
                                  builder.CreateMul(position, view.parts[1 + n + axis]));
    }
    body(place);
    for (unsigned axis = n; axis-- > 0;) {
        llvm::Value* position = builder.CreateLoad(builder.getInt64Ty(), positions[axis]);
        builder.CreateStore(builder.CreateAdd(position, int64(1)), positions[axis]);
        builder.CreateBr(heads[axis]);
        builder.SetInsertPoint(ends[axis]);
    }
}

/// `view[...] = value` for a number, or for a tuple as long as the view.
void FunctionEmitter::assign_view(const Emitted& view, const Emitted& value) {
    const TypeRef element = view.type->element();
    if (!value.type->is(TypeKind::tuple)) {
        const Emitted converted = element->is(TypeKind::record) ? value : convert(value, element);
        for_each_element(view,
                         [&](llvm::Value* place) { store_element(place, converted, element, view.type); });
        return;
    }
    const std::size_t count = value.type->elements.size();
    require(builder.CreateICmpEQ(view.parts[1], int64(static_cast<std::int64_t>(count))), "ValueError",
            "cannot assign slice from input of different size");
    for (std::size_t i = 0; i < count; ++i) {
        llvm::Value* bytes = builder.CreateMul(view.parts[2], int64(static_cast<std::int64_t>(i)));
        store_element(builder.CreateGEP(builder.getInt8Ty(), view.parts[0], bytes), element_of(value, i),
                      element, view.type);
    }
}

void FunctionEmitter::require(llvm::Value* condition, const std::string& exception,
                              const std::string& message) {
    llvm::BasicBlock* bad = new_block("refused");
    llvm::BasicBlock* good = new_block("accepted");
    builder.CreateCondBr(condition, good, bad);
    builder.SetInsertPoint(bad);
    raise(exception, message);
    builder.SetInsertPoint(good);
}

}  // namespace cudasim::pykernel
