// The story of a compilation, pass by pass (see compiler.h and docs/architecture.md).
#include "simulator/jit/compiler.h"

#include <llvm/BinaryFormat/Dwarf.h>
#include <llvm/IR/DebugInfo.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Support/raw_ostream.h>

#include <algorithm>

#include "simulator/image/contraction.h"
#include "simulator/image/isolated_reading.h"
#include "simulator/image/variable_reads.h"
#include "simulator/jit/asynchronous_copies.h"
#include "simulator/jit/captured_variables.h"
#include "simulator/jit/child_compilation.h"
#include "simulator/jit/claims.h"
#include "simulator/jit/coroutine.h"
#include "simulator/jit/early_instrumentation.h"
#include "simulator/jit/hook_calls.h"
#include "simulator/jit/kept_loads.h"
#include "simulator/jit/local_memory.h"
#include "simulator/jit/lowering.h"
#include "simulator/jit/module_loader.h"
#include "simulator/jit/object_cache.h"
#include "simulator/jit/object_code.h"
#include "simulator/jit/optimiser.h"
#include "simulator/jit/phase_loops.h"
#include "simulator/jit/site_numbering.h"
#include "simulator/jit/skipped_operations.h"
#include "simulator/jit/source_places.h"
#include "simulator/jit/statement_stops.h"
#include "simulator/jit/thread_groups.h"

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

/// Variables that a stop's handler may set are read from memory; others need not be.
void resolve_reads(Compilation& compilation) {
    const bool stops = compilation.options.instrumentations.contains(statement_stops());
    const auto reads = stops ? image::VariableReads::loaded : image::VariableReads::stored;
    const User* wrong = image::resolve_variable_reads(*compilation.module, reads);
    if (!wrong) return;
    const std::string message =
        "'" + std::string(image::variable_read_prefix) +
        "NAME' is only to be called, with two values of the type that it returns: see "
        "simulator/image/variable_reads.h";
    if (const auto* instruction = dyn_cast<Instruction>(wrong)) refuse(*instruction, message);
    throw CompileError(message, {});
}

/// A function of another file may take the address of an object where its caller's file has it by value
/// (frontend/cuda_cpp/images/objects_by_value.h).
void pass_as_functions_take(Module& module) {
    for (Function& function : module) {
        for (User* user : function.users()) {
            auto* call = dyn_cast<CallBase>(user);
            if (!call || call->getCalledFunction() != &function) continue;
            for (Argument& argument : function.args())
                if (!argument.hasByValAttr()) call->removeParamAttr(argument.getArgNo(), Attribute::ByVal);
        }
    }
}

/// Functions have copied what they take by value (copy_parameters_by_value()): callers need not copy it once
/// more.
void forget_by_value(Module& module) {
    for (Function& function : module) {
        for (Argument& argument : function.args()) argument.removeAttr(Attribute::ByVal);
        for (Instruction& instruction : instructions(function)) {
            auto* call = dyn_cast<CallBase>(&instruction);
            for (unsigned i = 0; call != nullptr && i < call->arg_size(); ++i)
                call->removeParamAttr(i, Attribute::ByVal);
        }
    }
}

/// Runs everything up to the optimiser, which is left out.
void instrument(Compilation& compilation, const image::KernelImage& image, std::string_view kernel,
                TargetMachine& machine, const image::Cancellation& cancellation) {
    load_kernel(compilation, image, kernel);
    resolve_reads(compilation);
    cancellation.check();
    expand_constants(compilation);
    strip_claims(compilation);
    cancellation.check();
    lower_functions(compilation);
    cancellation.check();
    compilation.module->setTargetTriple(machine.getTargetTriple().str());
    compilation.module->setDataLayout(machine.createDataLayout());
    lower_indirect_calls(compilation);
    pass_as_functions_take(*compilation.module);

    expand_declared_checks(compilation);
    cancellation.check();
    lower_intrinsics(compilation);
    define_arithmetic(compilation);
    define_control_and_memory(compilation);
    for (const Instrumentation* each : compilation.options.instrumentations) each->early(compilation);

    cancellation.check();
    inline_functions(compilation);
    cancellation.check();
    lower_special_registers(compilation);
    refuse_unknown_functions(compilation);
    mark_skippable_operations(compilation);
    for (const Instrumentation* each : compilation.options.instrumentations) each->values(compilation);
    insert_captures(compilation);
    merge_variables(compilation);
    promote_locals(compilation, machine);
    cancellation.check();
    if (compilation.options.fma_contraction) image::contract_multiply_adds(*compilation.module, is_capture);
    for (const Instrumentation* each : compilation.options.instrumentations) {
        each->late(compilation);
        cancellation.check();
    }
    forget_by_value(*compilation.module);
    release_kept_loads(compilation);
    release_copy_marks(compilation);
    drop_captures_of_accesses(compilation);
    cancellation.check();
    stripNonLineTableDebugInfo(*compilation.module);
    verify(*compilation.module, "instrumentation");
}

bool is_cplusplus(const DISubprogram* function) {
    if (function == nullptr || function->getUnit() == nullptr) return false;
    const auto language = static_cast<dwarf::SourceLanguage>(function->getUnit()->getSourceLanguage());
    return dwarf::isCPlusPlus(language);
}

KernelFacts facts_of(Compilation& compilation, std::string_view kernel, std::uint64_t frame_bytes) {
    KernelFacts facts;
    facts.name = std::string(kernel);
    facts.head = place_of(compilation.kernel->getSubprogram());
    facts.is_cplusplus = is_cplusplus(compilation.kernel->getSubprogram());
    facts.waits = compilation.waits;
    facts.cooperative = compilation.cooperative;
    facts.reads_clock = compilation.reads_clock;
    facts.prints = compilation.prints;
    facts.uses_shadow = compilation.uses_shadow;
    facts.recursive = compilation.recursive;
    facts.resume_points = std::move(compilation.resume_points);
    facts.coroutine_frame_bytes = compilation.coroutine_frame_bytes;
    facts.frame_bytes = frame_bytes;
    facts.parameter_bytes = compilation.description->parameter_bytes;
    facts.static_shared_bytes = compilation.shared.static_bytes;
    facts.dynamic_shared_offset = compilation.shared.dynamic_offset;
    facts.shared_variables = std::move(compilation.shared.variables);
    facts.sites = std::move(compilation.sites);
    facts.skippable_sites = std::move(compilation.skippable_sites);
    facts.exceptions = std::move(compilation.exceptions);
    facts.captures = std::move(compilation.captures);
    facts.stops = std::move(compilation.stops);
    facts.parameter_use = std::move(compilation.parameter_use);
    facts.globals = compilation.layout.globals;
    return facts;
}

/// What the code of this compilation may call of the engine and of its instrumentations.
std::vector<HookAddress> all_hooks(const CompileOptions& options, std::span<const HookAddress> engine) {
    std::vector<HookAddress> all(engine.begin(), engine.end());
    for (const Instrumentation* each : options.instrumentations) {
        for (const HookAddress& hook : each->hooks()) {
            if (!hook.name.starts_with(hook_prefix) ||
                std::ranges::find(all, hook.name, &HookAddress::name) != all.end())
                throw std::logic_error("simulator/jit: a hook of " + std::string(each->name()) +
                                       " has no name of its own: " + std::string(hook.name));
            all.push_back(hook);
        }
    }
    return all;
}

/// The kernel from the object cache; nullptr where the entry is missing or unusable.
std::shared_ptr<const CompiledKernel> cached(ObjectCache& cache, const std::string& key,
                                             std::span<const HookAddress> hooks) {
    auto found = cache.find(key);
    if (!found) return nullptr;
    try {
        return link(std::move(found->facts), std::move(found->object), hooks);
    } catch (const std::exception&) {
        cache.discard(key);
        return nullptr;
    }
}

/// A kernel that never waits is optimised together with the loop over its threads. One that waits is
/// optimised first: then few values live across its barriers, and it can become a coroutine.
void optimise_kernel(Compilation& compilation, TargetMachine& machine, Effort effort) {
    if (!calls_barrier(*compilation.module)) {
        build_entry(compilation, make_thread_groups(compilation, machine, effort));
        optimise(compilation, machine, effort);
        check_local_memory(compilation);
        number_sites(compilation);
        number_stop_places(compilation);
        lower_captures(compilation);
        test_stops_in_line(compilation);
        return;
    }
    compilation.waits = true;
    optimise(compilation, machine, effort);
    check_local_memory(compilation);
    const ThreadLoop loop = build_entry(compilation);
    if (effort == Effort::full) hoist_out_of_thread_loop(compilation, machine);
    number_sites(compilation);
    number_stop_places(compilation);
    if (compilation.options.coroutines && effort == Effort::full && can_be_coroutine(compilation)) {
        drop_costly_captures(compilation, loop);
        split_at_barriers(compilation, loop);
        // Between warp operations a phase is short, and the scheduler takes most of the time.
        const auto& points = compilation.resume_points;
        if (!points.empty() && std::ranges::none_of(points, &ResumePoint::in_warp))
            give_phases_their_loops(compilation, loop);
    }
    if (effort == Effort::full) clean_up(compilation, machine);
    lower_captures(compilation);
    test_stops_in_line(compilation);
}

/// Instructions after instrumentation from which on a kernel is compiled in a child process: about 0.1 s.
constexpr std::size_t large_kernel = 5000;

CachedKernel finish(Compilation& compilation, std::string_view kernel, TargetMachine& machine) {
    lower_sync_scopes(compilation);
    const Effort effort = affordable_effort(compilation);
    optimise_kernel(compilation, machine, effort);
    verify(*compilation.module, "optimisation");
    auto object = generate(compilation, machine, effort);
    return {facts_of(compilation, kernel, total_frame_bytes(object)), std::move(object)};
}

CachedKernel finish_large(Compilation& compilation, const std::string& key, std::string_view kernel,
                          TargetMachine& machine, std::unique_lock<std::mutex>& lock,
                          const image::Cancellation& cancellation) {
    const auto here = [&] { return finish(compilation, kernel, machine); };
    lock.unlock();
    try {
        auto made = finish_in_child_process(key, std::string(kernel), here, cancellation);
        lock.lock();
        return made;
    } catch (const image::NoChildProcess&) {
        lock.lock();
        return here();
    }
}

std::shared_ptr<const CompiledKernel> compile(const image::KernelImage& image, std::string_view kernel,
                                              const CompileOptions& options,
                                              std::span<const HookAddress> engine_hooks,
                                              const image::Cancellation& cancellation) {
    auto lock = lock_compiler(cancellation);
    ObjectCache& cache = ObjectCache::instance();
    const std::string key = cache.is_on() ? cache_key(image, kernel, options) : std::string();
    const std::vector<HookAddress> hooks = all_hooks(options, engine_hooks);
    if (auto known = cached(cache, key, hooks)) return known;
    TargetMachine& machine = host_machine(options);
    Compilation compilation;
    compilation.options = options;
    instrument(compilation, image, kernel, machine, cancellation);
    CachedKernel made = compilation.module->getInstructionCount() > large_kernel
                            ? finish_large(compilation, key, kernel, machine, lock, cancellation)
                            : finish(compilation, kernel, machine);
    cache.store(key, made.facts, made.object);
    return link(std::move(made.facts), std::move(made.object), hooks);
}

}  // namespace

std::shared_ptr<const CompiledKernel> compile_kernel(const image::KernelImage& image, std::string_view kernel,
                                                     const CompileOptions& options,
                                                     std::span<const HookAddress> hooks,
                                                     const image::HostPoll& poll) {
    std::shared_ptr<const CompiledKernel> result;
    image::on_large_stack(
        [&](const image::Cancellation& cancellation) {
            result = compile(image, kernel, options, hooks, cancellation);
        },
        poll);
    return result;
}

std::string instrumented_ir(const image::KernelImage& image, std::string_view kernel,
                            const CompileOptions& options) {
    std::string text;
    image::on_large_stack([&](const image::Cancellation& cancellation) {
        const auto lock = lock_compiler();
        Compilation compilation;
        compilation.options = options;
        instrument(compilation, image, kernel, host_machine(options), cancellation);
        build_entry(compilation);
        raw_string_ostream stream(text);
        compilation.module->print(stream, nullptr);
    });
    return text;
}

}  // namespace cudasim::jit
