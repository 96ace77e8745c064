// What a copy of cp.async does, for whoever makes instructions of it that copy at once.
#pragma once

#include <llvm/IR/IRBuilder.h>

#include <cstdint>

namespace cudasim::image {

/// Copies `bytes` (4, 8 or 16, to which both pointers are aligned) from source to target.
/// @param wanted an i32, how many of them are read at most, the others become 0; null: all are read
/// @return an i64, how many are read
llvm::Value* copy_at_once(llvm::IRBuilderBase& builder, llvm::Value* target, llvm::Value* source,
                          std::uint64_t bytes, llvm::Value* wanted);

}  // namespace cudasim::image
