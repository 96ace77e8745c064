// ffi.from_buffer(), which makes the pointers that functions of linked PTX take
// (operations/called_values.cpp); carray() and farray(), which make arrays of pointers.
#include "frontend/pykernel/calls/callables.h"

namespace cudasim::pykernel {
namespace {

TypeRef type_from_buffer(const CallTyping& call) {
    if (!call[0]->is(TypeKind::array)) call.no_match();
    if (call[0]->layout == 'A')
        call.refuse("from_buffer(): only contiguous arrays can be passed as pointers");
    return call.types().pointer(call[0]->element());
}

Emitted emit_from_buffer(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    llvm::Value* data = call[0].parts[0];
    return {
        call.call.type,
        {e.builder.CreateAddrSpaceCast(data, llvm::PointerType::get(e.builder.getContext(), generic_space))}};
}

/// numba.carray(ptr, shape, dtype=None): the dtype may be left out unless the pointer is void*.
TypeRef type_pointed_array(const CallTyping& call) {
    if (!call[0]->is(TypeKind::pointer)) call.no_match();
    const bool is_void = call[0]->element()->is(TypeKind::none),
               given = call[2] && !call[2]->is(TypeKind::none);
    if (is_void && !given) call.no_match("explicit dtype required for void* argument");
    const TypeRef element = given ? data_type(call, call[2]) : call[0]->element();
    if (!is_void && element != call[0]->element())
        call.no_match("mismatching dtype '" + element->name + "' for pointer type '" + call[0]->name + "'");
    const bool several = call[1]->is(TypeKind::tuple);
    const auto& extents = several ? call[1]->elements : std::vector<TypeRef>{call[1]};
    for (TypeRef extent : extents)
        if (!extent->is(TypeKind::integer)) call.no_match("the shape is an integer or a tuple of integers");
    if (extents.empty()) call.no_match("the shape has one axis or more");
    const char layout = call.callable.name == "numba.farray" ? 'F' : 'C';
    return call.types().array(element, static_cast<unsigned>(extents.size()), layout, pointed_space);
}

Emitted emit_pointed_array(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const bool several = call[1].type->is(TypeKind::tuple);
    Parts shape;
    for (std::size_t i = 0; i < call.call.type->dimensions; ++i)
        shape.push_back(e.convert(several ? e.element_of(call[1], i) : call[1], e.types().int64).value());
    if (call.call.type->layout == 'C') return e.make_array(call.call.type, call[0].value(), shape);
    Emitted result{call.call.type, {call[0].value()}};
    result.parts.append(shape);
    llvm::Value* stride = e.int64(static_cast<std::int64_t>(call.call.type->element()->bytes()));
    for (llvm::Value* extent : shape) {
        result.parts.push_back(stride);
        stride = e.builder.CreateMul(stride, extent);
    }
    return result;
}

constexpr Callable rows[] = {
    {"cffi.from_buffer", "array", type_from_buffer, emit_from_buffer},
    {"numba.carray", "ptr shape dtype=", type_pointed_array, emit_pointed_array},
    {"numba.farray", "ptr shape dtype=", type_pointed_array, emit_pointed_array},
};

}  // namespace

std::span<const Callable> foreign_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
