// See device_code.h.
#include "frontend/cuda_cpp/images/device_code.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/InstrTypes.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/Utils/ModuleUtils.h>

#include <map>
#include <vector>

#include "frontend/cuda_cpp/images/header_code.h"
#include "frontend/cuda_cpp/images/host_functions.h"
#include "frontend/cuda_cpp/images/managed_variables.h"
#include "frontend/cuda_cpp/images/narrow_conversions.h"
#include "frontend/cuda_cpp/images/objects_by_value.h"
#include "frontend/cuda_cpp/images/shared_addresses.h"
#include "frontend/cuda_cpp/images/source_paths.h"
#include "frontend/cuda_cpp/images/variable_arrays.h"
#include "frontend/ptx/inline_assembly.h"
#include "simulator/image/annotated_kernels.h"
#include "simulator/image/source_names.h"

namespace cudasim::cuda_cpp {
namespace {

/// With relocatable device code clang 19 defines `x__static__<hash>` (`__intern__` for functions) for what
/// has internal linkage, and code that it has written before still names `x`.
void name_internal_symbols(llvm::Module& module) {
    std::vector<llvm::GlobalObject*> defined;
    for (llvm::GlobalObject& object : module.global_objects())
        if (!object.isDeclaration()) defined.push_back(&object);
    for (llvm::GlobalObject* object : defined)
        for (const llvm::StringRef infix : {"__static__", "__intern__"}) {
            const std::size_t at = object->getName().rfind(infix);
            if (at == llvm::StringRef::npos) continue;
            llvm::GlobalValue* used = module.getNamedValue(object->getName().take_front(at));
            if (used == nullptr || !used->isDeclaration() || used->getType() != object->getType()) continue;
            used->replaceAllUsesWith(object);
            used->eraseFromParent();
        }
}

/// clang's list of what host code uses and other files define. It keeps symbols for NVIDIA's linker, is of no
/// use to a kernel, and as a variable it would need the addresses of kernels.
void drop_list_of_external_symbols(llvm::Module& module) {
    llvm::GlobalVariable* list = module.getGlobalVariable("__clang_gpu_used_external", true);
    if (list == nullptr) return;
    llvm::removeFromUsedLists(module,
                              [&](const llvm::Constant* used) { return used->stripPointerCasts() == list; });
    list->eraseFromParent();
}

/// __cluster_dims__ (host_defines.h) is an annotation of clang's, which becomes one of NVVM's. The list of
/// annotations is of no other use, and as a variable it would need the addresses of kernels.
void read_annotations(llvm::Module& module) {
    llvm::GlobalVariable* list = module.getGlobalVariable("llvm.global.annotations");
    if (list == nullptr) return;
    const auto string_at = [](const llvm::Constant* address) {
        const auto* text = llvm::dyn_cast<llvm::GlobalVariable>(address->stripPointerCasts());
        const auto* data = text == nullptr || !text->hasInitializer()
                               ? nullptr
                               : llvm::dyn_cast<llvm::ConstantDataArray>(text->getInitializer());
        return data != nullptr && data->isCString() ? data->getAsCString() : llvm::StringRef();
    };
    llvm::LLVMContext& context = module.getContext();
    for (const llvm::Use& each : llvm::cast<llvm::User>(list->getInitializer())->operands()) {
        const auto* entry = llvm::cast<llvm::Constant>(each.get());
        auto* kernel = llvm::dyn_cast<llvm::Function>(entry->getAggregateElement(0U)->stripPointerCasts());
        if (kernel == nullptr || string_at(entry->getAggregateElement(1U)) != "cudasim_cluster_dims")
            continue;
        const auto* extents =
            llvm::dyn_cast<llvm::GlobalVariable>(entry->getAggregateElement(4U)->stripPointerCasts());
        if (extents == nullptr || !extents->hasInitializer()) continue;
        std::vector<llvm::Metadata*> annotation{llvm::ValueAsMetadata::get(kernel)};
        for (unsigned axis = 0; axis < 3; ++axis) {
            const auto* extent = llvm::dyn_cast_or_null<llvm::ConstantInt>(
                extents->getInitializer()->getAggregateElement(axis));
            const std::uint64_t blocks = extent == nullptr ? 1 : extent->getZExtValue();
            annotation.push_back(llvm::MDString::get(context, std::string("cluster_dim_") + "xyz"[axis]));
            annotation.push_back(llvm::ConstantAsMetadata::get(
                llvm::ConstantInt::get(llvm::Type::getInt32Ty(context), blocks)));
        }
        module.getOrInsertNamedMetadata("nvvm.annotations")
            ->addOperand(llvm::MDNode::get(context, annotation));
    }
    list->eraseFromParent();
}

/// A whole program's device functions are its own: those that no kernel and no variable needs are removed.
void drop_unused_functions(llvm::Module& module) {
    const auto kernels = image::annotated_kernels(module);
    for (llvm::Function& function : module)
        if (!function.isDeclaration() && !kernels.contains(&function)) {
            function.setComdat(nullptr);
            function.setLinkage(llvm::GlobalValue::InternalLinkage);
            function.setVisibility(llvm::GlobalValue::DefaultVisibility);
        }
    llvm::ModuleAnalysisManager analyses;
    llvm::GlobalDCEPass().run(module, analyses);
}

bool has_inline_assembly(const llvm::Module& module) {
    for (const llvm::Function& function : module)
        for (const llvm::Instruction& instruction : llvm::instructions(function))
            if (const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
                call != nullptr && call->isInlineAsm())
                return true;
    return false;
}

void require_translatable(const image::KernelImage& image) {
    std::string lines;
    for (const auto& error : ptx::inline_assembly_of(image).errors) {
        if (!lines.empty()) lines += "\n";
        if (!error.file.empty())
            lines += error.file + ":" + std::to_string(error.file_line) + ":" +
                     std::to_string(error.file_column) + ": ";
        lines += std::string("error: ") + error.what();
    }
    if (!lines.empty()) throw SourceErrors(lines);
}

}  // namespace

EmbeddedImage image_of_bitcode(const std::string& bitcode, const DeviceCode& about) {
    llvm::LLVMContext context;
    auto module = llvm::parseBitcodeFile({llvm::StringRef(bitcode), "device code"}, context);
    if (!module) throw image::ImageError("device code: " + llvm::toString(module.takeError()));
    name_internal_symbols(**module);
    drop_list_of_external_symbols(**module);
    read_annotations(**module);
    make_managed(**module);
    store_shared_addresses(**module);
    fail_at_host_functions(**module);
    fix_variable_arrays(**module);
    widen_narrow_conversions(**module);
    pass_objects_themselves(**module);
    place_header_code_at_calls(**module, about.toolkit);
    if (!about.relocatable) drop_unused_functions(**module);
    std::map<std::string, std::string> texts;
    llvm::DebugInfoFinder finder;
    finder.processModule(**module);
    const auto add = [&](const llvm::DIFile* file) {
        if (file == nullptr) return;
        const std::string path = image::path_of(file);
        if (texts.contains(path) || !is_the_users(path, about.toolkit)) return;
        if (auto text = llvm::MemoryBuffer::getFile(path)) texts.emplace(path, (*text)->getBuffer().str());
    };
    for (const llvm::DICompileUnit* unit : finder.compile_units()) add(unit->getFile());
    for (const llvm::DISubprogram* function : finder.subprograms()) add(function->getFile());
    std::vector<image::SourceFile> sources;
    for (auto& [path, text] : texts) sources.push_back({path, text});
    EmbeddedImage embedded{image::KernelImage::from_module(**module, std::move(sources)), about.relocatable,
                           has_inline_assembly(**module)};
    // The image keeps the assembly, for a GPU; here it is only tried.
    if (embedded.inline_assembly) require_translatable(embedded.image);
    return embedded;
}

}  // namespace cudasim::cuda_cpp
