// The one way in which the compiler refuses a kernel: always the user's program, always with a place.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "frontend/pykernel/syntax/syntax_tree.h"

namespace cudasim::pykernel {

/// Which of Numba's exception classes (numba.core.errors) the refusal becomes.
enum class ErrorClass {
    typing,
    unsupported,
    unsupported_bytecode,
    not_defined,
    compiler,
    runtime,          ///< NumbaRuntimeError: what would need memory allocated in the kernel
    not_implemented,  ///< Python's own
    value,            ///< Python's ValueError
    unknown_field,    ///< errors.py: a KeyError
    type,             ///< NumbaTypeError
    lowering,         ///< LoweringError: a program's own code generator has failed
};

[[nodiscard]] const char* error_class_name(ErrorClass error_class);

/// Whether CPython may run what the compiler refuses (Python mode, design.md section 7).
enum class Standing {
    not_gpu_code,  ///< Numba's CUDA target refuses it too; CPython can run it
    not_yet,       ///< Numba's CUDA target compiles it, this compiler does not yet
    never,         ///< refused by both, and running it would only hide that: there is no meaning to give it
};

[[nodiscard]] const char* standing_name(Standing standing);

/// A refusal. what() is the reason alone; text() adds file, line, the source line and a caret line.
struct SourceError : std::runtime_error {
    SourceError(ErrorClass error_class, const std::string& reason, Location location)
        : std::runtime_error(reason), error_class(error_class), location(location) {}
    [[nodiscard]] std::string text() const;
    /// The source line with carets below the construct.
    [[nodiscard]] std::string quoted_line() const;
    [[nodiscard]] bool says_the_same_as(const SourceError& other) const {
        return file == other.file && location.line == other.location.line &&
               location.column == other.location.column && std::string_view(what()) == other.what();
    }

    ErrorClass error_class;
    Location location;
    Standing standing = Standing::not_gpu_code;
    std::string file;  ///< filled in by the function whose compilation failed
    std::string function;
    std::string source_line;           ///< without the line's end
    std::vector<std::string> reasons;  ///< what a program's implementers have to say, which text() shows last
    /// Whether calls that led here are refused with it too, without being tried with literal types.
    bool is_final = false;
    std::vector<std::string> callers;  ///< from the innermost call outwards, one line each
};

[[noreturn]] void refuse_typing(const std::string& reason, Location location,
                                Standing standing = Standing::not_gpu_code);
/// UnsupportedError; by default for what Numba's CUDA target compiles and this compiler does not yet.
[[noreturn]] void refuse_unsupported(const std::string& reason, Location location,
                                     Standing standing = Standing::not_yet);
/// Worded as Numba's: "No implementation of function Function(<built-in function add>) found for signature:
/// …".
/// @param function as Python shows it: "<built-in function add>"
/// @param because what else helps, or nothing
[[noreturn]] void refuse_no_implementation(const std::string& function, const std::string& name,
                                           const std::vector<std::string>& argument_types, Location location,
                                           const std::string& because = {},
                                           Standing standing = Standing::not_gpu_code);
/// A form of Python, such as "`import`", with the class that Numba has for it.
[[noreturn]] void refuse_construct(const std::string& construct, Location location);

}  // namespace cudasim::pykernel
