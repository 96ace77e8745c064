// Methods of arrays and NumPy's functions of the same meaning, as far as Numba's CUDA target has them without
// allocating memory.
#include <algorithm>

#include "frontend/pykernel/calls/callables.h"

namespace cudasim::pykernel {
namespace {

TypeRef type_transpose(const CallTyping& call) {
    if (call.size() > 1)
        call.refuse("Numba's CUDA target has no transpose with axes; it has a.transpose() and a.T");
    const TypeRef a = call[0];
    const char layout = a->dimensions < 2 || a->layout == 'A' ? a->layout : a->layout == 'C' ? 'F' : 'C';
    return call.types().array_like(a, a->element(), a->dimensions, layout);
}

Emitted emit_transpose(CallEmission& call) {
    const auto n = static_cast<std::ptrdiff_t>(call[0].type->dimensions);
    Parts parts = call[0].parts;
    std::reverse(parts.begin() + 1, parts.begin() + 1 + n);
    std::reverse(parts.begin() + 1 + n, parts.end());
    return {call.call.type, parts};
}

/// New extents: a.reshape(2, 3) or a.reshape((2, 3)); one may be -1.
std::vector<TypeRef> extents_of(const CallTyping& call) {
    const bool one_tuple = call.size() == 2 && call[1]->is(TypeKind::tuple);
    std::vector<TypeRef> extents = one_tuple ? call[1]->elements : call.arguments;
    if (!one_tuple) extents.erase(extents.begin());
    return extents;
}

TypeRef type_reshape(const CallTyping& call) {
    const std::vector<TypeRef> extents = extents_of(call);
    if (!std::ranges::all_of(extents, [](TypeRef type) { return type->is(TypeKind::integer); }) ||
        extents.empty())
        call.no_match();
    const TypeRef a = call[0];
    if (a->layout == 'A') call.refuse("reshape() supports contiguous array only");
    const char layout = a->layout == 'F' && a->dimensions > 1 ? 'A' : a->layout;
    call.resolution.parameters = {
        call.types().tuple(std::vector<TypeRef>(extents.size(), call.types().int64))};
    return call.types().array_like(a, a->element(), static_cast<unsigned>(extents.size()), layout);
}

/// Strides of a column-major array with other extents. Two of its axes never merge without a copy, so each
/// axis has to be a product of new ones; from the last axis to the first, axes of extent 1 aside.
Parts column_major_strides(CallEmission& call, const Emitted& array, const Parts& extents) {
    FunctionEmitter& e = call.emitter;
    auto& builder = e.builder;
    const unsigned n = array.type->dimensions;
    llvm::Value* axis = e.int64(n);  // the old axis that is being used up; those from it on are
    llvm::Value *rest = e.int64(1),
                *stride = e.int64(static_cast<std::int64_t>(array.type->element()->bytes()));
    llvm::Value* fits = builder.getTrue();
    Parts strides(extents.size());
    for (std::size_t i = extents.size(); i-- > 0;) {
        for (unsigned step = 0; step < n; ++step) {
            // Advances to the next old axis while nothing is left of this one.
            llvm::Value* next = builder.CreateSub(axis, e.int64(1));
            llvm::Value* more = builder.CreateAnd(builder.CreateICmpEQ(rest, e.int64(1)),
                                                  builder.CreateICmpSGE(next, e.int64(0)));
            more = builder.CreateAnd(more, builder.CreateICmpNE(extents[i], e.int64(1)));
            axis = builder.CreateSelect(more, next, axis);
            for (unsigned old = 0; old < n; ++old) {
                llvm::Value* here = builder.CreateAnd(more, builder.CreateICmpEQ(axis, e.int64(old)));
                rest = builder.CreateSelect(here, array.parts[1 + old], rest);
                stride = builder.CreateSelect(here, array.parts[1 + n + old], stride);
            }
        }
        llvm::Value* divisor =
            builder.CreateSelect(builder.CreateICmpEQ(extents[i], e.int64(0)), e.int64(1), extents[i]);
        strides[i] = stride;
        fits = builder.CreateAnd(fits, builder.CreateICmpEQ(builder.CreateURem(rest, divisor), e.int64(0)));
        rest = builder.CreateUDiv(rest, divisor);
        stride = builder.CreateMul(stride, divisor);
    }
    llvm::Value* empty = builder.CreateICmpEQ(e.array_size(array), e.int64(0));
    e.require(builder.CreateOr(fits, empty), "NotImplementedError", "incompatible shape for array");
    return strides;
}

Emitted emit_reshape(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    auto& builder = e.builder;
    Parts given;
    if (call[1].type->is(TypeKind::tuple)) {
        given = e.convert(call[1], call.resolution.parameters[0]).parts;
    } else {
        for (std::size_t i = 1; i < call.arguments.size(); ++i)
            given.push_back(e.convert(call[i], e.types().int64).value());
    }
    llvm::Value* known = e.int64(1);
    llvm::Value* unknown = e.int64(0);
    for (llvm::Value* extent : given) {
        llvm::Value* open = builder.CreateICmpSLT(extent, e.int64(0));
        unknown = builder.CreateAdd(unknown, builder.CreateZExt(open, builder.getInt64Ty()));
        known = builder.CreateMul(known, builder.CreateSelect(open, e.int64(1), extent));
    }
    e.require(builder.CreateICmpULE(unknown, e.int64(1)), "ValueError",
              "can only specify one unknown dimension");
    llvm::Value* size = e.array_size(call[0]);
    llvm::Value* some = builder.CreateICmpNE(known, e.int64(0));
    llvm::Value* rest = builder.CreateUDiv(size, builder.CreateSelect(some, known, e.int64(1)));
    llvm::Value* none_open = builder.CreateICmpEQ(unknown, e.int64(0));
    llvm::Value* total = builder.CreateSelect(none_open, known, builder.CreateMul(known, rest));
    e.require(builder.CreateICmpEQ(total, size), "ValueError", "total size of new array must be unchanged");
    for (llvm::Value*& extent : given)
        extent = builder.CreateSelect(builder.CreateICmpSLT(extent, e.int64(0)), rest, extent);
    if (call.call.type->layout == 'A') {
        Emitted result{call.call.type, {call[0].parts[0]}};
        result.parts.append(given);
        result.parts.append(column_major_strides(call, call[0], given));
        return result;
    }
    return e.make_array(call.call.type, call[0].parts[0], given);
}

[[noreturn]] TypeRef type_copying(const CallTyping& call) {
    call.refuse("would allocate memory, which kernels cannot do, nor with Numba's CUDA target");
}

Emitted emit_nothing(CallEmission& call) {
    return {call.call.type, {}};
}

TypeRef type_fill(const CallTyping& call) {
    if (!call[1]->is_scalar() || conversion(call[1], call[0]->element()) == Conversion::none) call.no_match();
    if (call[0]->read_only) call.refuse("the array is constant");
    return call.types().none;
}

Emitted emit_fill(CallEmission& call) {
    call.emitter.assign_view(call[0], call[1]);
    return {call.call.type, {}};
}

TypeRef type_item(const CallTyping& call) {
    return call.types().value_in(call[0]);
}

Emitted emit_item(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    e.require(e.builder.CreateICmpEQ(e.array_size(call[0]), e.int64(1)), "ValueError",
              "item(): can only convert an array of size 1 to a Python scalar");
    return e.load_element(call[0].parts[0], call.call.type, call[0].type);
}

/// a.view(dtype): the layout and the number of dimensions stay.
TypeRef type_view(const CallTyping& call) {
    if (!call[1]->is(TypeKind::data_type) || !call[1]->element()->lies_in_memory()) call.no_match();
    const TypeRef a = call[0];
    return call.types().array_like(a, call[1]->element(), a->dimensions, a->layout);
}

/// Elements of another width: the last axis grows or shrinks; its elements must lie side by side.
Emitted emit_view(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef from = call[0].type->element(), to = call.call.type->element();
    Emitted result{call.call.type, call[0].parts};
    if (from->bits == to->bits) return result;
    const unsigned n = call[0].type->dimensions;
    e.require(e.builder.getInt1(n > 0), "ValueError",
              "Changing the dtype of a 0d array is only supported if the itemsize is unchanged");
    if (n == 0) return result;
    llvm::Value*& extent = result.parts[n];
    llvm::Value*& stride = result.parts[2 * n];
    llvm::Value *old_width = e.int64(from->bits / 8), *width = e.int64(to->bits / 8);
    e.require(e.builder.CreateICmpEQ(stride, old_width), "ValueError",
              "To change to a dtype of a different size, the last axis must be contiguous");
    if (to->bits > from->bits) {
        llvm::Value* place = e.builder.CreatePtrToInt(result.parts[0], e.builder.getInt64Ty());
        llvm::Value* alignment = to->is(TypeKind::complex) ? e.int64(to->bits / 16) : width;
        e.require(e.builder.CreateICmpEQ(e.builder.CreateURem(place, alignment), e.int64(0)), "ValueError",
                  "the elements of this view would be misaligned");
    }
    llvm::Value* bytes = e.builder.CreateMul(extent, old_width);
    e.require(
        e.builder.CreateICmpEQ(e.builder.CreateURem(bytes, width), e.int64(0)), "ValueError",
        "When changing to a larger dtype, its size must be a divisor of the total size in bytes of the last "
        "axis of the array.");
    extent = e.builder.CreateUDiv(bytes, width);
    stride = width;
    return result;
}

TypeRef type_shape(const CallTyping& call) {
    if (!call[0]->is(TypeKind::array)) call.no_match();
    return call.types().tuple(std::vector<TypeRef>(call[0]->dimensions, call.types().int64));
}

Emitted emit_shape(CallEmission& call) {
    const auto* const begin = call[0].parts.begin() + 1;
    return {call.call.type, Parts(begin, begin + call[0].type->dimensions)};
}

TypeRef type_size(const CallTyping& call) {
    if (!call[0]->is(TypeKind::array)) call.no_match();
    return call.types().int64;
}

Emitted emit_size(CallEmission& call) {
    return call.emitter.number(call.emitter.array_size(call[0]), call.call.type);
}

TypeRef type_as_array(const CallTyping& call) {
    if (!call[0]->is(TypeKind::array)) call.no_match();
    return call[0];
}

Emitted emit_as_array(CallEmission& call) {
    return call[0];
}

constexpr Callable rows[] = {
    {"array.transpose", "self *", type_transpose, emit_transpose},
    {"array.reshape", "self *", type_reshape, emit_reshape},
    {"array.ravel", "self *", type_copying, emit_nothing},
    {"array.flatten", "self *", type_copying, emit_nothing},
    {"array.copy", "self *", type_copying, emit_nothing},
    {"array.astype", "self *", type_copying, emit_nothing},
    {"array.fill", "self value", type_fill, emit_fill},
    {"array.item", "self", type_item, emit_item},
    {"array.view", "self dtype", type_view, emit_view},
    {"numpy.shape", "a", type_shape, emit_shape},
    {"numpy.size", "a", type_size, emit_size},
    {"numpy.asarray", "a", type_as_array, emit_as_array},
};

}  // namespace

std::span<const Callable> array_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
