// What can be said about a kernel, as data. Checks and the engine fill Findings in; writers
// (text, JSON) and the front ends only format them. Rules: design.md section 5.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cudasim::findings {

enum class Severity { note, warning, error };

enum class FindingKind {
#define FINDING(identifier, name, severity, exception, code) identifier,
#include "simulator/findings/finding_kinds.def"
#undef FINDING
};

/// One row of finding_kinds.def.
struct KindInfo {
    std::string_view name;
    Severity severity;
    std::string_view python_exception;
    int cuda_error_code;
};
[[nodiscard]] const KindInfo& info(FindingKind kind);
/// All rows.
[[nodiscard]] std::span<const KindInfo> all_kinds();

/// Three extents or coordinates in CUDA's order.
struct Dim3 {
    std::uint32_t x = 1, y = 1, z = 1;
    [[nodiscard]] std::uint64_t volume() const { return std::uint64_t{x} * y * z; }
    auto operator<=>(const Dim3&) const = default;
};

/// A thread of a launch. Ordered by (block, thread), both linear with x fastest.
struct ThreadCoordinate {
    std::uint64_t block = 0;   ///< linear block index in the grid
    std::uint32_t thread = 0;  ///< linear thread index in the block
    Dim3 ctaid{0, 0, 0};
    Dim3 tid{0, 0, 0};
    auto operator<=>(const ThreadCoordinate& other) const {
        if (auto order = block <=> other.block; order != 0) return order;
        return thread <=> other.thread;
    }
    bool operator==(const ThreadCoordinate& other) const {
        return block == other.block && thread == other.thread;
    }
};

/// A line of source. Lines and columns count from 1; 0 means unknown.
struct SourceLocation {
    std::string file;
    std::string function;
    std::uint32_t line = 0;
    std::uint32_t column = 0;
    bool operator==(const SourceLocation&) const = default;
};

/// Innermost frame first, then where it was inlined (called), out to the kernel.
using CallChain = std::vector<SourceLocation>;

/// How the file names of a front end's own device code begin (kernels around ufuncs, cuda.random), which
/// people do not want to read about.
inline constexpr std::string_view own_code = "<cudasim>";

/// The chain without such places, or as it is when it has no other.
[[nodiscard]] CallChain without_own_code(CallChain chain);

/// The allocation or variable a memory fault is about.
struct MemoryObject {
    std::string name;           ///< variable or label; may be empty
    std::string space;          ///< "global", "shared", "local", "constant"
    std::uint64_t address = 0;  ///< first byte
    std::uint64_t bytes = 0;
    std::int64_t offset = 0;   ///< of the faulty access, in bytes from the first byte; may be negative
    std::string element = {};  ///< that is accessed, as the source has it: "tile[3, 5]"; empty: not known
    std::string element_type = {};  ///< "float32", "uint8"...; empty: not known
};

/// Threads of one block that stand at the same place (deadlock, divergence, time limit).
struct WaitingGroup {
    std::string state;  ///< "waiting at barrier", "running", "ended", "not started"
    CallChain location;
    std::uint64_t block = 0;
    Dim3 ctaid{0, 0, 0};
    /// Inclusive ranges of linear thread indices in ascending order.
    std::vector<std::pair<std::uint32_t, std::uint32_t>> threads;
};

/// Of an array in shared or local memory that a variable refers to: more elements are not copied. Enough for
/// what people look at, and soon made.
inline constexpr std::uint64_t most_bytes_on_chip = 1 << 18;

/// A variable of the source, as it was when its thread faulted.
struct VariableValue {
    std::string name;
    std::string type;            ///< simulator/jit/debug_types.h
    std::uint32_t frame = 0;     ///< of which function: index into Finding::location
    std::uint32_t argument = 0;  ///< its ordinal among the arguments of its function, from 1; 0: none
    std::vector<std::byte> bytes;
    bool known = false;  ///< else it was optimised out
    /// One for all calls of its function: `bytes` is its address, and `type` refers to it.
    bool is_static = false;
    bool is_global = false;  ///< static, and outside of all functions
    std::string text;        ///< of a value of Python mode that has no bytes: its repr()
    /// Memory that it refers to: an array's elements, or one element.
    std::uint64_t element_bytes = 0;  ///< 0: it refers to none
    std::uint32_t dimensions = 0;
    std::uint64_t contents_address = 0;  ///< of the lowest byte
    std::vector<std::byte> contents;
    bool contents_known = false;
};

/// One of the two accesses that race.
struct RacingAccess {
    std::string what;  ///< "write", "read", "atomic operation of block scope"...
    ThreadCoordinate thread;
    CallChain location;
    std::string value;     ///< what it read or wrote, as far as that is known; else empty
    bool of_host = false;  ///< it is the host's, a copy for example: no thread's
};

struct Finding {
    FindingKind kind{};
    Severity severity = Severity::error;
    std::string message;         ///< one sentence, without coordinates
    std::string exception_type;  ///< Python class name; the kind's own unless the kernel chose it
    std::string kernel;
    ThreadCoordinate thread;    ///< the lowest (block, thread) that did it
    CallChain location;         ///< of that thread
    std::uint64_t count = 1;    ///< how many times, over all threads
    std::uint64_t threads = 1;  ///< by how many threads (an upper bound for warnings in loops)
    std::optional<MemoryObject> object;
    std::vector<WaitingGroup> waiting;
    std::vector<RacingAccess> accesses;    ///< of a race: the earlier one, then that of `thread`
    std::vector<VariableValue> variables;  ///< of that thread
    std::string reproduce;  ///< the command that shows it again; empty when the front end knows none
};

/// "tid=[10, 0, 0] ctaid=[0, 0, 0]" (C2).
[[nodiscard]] std::string coordinates(const ThreadCoordinate& thread);
/// Whether the finding is about what the host does, and no thread: the second access of a race is its own.
[[nodiscard]] inline bool is_of_host(const Finding& finding) {
    return !finding.accesses.empty() && finding.accesses.back().of_host;
}

/// "0-31, 40, 64-95" from inclusive ranges.
[[nodiscard]] std::string ranges(const std::vector<std::pair<std::uint32_t, std::uint32_t>>& threads);

}  // namespace cudasim::findings
