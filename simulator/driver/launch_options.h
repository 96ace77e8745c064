// The options of a launch by name: the one place where a member of execution::LaunchOptions meets its name in
// the table of options (options.h), in records and on command lines.
#pragma once

#include <span>
#include <string_view>

#include "simulator/driver/options.h"
#include "simulator/execution/device.h"

namespace cudasim::driver {

struct LaunchOption {
    std::string_view name;
    OptionValue (*get)(const execution::LaunchOptions& options);
    /// @throws OptionError
    void (*set)(execution::LaunchOptions& options, std::string_view name, const OptionValue& value);
};

[[nodiscard]] std::span<const LaunchOption> launch_option_table();

/// Accesses to memory are checked, whatever else is.
void check_memory(execution::LaunchOptions& options);

/// @throws OptionError that lists the names, or the values that the option takes
void set_launch_option(execution::LaunchOptions& options, std::string_view name, const OptionValue& value);

}  // namespace cudasim::driver
