// See header_code.h.
#include "frontend/cuda_cpp/images/header_code.h"

#include <llvm/IR/DebugInfo.h>

#include "frontend/cuda_cpp/images/source_paths.h"
#include "simulator/image/source_names.h"

namespace cudasim::cuda_cpp {

namespace {

/// Functions of headers whose code is to be read as part of the statement that calls them.
bool is_like_an_instruction(const llvm::Function& function) {
    const llvm::StringRef name = function.getName();
    return function.hasFnAttribute(llvm::Attribute::AlwaysInline) || name.starts_with("_Znw") ||
           name.starts_with("_Zna") ||                            // operator new, operator new[]
           name.starts_with("_Zdl") || name.starts_with("_Zda");  // operator delete, operator delete[]
}

}  // namespace

void place_header_code_at_calls(llvm::Module& module, std::string_view toolkit) {
    for (llvm::Function& function : module) {
        const llvm::DISubprogram* described = function.getSubprogram();
        if (described == nullptr || !is_like_an_instruction(function)) continue;
        // The inliner gives code without a place that of the call.
        if (!is_the_users(image::path_of(described->getFile()), toolkit)) llvm::stripDebugInfo(function);
    }
}

}  // namespace cudasim::cuda_cpp
