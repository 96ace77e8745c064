// See simulated_form.h.
#include "frontend/cuda_cpp/images/simulated_form.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>

#include "frontend/ptx/inline_assembly.h"

namespace cudasim::cuda_cpp {

image::KernelImage for_simulator(const EmbeddedImage& embedded) {
    return embedded.inline_assembly ? ptx::with_translated_assembly(embedded.image) : embedded.image;
}

image::KernelImage as_another_image(const image::KernelImage& image, unsigned number) {
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile({llvm::StringRef(image.bitcode()), "device code"}, context);
    if (!module) throw image::ImageError("device code: " + llvm::toString(module.takeError()));
    (*module)
        ->getOrInsertNamedMetadata("cudasim.instance")
        ->addOperand(llvm::MDNode::get(context, llvm::MDString::get(context, std::to_string(number))));
    return image::KernelImage::from_module(**module, image.sources());
}

}  // namespace cudasim::cuda_cpp
