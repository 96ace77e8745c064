// See named_barriers.h. PTX ISA, "Parallel Synchronization and Communication Instructions: bar, barrier".
#include "gpu_backend/named_barriers.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InlineAsm.h>

#include <optional>
#include <string>

#include "gpu_backend/ptx.h"

namespace cudasim::gpu_backend {
namespace {

constexpr llvm::StringRef prefix = "llvm.nvvm.barrier.cta.";

/// "red.and.aligned.count" in parts.
struct Form {
    llvm::StringRef operation;  ///< "sync", "arrive", "red.popc", "red.and" or "red.or"
    bool aligned = false, counted = false;
};

std::optional<Form> form_of(llvm::StringRef name) {
    Form form;
    if (!name.consume_front(prefix)) return std::nullopt;
    form.counted = name.consume_back(".count");
    if (!form.counted && !name.consume_back(".all")) return std::nullopt;
    form.aligned = name.consume_back(".aligned");
    form.operation = name;
    const llvm::StringRef known[] = {"sync", "arrive", "red.popc", "red.and", "red.or"};
    return llvm::is_contained(known, name) ? std::optional(form) : std::nullopt;
}

llvm::FunctionType* type_of(const Form& form, llvm::LLVMContext& context) {
    auto* word = llvm::Type::getInt32Ty(context);
    auto* truth = llvm::Type::getInt1Ty(context);
    const bool votes = form.operation.starts_with("red");
    llvm::SmallVector<llvm::Type*, 3> parameters{word};
    if (form.counted) parameters.push_back(word);
    if (votes) parameters.push_back(truth);
    llvm::Type* result = !votes                         ? llvm::Type::getVoidTy(context)
                         : form.operation == "red.popc" ? static_cast<llvm::Type*>(word)
                                                        : truth;
    return llvm::FunctionType::get(result, parameters, false);
}

/// The instruction with its operands, which are words: a predicate is one that is not 0.
std::string instruction(const Form& form) {
    const std::string name = (form.aligned ? "bar." : "barrier.") + form.operation.str();
    if (!form.operation.starts_with("red")) return name + (form.counted ? " $0, $1;" : " $0;");
    const std::string operands = form.counted ? "$1, $2, p;" : "$1, p;";
    const std::string vote =
        std::string("{ .reg .pred p; setp.ne.u32 p, ") + (form.counted ? "$3" : "$2") + ", 0; ";
    if (form.operation == "red.popc") return vote + name + ".u32 $0, " + operands + " }";
    return vote + ".reg .pred q; " + name + ".pred q, " + operands + " selp.u32 $0, 1, 0, q; }";
}

void lower(llvm::CallInst& call, const Form& form) {
    llvm::IRBuilder<> builder(&call);
    llvm::SmallVector<llvm::Value*, 3> words;
    llvm::SmallVector<llvm::Type*, 3> types;
    for (llvm::Value* argument : call.args()) {
        words.push_back(builder.CreateZExt(argument, builder.getInt32Ty()));
        types.push_back(builder.getInt32Ty());
    }
    const bool answers = !call.getType()->isVoidTy();
    std::string constraints = answers ? "=r" : "";
    for (std::size_t i = 0; i < words.size(); ++i) constraints += constraints.empty() ? "r" : ",r";
    auto* type = llvm::FunctionType::get(answers ? builder.getInt32Ty() : builder.getVoidTy(), types, false);
    auto* text = llvm::InlineAsm::get(type, instruction(form), constraints + ",~{memory}",
                                      /*hasSideEffects=*/true);
    llvm::CallInst* lowered = builder.CreateCall(type, text, words);
    lowered->setConvergent();
    if (answers) call.replaceAllUsesWith(builder.CreateTrunc(lowered, call.getType()));
    call.eraseFromParent();
}

}  // namespace

void lower_named_barriers(llvm::Module& module) {
    for (llvm::Function& function : llvm::make_early_inc_range(module)) {
        const auto form = function.isDeclaration() ? form_of(function.getName()) : std::nullopt;
        if (!form) continue;
        for (llvm::User* user : llvm::make_early_inc_range(function.users())) {
            auto* call = llvm::dyn_cast<llvm::CallInst>(user);
            const bool fits = call && call->getCalledFunction() == &function &&
                              call->getFunctionType() == type_of(*form, module.getContext());
            if (!fits)
                throw PtxError(
                    PtxError::Code::unsupported_code,
                    "'" + function.getName().str() + "' is called with a type that is not its own");
            lower(*call, *form);
        }
        function.eraseFromParent();
    }
}

}  // namespace cudasim::gpu_backend
