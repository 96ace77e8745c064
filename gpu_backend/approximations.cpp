// See approximations.h.
#include "gpu_backend/approximations.h"

#include <llvm/ADT/StringExtras.h>
#include <llvm/Bitcode/BitcodeReader.h>
#include <llvm/IR/DebugInfoMetadata.h>
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Operator.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/MemoryBuffer.h>
#include <llvm/Support/raw_ostream.h>
#include <llvm/Transforms/Scalar/SROA.h>

#include <algorithm>
#include <set>

#include "simulator/image/contraction.h"
#include "simulator/image/source_names.h"

namespace cudasim::gpu_backend {
namespace {

using namespace llvm;

/// What a kernel reaches: called, or by its address, also through variables.
class Reached {
  public:
    explicit Reached(const Function& kernel) {
        add(kernel);
        while (!open_.empty()) {
            const Function& function = *open_.back();
            open_.pop_back();
            for (const Instruction& instruction : instructions(function))
                for (const Value* operand : instruction.operand_values())
                    if (const auto* constant = dyn_cast<Constant>(operand)) add(*constant);
        }
    }
    [[nodiscard]] bool contains(const Function& function) const { return seen_.contains(&function); }

  private:
    void add(const Constant& constant) {
        if (!seen_.insert(&constant).second) return;
        if (const auto* function = dyn_cast<Function>(&constant)) {
            if (!function->isDeclaration()) open_.push_back(function);
            return;
        }
        for (const Value* operand : constant.operand_values())
            if (const auto* part = dyn_cast<Constant>(operand)) add(*part);
    }

    std::set<const Constant*> seen_;
    std::vector<const Function*> open_;
};

/// With the places where it was inlined; the head of the function for code without a place of its own.
findings::CallChain location_of(const Instruction& instruction) {
    const auto name_of = [](const DISubprogram* function) {
        return function ? function->getName().str() : std::string();
    };
    findings::CallChain chain;
    for (const DILocation* at = instruction.getDebugLoc(); at; at = at->getInlinedAt())
        chain.push_back({image::path_of(at->getFile()), name_of(at->getScope()->getSubprogram()),
                         at->getLine(), at->getColumn()});
    const DISubprogram* function = instruction.getFunction()->getSubprogram();
    if (chain.empty() && function)
        chain.push_back({image::path_of(function->getFile()), name_of(function), function->getLine(), 0});
    return findings::without_own_code(std::move(chain));
}

std::string text_of(const Type& type) {
    std::string text;
    raw_string_ostream stream(text);
    type.print(stream);
    return text;
}

/// The name of what is called, as far as it is one; else that of the instruction.
std::string operation(const Instruction& instruction) {
    const auto* call = dyn_cast<CallBase>(&instruction);
    const Function* callee = call ? call->getCalledFunction() : nullptr;
    return callee ? callee->getName().str() : instruction.getOpcodeName();
}

/// "nnan afn"; empty where results are those of IEEE 754, but for fused multiply-adds.
std::string fast_math_flags(const Instruction& instruction) {
    const auto* arithmetic = dyn_cast<FPMathOperator>(&instruction);
    if (!arithmetic) return {};
    FastMathFlags flags = arithmetic->getFastMathFlags();
    flags.setAllowContract(false);
    std::string text;
    raw_string_ostream stream(text);
    flags.print(stream);
    return StringRef(text).trim().str();
}

/// Whether it is an opcode of PTX that adds floats in memory: atom.global.add.f32, red.add.noftz.f16x2, ...
bool adds_floats_in_memory(StringRef opcode) {
    return (opcode.starts_with("atom.") || opcode.starts_with("red.")) && opcode.contains(".add.") &&
           (opcode.contains(".f16") || opcode.contains(".bf16") || opcode.contains(".f32") ||
            opcode.contains(".f64"));
}

class Places {
  public:
    Places(std::span<const std::string_view> functions, const Reached& reached)
        : functions_(functions), reached_(reached) {}

    void add(const Instruction& instruction) {
        if (isa<PHINode, SelectInst>(instruction)) return;  // they choose, and have flags of their own
        if (const std::string flags = fast_math_flags(instruction); !flags.empty())
            add(DifferenceCause::fast_math, operation(instruction) + " " + flags, instruction);
        if (const auto* update = dyn_cast<AtomicRMWInst>(&instruction)) {
            const auto kind = update->getOperation();
            if (kind == AtomicRMWInst::FAdd || kind == AtomicRMWInst::FSub)
                add(DifferenceCause::atomic,
                    AtomicRMWInst::getOperationName(kind).str() + " " + text_of(*update->getType()),
                    instruction);
        } else if (const auto* call = dyn_cast<CallBase>(&instruction)) {
            add_call(*call);
        }
    }

    /// Functions without debug information, as those of the toolkit's headers, stand where they are called.
    void add(DifferenceCause cause, std::string what, const Instruction& instruction, unsigned depth = 0) {
        findings::CallChain location = location_of(instruction);
        constexpr unsigned most_nested = 8;
        if (location.empty() && depth < most_nested) {
            const auto calls = calls_of(*instruction.getFunction());
            for (const CallBase* call : calls) add(cause, what, *call, depth + 1);
            if (!calls.empty()) return;
        }
        const auto known = std::ranges::find_if(found_, [&](const DifferencePlace& each) {
            return each.cause == cause && each.what == what && each.location == location;
        });
        if (known != found_.end())
            ++known->count;
        else
            found_.push_back({cause, std::move(what), std::move(location)});
    }

    [[nodiscard]] std::vector<DifferencePlace> take() { return std::move(found_); }

  private:
    /// Those that the kernel reaches. A function's users are listed from the last to the first.
    SmallVector<const CallBase*, 8> calls_of(const Function& function) const {
        SmallVector<const CallBase*, 8> calls;
        for (const User* user : function.users()) {
            const auto* call = dyn_cast<CallBase>(user);
            if (call && call->getCalledFunction() == &function && reached_.contains(*call->getFunction()))
                calls.push_back(call);
        }
        std::ranges::reverse(calls);
        return calls;
    }

    void add_call(const CallBase& call) {
        if (const auto* assembly = dyn_cast<InlineAsm>(call.getCalledOperand())) {
            SmallVector<StringRef, 8> words;
            SplitString(assembly->getAsmString(), words, " \t\n;{},");
            for (const StringRef word : words) {
                if (word.starts_with("%clock") || word.starts_with("%globaltimer"))
                    add(DifferenceCause::clock, word.str(), call);
                if (word.contains(".approx")) add(DifferenceCause::instruction, word.str(), call);
                if (adds_floats_in_memory(word)) add(DifferenceCause::atomic, word.str(), call);
            }
            return;
        }
        const Function* callee = call.getCalledFunction();
        if (!callee) return;
        const StringRef name = callee->getName();
        if (callee->isIntrinsic() && name.contains(".approx"))
            add(DifferenceCause::instruction, name.str(), call);
        else if (name.starts_with("llvm.nvvm.atomic.load.add.f"))
            add(DifferenceCause::atomic, name.str(), call);
        else if (name.starts_with("llvm.nvvm.read.ptx.sreg.clock") ||
                 name.starts_with("llvm.nvvm.read.ptx.sreg.globaltimer"))
            add(DifferenceCause::clock, name.str(), call);
        else if (name == "malloc")
            add(DifferenceCause::allocation, name.str(), call);
        else if (name.starts_with("__nv_fast_") ||
                 std::ranges::find(functions_, std::string_view(name)) != functions_.end())
            add(DifferenceCause::function, name.str(), call);
    }

    std::span<const std::string_view> functions_;
    const Reached& reached_;
    std::vector<DifferencePlace> found_;
};

/// As the fusions of simulator and PTX expect it.
void promote_local_variables(Module& module) {
    LoopAnalysisManager loops;
    FunctionAnalysisManager functions;
    CGSCCAnalysisManager components;
    ModuleAnalysisManager modules;
    PassBuilder builder;
    builder.registerModuleAnalyses(modules);
    builder.registerCGSCCAnalyses(components);
    builder.registerFunctionAnalyses(functions);
    builder.registerLoopAnalyses(loops);
    builder.crossRegisterProxies(loops, functions, components, modules);
    ModulePassManager promotion;
    promotion.addPass(createModuleToFunctionPassAdaptor(SROAPass(SROAOptions::PreserveCFG)));
    promotion.run(module, modules);
}

}  // namespace

std::string_view name_of(DifferenceCause cause) {
    switch (cause) {
        case DifferenceCause::fast_math:
            return "fast_math";
        case DifferenceCause::function:
            return "function";
        case DifferenceCause::instruction:
            return "instruction";
        case DifferenceCause::atomic:
            return "atomic";
        case DifferenceCause::clock:
            return "clock";
        case DifferenceCause::allocation:
            return "allocation";
        case DifferenceCause::multiply_add:
            break;
    }
    return "multiply_add";
}

std::vector<DifferencePlace> difference_places(const image::KernelImage& image, std::string_view kernel,
                                               std::span<const std::string_view> functions) {
    LLVMContext context;
    auto parsed = parseBitcodeFile(MemoryBufferRef(image.bitcode(), "kernel image"), context);
    if (!parsed) throw image::ImageError("kernel image: " + toString(parsed.takeError()));
    Module& module = **parsed;
    const Function* function = module.getFunction({kernel.data(), kernel.size()});
    if (!image.find(std::string(kernel)) || !function || function->isDeclaration())
        throw image::ImageError("the image has no kernel '" + std::string(kernel) + "'");
    promote_local_variables(module);
    const Reached reached(*function);
    Places places(functions, reached);
    for (const Function& each : module)
        if (reached.contains(each))
            for (const Instruction& instruction : instructions(each)) places.add(instruction);
    for (const Instruction* sum : image::multiply_adds(module))
        if (reached.contains(*sum->getFunction()))
            places.add(DifferenceCause::multiply_add,
                       std::string(sum->getOpcodeName()) + " of fmul " + text_of(*sum->getType()), *sum);
    return places.take();
}

}  // namespace cudasim::gpu_backend
