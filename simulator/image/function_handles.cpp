// See function_handles.h.
#include "simulator/image/function_handles.h"

#include <llvm/IR/Function.h>
#include <llvm/IR/Module.h>

namespace cudasim::image {

std::vector<const llvm::Function*> functions_with_address(const llvm::Module& module) {
    std::vector<const llvm::Function*> functions;
    for (const llvm::Function& function : module) {
        if (function.isIntrinsic()) continue;
        function.removeDeadConstantUsers();
        if (function.hasAddressTaken(nullptr, false, true, true)) functions.push_back(&function);
    }
    return functions;
}

}  // namespace cudasim::image
