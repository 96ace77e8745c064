// See optimiser.h. Function passes only: after inlining, a kernel is one function.
#include "simulator/jit/optimiser.h"

#include <llvm/Analysis/CFG.h>
#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Transforms/InstCombine/InstCombine.h>
#include <llvm/Transforms/Scalar/ADCE.h>
#include <llvm/Transforms/Scalar/EarlyCSE.h>
#include <llvm/Transforms/Scalar/LICM.h>
#include <llvm/Transforms/Scalar/LoopPassManager.h>
#include <llvm/Transforms/Scalar/SROA.h>
#include <llvm/Transforms/Scalar/SimplifyCFG.h>

#include "simulator/jit/slot_promotion.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// Analyses for one compilation. Library functions are unknown to it: a device function may be called `sin`.
class Analyses {
  public:
    Analyses(Compilation& compilation, TargetMachine& machine, const PipelineTuningOptions& tuning)
        : builder_(&machine, tuning) {
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

  private:
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

Effort affordable_effort(const Compilation& compilation) {
    constexpr std::size_t most = 20'000;
    constexpr std::size_t loop = 40;  // a loop costs its passes over the whole function
    std::size_t size = compilation.module->getInstructionCount();
    for (const Function& function : *compilation.module) {
        if (function.isDeclaration()) continue;
        SmallVector<std::pair<const BasicBlock*, const BasicBlock*>, 8> loops;
        FindFunctionBackedges(function, loops);
        size += loop * loops.size();
    }
    return size > most ? Effort::proportional : Effort::full;
}

/// Not InstCombine, which compares every condition with all those that dominate it, nor EarlyCSE, which looks
/// at every use of a condition for every branch on it.
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
