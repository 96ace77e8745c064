// See simulated_libdevice.h.
#include "gpu_backend/simulated_libdevice/simulated_libdevice.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/MemoryBuffer.h>

#include <map>
#include <mutex>
#include <tuple>

#include "frontend/ptx/inline_assembly.h"
#include "frontend/ptx/reader.h"
#include "gpu_backend/fast_math.h"
#include "gpu_backend/libdevice.h"
#include "gpu_backend/ptx.h"
#include "simulator/image/linking.h"

namespace cudasim::gpu_backend {
namespace {

using Code = PtxError::Code;

std::unique_ptr<llvm::Module> parsed(const image::KernelImage& image, llvm::LLVMContext& context) {
    auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(image.bitcode(), "kernel image"), context);
    if (!module) throw image::ImageError("kernel image: " + llvm::toString(module.takeError()));
    return std::move(*module);
}

/// Registers become values, once for all kernels.
void simplify(llvm::Module& module) {
    llvm::PassBuilder builder;
    llvm::LoopAnalysisManager loops;
    llvm::FunctionAnalysisManager functions;
    llvm::CGSCCAnalysisManager components;
    llvm::ModuleAnalysisManager modules;
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    llvm::ModulePassManager passes;
    passes.addPass(llvm::createModuleToFunctionPassAdaptor(builder.buildFunctionSimplificationPipeline(
        llvm::OptimizationLevel::O2, llvm::ThinOrFullLTOPhase::None)));
    passes.run(module, modules);
}

/// One function as an image that defines its simulated_name(), without debug information: a function of the
/// library has no lines of its own to report or to stop at.
image::KernelImage translated(const LibdeviceFile& library, const std::string& function, Precision precision,
                              const std::string& architecture) {
    const std::string text = libdevice_ptx(library, function, precision, architecture);
    try {
        const image::KernelImage read = ptx::read(text, "libdevice.10.bc: " + function);
        llvm::LLVMContext context;
        const std::unique_ptr<llvm::Module> module = parsed(read, context);
        llvm::StripDebugInfo(*module);
        simplify(*module);
        return image::KernelImage::from_module(*module);
    } catch (const ptx::PtxError& error) {
        throw PtxError(Code::libdevice, "the PTX of '" + function + "' of " + library.path().string() +
                                            ", line " + std::to_string(error.line) + ": " + error.what() +
                                            "; CUDASIM_LIBDEVICE=own uses the simulator's own functions");
    }
}

class Translations {
  public:
    image::KernelImage get(const LibdeviceFile& library, const std::string& function, Precision precision,
                           const std::string& architecture) {
        const std::lock_guard guard(lock_);
        const auto key = std::tuple(library.hash(), architecture, precision, function);
        auto found = images_.find(key);
        if (found == images_.end())
            found = images_.emplace(key, translated(library, function, precision, architecture)).first;
        return found->second;
    }
    std::size_t size() {
        const std::lock_guard guard(lock_);
        return images_.size();
    }

  private:
    std::mutex lock_;
    std::map<std::tuple<std::string, std::string, Precision, std::string>, image::KernelImage> images_;
};

Translations& translations() {
    static Translations all;
    return all;
}

}  // namespace

std::string libdevice_ptx(const LibdeviceFile& library, const std::string& function, Precision precision,
                          const std::string& architecture) {
    PtxOptions options;
    options.architecture = architecture;
    options.link_libdevice = false;
    options.debug_info = DebugInfo::none;
    return to_ptx(library_function(library, function, precision), simulated_name(function, precision),
                  options);
}

image::KernelImage with_libdevice(const image::KernelImage& image, const LibdeviceFile& library,
                                  const std::string& architecture) {
    llvm::LLVMContext context;
    const std::unique_ptr<llvm::Module> module = parsed(image, context);
    unlink_libdevice(*module);
    std::vector<image::KernelImage> parts;
    const auto take = [&](const std::string& name, Precision precision) {
        parts.push_back(translations().get(library, name, precision, architecture));
    };
    for (llvm::CallInst* call : fast_calls(*module)) {
        const llvm::Function& called = *call->getCalledFunction();
        const std::string name = called.isIntrinsic() ? "__nv_sqrtf" : called.getName().str();
        const std::string code = simulated_name(name, Precision::fast);
        if (!library.functions().contains(name)) continue;
        if (module->getFunction(code) == nullptr) take(name, Precision::fast);
        call->setCalledFunction(module->getOrInsertFunction(code, called.getFunctionType()));
    }
    for (const std::string& name : libdevice_calls(*module)) {  // fast ones are none any more
        if (!library.functions().contains(name)) continue;
        take(name, Precision::full);
        module->getFunction(name)->setName(simulated_name(name));
    }
    if (parts.empty()) return image;
    image::link(*module, parts);
    mark_linked(*module, library);
    return image::KernelImage::from_module(*module, image.sources());
}

image::KernelImage without_libdevice(const image::KernelImage& image) {
    llvm::LLVMContext context;
    const std::unique_ptr<llvm::Module> module = parsed(image, context);
    if (linked_library(*module).empty()) return image;
    unlink_libdevice(*module);
    return image::KernelImage::from_module(*module, image.sources());
}

std::string linked_libdevice(const image::KernelImage& image) {
    llvm::LLVMContext context;
    return linked_library(*parsed(image, context));
}

std::size_t translated_functions() {
    return translations().size();
}

}  // namespace cudasim::gpu_backend
