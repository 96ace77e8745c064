// See asynchronous_copies.h.
#include "gpu_backend/asynchronous_copies.h"

#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Module.h>

#include <optional>

#include "simulator/image/asynchronous_copy.h"

namespace cudasim::gpu_backend {
namespace {

constexpr llvm::StringRef prefix = "llvm.nvvm.cp.async.";

/// 16 of "ca.shared.global.16.s"; nullopt for what is no copy to shared memory.
std::optional<std::uint64_t> bytes_of(llvm::StringRef name) {
    if (!name.consume_front("ca.shared.global.") && !name.consume_front("cg.shared.global."))
        return std::nullopt;
    std::uint64_t bytes = 0;
    return name.consumeInteger(10, bytes) ? std::nullopt : std::optional(bytes);
}

}  // namespace

void copy_at_once(llvm::Module& module) {
    for (llvm::Function& function : llvm::make_early_inc_range(module)) {
        llvm::StringRef name = function.getName();
        if (!name.consume_front(prefix)) continue;
        const auto bytes = bytes_of(name);
        if (!bytes && name != "commit.group" && name != "wait.group" && name != "wait.all") continue;
        for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
            auto* call = llvm::dyn_cast<llvm::CallInst>(user);
            if (call == nullptr || call->getCalledFunction() != &function) continue;
            if (bytes) {
                llvm::IRBuilder<> builder(call);
                llvm::Value* wanted = call->arg_size() > 2 ? call->getArgOperand(2) : nullptr;
                image::copy_at_once(builder, call->getArgOperand(0), call->getArgOperand(1), *bytes, wanted);
            }
            call->eraseFromParent();
        }
        if (function.use_empty()) function.eraseFromParent();
    }
}

}  // namespace cudasim::gpu_backend
