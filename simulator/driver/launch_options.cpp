// The table of launch options.
#include "simulator/driver/launch_options.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "simulator/checks/checks.h"

namespace cudasim::driver {

namespace {

using execution::LaunchOptions;

/// The names of an enumeration's values.
template <typename Value>
struct Names;
template <>
struct Names<execution::Policy> {
    static constexpr std::array table{
        std::pair{"forward", execution::Policy::forward}, std::pair{"reverse", execution::Policy::reverse},
        std::pair{"random", execution::Policy::random},   std::pair{"lockstep", execution::Policy::lockstep},
        std::pair{"preempt", execution::Policy::preempt}, std::pair{"pct", execution::Policy::pct},
        std::pair{"starve", execution::Policy::starve}};
};
template <>
struct Names<execution::Carrier> {
    static constexpr std::array table{std::pair{"automatic", execution::Carrier::automatic},
                                      std::pair{"fiber", execution::Carrier::fiber}};
};
template <>
struct Names<execution::Wrap> {
    static constexpr std::array table{std::pair{"allow", execution::Wrap::allow},
                                      std::pair{"warn", execution::Wrap::warn},
                                      std::pair{"error", execution::Wrap::error}};
};

OptionError wrong(std::string_view name, const std::string& accepted) {
    return OptionError("the launch option " + std::string(name) + " is " + accepted);
}

template <typename Value>
void assign(Value& member, std::string_view name, const OptionValue& given) {
    if constexpr (std::is_enum_v<Value>) {
        const auto* text = std::get_if<std::string>(&given);
        std::string known;
        for (const auto& [each, value] : Names<Value>::table) {
            if (text != nullptr && *text == each) {
                member = value;
                return;
            }
            known += (known.empty() ? "" : ", ") + std::string(each);
        }
        throw wrong(name, "one of " + known + (text != nullptr ? ", not '" + *text + "'" : ""));
    } else if constexpr (std::is_same_v<Value, bool>) {
        if (const auto* flag = std::get_if<bool>(&given))
            member = *flag;
        else
            throw wrong(name, "a bool");
    } else if constexpr (std::is_floating_point_v<Value>) {
        const auto* whole = std::get_if<std::uint64_t>(&given);
        const auto* real = std::get_if<double>(&given);
        if (whole == nullptr && (real == nullptr || !std::isfinite(*real) || *real < 0))
            throw wrong(name, "a number that is not negative");
        member = whole != nullptr ? static_cast<Value>(*whole) : *real;
    } else {
        const auto* whole = std::get_if<std::uint64_t>(&given);
        if (whole == nullptr || *whole > std::numeric_limits<Value>::max())
            throw wrong(name, "an integer from 0 to " + std::to_string(std::numeric_limits<Value>::max()));
        member = static_cast<Value>(*whole);
    }
}

template <typename Value>
OptionValue value_of(const Value& member) {
    if constexpr (std::is_enum_v<Value>) {
        for (const auto& [name, value] : Names<Value>::table)
            if (value == member) return std::string(name);
        return std::string();
    } else if constexpr (std::is_same_v<Value, bool>) {
        return member;
    } else if constexpr (std::is_floating_point_v<Value>) {
        return static_cast<double>(member);
    } else {
        return static_cast<std::uint64_t>(member);
    }
}

template <auto Member>
constexpr LaunchOption row(std::string_view name) {
    return {name, [](const LaunchOptions& options) { return value_of(options.*Member); },
            [](LaunchOptions& options, std::string_view option, const OptionValue& value) {
                assign(options.*Member, option, value);
            }};
}

template <auto Member>
constexpr LaunchOption compile_row(std::string_view name) {
    return {name, [](const LaunchOptions& options) { return value_of(options.compile.*Member); },
            [](LaunchOptions& options, std::string_view option, const OptionValue& value) {
                assign(options.compile.*Member, option, value);
            }};
}

constexpr LaunchOption table[] = {
    row<&LaunchOptions::policy>("policy"),
    row<&LaunchOptions::carrier>("carrier"),
    row<&LaunchOptions::wrap>("wrap"),
    row<&LaunchOptions::seed>("seed"),
    row<&LaunchOptions::preemption>("preemption"),
    row<&LaunchOptions::pct_depth>("pct_depth"),
    row<&LaunchOptions::workers>("workers"),
    row<&LaunchOptions::time_limit_seconds>("time_limit"),
    row<&LaunchOptions::raise_float_division>("raise_float_division"),
    row<&LaunchOptions::strict>("strict"),
    row<&LaunchOptions::max_faults>("max_faults"),
    row<&LaunchOptions::cooperative>("cooperative"),
    row<&LaunchOptions::cooperative_by_kernel>("cooperative_by_kernel"),
    {"check",
     [](const LaunchOptions& options) {
         return OptionValue(checks::text_of(checks::checks_of(options.compile.instrumentations)));
     },
     [](LaunchOptions& options, std::string_view option, const OptionValue& value) {
         const auto* text = std::get_if<std::string>(&value);
         const auto wanted = text != nullptr ? checks::checks_from(*text) : std::nullopt;
         if (!wanted) throw wrong(option, std::string(option_named("check").accepts));
         checks::choose(*wanted, options.compile.instrumentations);
     }},
    {"race_model",
     [](const LaunchOptions& options) {
         const bool ptx = checks::race_model_of(options.compile.instrumentations) == checks::RaceModel::ptx;
         return OptionValue(std::string(ptx ? "ptx" : "idiom"));
     },
     [](LaunchOptions& options, std::string_view option, const OptionValue& value) {
         const auto* text = std::get_if<std::string>(&value);
         if (text == nullptr || (*text != "ptx" && *text != "idiom"))
             throw wrong(option, "one of " + std::string(option_named("race_model").accepts));
         checks::choose_race_model(*text == "ptx" ? checks::RaceModel::ptx : checks::RaceModel::idiom,
                                   options.compile.instrumentations);
     }},
    compile_row<&jit::CompileOptions::fma_contraction>("fma"),
    compile_row<&jit::CompileOptions::optimisation>("optimisation"),
};

}  // namespace

std::span<const LaunchOption> launch_option_table() {
    return table;
}

void check_memory(LaunchOptions& options) {
    checks::Checks chosen = checks::checks_of(options.compile.instrumentations);
    chosen.memory = true;
    checks::choose(chosen, options.compile.instrumentations);
}

void set_launch_option(LaunchOptions& options, std::string_view name, const OptionValue& value) {
    const auto* row = std::ranges::find(table, name, &LaunchOption::name);
    if (row != std::end(table)) {
        row->set(options, name, value);
        return;
    }
    const auto names = llvm::map_range(table, [](const LaunchOption& each) { return each.name; });
    throw OptionError("a launch has no option '" + std::string(name) +
                      "'; it has: " + llvm::join(names, ", "));
}

}  // namespace cudasim::driver
