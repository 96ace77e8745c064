// See foreign_calls.h; ffi.from_buffer(), which makes the pointers that such functions take; carray() and
// farray(), which make arrays of pointers.
#include "frontend/pykernel/foreign_calls.h"

#include "frontend/pykernel/callables.h"

namespace cudasim::pykernel {
namespace {

/// GlobalValue::elements: the arguments' types and, last, the result's.
TypeRef declared_type(Program& program, const GlobalValue& callee, std::size_t i, Location place) {
    const std::string& name = callee.elements[i].type_name;
    const TypeRef type = program.types.parse(name);
    const bool known = type && (type->is_number() || type->is(TypeKind::pointer) || type->is(TypeKind::none));
    if (!known)
        refuse_typing("the declared function '" + callee.text + "' has the type " + name +
                          "; numbers and pointers (types.CPointer) can be passed to foreign functions",
                      place, Standing::never);
    return type;
}

bool fits(TypeRef given, TypeRef wanted) {
    if (wanted->is(TypeKind::pointer))
        return given == wanted || (given->is(TypeKind::pointer) && wanted->element()->is(TypeKind::none));
    return given->is_number() && misfit(given, wanted).has_value();
}

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

TypeRef type_foreign_call(Program& program, const GlobalValue& callee, const Instruction& call,
                          const std::vector<TypeRef>& given) {
    const std::size_t count = callee.elements.size() - 1;
    if (!call.keywords.empty())
        refuse_typing("the declared function '" + callee.text + "' takes no keyword arguments", call.location,
                      Standing::never);
    bool all_fit = given.size() == count;
    std::string shown;
    for (std::size_t i = 0; i < given.size(); ++i) {
        all_fit = all_fit && fits(given[i], declared_type(program, callee, i, call.location));
        shown += (shown.empty() ? "" : ", ") + given[i]->name;
    }
    if (all_fit) return declared_type(program, callee, count, call.location);
    std::string wanted;
    for (std::size_t i = 0; i < count; ++i) wanted += (i ? ", " : "") + callee.elements[i].type_name;
    refuse_typing("No implementation of function " + callee.text + " for (" + shown +
                      "): it is declared with (" + wanted + ")",
                  call.location, Standing::never);
}

Emitted emit_foreign_call(FunctionEmitter& e, const GlobalValue& callee, const Instruction& call,
                          const std::vector<Emitted>& given) {
    Program& program = e.module.program;
    const bool c_convention = callee.integer != 0;
    const TypeRef result = call.type;
    llvm::SmallVector<llvm::Value*> arguments;
    llvm::AllocaInst* slot = nullptr;
    if (!c_convention) {
        slot = e.entry_alloca(result->is_number() ? e.module.memory_type(result) : e.builder.getInt64Ty(),
                              callee.text + ".result");
        arguments.push_back(slot);
    }
    for (std::size_t i = 0; i < given.size(); ++i) {
        const TypeRef type = declared_type(program, callee, i, call.location);
        if (type->is(TypeKind::pointer))
            arguments.push_back(given[i].value());
        else
            arguments.push_back(e.to_memory(e.convert(given[i], type).value(), type));
    }
    llvm::Type* nothing = e.builder.getVoidTy();
    llvm::Type* returned = !c_convention         ? e.builder.getInt32Ty()
                           : result->is_number() ? e.module.memory_type(result)
                                                 : nothing;
    if (c_convention && result->is(TypeKind::pointer))
        returned = llvm::PointerType::get(e.builder.getContext(), generic_space);
    llvm::Value* value = e.call(callee.text, returned, arguments);
    if (result->is(TypeKind::none)) return {result, {}};
    if (!c_convention) {
        llvm::Type* stored = result->is_number()
                                 ? e.module.memory_type(result)
                                 : llvm::PointerType::get(e.builder.getContext(), generic_space);
        value = e.builder.CreateLoad(stored, slot);
    }
    return {result, {result->is_number() ? e.from_memory(value, result) : value}};
}

}  // namespace cudasim::pykernel
