// See optimiser.h. Function passes only: after inlining, a kernel is one function.
#include "simulator/jit/optimiser.h"

#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "simulator/jit/captured_variables.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/slot_promotion.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Analyses for one compilation. Library functions are unknown to it: a device function may be called `sin`.
class Analyses {
  public:
    Analyses(Compilation& compilation, TargetMachine& machine, const PipelineTuningOptions& tuning)
        : builder_(&machine, tuning, std::nullopt, &callbacks_) {
        callbacks_.registerShouldRunOptionalPassCallback(pays);
        TargetLibraryInfoImpl libraries(Triple(compilation.module->getTargetTriple()));
        libraries.disableAllFunctions();
        functions_.registerPass([&] { return TargetLibraryAnalysis(libraries); });
        builder_.registerModuleAnalyses(modules_);
        builder_.registerCGSCCAnalyses(graphs_);
        builder_.registerFunctionAnalyses(functions_);
        builder_.registerLoopAnalyses(loops_);
        builder_.crossRegisterProxies(loops_, functions_, graphs_, modules_);
    }

    PassBuilder& builder() { return builder_; }

    void run(Module& module, FunctionPassManager passes) {
        for (Function& function : module) {
            if (!function.isDeclaration()) passes.run(function, functions_);
        }
    }
    void run(Function& function, FunctionPassManager passes) { passes.run(function, functions_); }

  private:
    /// Jump threading copies blocks between branches on the same condition, and repairs the values that live
    /// across them by a search through the function: 10 s for 600 lines that read 300 variables.
    static bool pays(StringRef pass, const Any& unit) {
        constexpr std::size_t most_blocks = 500;
        const auto* function = any_cast<const Function*>(&unit);
        return !function || (*function)->size() <= most_blocks || pass != "JumpThreadingPass";
    }

    PassInstrumentationCallbacks callbacks_;
    PassBuilder builder_;
    LoopAnalysisManager loops_;
    FunctionAnalysisManager functions_;
    CGSCCAnalysisManager graphs_;
    ModuleAnalysisManager modules_;
};

}  // namespace

void promote_locals(Compilation& compilation, TargetMachine& machine) {
    for (Function& function : *compilation.module) {
        if (!function.isDeclaration()) promote_slots(function);
    }
    Analyses analyses(compilation, machine, {});
    FunctionPassManager passes;
    passes.addPass(SROAPass(SROAOptions::PreserveCFG));
    analyses.run(*compilation.module, std::move(passes));
}

/// How many more instructions the register allocator's time for this one is worth: it splits values that live
/// across calls at one call after the other. An atomic operation that the processor lacks becomes a loop.
static std::size_t cost_of_allocation(const Instruction& instruction) {
    if (const auto* update = dyn_cast<AtomicRMWInst>(&instruction)) {
        const auto operation = update->getOperation();
        const bool one_instruction = operation == AtomicRMWInst::Add || operation == AtomicRMWInst::Sub ||
                                     operation == AtomicRMWInst::Xchg;
        return one_instruction ? 0 : 40;
    }
    const auto* call = dyn_cast<CallInst>(&instruction);
    if (!call || isa<IntrinsicInst>(call) || call->doesNotReturn() || is_capture(*call)) return 0;
    const auto hook = hook_called_by(*call);
    if (!hook) return 20;
    if (*hook == Hook::barrier) return 0;     // without full effort its kernel is not a coroutine
    return call->onlyReadsMemory() ? 0 : 40;  // 0: on the cold path of a check
}

Effort affordable_effort(const Compilation& compilation) {
    constexpr std::size_t most = 20'000;
    constexpr std::size_t loop = 40;  // a loop costs its passes over the whole function
    std::size_t size = compilation.module->getInstructionCount();
    for (const Function& function : *compilation.module) {
        if (function.isDeclaration()) continue;
        SmallVector<std::pair<const BasicBlock*, const BasicBlock*>, 8> loops;
        FindFunctionBackedges(function, loops);
        size += loop * loops.size();
        for (const Instruction& instruction : instructions(function)) size += cost_of_allocation(instruction);
    }
    return size > most ? Effort::proportional : Effort::full;
}

/// Passes whose time grows in proportion to the size of the code. InstCombine is left out because it compares
/// every condition with all those that dominate it, EarlyCSE because it looks at every use of a condition for
/// every branch on it.
static void optimise_in_proportion(Compilation& compilation, TargetMachine& machine) {
    Analyses analyses(compilation, machine, {});
    FunctionPassManager passes;
    passes.addPass(SimplifyCFGPass());
    passes.addPass(ADCEPass());
    analyses.run(*compilation.module, std::move(passes));
}

void optimise(Compilation& compilation, TargetMachine& machine, Effort effort) {
    if (compilation.options.optimisation == 0) return;
    if (effort == Effort::proportional) return optimise_in_proportion(compilation, machine);
    PipelineTuningOptions tuning;
    Analyses analyses(compilation, machine, tuning);
    analyses.run(*compilation.module, analyses.builder().buildFunctionSimplificationPipeline(
                                          OptimizationLevel::O3, ThinOrFullLTOPhase::None));
}

void optimise_one(Compilation& compilation, TargetMachine& machine, Function& function) {
    Analyses analyses(compilation, machine, {});
    analyses.run(function, analyses.builder().buildFunctionSimplificationPipeline(OptimizationLevel::O3,
                                                                                  ThinOrFullLTOPhase::None));
}

void hoist_out_of_thread_loop(Compilation& compilation, TargetMachine& machine) {
    if (compilation.options.optimisation == 0) return;
    Analyses analyses(compilation, machine, {});
    FunctionPassManager passes;
    passes.addPass(createFunctionToLoopPassAdaptor(LICMPass(LICMOptions()), /*UseMemorySSA=*/true));
    analyses.run(*compilation.module, std::move(passes));
}

void clean_up(Compilation& compilation, TargetMachine& machine) {
    if (compilation.options.optimisation == 0) return;
    Analyses analyses(compilation, machine, {});
    FunctionPassManager passes;
    passes.addPass(EarlyCSEPass(/*UseMemorySSA=*/false));
    passes.addPass(InstCombinePass());
    passes.addPass(SimplifyCFGPass());
    passes.addPass(ADCEPass());
    analyses.run(*compilation.module, std::move(passes));
}

}  // namespace cudasim::jit
