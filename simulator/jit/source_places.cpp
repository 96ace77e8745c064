// See source_places.h.
#include "simulator/jit/source_places.h"

#include <llvm/IR/Function.h>

#include "simulator/image/source_names.h"

namespace cudasim::jit {

using image::name_of;

std::string path_of(const llvm::DIFile* file) {
    return image::path_of(file);
}

findings::CallChain call_chain(const llvm::DILocation* location) {
    findings::CallChain chain;
    for (; location; location = location->getInlinedAt()) {
        chain.push_back({path_of(location->getFile()), name_of(location->getScope()->getSubprogram()),
                         location->getLine(), location->getColumn()});
    }
    return findings::without_own_code(std::move(chain));
}

findings::SourceLocation place_of(const llvm::DISubprogram* subprogram) {
    if (!subprogram) return {};
    return {path_of(subprogram->getFile()), name_of(subprogram), subprogram->getLine(), 0};
}

void refuse(const llvm::Instruction& at, const std::string& message) {
    auto chain = call_chain(at.getDebugLoc().get());
    if (chain.empty()) chain.push_back(place_of(at.getFunction()->getSubprogram()));
    const auto& place = chain.front();
    std::string where;
    if (place.line != 0) where = place.file + ":" + std::to_string(place.line) + ": ";
    std::string function = place.function.empty() ? at.getFunction()->getName().str() : place.function;
    throw CompileError(where + "in " + function + ": " + message, std::move(chain));
}

}  // namespace cudasim::jit
