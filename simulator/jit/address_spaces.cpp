// See address_spaces.h.
#include "simulator/jit/address_spaces.h"

#include "simulator/jit/abi.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"

namespace cudasim::jit {

using namespace llvm;

/// From an address that a field of BlockContext has, in bytes.
static Value* distance_from(IRBuilder<>& builder, unsigned field, Value* address) {
    FunctionContext head(*builder.GetInsertBlock()->getParent());
    Type* word = builder.getInt64Ty();
    return builder.CreateSub(builder.CreatePtrToInt(address, word),
                             builder.CreatePtrToInt(head.block_field(field, builder.getPtrTy()), word));
}

Value* lies_in_shared_memory(IRBuilder<>& builder, const Compilation& compilation, Value* address) {
    FunctionContext head(*builder.GetInsertBlock()->getParent());
    Value* dynamic = head.block_field(offsetof(BlockContext, dynamic_shared_bytes), builder.getInt32Ty());
    Value* bytes = builder.CreateAdd(builder.CreateZExt(dynamic, builder.getInt64Ty()),
                                     builder.getInt64(compilation.shared.dynamic_offset));
    return builder.CreateICmpULT(distance_from(builder, offsetof(BlockContext, shared_base), address), bytes);
}

Value* lies_in_local_memory(IRBuilder<>& builder, Value* address) {
    Value* number = builder.CreatePtrToInt(address, builder.getInt64Ty());
    return builder.CreateIsNotNull(call_hook(builder, Hook::is_local, {number}));
}

Value* lies_in_parameters(IRBuilder<>& builder, const Compilation& compilation, Value* address) {
    return builder.CreateICmpULT(distance_from(builder, offsetof(BlockContext, parameters), address),
                                 builder.getInt64(compilation.description->parameter_bytes));
}

}  // namespace cudasim::jit
