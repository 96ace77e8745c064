// See clusters.h.
#include "simulator/jit/clusters.h"

#include "simulator/jit/hook_calls.h"

namespace cudasim::jit {

using namespace llvm;

namespace {

Value* number_of(IRBuilder<>& builder, Value* address) {
    return builder.CreatePtrToInt(address, builder.getInt64Ty());
}

/// -1: in none.
Value* shared_rank(IRBuilder<>& builder, Value* address) {
    return call_hook(builder, Hook::shared_rank, {number_of(builder, address)});
}

}  // namespace

Value* mapped_address(IRBuilder<>& builder, Value* address, Value* rank, Type* type) {
    return builder.CreateIntToPtr(call_hook(builder, Hook::map_shared, {number_of(builder, address), rank}),
                                  type);
}

Value* rank_in_cluster(IRBuilder<>& builder, Value* address) {
    return builder.CreateBinaryIntrinsic(Intrinsic::smax, shared_rank(builder, address), builder.getInt32(0));
}

Value* is_shared_in_cluster(IRBuilder<>& builder, Value* address) {
    return builder.CreateICmpSGE(shared_rank(builder, address), builder.getInt32(0));
}

}  // namespace cudasim::jit
