// Loads and stores with cache hints: cuda.ldca, ldcg, ldcs, ldlu, ldcv, stcg, stcs, stwb, stwt. Accesses like
// any other to the simulator; for PTX they carry their hint as metadata "cudasim.cache", which gpu_backend
// turns into ld.global.ca and its kind (PTX ISA, "Cache Operators").
#include <llvm/IR/Constants.h>

#include <algorithm>

#include "frontend/pykernel/calls/callables.h"
#include "frontend/pykernel/infer/subscripts.h"

namespace cudasim::pykernel {
namespace {

/// "ldcg" of "cuda.ldcg".
std::string instruction(const Callable& callable) {
    return std::string(callable.name.substr(5));
}

void check_index(const CallTyping& call, TypeRef array, TypeRef index) {
    const std::size_t wanted = array->dimensions;
    const auto expected = "Expected " + std::to_string(wanted) + " indices, got ";
    if (index->is(TypeKind::integer)) {
        if (wanted != 1) call.refuse(expected + "a scalar");
        return;
    }
    const TypeRef plain = call.types().without_literal(index);
    const bool integers = plain->is(TypeKind::tuple) && !plain->elements.empty() &&
                          std::ranges::all_of(plain->elements, [&](TypeRef element) {
                              return element->is(TypeKind::integer) && element == plain->elements[0];
                          });
    if (!integers) call.refuse(index->name + " is not a valid index");
    if (plain->elements.size() != wanted) call.refuse(expected + std::to_string(plain->elements.size()));
}

TypeRef check_access(const CallTyping& call) {
    const TypeRef array = call[0];
    const std::string name = instruction(call.callable);
    if (!array->is(TypeKind::array))
        call.refuse(name + " operates on arrays or pointers. Got type " + array->name);
    check_index(call, array, call[1]);
    const TypeRef element = array->element();
    if (!element->is(TypeKind::integer) && !element->is(TypeKind::floating))
        call.refuse(name + " requires array of integer or float type, got " + element->name);
    if (array->address_space != global_space)
        call.refuse(name + " is for global memory (ld.global, st.global); this array is in another space");
    return element;
}

TypeRef type_load(const CallTyping& call) {
    return check_access(call);
}

TypeRef type_store(const CallTyping& call) {
    const TypeRef element = check_access(call);
    if (call[0]->read_only) call.refuse("the array is constant");
    if (!call[2]->is_number()) call.refuse("Cannot convert " + call[2]->name + " to " + element->name);
    return call.types().none;
}

void mark(FunctionEmitter& e, llvm::Instruction* access, const Callable& callable) {
    llvm::LLVMContext& context = e.module.context;
    const std::string hint = instruction(callable).substr(2);
    access->setMetadata("cudasim.cache", llvm::MDNode::get(context, llvm::MDString::get(context, hint)));
}

/// Those that look past the first cache see what other blocks wrote: threads may wait for it (E5).
Emitted emit_load(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef element = call.call.type;
    llvm::Value* place = e.element_address(call[0], call[1]);
    auto* load =
        e.builder.CreateAlignedLoad(e.module.memory_type(element), place, llvm::Align(element->bits / 8));
    load->setVolatile(call.callable.name == "cuda.ldcv" || call.callable.name == "cuda.ldcg");
    e.checked(load, call[0].type);
    mark(e, load, call.callable);
    return e.number(load, element);
}

Emitted emit_store(CallEmission& call) {
    FunctionEmitter& e = call.emitter;
    const TypeRef element = call[0].type->element();
    llvm::Value* value = e.convert(call[2], element).value();
    llvm::Value* place = e.element_address(call[0], call[1]);
    auto* store = e.builder.CreateAlignedStore(value, place, llvm::Align(element->bits / 8));
    e.checked(store, call[0].type);
    mark(e, store, call.callable);
    return {call.call.type, {}};
}

constexpr Callable rows[] = {
    {"cuda.ldca", "array i", type_load, emit_load},
    {"cuda.ldcg", "array i", type_load, emit_load},
    {"cuda.ldcs", "array i", type_load, emit_load},
    {"cuda.ldlu", "array i", type_load, emit_load},
    {"cuda.ldcv", "array i", type_load, emit_load},
    {"cuda.stcg", "array i value", type_store, emit_store},
    {"cuda.stcs", "array i value", type_store, emit_store},
    {"cuda.stwb", "array i value", type_store, emit_store},
    {"cuda.stwt", "array i value", type_store, emit_store},
};

}  // namespace

std::span<const Callable> cache_hint_callables() {
    return rows;
}

}  // namespace cudasim::pykernel
