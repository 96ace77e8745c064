// The story of a compilation, pass by pass (see compiler.h and docs/architecture.md).
#include "simulator/jit/compiler.h"

#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include "simulator/image/contraction.h"
#include "simulator/jit/claims.h"
#include "simulator/jit/early_instrumentation.h"
#include "simulator/jit/late_instrumentation.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/module_loader.h"
#include "simulator/jit/object_code.h"
#include "simulator/jit/optimiser.h"
#include "simulator/jit/site_numbering.h"

namespace cudasim::jit {
namespace {

using namespace llvm;

/// An invariant of ours, always checked: what we hand to LLVM's optimiser is valid IR.
void verify(Module& module, const char* after) {
    std::string message;
    raw_string_ostream stream(message);
    if (verifyModule(module, &stream)) {
        throw std::logic_error("simulator/jit: invalid IR after " + std::string(after) + ": " + message);
    }
}

/// Everything up to, but without, the optimiser.
void instrument(Compilation& compilation, const image::KernelImage& image, std::string_view kernel,
                TargetMachine& machine) {
    load_kernel(compilation, image, kernel);
    expand_constants(compilation);
    strip_claims(compilation);
    lower_functions(compilation);
    compilation.module->setTargetTriple(machine.getTargetTriple().str());
    compilation.module->setDataLayout(machine.createDataLayout());
    lower_indirect_calls(compilation);

    expand_declared_checks(compilation);
    lower_intrinsics(compilation);
    define_arithmetic(compilation);
    define_control_and_memory(compilation);

    inline_functions(compilation);
    lower_special_registers(compilation);
    refuse_unknown_functions(compilation);
    promote_locals(compilation, machine);
    if (compilation.options.fma_contraction) image::contract_multiply_adds(*compilation.module);
    insert_polls(compilation);
    insert_memory_checks(compilation);
    build_entry(compilation);
    stripNonLineTableDebugInfo(*compilation.module);
    verify(*compilation.module, "instrumentation");
}

}  // namespace

std::shared_ptr<const CompiledKernel> compile_kernel(const image::KernelImage& image, std::string_view kernel,
                                                     const CompileOptions& options) {
    const auto lock = lock_compiler();
    TargetMachine& machine = host_machine(options);
    Compilation compilation;
    compilation.options = options;
    instrument(compilation, image, kernel, machine);
    optimise(compilation, machine);
    number_sites(compilation);
    auto compiled = emit(compilation, machine);
    compiled->name = std::string(kernel);
    compiled->waits = compilation.waits;
    compiled->reads_clock = compilation.reads_clock;
    compiled->uses_shadow = compilation.uses_shadow;
    compiled->recursive = compilation.recursive;
    compiled->parameter_bytes = compilation.description->parameter_bytes;
    compiled->static_shared_bytes = compilation.shared.static_bytes;
    compiled->dynamic_shared_offset = compilation.shared.dynamic_offset;
    compiled->shared_variables = std::move(compilation.shared.variables);
    compiled->sites = std::move(compilation.sites);
    compiled->exceptions = std::move(compilation.exceptions);
    compiled->globals = compilation.layout.globals;
    return compiled;
}

std::string instrumented_ir(const image::KernelImage& image, std::string_view kernel,
                            const CompileOptions& options) {
    const auto lock = lock_compiler();
    Compilation compilation;
    compilation.options = options;
    instrument(compilation, image, kernel, host_machine(options));
    std::string text;
    raw_string_ostream stream(text);
    compilation.module->print(stream, nullptr);
    return text;
}

}  // namespace cudasim::jit
