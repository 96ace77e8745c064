// Conditions of breakpoints in one kernel, compiled where a front end can.
//
//   launch begins, breakpoints change ─► Conditions::in(): compiles once for each kernel, condition and
//                                        function that the breakpoint lies in; keeps what it has
//   a thread comes by ─► Condition::test(): the thread's frame record says which function, and which of a
//                        variable's types it has now; the predicate of these says whether to stop
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "debugger/control/evaluator.h"
#include "debugger/control/expression_compiler.h"

namespace cudasim::debugger {

class Condition {
    struct InFunction;

  public:
    enum class Answer : std::uint8_t {
        no,
        yes,
        fails,  ///< it cannot be evaluated
        ask     ///< it is not compiled for this place: the evaluator knows
    };

    /// What most threads need, in one line of the cache: of a function with one variant.
    struct alignas(64) Place {
        static constexpr std::size_t most_flags = 8;
        const InFunction* function = nullptr;  ///< null: the breakpoint is not here
        const Predicate* predicate = nullptr;  ///< null: there are several variants, or none
        std::uint32_t flag_count = 0;
        std::array<std::uint32_t, most_flags> flags{};  ///< Variant::assigned

        /// Whether the predicate decides: its variables have been assigned. If not, Condition::test() does.
        [[nodiscard]] bool decides(const jit::FrameRecord& record) const noexcept {
            const auto* bytes = reinterpret_cast<const std::byte*>(&record);
            for (std::uint32_t i = 0; i < flag_count; ++i)
                if (bytes[flags[i]] == std::byte{0}) return false;
            return true;
        }
    };

    /// On simulated stacks: no locks, no allocations, no exceptions.
    [[nodiscard]] Answer test(const jit::BlockContext& block, std::uint32_t thread) const noexcept;
    /// What decides at all places of a site; without a predicate where there is more than one such thing, or
    /// none. Valid as long as this is.
    [[nodiscard]] Place at_site(const jit::Stops& stops, std::uint32_t site) const;
    /// Why the answer is `fails`.
    [[nodiscard]] std::string failure(const jit::BlockContext& block, std::uint32_t thread) const;
    /// Why there cannot be a stop: the text is no expression, or names what there is not. Else empty.
    [[nodiscard]] const std::string& refusal() const { return refusal_; }
    /// False: the text is no expression at all.
    [[nodiscard]] bool is_expression() const { return is_expression_; }
    /// Whether a predicate decides at every place.
    [[nodiscard]] bool is_compiled() const;
    /// What the kernel's language has against it, although it may mean something to the evaluator. May be
    /// empty.
    [[nodiscard]] const std::string& doubt() const { return doubt_; }
    /// Whether the thread is in a function for which it was made.
    [[nodiscard]] bool is_for(const jit::BlockContext& block, std::uint32_t thread) const noexcept;

  private:
    friend class Conditions;
    /// For variables that have these types.
    struct Variant {
        std::vector<std::uint64_t> assigned;  ///< offsets of bytes in the record, none of which may be 0
        std::shared_ptr<const Predicate> predicate;
    };
    struct InFunction {
        std::vector<Variant> variants;                             ///< empty: not compiled
        std::vector<std::pair<std::string, std::uint64_t>> flags;  ///< of its variables, each type apart
    };
    [[nodiscard]] const Place* place_at(const jit::FrameRecord* record) const noexcept;
    [[nodiscard]] static Place place_in(const InFunction& function);
    [[nodiscard]] static const Variant* variant_of(const InFunction& function,
                                                   const jit::FrameRecord& record) noexcept;

    std::vector<Place> by_place_;  ///< by FrameRecord::place
    std::map<std::uint32_t, InFunction> functions_;
    std::string refusal_, doubt_;
    bool is_expression_ = true;
};

/// Of a session: what has been compiled for its kernels.
class Conditions {
  public:
    static constexpr std::size_t all_functions = ~std::size_t{0};
    /// Any host thread calls it. @param sites where the breakpoint lies in the kernel
    /// @param most_functions nothing is compiled where the sites are in more functions
    [[nodiscard]] std::shared_ptr<const Condition> in(
        const std::shared_ptr<const jit::CompiledKernel>& kernel, const std::string& expression,
        std::span<const std::uint32_t> sites, ExpressionCompiler& compiler,
        std::size_t most_functions = all_functions);

  private:
    static constexpr std::size_t most_kept = 128;
    using Key = std::tuple<const jit::CompiledKernel*, std::string, std::vector<std::uint32_t>>;
    struct Kept {
        std::weak_ptr<const jit::CompiledKernel> kernel;
        std::shared_ptr<const Condition> condition;
    };
    std::mutex mutex_;
    std::map<Key, Kept> kept_;
};

/// Whether a condition holds; where `ok` is false its text says why nobody knows.
struct ConditionResult {
    bool ok = false;
    bool holds = false;
    std::string text;
};

/// Asks the evaluator, which may be null. On the launching thread. @param frame of the thread's location
[[nodiscard]] ConditionResult evaluate_condition(Evaluator* evaluator, execution::StoppedLaunch& launch,
                                                 execution::ThreadRef thread, const std::string& expression,
                                                 std::uint32_t frame = 0);

}  // namespace cudasim::debugger
