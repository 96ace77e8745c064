// See device_code.h.
#include "frontend/cuda_cpp/images/device_code.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/Path.h>

#include <map>

namespace cudasim::cuda_cpp {
namespace {

std::string path_of(const llvm::DIFile& file) {
    llvm::SmallString<256> path(file.getFilename());
    if (!llvm::sys::path::is_absolute(path)) {
        path = file.getDirectory();
        llvm::sys::path::append(path, file.getFilename());
    }
    return path.str().str();
}

bool is_the_users(llvm::StringRef path, llvm::StringRef toolkit) {
    return !path.starts_with(toolkit) && !path.starts_with("/usr/lib/") &&
           !path.starts_with("/usr/include/") && !path.starts_with("/usr/bin/");
}

}  // namespace

image::KernelImage image_of_bitcode(const std::string& bitcode, std::string_view toolkit) {
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile({llvm::StringRef(bitcode), "device code"}, context);
    if (!module) throw image::ImageError("device code: " + llvm::toString(module.takeError()));
    std::map<std::string, std::string> texts;
    llvm::DebugInfoFinder finder;
    finder.processModule(**module);
    const auto add = [&](const llvm::DIFile* file) {
        if (file == nullptr) return;
        const std::string path = path_of(*file);
        if (texts.contains(path) || !is_the_users(path, toolkit)) return;
        if (auto text = llvm::MemoryBuffer::getFile(path)) texts.emplace(path, (*text)->getBuffer().str());
    };
    for (const llvm::DICompileUnit* unit : finder.compile_units()) add(unit->getFile());
    for (const llvm::DISubprogram* function : finder.subprograms()) add(function->getFile());
    std::vector<image::SourceFile> sources;
    for (auto& [path, text] : texts) sources.push_back({path, text});
    return image::KernelImage::from_module(**module, std::move(sources));
}

}  // namespace cudasim::cuda_cpp
