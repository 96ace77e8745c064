// See unknown_origin.h.
#include "simulator/image/unknown_origin.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>

#include "simulator/image/declared_checks.h"

namespace cudasim::image {

KernelImage without_claims(const KernelImage& image) {
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile(llvm::MemoryBufferRef(image.bitcode(), "image"), context);
    if (!module) throw ImageError("kernel image: " + llvm::toString(module.takeError()));
    llvm::SmallVector<llvm::StringRef> names;
    context.getMDKindNames(names);
    llvm::SmallVector<unsigned> claims;
    for (const llvm::StringRef name : names)
        if (name.starts_with("cudasim.") && name != meant_mark) claims.push_back(context.getMDKindID(name));
    for (llvm::Function& function : **module)
        for (llvm::Instruction& instruction : llvm::instructions(function))
            for (const unsigned claim : claims) instruction.setMetadata(claim, nullptr);
    return KernelImage::from_module(**module, image.sources());
}

}  // namespace cudasim::image
