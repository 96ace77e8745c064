// The table of options, and how their texts are read.
#include "simulator/driver/options.h"

#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/StringExtras.h>
#include <llvm/ADT/StringSwitch.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <optional>

#include "simulator/checks/checks.h"

namespace cudasim::driver {

namespace {

using checks::checks_from;
using checks::text_of;

constexpr std::uint64_t most_bytes = std::uint64_t{64} << 40;

constexpr Option table[] = {
    {
        .name = "mode",
        .default_text = "auto",
        .default_from = "design.md section 7",
        .accepts = "auto, native, python",
        .help = "How kernels run: compiled where they can be, else in CPython; compiled or not at all; "
                "all in CPython.",
        .kind = OptionKind::choice,
    },
    {
        .name = "workers",
        .highest = 1'024,
        .default_text = "0",
        .default_from = "rule E7: all cores",
        .accepts = "a number from 0 to 1024; 0 is one per core",
        .help = "Host threads that blocks are spread over; more than four per core (or eight) have no use "
                "and are not started. Schedules are repeatable with 1.",
        .kind = OptionKind::whole_number,
    },
    {
        .name = "policy",
        .default_text = "forward",
        .default_from = "rule E6",
        .accepts = "forward, reverse, random, lockstep, preempt, pct, starve",
        .help =
            "The order in which threads and blocks get their turn. Under the last four threads take turns "
            "between their accesses to memory, too (docs/checking.md).",
        .kind = OptionKind::choice,
    },
    {
        .name = "seed",
        .highest = std::numeric_limits<std::uint64_t>::max(),
        .default_text = "0",
        .default_from = "any will do",
        .accepts = "a number from 0 to 2^64 - 1",
        .help =
            "With policies random, preempt, pct and starve: another seed, another order; the same seed and "
            "one worker, the same run.",
        .kind = OptionKind::whole_number,
    },
    {
        .name = "preemption",
        .highest = 1,
        .default_text = "0.125",
        .default_from = "some turns in each run between two barriers",
        .accepts = "a number from 0 to 1",
        .help = "With policy preempt: how likely a thread loses its turn at an access to memory.",
        .kind = OptionKind::seconds,
    },
    {
        .name = "pct_depth",
        .lowest = 1,
        .highest = 16,
        .default_text = "3",
        .default_from = "most bugs need fewer ordered accesses",
        .accepts = "a number from 1 to 16",
        .help = "With policy pct: a thread falls behind all others at so many accesses of a block, less one.",
        .kind = OptionKind::whole_number,
    },
    {
        .name = "carrier",
        .default_text = "automatic",
        .default_from = "rule E1",
        .accepts = "automatic, fiber",
        .help = "What carries a simulated thread: coroutines or a loop over threads where they can, or "
                "always a fiber each.",
        .kind = OptionKind::choice,
    },
    {
        .name = "time_limit",
        .highest = 1'000'000'000,
        .default_text = "0",
        .default_from = "no limit, as on a GPU without a display",
        .accepts = "seconds, at most 1000000000; 0 is none",
        .help = "A launch that runs longer is stopped and reported with where its threads were.",
        .kind = OptionKind::seconds,
    },
    {
        .name = "strict",
        .default_text = "0",
        .default_from = "rule C4: hardware lets early exits pass",
        .accepts = "1, 0",
        .help = "Threads that end while others of their block wait at a barrier are an error, not a "
                "warning.",
        .kind = OptionKind::toggle,
    },
    {
        .name = "progress",
        .default_text = "1",
        .default_from = "two seconds are longer than one waits without wondering",
        .accepts = "1, 0",
        .help = "A launch of more than two seconds shows how far it is: a bar on a terminal and in a "
                "notebook, else a line a minute on the standard error output.",
        .kind = OptionKind::toggle,
    },
    {
        .name = "max_faults",
        .lowest = 1,
        .highest = 1'000'000'000,
        .default_text = "1000",
        .default_from = "simulator/execution/device.h",
        .accepts = "a number from 1 to 1000000000",
        .help = "A launch ends when this many threads have faulted.",
        .kind = OptionKind::whole_number,
    },
    {
        .name = "raise_float_division",
        .default_text = "0",
        .default_from = "rule C3: IEEE, as hardware does",
        .accepts = "1, 0",
        .help = "Float division by zero raises ZeroDivisionError, as debug=True makes a kernel do.",
        .kind = OptionKind::toggle,
    },
    {
        .name = "wrap",
        .default_text = "allow",
        .default_from = "Python's and Numba's rule",
        .accepts = "allow, warn, error",
        .help = "Negative indices of arrays, which count from the end: v[i] = u[i - 1] takes the last "
                "element where i is 0. warn reports each line that has them with the threads, error ends "
                "the thread. Literals such as x[-1] are meant and never reported. debug=True does not "
                "change it.",
        .kind = OptionKind::choice,
    },
    {
        .name = "deferred",
        .default_text = "0",
        .default_from = "rule V7: a fault is raised at the launch line",
        .accepts = "1, 0",
        .help = "Launches, copies and callbacks in streams wait, as they may on a GPU, until the host "
                "synchronises; then their faults are raised, naming the line of the launch.",
        .kind = OptionKind::toggle,
    },
    {
        .name = "check",
        .default_text = "default",
        .default_from = "rules C1 and C4: what costs little",
        .accepts =
            "none, default (memory, sync), all, or a list of memory, races, init, sync, leaks, arithmetic",
        .help =
            "What kernels are checked for. memory: every access that an index check has not covered. "
            "races: two threads access the same memory, one of them writes, and nothing orders them "
            "(docs/checking.md). init: values that nobody wrote are used. leaks: memory of the driver that "
            "is "
            "never given back, and its calls that fail. arithmetic, which is not among all: shifts by the "
            "width or more, floats that no integer holds, the first NaN or infinity. sync: barriers and warp "
            "operations that do not meet, always on.",
        .kind = OptionKind::checks,
    },
    {
        .name = "race_model",
        .default_text = "idiom",
        .default_from = "what CUDA's programming guide and its samples rely on",
        .accepts = "idiom, ptx",
        .help = "What orders threads of different blocks. idiom: who sees the value of an atomic operation "
                "in front of which there was a fence knows what was before the fence. ptx: only with a fence "
                "of its own, as the PTX memory model has it.",
        .kind = OptionKind::choice,
    },
    {
        .name = "fma",
        .default_text = "0",
        .default_from = "rule V5: results the same on every host",
        .accepts = "1, 0",
        .help = "Fuse multiplications and additions where the kernel's code allows it. PTX is fused "
                "unless this is 0, as the GPU's compiler does.",
        .kind = OptionKind::toggle,
    },
    {
        .name = "gpu",
        .default_text = "off",
        .default_from = "nothing of CUDA is loaded unasked",
        .accepts = "off, compare",
        .help = "compare: every launch also runs on a real GPU, in a process of its own, and results that "
                "differ raise cudasim.GpuDifference (docs/gpu.md). The program goes on with the simulator's. "
                "Unless they are "
                "set, fma is then 1 and libdevice is auto.",
        .kind = OptionKind::choice,
    },
    {
        .name = "gpu_time_limit",
        .highest = 1000000,
        .default_text = "60",
        .default_from = "longer than most kernels take",
        .accepts = "seconds, at most 1000000; 0 is none",
        .help = "Most seconds that a kernel may run on the real GPU.",
        .kind = OptionKind::seconds,
    },
    {
        .name = "libdevice",
        .default_text = "own",
        .default_from = "rule V5: results the same on every host",
        .accepts = "own, auto, or the path of a libdevice.10.bc",
        .help =
            "The maths functions of compiled kernels. own: the simulator's. auto: those of NVIDIA's "
            "libdevice, "
            "as a GPU computes them, where the library is found, else the simulator's. PTX is always linked "
            "with NVIDIA's (docs/libdevice.md). Kernels in Python mode use the simulator's.",
        .kind = OptionKind::libdevice,
    },
    {
        .name = "device",
        .default_text = "h100",
        .default_from = "the GPU of most data centres",
        .accepts = "the path of a file; several separated by commas",
        .help = "The devices that are simulated, in order of their numbers: name, limits, compute "
                "capability. A file, TOML or JSON, describes another one (docs/devices.md).",
        .kind = OptionKind::devices,
        .of_the_device = true,
    },
    {
        .name = "device_memory",
        .highest = most_bytes,
        .default_text = "0",
        .default_from = "the device profile's, at most what the host can give",
        .accepts = "bytes, or with K, M, G, T, at most 64T; 0 is the profile's",
        .help = "Memory of each simulated device.",
        .kind = OptionKind::size,
        .of_the_device = true,
    },
    {
        .name = "cache",
        .default_text = "1",
        .default_from = "compiling takes 10 times as long as loading",
        .accepts = "1, 0",
        .help = "Keep compiled kernels on disk for the next run of the program.",
        .kind = OptionKind::toggle,
    },
    {
        .name = "cache_dir",
        .default_text = "",
        .default_from = "$XDG_CACHE_HOME/cudasim, else ~/.cache/cudasim",
        .accepts = "a folder",
        .help = "Where compiled kernels are kept. It must belong to you and be writable by nobody else.",
        .kind = OptionKind::path,
    },
    {
        .name = "cache_size",
        .highest = most_bytes,
        .default_text = "256M",
        .default_from = "some ten thousand kernels",
        .accepts = "bytes, or with K, M, G, T, at most 64T",
        .help = "The most that compiled kernels may take on disk; those not used for longest go first.",
        .kind = OptionKind::size,
    },
    {
        .name = "keep_images",
        .default_text = "",
        .default_from = "none",
        .accepts = "a folder",
        .help = "Every kernel image that is compiled is also written there: what a report of a bug needs.",
        .kind = OptionKind::path,
    },
    {
        .name = "core",
        .default_text = "",
        .default_from = "none",
        .accepts = "a folder",
        .help = "Every launch that fails leaves a core file there, which `cudasim debug --core FILE` opens "
                "anywhere (docs/debugging.md). Costs a copy of the memory that a kernel can reach, before "
                "each launch. CUDA_ENABLE_COREDUMP_ON_EXCEPTION=1 asks for the same in the current folder; "
                "CUDA_COREDUMP_FILE then names the files.",
        .kind = OptionKind::path,
    },
    {
        .name = "core_files",
        .highest = 1'000'000,
        .default_text = "10",
        .default_from = "a test session may have hundreds of failures",
        .accepts = "a number from 0 to 1000000",
        .help = "The most core files that a process leaves.",
        .kind = OptionKind::whole_number,
    },
    {
        .name = "core_memory",
        .highest = most_bytes,
        .default_text = "4G",
        .default_from = "such a file is compressed, and can still be sent",
        .accepts = "bytes, or with K, M, G, T, at most 64T; 0 is any",
        .help = "A launch that can reach more device memory than this leaves no core file.",
        .kind = OptionKind::size,
    },
    {
        .name = "report_as_simulator",
        .default_text = "1",
        .default_from = "what numba.config says under Numba's simulator",
        .accepts = "1, 0",
        .help = "What numba.config.ENABLE_CUDASIM reads while the switch is on. Set it to 0 for test "
                "suites that relax their assertions on simulators: what Numba refuses for a GPU is then "
                "refused, performance warnings come, and exceptions name their line as on a GPU. A "
                "program that sets numba.config.ENABLE_CUDASIM itself says the same.",
        .kind = OptionKind::toggle,
    },
    {
        .name = "full_traceback",
        .default_text = "0",
        .default_from = "tracebacks end at the kernel's lines (rule C2)",
        .accepts = "1, 0",
        .help = "Keep cudasim's own frames in tracebacks, to debug cudasim itself.",
        .kind = OptionKind::toggle,
    },
    {
        .name = "debugger",
        .default_text = "",
        .default_from = "none",
        .accepts = "cudasim, listen, listen:wait, connect:PATH of the Unix socket where a debugger listens; "
                   "empty for none",
        .help = "Kernels are compiled for a debugger and run on one worker. `cudasim` asks at this terminal "
                "at the first stop, `listen` waits for `cudasim debug -p PID` while the program runs, "
                "`listen:wait` before it runs (docs/debugging.md).",
        .kind = OptionKind::debugger,
    },
    {
        .name = "libcuda",
        .default_text = "",
        .default_from = "the dynamic linker's libcuda.so.1, then the folders of Linux systems, then WSL's",
        .accepts = "the path of a file",
        .help =
            "The library of NVIDIA's driver. Where it is set, no other is tried. Only what has to do with "
            "a real GPU loads it (`cudasim info`), in a process of its own.",
        .kind = OptionKind::path,
    },
    {
        .name = "history",
        .highest = most_bytes,
        .default_text = "1G",
        .default_from = "a copy of the memory that most kernels use, and checkpoints",
        .accepts = "bytes, or with K, M, G, T, at most 64T; 0 keeps none",
        .help = "What the debugger may keep of one launch so that it can go backwards (docs/debugging.md).",
        .kind = OptionKind::size,
    },
};

/// Python allows an underscore between two digits. Returns nullopt where one stands elsewhere.
std::optional<std::string> without_underscores(llvm::StringRef text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] != '_')
            result += text[i];
        else if (i == 0 || i + 1 == text.size() || !llvm::isDigit(text[i - 1]) || !llvm::isDigit(text[i + 1]))
            return std::nullopt;
    }
    return result;
}

std::optional<std::uint64_t> whole_number(llvm::StringRef text) {
    const auto number = without_underscores(text.trim());
    if (!number) return std::nullopt;
    llvm::StringRef digits = *number;
    const bool negative = digits.consume_front("-");
    if (!negative) digits.consume_front("+");
    std::uint64_t value = 0;
    if (!llvm::all_of(digits, llvm::isDigit) || digits.getAsInteger(10, value) || (negative && value != 0))
        return std::nullopt;
    return value;
}

std::optional<double> real_number(llvm::StringRef text) {
    const auto given = without_underscores(text.trim());
    if (!given) return std::nullopt;
    llvm::StringRef number = *given;
    if (!number.starts_with("+-")) number.consume_front("+");
    double value = 0;
    const auto read = std::from_chars(number.begin(), number.end(), value);
    // A number that is too small counts as wrong, too.
    return read.ec == std::errc() && read.ptr == number.end() ? std::optional(value) : std::nullopt;
}

std::optional<bool> toggle(llvm::StringRef text) {
    return llvm::StringSwitch<std::optional<bool>>(text.trim())
        .CasesLower("1", "true", "yes", "on", true)
        .CasesLower("0", "false", "no", "off", "", false)
        .Default(std::nullopt);
}

/// Bytes: digits with or without a fraction, blanks, and a unit of k, m, g or t, behind
/// which `b` or `ib` may stand.
std::optional<std::uint64_t> size_in_bytes(llvm::StringRef text) {
    const std::string word = text.trim().lower();
    llvm::StringRef unit = word;
    const llvm::StringRef number =
        unit.take_while([](char letter) { return llvm::isDigit(letter) || letter == '.'; });
    unit = unit.drop_front(number.size()).ltrim();
    if (number.empty() || number == "." || number.count('.') > 1) return std::nullopt;
    int shift = 0;
    if (const auto power = unit.empty() ? llvm::StringRef::npos : llvm::StringRef("kmgt").find(unit.front());
        power != llvm::StringRef::npos) {
        shift = 10 * static_cast<int>(power + 1);
        unit = unit.drop_front();
    }
    if (!unit.empty() && unit != "b" && unit != "ib") return std::nullopt;
    double value = 0;
    if (std::from_chars(number.begin(), number.end(), value).ec != std::errc()) return std::nullopt;
    value = std::ldexp(value, shift);
    if (!(value < std::ldexp(1.0, 64))) return std::nullopt;
    return static_cast<std::uint64_t>(value);
}

std::optional<OptionValue> parsed(const Option& option, std::string_view text) {
    const auto in_range = [&](std::optional<std::uint64_t> number) -> std::optional<OptionValue> {
        if (!number || *number < option.lowest || *number > option.highest) return std::nullopt;
        return OptionValue(*number);
    };
    switch (option.kind) {
        case OptionKind::choice:
            if (!llvm::is_contained(llvm::split(option.accepts, ", "), llvm::StringRef(text)))
                return std::nullopt;
            return OptionValue(std::string(text));
        case OptionKind::whole_number:
            return in_range(whole_number(text));
        case OptionKind::size:
            return in_range(size_in_bytes(text));
        case OptionKind::seconds: {
            const auto number = real_number(text);
            const bool fits = number && *number >= 0 && *number <= static_cast<double>(option.highest);
            if (!fits) return std::nullopt;  // a NaN, too
            return OptionValue(*number);
        }
        case OptionKind::toggle: {
            const auto value = toggle(text);
            return value ? std::optional<OptionValue>(*value) : std::nullopt;
        }
        case OptionKind::path:
        case OptionKind::devices:
            if (text.find('\0') != std::string_view::npos) return std::nullopt;
            return OptionValue(std::string(text));
        case OptionKind::checks: {
            const auto checks = checks_from(text);
            return checks ? std::optional<OptionValue>(text_of(*checks)) : std::nullopt;
        }
        case OptionKind::debugger: {
            constexpr std::string_view connect = "connect:";
            const bool names_socket = text.starts_with(connect) && text.size() > connect.size() &&
                                      text.find('\0') == std::string_view::npos;
            const bool valid = text.empty() || text == "cudasim" || text == "listen" ||
                               text == "listen:wait" || names_socket;
            return valid ? std::optional<OptionValue>(std::string(text)) : std::nullopt;
        }
        case OptionKind::libdevice:
            if (text.empty() || text.find('\0') != std::string_view::npos) return std::nullopt;
            return OptionValue(std::string(text));
    }
    return std::nullopt;
}

/// In quotes, shortened to a readable length.
std::string shown(std::string_view text) {
    constexpr std::size_t most = 100;
    std::string result = "'" + std::string(text.substr(0, most)) + "'";
    if (text.size() > most) result += "... (" + std::to_string(text.size()) + " bytes)";
    return result;
}

}  // namespace

std::span<const Option> option_table() {
    return table;
}

const Option& option_named(std::string_view name) {
    const auto* row = std::ranges::find(table, name, &Option::name);
    if (row != std::end(table)) return *row;
    const auto names = llvm::map_range(table, [](const Option& each) { return each.name; });
    throw OptionError("there is no option " + shown(name) + ". Options are: " + llvm::join(names, ", "));
}

std::string environment_variable(const Option& option) {
    return "CUDASIM_" + llvm::StringRef(option.name).upper();
}

std::string_view kind_name(OptionKind kind) {
    constexpr std::array<std::string_view, 10> names{"choice",   "whole_number", "seconds", "toggle",
                                                     "size",     "path",         "devices", "checks",
                                                     "debugger", "libdevice"};
    return names[static_cast<std::size_t>(kind)];
}

OptionValue parse_option(const Option& option, std::string_view text, std::string_view where) {
    if (auto value = parsed(option, text)) return *std::move(value);
    throw OptionError(std::string(where) + ": " + shown(text) + " is not valid; " + std::string(option.name) +
                      " takes " + std::string(option.accepts));
}

OptionInForce option_from_environment(const Option& option) {
    const std::string variable = environment_variable(option);
    const char* text = std::getenv(variable.c_str());
    if (text == nullptr || *text == '\0')
        return {parse_option(option, option.default_text, "the default"),
                "default (" + std::string(option.default_from) + ")"};
    const std::string where = "environment variable " + variable;
    return {parse_option(option, text, where), where};
}

}  // namespace cudasim::driver
