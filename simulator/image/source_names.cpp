// See source_names.h.
#include "simulator/image/source_names.h"

#include <cxxabi.h>
#include <llvm/IR/DebugInfoMetadata.h>

#include <cstdlib>

namespace cudasim::image {

std::string path_of(const llvm::DIFile* file) {
    if (!file) return {};
    const std::string name = file->getFilename().str();
    const std::string directory = file->getDirectory().str();
    const bool whole = name.empty() || name.front() == '/' || name.front() == '<' || directory.empty();
    return whole ? name : directory + "/" + name;
}

std::string name_of(const llvm::DISubprogram* subprogram) {
    if (!subprogram) return {};
    return (subprogram->getName().empty() ? subprogram->getLinkageName() : subprogram->getName()).str();
}

std::string demangled(const std::string& name) {
    if (!name.starts_with("_Z")) return name;  // "f" would be the type float
    int status = 0;
    char* const text = abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status);
    if (text == nullptr || status != 0) return name;
    std::string result = text;
    std::free(text);
    return result;
}

}  // namespace cudasim::image
