// See cpp_evaluator.h.
#include "debugger/expressions/cpp_evaluator.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "debugger/expressions/cpp_nodes.h"
#include "debugger/values/type_names.h"
#include "debugger/values/value.h"
#include "simulator/memory/shadow.h"

namespace cudasim::debugger {
namespace {

using execution::StoppedLaunch;
using execution::ThreadRef;
using findings::VariableValue;

/// So that it fits onto every simulated stack.
constexpr std::size_t deepest_condition = 20;

std::uint32_t axis_of(const findings::Dim3& point, unsigned axis) {
    return std::array{point.x, point.y, point.z}[axis];
}

/// Of a stopped thread: the variables that are assigned in one of its functions.
class StoppedEnvironment final : public CppEnvironment, public Memory {
  public:
    StoppedEnvironment(StoppedLaunch& launch, ThreadRef thread, std::uint32_t frame)
        : launch_(launch), thread_(thread), coordinate_(launch.coordinate(thread)) {
        for (VariableValue& variable : launch.variables(thread))
            if (variable.frame == frame && variable.known) variables_.push_back(std::move(variable));
        std::ranges::reverse(variables_);  // of several with one name the last
        for (const VariableValue& variable : variables_) {
            TypePtr type = types_.parse(variable.type);
            if (type->bytes > variable.bytes.size()) type = types_.parse("{}");
            known_.push_back({variable.name, std::move(type)});
        }
    }

    [[nodiscard]] const std::vector<CppVariable>& known() const { return known_; }
    [[nodiscard]] VariableValue& at(std::size_t index) { return variables_[index]; }

    [[nodiscard]] const std::byte* variable(std::size_t index) const noexcept override {
        return variables_[index].bytes.data();
    }
    [[nodiscard]] std::uint64_t address(std::size_t /*index*/) const noexcept override { return 0; }
    [[nodiscard]] bool read(std::uint64_t address, std::byte* target,
                            std::size_t bytes) const noexcept override {
        return launch_.read(thread_, address, {target, bytes});
    }
    [[nodiscard]] bool read(std::uint64_t address, std::span<std::byte> target) const override {
        return launch_.read(thread_, address, target);
    }
    [[nodiscard]] std::uint32_t special(CppSpecial which, unsigned axis) const noexcept override {
        const auto& configuration = launch_.launch().configuration;
        switch (which) {
            case CppSpecial::thread_index:
                return axis_of(coordinate_.tid, axis);
            case CppSpecial::block_index:
                return axis_of(coordinate_.ctaid, axis);
            case CppSpecial::block_extent:
                return axis_of(configuration.block, axis);
            case CppSpecial::grid_extent:
                return axis_of(configuration.grid, axis);
            case CppSpecial::lane:
                return thread_.thread % jit::warp_size;
            default:
                return jit::warp_size;
        }
    }

  private:
    StoppedLaunch& launch_;
    ThreadRef thread_;
    findings::ThreadCoordinate coordinate_;
    std::vector<VariableValue> variables_;
    std::vector<CppVariable> known_;
    Types types_;
};

/// @throws ExpressionError
void check(const CppFault& fault) {
    if (fault.kind != CppFault::Kind::none) throw ExpressionError(fault.text());
}

/// @throws ExpressionError
Value value_of(const CppProgram& program, StoppedEnvironment& environment) {
    if (program.is_scalar()) {
        CppScalar scalar;
        check(program.value(environment, scalar));
        return value_from(program.type(), bytes_of(scalar, *program.type()));
    }
    CppPlace place;
    check(program.place(environment, place));
    if (place.variable == CppPlace::in_memory) return value_at(program.type(), place.offset, environment);
    const std::span<const std::byte> bytes = environment.at(place.variable).bytes;
    return value_from(program.type(), bytes.subspan(place.offset, program.type()->bytes));
}

Evaluation described(const CppProgram& program, StoppedEnvironment& environment) {
    Evaluation result;
    const Value value = value_of(program, environment);
    if (!value.unavailable.empty()) throw ExpressionError(value.unavailable);
    result.ok = true;
    result.text = text_of(value, environment);
    result.type = type_text(value);
    if (program.is_scalar())
        check(program.truth(environment, result.truth));
    else
        result.truth_doubt = "a value of type " + result.type + " is neither true nor false";
    return result;
}

/// The bits around a bit-field stay as they are. @throws ExpressionError where they cannot be read
void keep_neighbours(std::vector<std::byte>& bytes, const Type& type, const CppPlace& place,
                     StoppedEnvironment& environment) {
    std::uint64_t number = 0, word = 0;
    std::memcpy(&number, bytes.data(), bytes.size());
    if (place.variable != CppPlace::in_memory)
        std::memcpy(&word, environment.at(place.variable).bytes.data() + place.offset, bytes.size());
    else if (!environment.read(place.offset, reinterpret_cast<std::byte*>(&word), bytes.size()))
        throw ExpressionError("the bits around it cannot be read");
    word = with_bit_field(type, word, from_bit_field(type, number));
    std::memcpy(bytes.data(), &word, bytes.size());
}

/// What an expression or assignment gives, or why it gives nothing.
template <typename Work>
Evaluation attempt(const StoppedLaunch& launch, Work&& work) {
    try {
        return work();
    } catch (const ExpressionError& error) {
        Evaluation failed;
        failed.text = error.what();
        const auto& kernel = launch.launch().kernel;
        if (!kernel || !kernel->is_cplusplus)
            failed.text += " (expressions are those of C++ here: this server has no Python)";
        return failed;
    }
}

/// Where a condition's variables are: those of the frame record, and the addresses of static ones.
struct ConditionVariable {
    jit::PartSource source = jit::PartSource::record;
    std::uint64_t offset = 0;
};
constexpr std::size_t most_static_variables = 8;

/// Of a thread that comes by. On simulated stacks.
class RecordEnvironment final : public CppEnvironment {
  public:
    RecordEnvironment(const std::vector<ConditionVariable>& variables, const jit::FrameRecord& record,
                      const jit::BlockContext& block, std::uint32_t thread)
        : record_(record), block_(block), thread_(thread), variables_(variables) {
        std::size_t next = 0;
        for (const ConditionVariable& each : variables) {
            if (each.source == jit::PartSource::record) continue;
            const bool is_shared = each.source == jit::PartSource::shared;
            addresses_[next++] =
                reinterpret_cast<std::uint64_t>(is_shared ? block.shared_base : block.globals_base) +
                each.offset;
        }
    }
    [[nodiscard]] const std::byte* variable(std::size_t index) const noexcept override {
        if (variables_[index].source == jit::PartSource::record)
            return reinterpret_cast<const std::byte*>(&record_) + variables_[index].offset;
        const auto position = std::count_if(
            variables_.begin(), variables_.begin() + static_cast<std::ptrdiff_t>(index),
            [](const ConditionVariable& each) { return each.source != jit::PartSource::record; });
        return reinterpret_cast<const std::byte*>(&addresses_[static_cast<std::size_t>(position)]);
    }
    [[nodiscard]] std::uint64_t address(std::size_t index) const noexcept override {
        return reinterpret_cast<std::uint64_t>(variable(index));
    }
    [[nodiscard]] bool read(std::uint64_t address, std::byte* target,
                            std::size_t bytes) const noexcept override {
        const memory::Shadow& shadow = memory::Shadow::instance();
        if (shadow.base() == nullptr || !shadow.allows(address, bytes, false)) return false;
        std::memcpy(target, reinterpret_cast<const void*>(address), bytes);
        return true;
    }
    [[nodiscard]] std::uint32_t special(CppSpecial which, unsigned axis) const noexcept override {
        switch (which) {
            case CppSpecial::thread_index:
                return axis == 0   ? thread_ % block_.ntid[0]
                       : axis == 1 ? thread_ / block_.ntid[0] % block_.ntid[1]
                                   : thread_ / block_.ntid[0] / block_.ntid[1];
            case CppSpecial::block_index:
                return block_.ctaid[axis];
            case CppSpecial::block_extent:
                return block_.ntid[axis];
            case CppSpecial::grid_extent:
                return block_.nctaid[axis];
            case CppSpecial::lane:
                return thread_ % jit::warp_size;
            default:
                return jit::warp_size;
        }
    }

  private:
    const jit::FrameRecord& record_;
    const jit::BlockContext& block_;
    std::uint32_t thread_;
    const std::vector<ConditionVariable>& variables_;
    std::array<std::uint64_t, most_static_variables> addresses_{};
};

class CppPredicate final : public Predicate {
  public:
    CppPredicate(CppProgram program, std::vector<ConditionVariable> variables)
        : program_(std::move(program)), variables_(std::move(variables)) {}

    [[nodiscard]] Truth test(const jit::FrameRecord& record, const jit::BlockContext& block,
                             std::uint32_t thread) const noexcept override {
        bool truth = false;
        const CppFault fault = program_.truth(RecordEnvironment(variables_, record, block, thread), truth);
        // The thread's own memory, which only the slow way knows.
        if (fault.kind == CppFault::Kind::memory) return Truth::ask;
        if (fault.kind != CppFault::Kind::none) return Truth::unknown;
        return truth ? Truth::yes : Truth::no;
    }
    [[nodiscard]] std::string reason(const jit::FrameRecord& record, const jit::BlockContext& block,
                                     std::uint32_t thread) const override {
        bool truth = false;
        return program_.truth(RecordEnvironment(variables_, record, block, thread), truth).text();
    }

  private:
    CppProgram program_;
    std::vector<ConditionVariable> variables_;
};

}  // namespace

Evaluation CppEvaluator::evaluate(StoppedLaunch& launch, ThreadRef thread, std::uint32_t frame,
                                  const std::string& expression) {
    return attempt(launch, [&] {
        StoppedEnvironment environment(launch, thread, frame);
        return described(CppProgram(expression, environment.known()), environment);
    });
}

Evaluation CppEvaluator::assign(StoppedLaunch& launch, ThreadRef thread, std::uint32_t frame,
                                const std::string& target, const std::string& value) {
    return attempt(launch, [&] {
        StoppedEnvironment environment(launch, thread, frame);
        const CppProgram to(target, environment.known()), from(value, environment.known());
        if (!to.is_place()) throw ExpressionError("'" + target + "' is nothing that can be assigned to");
        if (!from.is_scalar()) throw ExpressionError("'" + value + "' is no number");
        CppScalar scalar;
        CppPlace place;
        check(from.value(environment, scalar));
        check(to.place(environment, place));
        std::vector<std::byte> bytes = converted_bytes(scalar, from.type(), to.type());
        if (to.type()->bits != 0) keep_neighbours(bytes, *to.type(), place, environment);
        bool done = false;
        if (place.variable == CppPlace::in_memory) {
            done = launch.write(thread, place.offset, bytes);
        } else {
            VariableValue& variable = environment.at(place.variable);
            std::ranges::copy(bytes, variable.bytes.begin() + static_cast<std::ptrdiff_t>(place.offset));
            done = launch.set_variable(thread, frame, variable.name, variable.bytes);
        }
        if (!done) throw ExpressionError("'" + target + "' cannot be set here");
        StoppedEnvironment after(launch, thread, frame);
        return described(CppProgram(target, after.known()), after);
    });
}

ExpressionNames CppExpressionCompiler::names(const std::string& expression,
                                             const findings::SourceLocation& /*place*/,
                                             std::span<const std::string> types) {
    ExpressionNames result;
    try {
        Types parsed;
        std::vector<TypePtr> all;
        for (const std::string& type : types) all.push_back(parsed.parse(type));
        for (std::string& name : names_in_cpp(expression)) {
            const bool known = is_special_name(name) || enumerator_in(all, name) || type_in(all, name);
            result.names.push_back({std::move(name), known});
        }
    } catch (const ExpressionError& error) {
        result.error = error.what();
    }
    return result;
}

std::shared_ptr<const Predicate> CppExpressionCompiler::compile(const std::string& expression,
                                                                std::span<const VariablePlace> variables,
                                                                const findings::SourceLocation& /*place*/,
                                                                std::string& error) {
    try {
        Types types;
        std::vector<CppVariable> known;
        std::vector<ConditionVariable> places;
        std::size_t static_variables = 0;
        for (const VariablePlace& variable : variables) {
            known.push_back({variable.name, types.parse(variable.type)});
            places.push_back({variable.source, variable.offset});
            static_variables += variable.source == jit::PartSource::record ? 0 : 1;
            if (known.back().type->bytes > variable.bytes)
                throw ExpressionError("the size of '" + variable.name + "' is not known");
        }
        if (static_variables > most_static_variables) return nullptr;
        CppProgram program(expression, std::move(known));
        if (!program.is_scalar()) throw ExpressionError("it is neither true nor false");
        if (program.depth() > deepest_condition) throw ExpressionError("it is nested too deeply");
        return std::make_shared<CppPredicate>(std::move(program), std::move(places));
    } catch (const ExpressionError& refusal) {
        error = refusal.what();
        return nullptr;
    }
}

}  // namespace cudasim::debugger
