// See variable_arrays.h.
#include "frontend/cuda_cpp/images/variable_arrays.h"

#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Transforms/Utils/BasicBlockUtils.h>

#include <algorithm>
#include <string>
#include <vector>

namespace cudasim::cuda_cpp {
namespace {

constexpr unsigned alignment = 16, global_space = 1;

/// One function's place, and how many bytes of it are in use.
class Place {
  public:
    explicit Place(llvm::Function& function) : function_(function) {
        llvm::IRBuilder<> builder(&*function.getEntryBlock().begin());
        place_ = builder.CreateAlloca(builder.getInt8Ty(), builder.getInt32(most_variable_bytes), "variable");
        place_->setAlignment(llvm::Align(alignment));
        used_ = builder.CreateAlloca(builder.getInt64Ty(), nullptr, "variable.used");
        builder.CreateStore(builder.getInt64(0), used_);
    }

    void replace(llvm::AllocaInst& array) {
        llvm::IRBuilder<> builder(&array);
        const std::uint64_t element =
            function_.getParent()->getDataLayout().getTypeAllocSize(array.getAllocatedType());
        llvm::Value* bytes = builder.CreateMul(
            builder.CreateZExtOrTrunc(array.getArraySize(), builder.getInt64Ty()), builder.getInt64(element));
        llvm::Value* before = builder.CreateLoad(builder.getInt64Ty(), used_);
        const std::uint64_t aligned = std::max<std::uint64_t>(alignment, array.getAlign().value());
        before = builder.CreateAnd(builder.CreateAdd(before, builder.getInt64(aligned - 1)),
                                   builder.getInt64(~(aligned - 1)));
        llvm::Value* fits = builder.CreateAnd(
            builder.CreateICmpULE(bytes, builder.getInt64(most_variable_bytes)),
            builder.CreateICmpULE(builder.CreateAdd(before, bytes), builder.getInt64(most_variable_bytes)));
        llvm::Instruction* fails =
            llvm::SplitBlockAndInsertIfThen(builder.CreateNot(fits), &array, /*Unreachable=*/true);
        fail_before(*fails, array);
        builder.SetInsertPoint(&array);
        builder.CreateStore(builder.CreateAdd(before, bytes), used_);
        array.replaceAllUsesWith(builder.CreateGEP(builder.getInt8Ty(), place_, before));
        array.eraseFromParent();
    }

  private:
    void fail_before(llvm::Instruction& at, const llvm::AllocaInst& array) {
        llvm::IRBuilder<> builder(&at);
        builder.SetCurrentDebugLocation(array.getDebugLoc());
        const auto text = [&](llvm::StringRef value) {
            return builder.CreateAddrSpaceCast(
                builder.CreateGlobalString(value, "variable.text", global_space), builder.getPtrTy());
        };
        const llvm::DILocation* place = array.getDebugLoc().get();
        const llvm::DISubprogram* described = function_.getSubprogram();
        const auto fail = function_.getParent()->getOrInsertFunction(
            "__assertfail", builder.getVoidTy(), builder.getPtrTy(), builder.getPtrTy(), builder.getInt32Ty(),
            builder.getPtrTy(), builder.getInt64Ty());
        builder.CreateCall(fail, {text("alloca() has at most " + std::to_string(most_variable_bytes) +
                                       " bytes in one call of a function"),
                                  text(place == nullptr ? "" : place->getFilename()),
                                  builder.getInt32(place == nullptr ? 0 : place->getLine()),
                                  text(described == nullptr ? function_.getName() : described->getName()),
                                  builder.getInt64(1)});
    }

    llvm::Function& function_;
    llvm::AllocaInst *place_ = nullptr, *used_ = nullptr;
};

}  // namespace

void fix_variable_arrays(llvm::Module& module) {
    for (llvm::Function& function : module) {
        std::vector<llvm::AllocaInst*> arrays;
        for (llvm::Instruction& instruction : llvm::instructions(function))
            if (auto* local = llvm::dyn_cast<llvm::AllocaInst>(&instruction);
                local != nullptr && !local->isStaticAlloca())
                arrays.push_back(local);
        if (arrays.empty()) continue;
        Place place(function);
        for (auto* array : arrays) place.replace(*array);
    }
}

}  // namespace cudasim::cuda_cpp
