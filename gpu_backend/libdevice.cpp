// See libdevice.h.
#include "gpu_backend/libdevice.h"

#include <llvm/ADT/StringSet.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/Instructions.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/IPO/Internalize.h>

#include "gpu_backend/ptx.h"
#include "gpu_backend/toolkit.h"

namespace cudasim::gpu_backend {
namespace {

using Code = PtxError::Code;

/// The text that a call of __nvvm_reflect asks for; empty where that is not a constant.
llvm::StringRef question_of(const llvm::CallBase& call) {
    const auto* text = llvm::dyn_cast<llvm::GlobalVariable>(call.getArgOperand(0)->stripPointerCasts());
    const auto* data = text != nullptr && text->hasInitializer()
                           ? llvm::dyn_cast<llvm::ConstantDataSequential>(text->getInitializer())
                           : nullptr;
    return data != nullptr && data->isCString() ? data->getAsCString() : llvm::StringRef();
}

/// The library asks __nvvm_reflect how precise its parts are to be. LLVM knows `__CUDA_FTZ` and
/// `__CUDA_ARCH`, and answers everything else with 0, which is sqrt.approx for `__CUDA_PREC_SQRT` (LLVM,
/// "User Guide for NVPTX Back-end", "NVVM Reflect Pass"; nvcc's --prec-sqrt is on by default).
void ask_for_precision(llvm::Module& module) {
    llvm::Function* reflect = module.getFunction("__nvvm_reflect");
    if (reflect == nullptr) return;
    for (llvm::User* user : llvm::make_early_inc_range(reflect->users())) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(user);
        if (call == nullptr || call->getCalledOperand() != reflect) continue;
        const llvm::StringRef question = question_of(*call);
        if (question != "__CUDA_PREC_SQRT" && question != "__CUDA_PREC_DIV") continue;
        call->replaceAllUsesWith(llvm::ConstantInt::get(call->getType(), 1));
        call->eraseFromParent();
    }
}

}  // namespace

bool calls_libdevice(const llvm::Module& module) {
    return llvm::any_of(module, [](const llvm::Function& function) {
        return function.isDeclaration() && function.getName().starts_with("__nv_");
    });
}

void link_libdevice(llvm::Module& module) {
    const auto path = find_libdevice();
    if (!path) return;
    auto buffer = llvm::MemoryBuffer::getFile(path->string());
    if (!buffer) throw PtxError(Code::libdevice, path->string() + ": " + buffer.getError().message());
    // Lazily: of its 350 functions a kernel needs a few, and reading all takes longer than the rest of
    // to_ptx().
    auto library = llvm::getOwningLazyBitcodeModule(std::move(*buffer), module.getContext(),
                                                    /*ShouldLazyLoadMetadata=*/true);
    if (!library) {
        throw PtxError(Code::libdevice, path->string() + ": " + llvm::toString(library.takeError()));
    }
    (*library)->setTargetTriple(module.getTargetTriple());
    (*library)->setDataLayout(module.getDataLayout());
    const bool failed = llvm::Linker::linkModules(
        module, std::move(*library), llvm::Linker::LinkOnlyNeeded,
        [](llvm::Module& linked, const llvm::StringSet<>& added) {
            llvm::internalizeModule(linked, [&added](const llvm::GlobalValue& value) {
                return !value.hasName() || !added.contains(value.getName());
            });
        });
    if (failed) throw PtxError(Code::libdevice, path->string() + " does not link with the kernel");
    // 0 keeps subnormals, as the simulator does.
    module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", 0u);
    ask_for_precision(module);
}

}  // namespace cudasim::gpu_backend
