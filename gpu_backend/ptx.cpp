// to_ptx(): parse → replace checks → keep one kernel → link libdevice → refuse what the back end would abort
// on → optimise → NVPTX code generation. LLVM ends the process on code it cannot select, hence the
// refusals before it, and the child process in which it works.

#include "gpu_backend/ptx.h"

#include <llvm/ADT/SmallString.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/IRBuilder.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/IntrinsicsNVPTX.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/MC/MCSubtargetInfo.h>
#include <llvm/MC/TargetRegistry.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Target/TargetMachine.h>
#include <llvm/Transforms/IPO/GlobalDCE.h>
#include <llvm/Transforms/IPO/Internalize.h>
#include <llvm/Transforms/Scalar/SROA.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <set>

#include "gpu_backend/asynchronous_copies.h"
#include "gpu_backend/cache_hints.h"
#include "gpu_backend/check_expansion.h"
#include "gpu_backend/defined_values.h"
#include "gpu_backend/fast_math.h"
#include "gpu_backend/fault_reports.h"
#include "gpu_backend/function_attributes.h"
#include "gpu_backend/function_handles.h"
#include "gpu_backend/grid_barrier.h"
#include "gpu_backend/inlining.h"
#include "gpu_backend/libdevice.h"
#include "gpu_backend/memory_model.h"
#include "gpu_backend/named_barriers.h"
#include "gpu_backend/placed_globals.h"
#include "simulator/image/contraction.h"
#include "simulator/image/isolated_reading.h"
#include "simulator/image/recording_handler.h"

extern "C" {
void LLVMInitializeNVPTXTargetInfo();
void LLVMInitializeNVPTXTarget();
void LLVMInitializeNVPTXTargetMC();
void LLVMInitializeNVPTXAsmPrinter();
}

namespace cudasim::gpu_backend {
namespace {

using Code = PtxError::Code;

llvm::StringRef ref(std::string_view text) {
    return {text.data(), text.size()};
}

std::unique_ptr<llvm::TargetMachine> target_machine(const PtxOptions& options) {
    static std::once_flag once;
    std::call_once(once, [] {
        LLVMInitializeNVPTXTargetInfo();
        LLVMInitializeNVPTXTarget();
        LLVMInitializeNVPTXTargetMC();
        LLVMInitializeNVPTXAsmPrinter();
    });
    std::string error;
    const llvm::Target* target = llvm::TargetRegistry::lookupTarget(std::string(image::target_triple), error);
    if (!target) throw PtxError(Code::unknown_architecture, "this LLVM has no NVPTX back end: " + error);
    // LLVM answers an unknown processor with a message on stderr, so ask first.
    std::unique_ptr<llvm::MCSubtargetInfo> known(
        target->createMCSubtargetInfo(ref(image::target_triple), "", ""));
    if (!options.architecture.starts_with("sm_") || !known->isCPUStringValid(options.architecture)) {
        throw PtxError(Code::unknown_architecture, "unknown GPU architecture '" + options.architecture +
                                                       "'; name one like sm_75, sm_80 or sm_90");
    }
    // PTX 7.5 and up allow the debug information of variables; LLVM writes older PTX for older processors
    // by itself. 7.8 is what CUDA 11.8 and up read. Newer processors than sm_90 need, and get, more.
    const bool up_to_hopper = options.architecture.size() == 5 && options.architecture <= "sm_90";
    return std::unique_ptr<llvm::TargetMachine>(target->createTargetMachine(
        ref(image::target_triple), options.architecture, up_to_hopper ? "+ptx78" : "", llvm::TargetOptions(),
        std::nullopt, std::nullopt,
        options.optimise ? llvm::CodeGenOptLevel::Default : llvm::CodeGenOptLevel::None));
}

/// 75 of "sm_75" or "sm_90a".
unsigned architecture_number(llvm::StringRef name) {
    unsigned number = 0;
    (void)name.drop_front(3).consumeInteger(10, number);
    return number;
}

/// The variables of device and constant memory that the host can reach by their names.
std::vector<std::string> host_visible_variables(const llvm::Module& module) {
    std::vector<std::string> names;
    for (const auto& variable : module.globals()) {
        const unsigned space = variable.getAddressSpace();
        if (!variable.isDeclaration() && !variable.hasLocalLinkage() && (space == 1 || space == 4))
            names.push_back(variable.getName().str());
    }
    return names;
}

/// Leaves `kernel` the only kernel, and what it does not reach to dead code elimination. The variables that
/// it reaches stay visible: the host may read what it stores there, and write what it loads.
void keep_only(llvm::Module& module, llvm::Function& kernel) {
    if (auto* annotations = module.getNamedMetadata("nvvm.annotations")) {
        std::vector<llvm::MDNode*> kept;
        for (auto* node : annotations->operands()) {
            const bool has_value = node->getNumOperands() > 0 && node->getOperand(0);
            if (has_value && llvm::mdconst::dyn_extract<llvm::Function>(node->getOperand(0)) == &kernel) {
                kept.push_back(node);
            }
        }
        annotations->clearOperands();
        for (auto* node : kept) annotations->addOperand(node);
    }
    for (auto& function : module) {
        if (&function != &kernel && function.getCallingConv() == llvm::CallingConv::PTX_Kernel) {
            function.setCallingConv(llvm::CallingConv::PTX_Device);
        }
    }
    const std::vector<std::string> visible = host_visible_variables(module);
    // Kept by identity, because the kernel's name may be changed for PTX.
    llvm::internalizeModule(module, [&kernel](const llvm::GlobalValue& value) {
        return &value == &kernel || value.isDeclaration();
    });
    llvm::ModuleAnalysisManager analyses;
    llvm::GlobalDCEPass().run(module, analyses);
    for (const std::string& name : visible)
        if (auto* variable = module.getGlobalVariable(name, /*AllowInternal=*/true))
            variable->setLinkage(llvm::GlobalValue::ExternalLinkage);
}

std::string where(const llvm::Instruction& instruction) {
    const auto& location = instruction.getDebugLoc();
    if (!location) return "in function " + instruction.getFunction()->getName().str();
    return location->getFilename().str() + ":" + std::to_string(location.getLine());
}

/// What the NVPTX back end answers with the end of the process.
void refuse_unsupported(const llvm::Module& module) {
    for (const auto& function : module) {
        for (const auto& instruction : llvm::instructions(function)) {
            std::string what;
            const auto* call = llvm::dyn_cast<llvm::CallBase>(&instruction);
            if (llvm::isa<llvm::InvokeInst, llvm::LandingPadInst, llvm::ResumeInst>(instruction)) {
                what = "exception handling";
            } else if (llvm::isa<llvm::IndirectBrInst, llvm::VAArgInst, llvm::CallBrInst>(instruction)) {
                what = std::string("the instruction '") + instruction.getOpcodeName() + "'";
            } else if (const auto* callee = call ? call->getCalledFunction() : nullptr;
                       callee && callee->getName().starts_with("llvm.") &&
                       (callee->getIntrinsicID() == llvm::Intrinsic::not_intrinsic ||
                        (llvm::Function::isTargetIntrinsic(callee->getIntrinsicID()) &&
                         !callee->getName().starts_with("llvm.nvvm.")))) {
                what = "the intrinsic '" + callee->getName().str() + "'";
            }
            if (!what.empty()) {
                throw PtxError(Code::unsupported_code,
                               where(instruction) + ": " + what + " cannot run on a GPU");
            }
        }
    }
}

void strip_contraction(llvm::Module& module) {
    for (auto& function : module) {
        for (auto& instruction : llvm::instructions(function)) {
            if (llvm::isa<llvm::FPMathOperator>(instruction)) instruction.setHasAllowContract(false);
        }
    }
}

/// PTX has no escapes in the string of a .file directive (PTX ISA, "Debugging Directives: .file"), and a
/// program made by exec() may have any text as its file's name.
void make_file_names_plain(llvm::Module& module) {
    llvm::DebugInfoFinder finder;
    finder.processModule(module);
    std::set<llvm::DIFile*> files;
    for (const auto* unit : finder.compile_units()) files.insert(unit->getFile());
    for (const auto* subprogram : finder.subprograms()) files.insert(subprogram->getFile());
    for (const auto* scope : finder.scopes()) files.insert(scope->getFile());
    files.erase(nullptr);
    for (auto* file : files) {
        for (const unsigned operand : {0U, 1U}) {  // name, directory
            const auto* text = llvm::dyn_cast_or_null<llvm::MDString>(file->getOperand(operand).get());
            if (!text) continue;
            std::string plain = text->getString().str();
            for (char& c : plain) {
                if (c == '"') c = '\'';
                if (c == '\\') c = '/';
                if (static_cast<unsigned char>(c) < ' ') c = ' ';
            }
            if (plain != text->getString())
                file->replaceOperandWith(operand, llvm::MDString::get(module.getContext(), plain));
        }
    }
}

/// The analyses of one run of LLVM's passes.
class Passes {
  public:
    explicit Passes(llvm::TargetMachine& machine) : builder_(&machine) {
        builder_.registerModuleAnalyses(modules_);
        builder_.registerCGSCCAnalyses(components_);
        builder_.registerFunctionAnalyses(functions_);
        builder_.registerLoopAnalyses(loops_);
        builder_.crossRegisterProxies(loops_, functions_, components_, modules_);
    }
    llvm::PassBuilder& builder() { return builder_; }
    void run(llvm::ModulePassManager passes, llvm::Module& module) { passes.run(module, modules_); }

  private:
    llvm::PassBuilder builder_;
    llvm::LoopAnalysisManager loops_;
    llvm::FunctionAnalysisManager functions_;
    llvm::CGSCCAnalysisManager components_;
    llvm::ModuleAnalysisManager modules_;
};

/// The same fusions as on the simulator, so that the option means the same on both (V5).
void contract(llvm::Module& module, llvm::TargetMachine& machine) {
    llvm::ModulePassManager promotion;
    promotion.addPass(
        llvm::createModuleToFunctionPassAdaptor(llvm::SROAPass(llvm::SROAOptions::PreserveCFG)));
    Passes(machine).run(std::move(promotion), module);
    image::contract_multiply_adds(module);
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine, bool wanted) {
    Passes passes(machine);
    auto& builder = passes.builder();
    passes.run(wanted ? builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O2)
                      : builder.buildO0DefaultPipeline(llvm::OptimizationLevel::O0),
               module);
}

/// Names of variables get characters that PTX has (PTX ISA, "Identifiers"). LLVM renames them too, but only
/// after debug information has named them: GlobalOpt calls the parts of a split variable `tile.0`.
void give_valid_names(llvm::Module& module) {
    for (auto& variable : module.globals()) {
        if (variable.isDeclaration()) continue;
        std::string name = variable.getName().str();
        std::ranges::replace_if(name, [](char c) { return !llvm::isAlnum(c) && c != '_' && c != '$'; }, '_');
        if (name != variable.getName()) variable.setName(name);
    }
}

std::string generate(llvm::Module& module, llvm::TargetMachine& machine) {
    give_valid_names(module);
    llvm::SmallString<0> text;
    llvm::raw_svector_ostream stream(text);
    llvm::legacy::PassManager passes;
    if (machine.addPassesToEmitFile(passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile)) {
        throw PtxError(Code::unknown_architecture, "this LLVM cannot write PTX");
    }
    passes.run(module);
    std::string ptx = text.str().str();
    // With line directives only, LLVM writes this section all the same.
    static constexpr std::string_view empty_section = "\t.section\t.debug_loc\t{\t}\n";
    if (const auto at = ptx.find(empty_section); at != std::string::npos) ptx.erase(at, empty_section.size());
    return ptx;
}

std::string listed(const std::vector<std::string>& names) {
    constexpr std::size_t most = 8;
    std::string text;
    for (std::size_t i = 0; i < std::min(names.size(), most); ++i) text += (i == 0 ? "" : ", ") + names[i];
    if (names.size() > most) text += " and " + std::to_string(names.size() - most) + " more";
    return text;
}

void link_what_is_called(llvm::Module& module, std::string_view kernel, const PtxOptions& options) {
    if (!options.link_libdevice || libdevice_calls(module).empty()) return;
    const std::shared_ptr<const LibdeviceFile> library =
        options.libdevice.empty() ? LibdeviceFile::found() : LibdeviceFile::at(options.libdevice);
    if (library) link_libdevice(module, *library);
    const std::vector<std::string> missing = libdevice_calls(module);
    if (!options.require_libdevice || missing.empty()) return;
    const std::string what = "kernel '" + std::string(kernel) + "' calls " + listed(missing);
    if (library) throw PtxError(Code::libdevice, what + ", which " + library->path().string() + " has not");
    throw PtxError(
        Code::libdevice,
        what +
            " of CUDA's libdevice, which is not on this machine: `pip install "
            "\"cudasim[gpu]\"` brings it, or set CUDASIM_LIBDEVICE to the path of a libdevice.10.bc");
}

/// The kernel, or a device function that is visible outside. @throws PtxError
llvm::Function& entry_of(const image::KernelImage& image, llvm::Module& module, std::string_view name) {
    llvm::Function* function = module.getFunction(ref(name));
    const bool is_visible = function && !function->isDeclaration() && function->hasExternalLinkage();
    if (image.find(name) || is_visible) return *function;
    std::string known;
    for (const auto& other : image.kernels()) known += (known.empty() ? "" : ", ") + other.name;
    throw PtxError(Code::unknown_kernel, "the image has no kernel '" + std::string(name) +
                                             "'; it has: " + (known.empty() ? "none" : known));
}

}  // namespace

std::string ptx_name(std::string_view kernel) {
    std::string name;
    for (const char c : kernel) name += llvm::isAlnum(c) || c == '_' || c == '$' ? c : '_';
    if (!name.empty() && (llvm::isDigit(name.front()) || name == "_" || name == "$")) name.insert(0, "_$");
    return name;
}

std::string nvvm_ir(const image::KernelImage& image, DebugInfo debug_info) {
    if (debug_info == DebugInfo::full) return image.ir_text();
    llvm::LLVMContext context;
    auto parsed = llvm::parseBitcodeFile(llvm::MemoryBufferRef(image.bitcode(), "kernel image"), context);
    if (!parsed) throw image::ImageError("kernel image: " + llvm::toString(parsed.takeError()));
    keep_debug_info(**parsed, debug_info);
    std::string text;
    llvm::raw_string_ostream stream(text);
    (*parsed)->print(stream, nullptr);
    return text;
}

std::string to_ptx(const image::KernelImage& image, std::string_view kernel, const PtxOptions& options) {
    return to_ptx_with_sites(image, kernel, options).text;
}

Ptx to_ptx_with_sites(const image::KernelImage& image, std::string_view kernel, const PtxOptions& options) {
    const auto machine = target_machine(options);
    std::string diagnostic;
    llvm::LLVMContext context;
    context.setDiagnosticHandler(std::make_unique<image::RecordingHandler>(diagnostic),
                                 /*RespectFilters=*/false);
    auto parsed = llvm::parseBitcodeFile(llvm::MemoryBufferRef(image.bitcode(), "kernel image"), context);
    if (!parsed) throw image::ImageError("kernel image: " + llvm::toString(parsed.takeError()));
    llvm::Module& module = **parsed;
    module.setTargetTriple(ref(image::target_triple));
    module.setDataLayout(machine->createDataLayout());
    if (options.function_handles) use_function_handles(module);
    if (options.globals_base) place_globals_at(module, *options.globals_base);
    unlink_libdevice(module);
    llvm::Function& function = entry_of(image, module, kernel);
    resolve_variable_reads(module);
    Ptx result;
    if (options.report_faults) {
        keep_only(module, function);  // what it does not reach needs no slots
        inline_functions(module);
        result.fault_sites = report_faults(module, options);
    }
    expand_checks(module);
    lower_cache_hints(module);
    lower_named_barriers(module);
    expand_fast_math(module);
    strip_simulator_metadata(module);
    keep_debug_info(module, options.debug_info);
    make_file_names_plain(module);
    define_grid_barrier(module);
    keep_only(module, function);
    if (image.find(kernel)) set_launch_bounds(function, options.bounds);
    if (options.fma_contraction)
        contract(module, *machine);
    else
        strip_contraction(module);
    link_what_is_called(module, kernel, options);
    if (architecture_number(options.architecture) < 80) copy_at_once(module);
    refuse_unsupported(module);
    define_values(module);
    function.setName(ptx_name(kernel));
    lower_memory_model(module, architecture_number(options.architecture));
    try {
        result.text = image::read_in_child_process(
            "LLVM's NVPTX back end cannot translate kernel '" + std::string(kernel) + "'", [&] {
                optimise(module, *machine, options.optimise);
                drop_unused_debug_info(module);
                std::string ptx = generate(module, *machine);
                if (!diagnostic.empty()) throw image::ImageError(diagnostic);
                return ptx;
            });
        return result;
    } catch (const image::ChildDied& error) {
        throw PtxError(Code::no_such_instruction,
                       error.what() + std::string(" (for ") + options.architecture + ")");
    } catch (const image::ImageError& error) {
        throw PtxError(Code::unsupported_code, error.what());
    }
}

}  // namespace cudasim::gpu_backend
