// See address_spaces.h.
#include "simulator/jit/address_spaces.h"

#include "simulator/jit/abi.h"
#include "simulator/jit/function_context.h"
#include "simulator/jit/hook_calls.h"

namespace cudasim::jit {

using namespace llvm;

Value* lies_in_shared_memory(IRBuilder<>& builder, const Compilation& compilation, Value* address) {
    FunctionContext head(*builder.GetInsertBlock()->getParent());
    Type* word = builder.getInt64Ty();
    Value* base = head.block_field(offsetof(BlockContext, shared_base), builder.getPtrTy());
    Value* dynamic = head.block_field(offsetof(BlockContext, dynamic_shared_bytes), builder.getInt32Ty());
    Value* distance =
        builder.CreateSub(builder.CreatePtrToInt(address, word), builder.CreatePtrToInt(base, word));
    Value* bytes = builder.CreateAdd(builder.CreateZExt(dynamic, word),
                                     builder.getInt64(compilation.shared.dynamic_offset));
    return builder.CreateICmpULT(distance, bytes);
}

Value* lies_in_local_memory(IRBuilder<>& builder, Value* address) {
    Value* number = builder.CreatePtrToInt(address, builder.getInt64Ty());
    return builder.CreateIsNotNull(call_hook(builder, Hook::is_local, {number}));
}

}  // namespace cudasim::jit
