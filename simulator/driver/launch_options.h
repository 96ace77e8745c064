// The options of a launch by name: the one place where a member of execution::LaunchOptions meets its name in
// Python's option table, in records and on command lines.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

#include "simulator/execution/device.h"

namespace cudasim::driver {

/// What an option can be set to. Numbers that count something are uint64, seconds are double.
using OptionValue = std::variant<bool, std::uint64_t, double, std::string>;

/// The user's error: no such option, or a value that it does not take.
struct OptionError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

struct LaunchOption {
    std::string_view name;
    OptionValue (*get)(const execution::LaunchOptions& options);
    /// @throws OptionError
    void (*set)(execution::LaunchOptions& options, std::string_view name, const OptionValue& value);
};

[[nodiscard]] std::span<const LaunchOption> launch_option_table();

/// @throws OptionError that lists the names, or the values that the option takes
void set_launch_option(execution::LaunchOptions& options, std::string_view name, const OptionValue& value);

}  // namespace cudasim::driver
