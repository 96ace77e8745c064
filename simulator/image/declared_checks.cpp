// See declared_checks.h.
#include "simulator/image/declared_checks.h"

#include <llvm/AsmParser/Parser.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/SourceMgr.h>

namespace cudasim::image {

llvm::CallInst* declared_check_call(llvm::User& user, std::string_view symbol, std::string_view type) {
    auto* call = llvm::dyn_cast<llvm::CallInst>(&user);
    const llvm::Function* callee = call ? call->getCalledFunction() : nullptr;
    if (!callee || std::string_view(callee->getName()) != symbol) return nullptr;
    for (const llvm::Use& argument : call->args()) {
        if (argument.get() == callee) return nullptr;
    }
    llvm::SMDiagnostic error;
    const llvm::Type* declared = llvm::parseType({type.data(), type.size()}, error, *call->getModule());
    return declared == call->getFunctionType() ? call : nullptr;
}

}  // namespace cudasim::image
