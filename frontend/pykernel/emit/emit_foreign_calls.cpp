#include "frontend/pykernel/emit/foreign_calls.h"
#include "frontend/pykernel/infer/foreign_functions.h"

namespace cudasim::pykernel {

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
