// Shared memory of the blocks of a cluster (PTX ISA, "mapa", "getctarank", "isspacep"), as calls of hooks.
#pragma once

#include <llvm/IR/IRBuilder.h>

namespace cudasim::jit {

/// Where the block of that rank has what lies at the address, a pointer, as one of this type.
[[nodiscard]] llvm::Value* mapped_address(llvm::IRBuilder<>& builder, llvm::Value* address, llvm::Value* rank,
                                          llvm::Type* type);
/// The rank of the block, i32. Of an address that is in no shared memory of the cluster: 0.
[[nodiscard]] llvm::Value* rank_in_cluster(llvm::IRBuilder<>& builder, llvm::Value* address);
/// Whether it is in some block's, i1.
[[nodiscard]] llvm::Value* is_shared_in_cluster(llvm::IRBuilder<>& builder, llvm::Value* address);

}  // namespace cudasim::jit
