// See recorded_code.h.
#include "gpu_backend/recorded_code.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DerivedTypes.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

#include <string>
#include <vector>

namespace cudasim::gpu_backend {
namespace {

bool contains_address(const llvm::Type& type) {
    if (type.isPointerTy()) return true;
    for (const llvm::Type* part : type.subtypes())
        if (contains_address(*part)) return true;
    return false;
}

/// @param has_inner_addresses gets whether a structure that is passed by value contains a pointer
std::vector<records::GpuParameter> parameters_of(const llvm::Function& function, const image::Kernel& kernel,
                                                 bool& has_inner_addresses) {
    std::vector<records::GpuParameter> parameters;
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
        const auto& parameter = kernel.parameters[i];
        const llvm::Argument& argument = *function.getArg(static_cast<unsigned>(i));
        llvm::Type* by_value = argument.getParamByValType();
        const llvm::Type& type = by_value != nullptr ? *by_value : *argument.getType();
        parameters.push_back(
            {.offset = parameter.offset, .size = parameter.size, .is_address = type.isPointerTy()});
        if (!type.isPointerTy() && contains_address(type)) has_inner_addresses = true;
    }
    return parameters;
}

/// What define_grid_barrier() brings into the module.
bool waits_for_the_grid(std::string_view ptx) {
    return ptx.find("cudasim_grid_arrived") != std::string_view::npos;
}

}  // namespace

records::GpuCode gpu_code_of(const image::KernelImage& image, std::string_view kernel,
                             const PtxOptions& options) {
    records::GpuCode code{.entry = ptx_name(kernel), .architecture = options.architecture};
    const image::Kernel* description = image.find(kernel);
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(image.bitcode(), "kernel image"), context);
    if (!module) throw image::ImageError("kernel image: " + llvm::toString(module.takeError()));
    const llvm::Function* function = (*module)->getFunction({kernel.data(), kernel.size()});
    if (description == nullptr || function == nullptr)
        throw image::ImageError("the image has no kernel '" + std::string(kernel) + "'");
    bool has_inner_addresses = false;
    code.parameters = parameters_of(*function, *description, has_inner_addresses);
    // What is not a parameter of its own cannot be moved to another address.
    code.has_addresses = options.globals_base.has_value() || has_inner_addresses;
    try {
        code.ptx = to_ptx(image, kernel, options);
        code.cooperative = waits_for_the_grid(code.ptx);
    } catch (const PtxError& error) {
        code.refusal = error.what();
    }
    return code;
}

}  // namespace cudasim::gpu_backend
