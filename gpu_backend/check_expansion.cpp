// One action per row of simulator/image/checks.def. A GPU neither reports nor counts: an index is wrapped
// as Python's negative indices ask, a raise becomes a trap, the rest disappears.

#include "gpu_backend/check_expansion.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/SmallVector.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/Intrinsics.h>
#include <llvm/IR/Module.h>

#include <array>
#include <string>
#include <string_view>

#include "gpu_backend/ptx.h"
#include "simulator/image/declared_checks.h"
#include "simulator/image/variable_reads.h"

namespace cudasim::gpu_backend {
namespace {

enum class Action { drop, wrap, keep, trap };

struct Check {
    std::string_view symbol;
    std::string_view type;
    Action action;
};

constexpr std::array checks{
#define CHECK(identifier, symbol, type, gpu) Check{symbol, type, Action::gpu},
#include "simulator/image/checks.def"
#undef CHECK
};

void replace(llvm::CallInst& call, Action action) {
    llvm::IRBuilder<> builder(&call);
    switch (action) {
        case Action::drop:
            break;
        case Action::keep:
            call.replaceAllUsesWith(call.getArgOperand(0));
            break;
        case Action::wrap: {
            llvm::Value* index = call.getArgOperand(0);
            llvm::Value* negative = builder.CreateICmpSLT(index, llvm::ConstantInt::get(index->getType(), 0));
            llvm::Value* wrapped = builder.CreateAdd(index, call.getArgOperand(1));
            call.replaceAllUsesWith(builder.CreateSelect(negative, wrapped, index));
            break;
        }
        case Action::trap:
            builder.CreateIntrinsic(llvm::Intrinsic::trap, {}, {});
            break;
    }
    call.eraseFromParent();
}

/// PTX ISA, special registers %dynamic_smem_size and %total_smem_size: LLVM has no intrinsics for them.
void expand_shared_bytes(llvm::Module& module, const char* symbol, const char* special_register) {
    llvm::Function* declared = module.getFunction(symbol);
    if (!declared) return;
    auto* reader = llvm::InlineAsm::get(declared->getFunctionType(),
                                        std::string("mov.u32 $0, ") + special_register + ";", "=r", false);
    for (llvm::User* user : llvm::make_early_inc_range(declared->users())) {
        if (auto* call = llvm::dyn_cast<llvm::CallInst>(user)) call->setCalledOperand(reader);
    }
    if (declared->use_empty()) declared->eraseFromParent();
}

/// Shared addresses of a GPU are offsets from where the block's shared memory begins.
void expand_shared_base(llvm::Module& module) {
    llvm::Function* declared = module.getFunction("__cudasim_shared_base");
    if (!declared) return;
    for (llvm::User* user : llvm::make_early_inc_range(declared->users())) {
        auto* call = llvm::dyn_cast<llvm::CallInst>(user);
        if (!call || call->getCalledFunction() != declared || !call->getType()->isIntegerTy(64)) continue;
        call->replaceAllUsesWith(llvm::ConstantInt::get(call->getType(), 0));
        call->eraseFromParent();
    }
    if (declared->use_empty()) declared->eraseFromParent();
}

}  // namespace

void resolve_variable_reads(llvm::Module& module) {
    if (image::resolve_variable_reads(module, image::VariableReads::stored)) {
        throw PtxError(PtxError::Code::unsupported_code,
                       "'" + std::string(image::variable_read_prefix) +
                           "NAME' is only to be called, with two values of the type that it returns: see "
                           "simulator/image/variable_reads.h");
    }
}

void expand_checks(llvm::Module& module) {
    expand_shared_bytes(module, "__cudasim_dynamic_shared_bytes", "%dynamic_smem_size");
    expand_shared_bytes(module, "__cudasim_total_shared_bytes", "%total_smem_size");
    expand_shared_base(module);
    for (const Check& check : checks) {
        llvm::Function* declared =
            module.getFunction(llvm::StringRef(check.symbol.data(), check.symbol.size()));
        if (!declared) continue;
        for (llvm::User* user : llvm::make_early_inc_range(declared->users())) {
            llvm::CallInst* call = image::declared_check_call(*user, check.symbol, check.type);
            if (!call) {
                throw PtxError(PtxError::Code::unsupported_code,
                               "'" + std::string(check.symbol) + "' is only to be called, as '" +
                                   std::string(check.type) + "': see simulator/image/checks.def");
            }
            replace(*call, check.action);
        }
        declared->eraseFromParent();
    }
}

void strip_simulator_metadata(llvm::Module& module) {
    for (llvm::NamedMDNode& node : llvm::make_early_inc_range(module.named_metadata())) {
        if (node.getName().starts_with("cudasim.")) module.eraseNamedMetadata(&node);
    }
    llvm::SmallVector<llvm::StringRef> kinds;
    module.getContext().getMDKindNames(kinds);
    for (unsigned kind = 0; kind < kinds.size(); ++kind) {
        if (!kinds[kind].starts_with("cudasim.")) continue;
        for (auto& function : module) {
            for (auto& block : function) {
                for (auto& instruction : block) instruction.setMetadata(kind, nullptr);
            }
        }
    }
}

}  // namespace cudasim::gpu_backend
