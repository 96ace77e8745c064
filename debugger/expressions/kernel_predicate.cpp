// See kernel_predicate.h.
#include "debugger/expressions/kernel_predicate.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csetjmp>
#include <cstring>
#include <optional>
#include <vector>

#include "debugger/control/brief_evaluation.h"
#include "simulator/findings/finding.h"
#include "simulator/jit/hooks.h"
#include "simulator/jit/standard_instrumentations.h"
#include "simulator/memory/shadow.h"

namespace cudasim::debugger {
namespace {

/// Of all parameters together, so that they fit onto every simulated stack.
constexpr std::size_t most_parameter_bytes = 1024;
/// What the condition's own code may put onto a simulated stack.
constexpr std::uint64_t most_frame_bytes = 4096;

// The way out of an evaluation that fails. The compiler's own form saves three registers.
#if defined(__x86_64__)
using WayOut = void* [5];
#define CUDASIM_LEAVES(way_out) (__builtin_setjmp(way_out) != 0)
[[noreturn]] void leave(WayOut way_out) {
    __builtin_longjmp(way_out, 1);
}
#else
using WayOut = std::jmp_buf;
#define CUDASIM_LEAVES(way_out) (setjmp(way_out) != 0)
[[noreturn]] void leave(WayOut way_out) {
    std::longjmp(way_out, 1);
}
#endif

/// Why an evaluation has ended without a result.
struct Failure {
    enum class What : std::uint8_t {
        none,
        index,
        access,
        finding,
        exception,
        interrupted,
        other
    } what = What::none;
    std::int64_t index = 0, size = 0;
    std::int32_t axis = 0, number = 0;  ///< number: of the kind of finding, or of the exception
    std::uint64_t address = 0;
};

/// How often somebody wanted evaluations to end.
std::atomic<std::uint64_t> interruptions{0};

/// One evaluation. Compiled code knows it as its thread.
struct Evaluation : jit::ThreadContext {
    WayOut out;
    std::optional<Failure> failure;
    std::uint64_t local_low = 0, local_end = 0;  ///< local arrays whose shadow is open
    std::uint64_t interruptions_before = 0;
};

[[noreturn]] void give_up(jit::ThreadContext* context, const Failure& failure) {
    auto& evaluation = *static_cast<Evaluation*>(context);
    evaluation.failure = failure;
    if (evaluation.local_low != 0)
        memory::Shadow::instance().set(evaluation.local_low & ~std::uint64_t{7},
                                       (evaluation.local_end - evaluation.local_low + 15) & ~std::uint64_t{7},
                                       memory::Access::none);
    leave(evaluation.out);
}

[[noreturn]] void refuse(jit::ThreadContext* context) {
    give_up(context, {.what = Failure::What::other});
}

using jit::FrameRecord;
using jit::ThreadContext;

/// What a condition's code calls (simulator/jit/hooks.def).
struct Hooks {
    static std::int32_t barrier(ThreadContext* context, std::int32_t, std::int32_t, std::uint32_t) {
        refuse(context);
    }
    static std::int32_t named_barrier(ThreadContext* context, std::int32_t, std::uint32_t, std::uint32_t,
                                      std::int32_t, std::uint32_t) {
        refuse(context);
    }
    static std::uint64_t map_shared(ThreadContext* context, std::uint64_t, std::uint32_t, std::uint32_t) {
        refuse(context);
    }
    static std::int32_t shared_rank(ThreadContext* context, std::uint64_t, std::uint32_t) { refuse(context); }
    static std::uint64_t warp(ThreadContext* context, std::int32_t, std::uint32_t, std::uint64_t,
                              std::uint32_t, std::uint32_t) {
        refuse(context);
    }
    static void passes(ThreadContext*, std::uint32_t, std::uint32_t) {}
    static void yield(ThreadContext* context, std::uint32_t) {
        const auto& evaluation = *static_cast<const Evaluation*>(context);
        if (evaluations_are_brief ||
            interruptions.load(std::memory_order_relaxed) != evaluation.interruptions_before)
            give_up(context, {.what = Failure::What::interrupted});
    }
    static void yield_group(ThreadContext* context, std::uint32_t, std::uint32_t site) {
        yield(context, site);
    }
    static void sleep(ThreadContext* context, std::uint32_t) { refuse(context); }
    static void turn(ThreadContext* context, std::uint32_t) { refuse(context); }
    static void index_fault(ThreadContext* context, std::int64_t index, std::int64_t size, std::int32_t axis,
                            std::int32_t, std::uint32_t) {
        give_up(context, {.what = Failure::What::index, .index = index, .size = size, .axis = axis});
    }
    static void index_wraps(ThreadContext*, std::int64_t, std::int64_t, std::int32_t, std::uint32_t) {}
    static void access_check(ThreadContext* context, std::uint64_t address, std::uint64_t bytes,
                             std::uint32_t flags, std::uint32_t) {
        const std::uint64_t alignment = flags >> 8;
        const bool aligned = alignment <= 1 || (address & (alignment - 1)) == 0;
        const bool write = (flags & (jit::access_write | jit::access_atomic)) != 0;
        if (aligned && memory::Shadow::instance().allows(address, bytes, write)) return;
        give_up(context, {.what = Failure::What::access, .address = address});
    }
    static void fault(ThreadContext* context, std::int32_t kind, std::uint32_t) {
        give_up(context, {.what = Failure::What::finding, .number = kind});
    }
    static void raise(ThreadContext* context, std::int32_t exception, std::uint32_t) {
        give_up(context, {.what = Failure::What::exception, .number = exception});
    }
    static void exit(ThreadContext* context, std::uint32_t) { refuse(context); }
    static void float_division(ThreadContext*, std::uint32_t) {}
    static void shift_range(ThreadContext*, std::uint32_t) {}
    static void float_to_integer(ThreadContext*, std::uint32_t) {}
    static void not_finite(ThreadContext*, std::uint32_t) {}
    static void stack_overflow(ThreadContext* context, std::uint32_t) { refuse(context); }
    static std::uint64_t heap_allocate(ThreadContext* context, std::uint64_t, std::uint32_t) {
        refuse(context);
    }
    static void heap_free(ThreadContext* context, std::uint64_t, std::uint32_t) { refuse(context); }
    static void assert_fail(ThreadContext* context, std::uint64_t, std::uint64_t, std::uint64_t,
                            std::uint32_t, std::uint32_t) {
        refuse(context);
    }
    static std::int32_t vprintf(ThreadContext* context, std::uint64_t, std::uint64_t, std::uint32_t) {
        refuse(context);
    }
    static std::int32_t is_local(ThreadContext*, std::uint64_t, std::uint32_t) { return 0; }
    static void bad_call(ThreadContext* context, std::uint64_t, std::uint32_t) { refuse(context); }
    static void local_begin(ThreadContext* context, std::uint64_t address, std::uint64_t bytes,
                            std::uint32_t) {
        auto& evaluation = *static_cast<Evaluation*>(context);
        memory::Shadow::instance().set(address, bytes, memory::Access::read_write);
        if (evaluation.local_low == 0 || address < evaluation.local_low) evaluation.local_low = address;
        evaluation.local_end = std::max(evaluation.local_end, address + bytes);
    }
    static void local_end(ThreadContext*, std::uint64_t address, std::uint64_t bytes, std::uint32_t) {
        memory::Shadow::instance().set(address, (bytes + 7) & ~std::uint64_t{7}, memory::Access::none);
    }
    static void stop(ThreadContext*, FrameRecord*, std::uint32_t, std::uint32_t) {}
    static void watched_access(ThreadContext*, std::uint64_t, std::uint64_t, std::uint32_t, std::uint32_t) {}
    static std::uint64_t clock(ThreadContext*, std::uint64_t now, std::uint32_t) { return now; }
    static void enter(ThreadContext*, FrameRecord*, std::uint32_t) {}
    static void leave(ThreadContext*, FrameRecord*, std::uint32_t) {}
    static void returned(ThreadContext*, const void*, std::uint32_t, std::uint32_t) {}
};

std::span<const jit::HookAddress> hooks() {
    static const std::array all = {
#define HOOK(identifier, result, returns, parameters) \
    jit::HookAddress{"cudasim_hook_" #identifier, reinterpret_cast<void*>(&Hooks::identifier)},
#include "simulator/jit/hooks.def"
#undef HOOK
    };
    return all;
}

/// Bytes that go from the frame record to the parameters.
struct Run {
    std::uint64_t from = 0;
    std::uint32_t to = 0, bytes = 0;
};

/// What a parameter buffer begins with: an array of one element, without dimensions.
struct ResultArray {
    std::byte* data;
};

/// The kernel of an expression, and how it is called.
class ExpressionCall {
  public:
    ExpressionCall(std::shared_ptr<const jit::CompiledKernel> kernel, std::vector<Run> runs, bool by_thread)
        : kernel_(std::move(kernel)),
          entry_(kernel_->entry),
          runs_(std::move(runs)),
          by_thread_(by_thread),
          can_fail_(!kernel_->sites.empty()),
          is_plain_(!can_fail_ && std::ranges::all_of(runs_, [](const Run& run) {
              return run.bytes == sizeof(std::uint64_t) || run.bytes == sizeof(std::uint32_t);
          })) {}

    /// Whether holds() may be called.
    [[nodiscard]] bool is_plain() const noexcept { return is_plain_; }

    /// The value of an expression that cannot fail, and whose value is one byte.
    [[nodiscard]] bool holds(const std::byte* from, const jit::BlockContext& block,
                             std::uint32_t thread) const noexcept {
        alignas(16) std::byte parameters[most_parameter_bytes];
        std::byte result{};
        begin_parameters(parameters, &result);
        for (const Run& run : runs_) {  // of known sizes, so that nothing is called
            if (run.bytes == sizeof(std::uint64_t))
                std::memcpy(parameters + run.to, from + run.from, sizeof(std::uint64_t));
            else
                std::memcpy(parameters + run.to, from + run.from, sizeof(std::uint32_t));
        }
        jit::BlockContext own;
        copy_block(own, block, parameters);
        ThreadContext context;
        begin_thread(context, own, thread);
        entry_(&context);
        return result != std::byte{0};
    }

    /// @param from what the runs begin in
    /// @return whether `result` has the value; if not, `failure` says why
    [[gnu::noinline]] bool evaluate(const std::byte* from, const jit::BlockContext& block,
                                    std::uint32_t thread, std::span<std::byte> result,
                                    Failure& failure) const noexcept {
        alignas(16) std::byte parameters[most_parameter_bytes];
        begin_parameters(parameters, result.data());
        for (const Run& run : runs_) std::memcpy(parameters + run.to, from + run.from, run.bytes);
        jit::BlockContext own;
        copy_block(own, block, parameters);
        Evaluation evaluation;
        begin_thread(evaluation, own, thread);
        evaluation.interruptions_before = interruptions.load(std::memory_order_relaxed);
        if (!can_fail_) {
            entry_(&evaluation);
        } else if (!runs_to_end(entry_, evaluation)) {
            failure = *evaluation.failure;
            return false;
        }
        return true;
    }

    [[nodiscard]] std::string text_of(const Failure& failure) const {
        switch (failure.what) {
            case Failure::What::none:
                return "it can be evaluated now";
            case Failure::What::index:
                return "IndexError: index " + std::to_string(failure.index) + " is out of bounds for axis " +
                       std::to_string(failure.axis) + " with size " + std::to_string(failure.size);
            case Failure::What::access:
                return "it reads memory that the thread may not access";
            case Failure::What::exception: {
                const auto& [type, message] =
                    kernel_->exceptions.at(static_cast<std::size_t>(failure.number));
                return message.empty() ? type : type + ": " + message;
            }
            case Failure::What::finding: {
                const auto& kind = findings::info(static_cast<findings::FindingKind>(failure.number));
                const std::string exception(kind.python_exception);
                return (exception.empty() ? "" : exception + ": ") + std::string(kind.name);
            }
            case Failure::What::interrupted:
                return std::string(interrupted_text);
            default:
                return "it does what an expression must not do";
        }
    }

  private:
    /// False: it has been left. A function of its own, because one that control comes back to keeps nothing
    /// in registers.
    [[gnu::noinline]] static bool runs_to_end(jit::EntryFunction entry, Evaluation& evaluation) noexcept {
        if (CUDASIM_LEAVES(evaluation.out)) return false;
        entry(&evaluation);
        return true;
    }

    static void begin_parameters(std::byte* parameters, std::byte* result) noexcept {
        const ResultArray array{result};
        std::memcpy(parameters, &array, sizeof array);
    }

    static void copy_block(jit::BlockContext& own, const jit::BlockContext& block,
                           const std::byte* parameters) noexcept {
        std::memcpy(&own, &block, offsetof(jit::BlockContext, shared_base));
        own.shared_base = block.shared_base;
        own.shadow_base = block.shadow_base;
        own.captured = block.captured;  // written in front of calls that end the evaluation
        own.parameters = parameters;
    }

    void begin_thread(ThreadContext& context, const jit::BlockContext& own,
                      std::uint32_t thread) const noexcept {
        context.block = &own;
        context.thread = by_thread_ ? thread : 0;
        context.end = context.thread + 1;
        context.fuel = jit::fuel_per_slice;
        context.stack_limit = 0;
    }

    std::shared_ptr<const jit::CompiledKernel> kernel_;
    jit::EntryFunction entry_;
    std::vector<Run> runs_;
    bool by_thread_;  ///< the expression asks which thread it is
    bool can_fail_;   ///< it calls hooks
    bool is_plain_;   ///< it does not, and its parameters have 4 or 8 bytes
};

class KernelPredicate final : public Predicate {
  public:
    explicit KernelPredicate(ExpressionCall call) : call_(std::move(call)) {}

    [[nodiscard]] Truth test(const FrameRecord& record, const jit::BlockContext& block,
                             std::uint32_t thread) const noexcept override {
        if (call_.is_plain())
            return call_.holds(reinterpret_cast<const std::byte*>(&record), block, thread) ? Truth::yes
                                                                                           : Truth::no;
        Failure failure;
        return evaluate(record, block, thread, failure);
    }

    [[nodiscard]] std::string reason(const FrameRecord& record, const jit::BlockContext& block,
                                     std::uint32_t thread) const override {
        Failure failure;
        (void)evaluate(record, block, thread, failure);
        return call_.text_of(failure);
    }

  private:
    Truth evaluate(const FrameRecord& record, const jit::BlockContext& block, std::uint32_t thread,
                   Failure& failure) const noexcept {
        std::byte result{};
        if (!call_.evaluate(reinterpret_cast<const std::byte*>(&record), block, thread, {&result, 1},
                            failure))
            return Truth::unknown;
        return result != std::byte{0} ? Truth::yes : Truth::no;
    }

    ExpressionCall call_;
};

class CompiledExpression final : public KernelExpression {
  public:
    explicit CompiledExpression(ExpressionCall call) : call_(std::move(call)) {}

    [[nodiscard]] std::string value(std::span<const std::byte> variables, const jit::BlockContext& block,
                                    std::uint32_t thread, std::span<std::byte> result) const override {
        Failure failure;
        if (call_.evaluate(variables.data(), block, thread, result, failure)) return {};
        return call_.text_of(failure);
    }

  private:
    ExpressionCall call_;
};

/// Which bytes of the records the parameters are; nothing where the kernel's parameters are others.
std::optional<std::vector<Run>> runs_of(const image::Kernel& kernel,
                                        std::span<const VariablePlace> variables) {
    std::vector<Run> runs;
    const VariablePlace* current = nullptr;
    std::uint64_t offset = 0;  // in the current variable
    std::uint32_t result_bytes = 0;
    for (const image::Parameter& parameter : kernel.parameters) {
        const std::string_view name = std::string_view(parameter.name).substr(0, parameter.name.find('.'));
        if (name == result_parameter) {
            result_bytes = parameter.offset + parameter.size;
            continue;
        }
        if (current == nullptr || current->name != name) {
            const auto found = std::ranges::find(variables, name, &VariablePlace::name);
            if (found == variables.end()) return std::nullopt;
            current = &*found;
            offset = 0;
        }
        offset = (offset + parameter.alignment - 1) / parameter.alignment * parameter.alignment;
        if (offset + parameter.size > current->bytes) return std::nullopt;
        runs.push_back({current->offset + offset, parameter.offset, parameter.size});
        offset += parameter.size;
    }
    if (result_bytes != sizeof(ResultArray) || kernel.parameter_bytes > most_parameter_bytes)
        return std::nullopt;
    return runs;
}

std::string what_is_wrong_with(const jit::CompiledKernel& kernel) {
    if (kernel.waits || !kernel.resume_points.empty()) return "it waits";
    if (kernel.prints) return "it prints";
    if (kernel.recursive || kernel.frame_bytes > most_frame_bytes) return "it needs too much stack";
    if (kernel.static_shared_bytes != 0 || (kernel.globals && kernel.globals->bytes != 0))
        return "it has memory of its own";
    if (kernel.uses_shadow && memory::Shadow::instance().base() == nullptr)
        return "there is no shadow memory";
    return {};
}

std::optional<ExpressionCall> compiled_call(const image::KernelImage& image, std::string_view kernel,
                                            std::span<const VariablePlace> variables, bool by_thread,
                                            std::string& why) {
    const image::Kernel* description = image.find(kernel);
    auto runs = description != nullptr ? runs_of(*description, variables) : std::nullopt;
    if (!runs) {
        why = "its variables are not passed as they lie in memory";
        return std::nullopt;
    }
    jit::CompileOptions options;
    options.coroutines = options.lane_coroutines = false;
    const auto compiled = jit::compile_kernel(image, kernel, options, hooks());
    why = what_is_wrong_with(*compiled);
    if (!why.empty()) return std::nullopt;
    return ExpressionCall(compiled, std::move(*runs), by_thread);
}

}  // namespace

void interrupt_compiled_evaluations() {
    ++interruptions;
}

std::shared_ptr<const Predicate> kernel_predicate(const image::KernelImage& image, std::string_view kernel,
                                                  std::span<const VariablePlace> variables, bool by_thread,
                                                  std::string& why) {
    auto call = compiled_call(image, kernel, variables, by_thread, why);
    return call ? std::make_shared<KernelPredicate>(std::move(*call)) : nullptr;
}

std::shared_ptr<const KernelExpression> kernel_expression(const image::KernelImage& image,
                                                          std::string_view kernel,
                                                          std::span<const VariablePlace> variables,
                                                          bool by_thread, std::string& why) {
    auto call = compiled_call(image, kernel, variables, by_thread, why);
    return call ? std::make_shared<CompiledExpression>(std::move(*call)) : nullptr;
}

}  // namespace cudasim::debugger
