// See libdevice.h.
#include "gpu_backend/libdevice.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringSet.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Metadata.h>
#include <llvm/Linker/Linker.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/IPO/Internalize.h>

#include <algorithm>

#include "gpu_backend/fast_math.h"
#include "gpu_backend/ptx.h"

namespace cudasim::gpu_backend {
namespace {

using Code = PtxError::Code;

constexpr std::string_view prefix = "__nv_", simulated_prefix = "__nv_libdevice$";
/// What image::link() appends to the caller's declaration of a function whose types it must convert.
/// !{!"hash"}
constexpr const char* mark = "cudasim.libdevice";
constexpr std::string_view bridged = "$declared", fast = "$fast";

llvm::StringRef ref(std::string_view text) {
    return {text.data(), text.size()};
}

/// The text that a call of __nvvm_reflect asks for; empty where that is not a constant.
llvm::StringRef question_of(const llvm::CallBase& call) {
    const auto* text = llvm::dyn_cast<llvm::GlobalVariable>(call.getArgOperand(0)->stripPointerCasts());
    const auto* data = text != nullptr && text->hasInitializer()
                           ? llvm::dyn_cast<llvm::ConstantDataSequential>(text->getInitializer())
                           : nullptr;
    return data != nullptr && data->isCString() ? data->getAsCString() : llvm::StringRef();
}

/// The library asks __nvvm_reflect how precise its parts are to be. LLVM knows `__CUDA_FTZ` and
/// `__CUDA_ARCH`, and answers everything else with 0, which is sqrt.approx for `__CUDA_PREC_SQRT` (LLVM,
/// "User Guide for NVPTX Back-end", "NVVM Reflect Pass"; nvcc's --prec-sqrt is on by default).
void ask_for_precision(llvm::Module& module) {
    llvm::Function* reflect = module.getFunction("__nvvm_reflect");
    if (reflect == nullptr) return;
    for (llvm::User* user : llvm::make_early_inc_range(reflect->users())) {
        auto* call = llvm::dyn_cast<llvm::CallBase>(user);
        if (call == nullptr || call->getCalledOperand() != reflect) continue;
        const llvm::StringRef question = question_of(*call);
        if (question != "__CUDA_PREC_SQRT" && question != "__CUDA_PREC_DIV") continue;
        call->replaceAllUsesWith(llvm::ConstantInt::get(call->getType(), 1));
        call->eraseFromParent();
    }
}

/// The intrinsic is newer than LLVM 19.
void replace_hyperbolic_tangent(llvm::Module& module) {
    llvm::Function* intrinsic = module.getFunction("llvm.nvvm.tanh.approx.f32");
    if (intrinsic == nullptr) return;
    for (llvm::User* user : llvm::make_early_inc_range(intrinsic->users())) {
        auto* call = llvm::cast<llvm::CallInst>(user);
        llvm::IRBuilder<> builder(call);
        call->replaceAllUsesWith(approximate_hyperbolic_tangent(builder, call->getArgOperand(0)));
        call->eraseFromParent();
    }
    intrinsic->eraseFromParent();
}

/// The inverse of simulated_name(), also with what image::link() appends.
std::string original_name(llvm::StringRef name) {
    name.consume_front(ref(simulated_prefix));
    name.consume_back(ref(bridged));
    name.consume_back(ref(fast));
    return std::string(prefix) + name.str();
}

/// A function that gives the result of the declared one, computed fast.
void add_fast_function(llvm::Module& module, std::string_view name) {
    llvm::Function* declared = module.getFunction(ref(name));
    auto* made = llvm::Function::Create(declared->getFunctionType(), llvm::Function::ExternalLinkage,
                                        simulated_name(name, Precision::fast), module);
    llvm::IRBuilder<> builder(llvm::BasicBlock::Create(module.getContext(), "", made));
    llvm::SmallVector<llvm::Value*> arguments;
    for (llvm::Argument& argument : made->args()) arguments.push_back(&argument);
    llvm::CallInst* call = builder.CreateCall(declared, arguments);
    call->setHasApproxFunc(true);
    builder.CreateRet(call);
}

void drop_unused(llvm::Module& module) {
    llvm::ModuleAnalysisManager analyses;
    llvm::GlobalDCEPass().run(module, analyses);
}

}  // namespace

std::vector<std::string> libdevice_calls(const llvm::Module& module) {
    std::vector<std::string> names;
    for (const llvm::Function& function : module) {
        if (function.isDeclaration() && !function.use_empty() && function.getName().starts_with(ref(prefix)))
            names.push_back(function.getName().str());
    }
    std::ranges::sort(names);
    return names;
}

void link_libdevice(llvm::Module& module, const LibdeviceFile& file) {
    std::unique_ptr<llvm::Module> library = file.module(module.getContext());
    library->setTargetTriple(module.getTargetTriple());
    library->setDataLayout(module.getDataLayout());
    const bool failed = llvm::Linker::linkModules(
        module, std::move(library), llvm::Linker::LinkOnlyNeeded,
        [](llvm::Module& linked, const llvm::StringSet<>& added) {
            llvm::internalizeModule(linked, [&added](const llvm::GlobalValue& value) {
                return !value.hasName() || !added.contains(value.getName());
            });
        });
    if (failed) throw PtxError(Code::libdevice, file.path().string() + " does not link with the kernel");
    // 0 keeps subnormals, as the simulator does.
    module.addModuleFlag(llvm::Module::Override, "nvvm-reflect-ftz", 0u);
    ask_for_precision(module);
    replace_hyperbolic_tangent(module);
}

std::string simulated_name(std::string_view function, Precision precision) {
    if (function.starts_with(prefix)) function.remove_prefix(prefix.size());
    std::string name = std::string(simulated_prefix) + std::string(function);
    return precision == Precision::fast ? name + std::string(fast) : name;
}

image::KernelImage library_function(const LibdeviceFile& library, std::string_view name,
                                    Precision precision) {
    if (!library.functions().contains(name))
        throw PtxError(Code::libdevice,
                       library.path().string() + " has no function '" + std::string(name) + "'");
    llvm::LLVMContext context;
    llvm::Module module("libdevice", context);
    module.setTargetTriple(ref(image::target_triple));
    module.setDataLayout(ref(image::data_layout));
    // The library's own declaration gives the type.
    const std::unique_ptr<llvm::Module> types = library.module(context);
    llvm::Function::Create(types->getFunction(ref(name))->getFunctionType(), llvm::Function::ExternalLinkage,
                           ref(name), module);
    if (precision == Precision::fast) {
        add_fast_function(module, name);
        return image::KernelImage::from_module(module);
    }
    link_libdevice(module, library);
    llvm::Function* function = module.getFunction(ref(name));
    for (llvm::Function& other : module) {
        if (!other.isDeclaration() && other.getName().starts_with(ref(prefix)))
            other.setName(simulated_name(std::string_view(other.getName())));
    }
    function->setLinkage(llvm::GlobalValue::ExternalLinkage);
    llvm::internalizeModule(module,
                            [function](const llvm::GlobalValue& value) { return &value == function; });
    drop_unused(module);
    return image::KernelImage::from_module(module);
}

void mark_linked(llvm::Module& module, const LibdeviceFile& library) {
    llvm::LLVMContext& context = module.getContext();
    llvm::NamedMDNode* node = module.getOrInsertNamedMetadata(mark);
    node->clearOperands();
    node->addOperand(llvm::MDNode::get(context, llvm::MDString::get(context, library.hash())));
}

std::string linked_library(const llvm::Module& module) {
    const llvm::NamedMDNode* node = module.getNamedMetadata(mark);
    if (node == nullptr || node->getNumOperands() == 0 || node->getOperand(0)->getNumOperands() == 0)
        return {};
    const auto* text = llvm::dyn_cast_or_null<llvm::MDString>(node->getOperand(0)->getOperand(0).get());
    return text != nullptr ? text->getString().str() : std::string();
}

void unlink_libdevice(llvm::Module& module) {
    llvm::NamedMDNode* node = module.getNamedMetadata(mark);
    if (node == nullptr) return;
    node->eraseFromParent();
    llvm::SmallVector<llvm::Function*> called;
    for (llvm::Function& function : module) {
        llvm::StringRef name = function.getName();
        if (function.isDeclaration() || !name.starts_with(ref(simulated_prefix))) continue;
        if (!name.ends_with(ref(bridged)) && module.getFunction((name + ref(bridged)).str())) continue;
        called.push_back(&function);
    }
    for (llvm::Function* function : called) {
        const std::string name = original_name(function->getName());
        function->deleteBody();
        function->removeFnAttr(llvm::Attribute::AlwaysInline);
        function->setLinkage(llvm::GlobalValue::ExternalLinkage);
        function->setDSOLocal(false);
        function->setName("");
        llvm::Function* known = module.getFunction(name);
        if (known != nullptr) known->setName("");
        function->setName(name);
        if (known != nullptr) {
            known->replaceAllUsesWith(function);
            known->eraseFromParent();
        }
    }
    drop_unused(module);
}

}  // namespace cudasim::gpu_backend
