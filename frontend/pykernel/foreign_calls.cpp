// See foreign_calls.h; and ffi.from_buffer(), which makes the pointers that such functions take.
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
                               "; numbers and pointers (types.CPointer) can be passed to foreign functions", place,
                      Standing::never);
    return type;
}

bool fits(TypeRef given, TypeRef wanted) {
    if (wanted->is(TypeKind::pointer)) return given == wanted || (given->is(TypeKind::pointer) && wanted->element()->is(TypeKind::none));
    return given->is_number() && misfit(given, wanted).has_value();
}

TypeRef type_from_buffer(const CallTyping& call) {
    if (!call[0]->is(TypeKind::array)) call.no_match();
    if (call[0]->layout == 'A') call.refuse("from_buffer(): only contiguous arrays can be passed as pointers");
    return call.types().pointer(call[0]->element());
}

Emitted emit_from_buffer(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    llvm::Value* data = call[0].parts[0];
    return {call.call.type, {e.builder.CreateAddrSpaceCast(data, llvm::PointerType::get(e.builder.getContext(), generic_space))}};
}

constexpr Callable rows[] = {
    {"cffi.from_buffer", "array", type_from_buffer, emit_from_buffer},
};

}  // namespace

std::span<const Callable> foreign_callables() {
    return rows;
}

TypeRef type_foreign_call(Program& program, const GlobalValue& callee, const Instruction& call, const std::vector<TypeRef>& given) {
    const std::size_t count = callee.elements.size() - 1;
    if (!call.keywords.empty()) refuse_typing("the declared function '" + callee.text + "' takes no keyword arguments", call.location,
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
    refuse_typing("No implementation of function " + callee.text + " for (" + shown + "): it is declared with (" + wanted + ")",
                  call.location, Standing::never);
}

Emitted emit_foreign_call(FunctionEmitter& e, const GlobalValue& callee, const Instruction& call, const std::vector<Emitted>& given) {
    Program& program = e.module.program;
    const bool c_convention = callee.integer != 0;
    const TypeRef result = call.type;
    llvm::SmallVector<llvm::Value*> arguments;
    llvm::AllocaInst* slot = nullptr;
    if (!c_convention) {
        slot = e.entry_alloca(result->is_number() ? e.module.memory_type(result) : e.builder.getInt64Ty(), callee.text + ".result");
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
    llvm::Type* returned = !c_convention ? e.builder.getInt32Ty() : result->is_number() ? e.module.memory_type(result) : nothing;
    if (c_convention && result->is(TypeKind::pointer)) returned = llvm::PointerType::get(e.builder.getContext(), generic_space);
    llvm::Value* value = e.call(callee.text, returned, arguments);
    if (result->is(TypeKind::none)) return {result, {}};
    if (!c_convention) {
        llvm::Type* stored = result->is_number() ? e.module.memory_type(result)
                                                 : llvm::PointerType::get(e.builder.getContext(), generic_space);
        value = e.builder.CreateLoad(stored, slot);
    }
    return {result, {result->is_number() ? e.from_memory(value, result) : value}};
}

}  // namespace cudasim::pykernel
