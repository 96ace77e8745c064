// See source_names.h.
#include "simulator/image/source_names.h"

#include <llvm/IR/DebugInfoMetadata.h>

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

}  // namespace cudasim::image
