// See asynchronous_copy.h.
#include "simulator/image/asynchronous_copy.h"

namespace cudasim::image {

llvm::Value* copy_at_once(llvm::IRBuilderBase& builder, llvm::Value* target, llvm::Value* source,
                          std::uint64_t bytes, llvm::Value* wanted) {
    const llvm::Align alignment(bytes);
    llvm::Value* read = builder.getInt64(bytes);
    if (wanted != nullptr) {
        read = builder.CreateBinaryIntrinsic(llvm::Intrinsic::umin,
                                             builder.CreateZExt(wanted, builder.getInt64Ty()), read);
        builder.CreateMemSet(target, builder.getInt8(0), bytes, alignment);
    }
    builder.CreateMemCpy(target, alignment, source, alignment, read);
    return read;
}

}  // namespace cudasim::image
