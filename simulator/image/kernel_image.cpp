// Reading NVVM IR into a KernelImage: parse in an LLVMContext of its own, verify, and derive the
// kernels with their parameter layout. LLVM's default diagnostic handler prints and may exit(1), so
// every context here has a handler that records instead.

#include "simulator/image/kernel_image.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/Bitcode/BitcodeWriter.h>
#include <llvm/IR/Constants.h>
#include <llvm/IR/DataLayout.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/MathExtras.h>
#include <llvm/Support/SHA256.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/TargetParser/Triple.h>

#include <limits>

#include "simulator/image/annotated_kernels.h"
#include "simulator/image/function_handles.h"
#include "simulator/image/isolated_reading.h"
#include "simulator/image/recording_handler.h"

namespace cudasim::image {
namespace {

/// A context and the module in it; the module dies first.
struct ParsedModule {
    ParsedModule() {
        context.setDiagnosticHandler(std::make_unique<RecordingHandler>(diagnostic),
                                     /*RespectFilters=*/false);
    }
    std::string diagnostic;
    llvm::LLVMContext context;
    std::unique_ptr<llvm::Module> module;
};

llvm::MemoryBufferRef as_buffer(const std::string& bitcode) {
    return {llvm::StringRef(bitcode.data(), bitcode.size()), "kernel image"};
}

void require_bitcode(const std::string& bitcode) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(bitcode.data());
    if (!llvm::isBitcode(bytes, bytes + bitcode.size())) {
        throw ImageError("kernel image: " + std::to_string(bitcode.size()) +
                         " bytes that are not LLVM bitcode (it begins with 'BC' 0xC0DE)");
    }
}

std::unique_ptr<ParsedModule> parse_bitcode(const std::string& bitcode) {
    require_bitcode(bitcode);
    auto parsed = std::make_unique<ParsedModule>();
    auto module = llvm::parseBitcodeFile(as_buffer(bitcode), parsed->context);
    if (!module) throw ImageError("kernel image: malformed bitcode: " + llvm::toString(module.takeError()));
    parsed->module = std::move(*module);
    return parsed;
}

std::unique_ptr<ParsedModule> parse_text(std::string_view text) {
    auto parsed = std::make_unique<ParsedModule>();
    llvm::SMDiagnostic error;
    const std::string terminated(text);  // the lexer needs a zero behind the text
    parsed->module = llvm::parseAssemblyString(terminated, error, parsed->context);
    if (!parsed->module) {
        throw ImageError("kernel image: line " + std::to_string(error.getLineNo()) + ", column " +
                         std::to_string(error.getColumnNo() + 1) + ": " + error.getMessage().str() + "\n" +
                         error.getLineContents().str());
    }
    return parsed;
}

void check_target(const llvm::Module& module) {
    const llvm::Triple triple(module.getTargetTriple());
    if (triple.getArch() != llvm::Triple::nvptx64) {
        throw ImageError("kernel image: the module's target triple is '" + module.getTargetTriple() +
                         "'; compile for " + std::string(target_triple));
    }
    const llvm::DataLayout expected{llvm::StringRef(data_layout.data(), data_layout.size())};
    if (module.getDataLayout() != expected) {
        throw ImageError("kernel image: the module's data layout is '" + module.getDataLayoutStr() +
                         "'; kernels have '" + std::string(data_layout) + "'");
    }
}

void verify(ParsedModule& parsed) {
    std::string message;
    llvm::raw_string_ostream stream(message);
    bool broken_debug_info = false;
    const bool broken = llvm::verifyModule(*parsed.module, &stream, &broken_debug_info);
    if (broken) throw ImageError("kernel image: the module breaks LLVM's rules: " + message);
    if (broken_debug_info) throw ImageError("kernel image: the debug information is malformed: " + message);
    if (!parsed.diagnostic.empty()) throw ImageError("kernel image: " + parsed.diagnostic);
    check_target(*parsed.module);
}

Parameter layout_of(const llvm::Argument& argument, const llvm::DataLayout& layout, std::uint64_t end,
                    const std::string& where) {
    const bool by_value = argument.hasByValAttr();
    llvm::Type* type = by_value ? argument.getParamByValType() : argument.getType();
    if (!type->isSized() || layout.getTypeAllocSize(type).isScalable() || argument.hasStructRetAttr()) {
        throw ImageError(where + " has a type that cannot be passed to a kernel");
    }
    llvm::Align alignment = layout.getABITypeAlign(type);
    if (by_value) alignment = argument.getParamAlign().value_or(alignment);
    const std::uint64_t size = layout.getTypeAllocSize(type).getFixedValue();
    const std::uint64_t offset = llvm::alignTo(end, alignment);
    constexpr std::uint64_t limit = std::numeric_limits<std::uint32_t>::max();
    if (size > limit || offset + size > limit) throw ImageError(where + " is larger than a parameter buffer");
    std::string name = argument.getName().str();
    if (name.empty()) name = "argument" + std::to_string(argument.getArgNo());
    return {std::move(name), static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(size),
            static_cast<std::uint32_t>(alignment.value())};
}

Kernel describe(const llvm::Function& function) {
    const std::string where = "kernel image: kernel '" + function.getName().str() + "'";
    if (function.isDeclaration()) throw ImageError(where + " is declared but has no body");
    if (!function.getReturnType()->isVoidTy())
        throw ImageError(where + " returns a value; kernels return void");
    if (function.isVarArg()) throw ImageError(where + " takes a variable number of arguments");
    Kernel kernel{function.getName().str(), {}, 0};
    for (const auto& argument : function.args()) {
        const std::string which = where + ": parameter " + std::to_string(argument.getArgNo() + 1);
        kernel.parameters.push_back(
            layout_of(argument, function.getParent()->getDataLayout(), kernel.parameter_bytes, which));
        kernel.parameter_bytes = kernel.parameters.back().offset + kernel.parameters.back().size;
    }
    return kernel;
}

std::vector<Kernel> kernels_of(const llvm::Module& module) {
    const auto annotated = annotated_kernels(module);
    std::vector<Kernel> kernels;
    for (const auto& function : module) {
        if (annotated.contains(&function) || function.getCallingConv() == llvm::CallingConv::PTX_Kernel) {
            kernels.push_back(describe(function));
        }
    }
    return kernels;
}

/// Nothing where one has no name.
std::optional<std::vector<std::string>> names_of_functions_with_address(const llvm::Module& module) {
    std::vector<std::string> names;
    for (const llvm::Function* function : functions_with_address(module)) {
        if (!function->hasName()) return std::nullopt;
        names.push_back(function->getName().str());
    }
    return names;
}

std::string write_bitcode(const llvm::Module& module) {
    std::string bitcode;
    llvm::raw_string_ostream stream(bitcode);
    llvm::WriteBitcodeToFile(module, stream);
    return bitcode;
}

/// The bitcode of a module of any origin, after all that a KernelImage will do with it has gone well: LLVM's
/// writer of IR text crashes on metadata that its verifier accepts.
std::string written_anew(ParsedModule& parsed) {
    verify(parsed);
    (void)kernels_of(*parsed.module);
    std::string bitcode = write_bitcode(*parsed.module);
    const auto again = parse_bitcode(bitcode);
    verify(*again);
    (void)kernels_of(*again->module);
    again->module->print(llvm::nulls(), nullptr);
    return bitcode;
}

/// Every part is preceded by its length, so that no two images hash the same text.
std::string hash_of(const std::string& bitcode, const std::vector<SourceFile>& sources) {
    llvm::SHA256 hash;
    const auto add = [&hash](const std::string& part) {
        hash.update(std::to_string(part.size()) + ":");
        hash.update(llvm::StringRef(part));
    };
    add(bitcode);
    for (const auto& source : sources) {
        add(source.path);
        add(source.text);
    }
    return llvm::toHex(hash.final(), /*LowerCase=*/true);
}

}  // namespace

KernelImage KernelImage::from_module(const llvm::Module& module, std::vector<SourceFile> sources) {
    check_target(module);
    return make(module, write_bitcode(module), {}, std::move(sources));
}

KernelImage KernelImage::from_bitcode(std::string bitcode, std::vector<SourceFile> sources) {
    require_bitcode(bitcode);
    std::string anew = read_in_child_process("kernel image: malformed bitcode",
                                             [&] { return written_anew(*parse_bitcode(bitcode)); });
    return read(std::move(anew), std::move(bitcode), std::move(sources));
}

KernelImage KernelImage::read(std::string bitcode, std::string original, std::vector<SourceFile> sources) {
    const auto parsed = parse_bitcode(bitcode);
    verify(*parsed);
    return make(*parsed->module, std::move(bitcode), std::move(original), std::move(sources));
}

KernelImage KernelImage::make(const llvm::Module& module, std::string bitcode, std::string original,
                              std::vector<SourceFile> sources) {
    auto data = std::make_shared<Data>();
    data->kernels = kernels_of(module);
    data->functions_with_address = names_of_functions_with_address(module);
    data->hash = hash_of(original.empty() ? bitcode : original, sources);
    data->bitcode = std::move(bitcode);
    data->original = std::move(original);
    data->sources = std::move(sources);
    return KernelImage(std::move(data));
}

KernelImage KernelImage::from_ir_text(std::string_view text, std::vector<SourceFile> sources) {
    return read(read_in_child_process("kernel image: malformed IR text",
                                      [&] { return written_anew(*parse_text(text)); }),
                {}, std::move(sources));
}

const Kernel* KernelImage::find(std::string_view name) const {
    for (const auto& kernel : kernels()) {
        if (kernel.name == name) return &kernel;
    }
    return nullptr;
}

std::string KernelImage::ir_text() const {
    auto parsed = parse_bitcode(bitcode());
    std::string text;
    llvm::raw_string_ostream stream(text);
    parsed->module->print(stream, nullptr);
    return text;
}

}  // namespace cudasim::image
