// The table of options: what a user can set about simulation, the same for every front end. Python's options,
// the arguments of `cudasim run` and of pytest, and docs/options.md are made from it
// (frontend/python/cudasim/_option_table.py is a copy, so that command lines are read without loading the
// engine); a program without Python reads options here.
//
// Options of launches have members in execution::LaunchOptions (launch_options.h);
// the others are the front end's.
#pragma once

#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

namespace cudasim::driver {

/// What an option can be set to. Numbers that count something are uint64, seconds are double.
using OptionValue = std::variant<bool, std::uint64_t, double, std::string>;

/// The user's error: no such option, or a value that it does not take.
struct OptionError : std::invalid_argument {
    using std::invalid_argument::invalid_argument;
};

/// What an option takes. The rules for texts are those of Python's int() and float(),
/// without digits of other scripts.
enum class OptionKind : std::uint8_t {
    choice,        ///< one of the words that Option::accepts lists, separated by ", "
    whole_number,  ///< from Option::lowest to Option::highest
    seconds,       ///< a real number from 0 to Option::highest
    toggle,        ///< 1, true, yes, on; 0, false, no, off, in any case
    size,          ///< bytes, at most Option::highest, also as 1.5G, 64MiB, 10kb
    path,          ///< of the file system; empty for none
    devices,       ///< names of device profiles or paths of files, separated by commas (docs/devices.md)
    checks,        ///< words of checks.h, separated by commas; what they mean together
    debugger,      ///< connect:PATH of a Unix socket; empty for none (docs/debug_protocol.md)
    libdevice,     ///< own, auto, or the path of a file
};

/// One row of the table.
struct Option {
    std::string_view name;  ///< as in Python; --time-limit and CUDASIM_TIME_LIMIT are made from time_limit
    std::uint64_t lowest = 0, highest = 0;  ///< of numbers
    std::string_view default_text;          ///< parse_option() takes it
    std::string_view default_from;          ///< why this default
    std::string_view accepts;               ///< the values, for people
    std::string_view help;
    OptionKind kind;
    bool of_the_device = false;  ///< a device is made with it, and cannot get another value afterwards
};

[[nodiscard]] std::span<const Option> option_table();

/// @throws OptionError that lists the names
[[nodiscard]] const Option& option_named(std::string_view name);

/// CUDASIM_TIME_LIMIT of time_limit.
[[nodiscard]] std::string environment_variable(const Option& option);

/// Name of the kind as in _option_table.py.
[[nodiscard]] std::string_view kind_name(OptionKind kind);

/// @param where the text comes from, for the message
/// @throws OptionError naming the place, the text and what the option takes
[[nodiscard]] OptionValue parse_option(const Option& option, std::string_view text, std::string_view where);

struct OptionInForce {
    OptionValue value;
    std::string source;  ///< for people: "environment variable CUDASIM_SEED", "default (rule E6)"
};

/// The environment's value; the default where the variable is not set or empty. @throws OptionError
[[nodiscard]] OptionInForce option_from_environment(const Option& option);

}  // namespace cudasim::driver
