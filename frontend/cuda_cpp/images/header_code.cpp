// See header_code.h.
#include "frontend/cuda_cpp/images/header_code.h"

#include <llvm/IR/DebugInfo.h>

#include "frontend/cuda_cpp/images/source_paths.h"
#include "simulator/image/source_names.h"

namespace cudasim::cuda_cpp {

void place_header_code_at_calls(llvm::Module& module, std::string_view toolkit) {
    for (llvm::Function& function : module) {
        const llvm::DISubprogram* described = function.getSubprogram();
        if (described == nullptr || !function.hasFnAttribute(llvm::Attribute::AlwaysInline)) continue;
        // The inliner gives code without a place that of the call.
        if (!is_the_users(image::path_of(described->getFile()), toolkit)) llvm::stripDebugInfo(function);
    }
}

}  // namespace cudasim::cuda_cpp
