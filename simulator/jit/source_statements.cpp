// See source_statements.h.
#include "simulator/jit/source_statements.h"

#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>

#include "simulator/image/large_stack.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/module_loader.h"
#include "simulator/jit/source_places.h"

namespace cudasim::jit {

namespace {

/// image/checks.def
constexpr llvm::StringRef call_of_debugger = "__cudasim_breakpoint";

}  // namespace

SourceStatements source_statements(const image::KernelImage& image, std::string_view kernel) {
    SourceStatements found;
    image::on_large_stack([&](const image::Cancellation&) {
        Compilation compilation;
        load_kernel(compilation, image, kernel);
        found.head = place_of(compilation.kernel->getSubprogram());
        mark_statements(*compilation.module);
        for (const llvm::Function& function : *compilation.module) {
            for (const llvm::Instruction& instruction : llvm::instructions(function)) {
                const auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
                if (call == nullptr) continue;
                const llvm::Function* callee = call->getCalledFunction();
                const bool is_breakpoint = callee != nullptr && callee->getName() == call_of_debugger;
                if (!is_breakpoint && hook_called_by(instruction) != Hook::stop) continue;
                const findings::CallChain place = call_chain(call->getDebugLoc().get());
                const bool is_entry = call->getMetadata(marks::entry) != nullptr;
                if (!place.empty()) found.statements.push_back({place.front(), is_breakpoint, is_entry});
            }
        }
    });
    return found;
}

}  // namespace cudasim::jit
