// See changed_images.h.
#include "gpu_backend/launches/changed_images.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Support/MemoryBuffer.h>

namespace cudasim::gpu_launches {
namespace {

using namespace llvm;

/// @param change (function) → whether it has changed it
template <typename Change>
std::optional<image::KernelImage> changed(const image::KernelImage& image, Change change) {
    LLVMContext context;
    auto parsed = parseBitcodeFile(MemoryBufferRef(image.bitcode(), "kernel image"), context);
    if (!parsed) throw image::ImageError("kernel image: " + toString(parsed.takeError()));
    bool any = false;
    for (Function& function : **parsed)
        if (!function.isDeclaration() && change(function)) any = true;
    if (!any) return std::nullopt;
    return image::KernelImage::from_module(**parsed, image.sources());
}

/// Behind the poison, which the compiler puts at the head of the function.
bool zero_locals(Function& function) {
    std::vector<AllocaInst*> locals;
    for (Instruction& instruction : instructions(function))
        if (auto* local = dyn_cast<AllocaInst>(&instruction); local != nullptr && local->isStaticAlloca())
            locals.push_back(local);
    for (AllocaInst* local : locals) {
        IRBuilder<> builder(local->getNextNode());
        builder.SetCurrentDebugLocation({});
        const TypeSize bytes = *local->getAllocationSize(function.getParent()->getDataLayout());
        builder.CreateMemSet(local, builder.getInt8(0), bytes.getFixedValue(), local->getAlign());
    }
    return !locals.empty();
}

bool drop_fast_math(Function& function) {
    bool any = false;
    for (Instruction& instruction : instructions(function)) {
        if (!isa<FPMathOperator>(instruction)) continue;
        FastMathFlags flags = instruction.getFastMathFlags();
        const bool contracts = flags.allowContract();
        flags.setAllowContract(false);
        if (flags.none()) continue;
        FastMathFlags kept;
        kept.setAllowContract(contracts);
        instruction.copyFastMathFlags(kept);
        any = true;
    }
    return any;
}

}  // namespace

std::optional<image::KernelImage> with_zeroed_locals(const image::KernelImage& image) {
    return changed(image, zero_locals);
}

std::optional<image::KernelImage> without_fast_math(const image::KernelImage& image) {
    return changed(image, drop_fast_math);
}

}  // namespace cudasim::gpu_launches
