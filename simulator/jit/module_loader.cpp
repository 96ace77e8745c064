// See module_loader.h. LLVM's default diagnostic handler prints, and exits on errors: ours records.
#include "simulator/jit/module_loader.h"

#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DiagnosticHandler.h>
#include <llvm/IR/DiagnosticInfo.h>
#include <llvm/IR/DiagnosticPrinter.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>

#include <set>

#include "simulator/image/function_handles.h"
#include "simulator/jit/globals_layout.h"
#include "simulator/jit/source_places.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

struct RecordingHandler final : DiagnosticHandler {
    explicit RecordingHandler(std::vector<std::string>& messages) : messages(messages) {}
    bool handleDiagnostics(const DiagnosticInfo& info) override {
        if (info.getSeverity() == DS_Error) {
            std::string text;
            raw_string_ostream stream(text);
            DiagnosticPrinterRawOStream printer(stream);
            info.print(printer);
            messages.push_back(std::move(text));
        }
        return true;
    }
    std::vector<std::string>& messages;
};

std::vector<ExceptionText> read_exceptions(const Module& module) {
    std::vector<ExceptionText> texts;
    const auto* list = module.getNamedMetadata("cudasim.exceptions");
    if (!list) return texts;
    for (const MDNode* entry : list->operands()) {
        auto text = [&](unsigned index) {
            if (index >= entry->getNumOperands()) return std::string();
            const auto* string = dyn_cast_or_null<MDString>(entry->getOperand(index).get());
            return string ? string->getString().str() : std::string();
        };
        texts.push_back({text(0), text(1)});
    }
    return texts;
}

/// Calls through pointers may reach any address-taken function.
bool calls_through_pointers(const Function& function) {
    for (const auto& block : function) {
        for (const auto& instruction : block) {
            const auto* call = dyn_cast<CallBase>(&instruction);
            if (call && !call->isInlineAsm() &&
                !isa<Function>(call->getCalledOperand()->stripPointerCasts())) {
                return true;
            }
        }
    }
    return false;
}

/// Reads the body of a function that was left in the bitcode so far. @throws CompileError
void read_body(Function& function) {
    if (Error error = function.materialize())
        throw CompileError("kernel image: " + toString(std::move(error)), {});
}

/// Functions that running `kernel` may enter, their bodies read. Function values only ever become handles, so
/// being mentioned reaches nothing by itself; an indirect call reaches every function that has a handle.
std::set<const Function*> reach_from(Function& kernel, const ImageLayout& layout) {
    std::set<const Function*> reached;
    std::vector<Function*> work{&kernel};
    bool handles_reached = false;
    while (!work.empty()) {
        Function* function = work.back();
        work.pop_back();
        if (!reached.insert(function).second) continue;
        read_body(*function);
        for (const auto& block : *function) {
            for (const auto& instruction : block) {
                if (const auto* call = dyn_cast<CallBase>(&instruction)) {
                    auto* callee = dyn_cast<Function>(call->getCalledOperand()->stripPointerCasts());
                    if (callee) work.push_back(callee);
                }
            }
        }
        if (!handles_reached && calls_through_pointers(*function)) {
            handles_reached = true;
            work.insert(work.end(), layout.functions.begin(), layout.functions.end());
        }
    }
    return reached;
}

void drop_unreachable(Compilation& compilation) {
    const auto reached = reach_from(*compilation.kernel, compilation.layout);
    for (Function& function : *compilation.module) {
        if (function.isDeclaration() || reached.contains(&function)) continue;
        function.deleteBody();
    }
}

/// The image with its globals laid out. Bodies of functions stay in the bitcode where the image knows by
/// itself what their uses would show: which functions have handles.
void load_image(Compilation& compilation, const image::KernelImage& image) {
    compilation.context = std::make_unique<LLVMContext>();
    compilation.context->setDiagnosticHandler(std::make_unique<RecordingHandler>(compilation.diagnostics));
    compilation.context->setDiscardValueNames(false);
    const MemoryBufferRef bitcode(image.bitcode(), "kernel image");
    const auto& with_address = image.functions_with_address();
    auto parsed = with_address ? getLazyBitcodeModule(bitcode, *compilation.context)
                               : parseBitcodeFile(bitcode, *compilation.context);
    if (!parsed) throw CompileError("kernel image: " + toString(parsed.takeError()), {});
    compilation.module = std::move(*parsed);
    compilation.exceptions = read_exceptions(*compilation.module);
    for (const char* list : {"llvm.used", "llvm.compiler.used"}) {
        if (auto* used = compilation.module->getNamedGlobal(list)) used->eraseFromParent();
    }
    if (with_address) {
        for (const std::string& name : *with_address)
            if (Function* function = compilation.module->getFunction(name))
                compilation.layout.functions.push_back(function);
    } else {
        for (const Function* function : image::functions_with_address(*compilation.module))
            compilation.layout.functions.push_back(const_cast<Function*>(function));
    }
    lay_out_globals(*compilation.module, compilation.layout);
}

}  // namespace

void load_kernel(Compilation& compilation, const image::KernelImage& image, std::string_view kernel) {
    compilation.description = image.find(kernel);
    if (!compilation.description) {
        throw CompileError("the image has no kernel named '" + std::string(kernel) + "'", {});
    }
    load_image(compilation, image);
    compilation.kernel = compilation.module->getFunction(StringRef(kernel.data(), kernel.size()));
    drop_unreachable(compilation);
}

std::shared_ptr<const GlobalsLayout> globals_layout_of(const image::KernelImage& image) {
    Compilation compilation;
    load_image(compilation, image);
    return compilation.layout.globals;
}

}  // namespace cudasim::jit
