// See declared_limits.h.
#include "frontend/cuda_cpp/images/declared_limits.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Metadata.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

namespace cudasim::cuda_cpp {
namespace {

constexpr unsigned constant_space = 4;

/// The product of the extents whose names begin so, or 0 if there is none:
/// !{ptr @kernel, !"maxntidx", i32 128} (LLVM, "User Guide for NVPTX Back-end").
std::uint64_t product_of(const llvm::MDNode& annotation, llvm::StringRef start) {
    std::uint64_t product = 0;
    for (unsigned i = 1; i + 1 < annotation.getNumOperands(); i += 2) {
        const auto* name = llvm::dyn_cast_or_null<llvm::MDString>(annotation.getOperand(i));
        const auto* value =
            llvm::mdconst::dyn_extract_or_null<llvm::ConstantInt>(annotation.getOperand(i + 1));
        if (name == nullptr || value == nullptr || !name->getString().starts_with(start)) continue;
        product = (product == 0 ? 1 : product) * value->getZExtValue();
    }
    return product;
}

void add_annotation(const llvm::MDNode& annotation, DeclaredLimits& limits) {
    if (annotation.getNumOperands() == 0) return;
    const auto* kernel = llvm::mdconst::dyn_extract_or_null<llvm::Function>(annotation.getOperand(0));
    if (kernel == nullptr) return;
    // The extents may stand in one annotation or in one for each axis.
    const auto note = [&](auto& limit, std::uint64_t product) {
        if (product == 0) return;
        auto& known = limit[kernel->getName().str()];
        known = (known == 0 ? 1 : known) * product;
    };
    note(limits.most_threads, product_of(annotation, "maxntid"));
    for (unsigned axis = 0; axis < 3; ++axis) {
        const std::uint64_t blocks = product_of(annotation, std::string("cluster_dim_") + "xyz"[axis]);
        if (blocks == 0) continue;
        const auto [known, is_new] =
            limits.clusters.try_emplace(kernel->getName().str(), std::array{1U, 1U, 1U});
        known->second[axis] = static_cast<std::uint32_t>(blocks);
    }
}

}  // namespace

DeclaredLimits declared_limits(const image::KernelImage& image) {
    DeclaredLimits limits;
    llvm::LLVMContext context;
    auto module = llvm::getLazyBitcodeModule(llvm::MemoryBufferRef(image.bitcode(), "image"), context, true);
    if (!module) {
        llvm::consumeError(module.takeError());
        return limits;
    }
    if (auto error = (*module)->materializeMetadata()) llvm::consumeError(std::move(error));
    for (const auto& variable : (*module)->globals())
        if (variable.getAddressSpace() == constant_space && !variable.isDeclaration())
            limits.constant_bytes += (*module)->getDataLayout().getTypeAllocSize(variable.getValueType());
    if (const auto* annotations = (*module)->getNamedMetadata("nvvm.annotations"))
        for (const auto* annotation : annotations->operands()) add_annotation(*annotation, limits);
    return limits;
}

}  // namespace cudasim::cuda_cpp
