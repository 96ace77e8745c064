// Formats refusals: reason, file and line, the source line, carets below the construct.
#include "frontend/pykernel/syntax/source_error.h"

#include <algorithm>

#include "frontend/pykernel/syntax/in_source.h"

namespace cudasim::pykernel {
namespace {

bool starts_character(char byte) {
    return (static_cast<unsigned char>(byte) & 0xC0) != 0x80;
}

/// Blanks under everything before the construct (tabs kept, so that the columns agree), then carets.
std::string caret_line(const std::string& line, int begin, int end) {
    std::string result;
    const int size = static_cast<int>(line.size());
    for (int i = 0; i < std::min(begin, size); ++i) {
        if (starts_character(line[i])) result += line[i] == '\t' ? '\t' : ' ';
    }
    std::size_t carets = 0;
    for (int i = begin; i < std::min(end, size); ++i) carets += starts_character(line[i]);
    return result + std::string(std::max<std::size_t>(carets, 1), '^');
}

}  // namespace

const char* error_class_name(ErrorClass error_class) {
    switch (error_class) {
        case ErrorClass::typing:
            return "TypingError";
        case ErrorClass::unsupported:
            return "UnsupportedError";
        case ErrorClass::unsupported_bytecode:
            return "UnsupportedBytecodeError";
        case ErrorClass::compiler:
            return "CompilerError";
        case ErrorClass::runtime:
            return "NumbaRuntimeError";
        case ErrorClass::not_implemented:
            return "NotImplementedError";
        case ErrorClass::value:
            return "ValueError";
        case ErrorClass::unknown_field:
            return "UnknownFieldError";
        case ErrorClass::type:
            return "NumbaTypeError";
        case ErrorClass::lowering:
            return "LoweringError";
        case ErrorClass::not_defined:
            return "NotDefinedError";
    }
    return "TypingError";
}

namespace {

std::string shown_callers(const std::vector<std::string>& callers) {
    static constexpr std::size_t shown_at_each_end = 8;
    std::string result;
    for (std::size_t i = 0; i < callers.size(); ++i) {
        if (i >= shown_at_each_end && i + shown_at_each_end < callers.size()) {
            if (i == shown_at_each_end)
                result +=
                    "\n  ... " + std::to_string(callers.size() - 2 * shown_at_each_end) + " more calls ...";
            continue;
        }
        result += "\n  called from " + callers[i];
    }
    return result;
}

}  // namespace

std::string SourceError::text() const {
    std::string result = what();
    if (!file.empty()) {
        result += "\n\n  File \"" + file + "\", line " + std::to_string(location.line);
        if (!function.empty()) result += ", in " + function;
        if (!source_line.empty()) result += "\n" + quoted_line();
        result += shown_callers(callers);
    }
    for (const std::string& reason : reasons) result += "\n" + reason;
    return result;
}

std::string SourceError::quoted_line() const {
    const bool one_line = location.end_line == location.line && location.end_column > location.column;
    const int end = one_line ? location.end_column : static_cast<int>(source_line.size());
    return source_line + "\n" + caret_line(source_line, location.column, end);
}

const char* standing_name(Standing standing) {
    switch (standing) {
        case Standing::not_gpu_code:
            return "not-gpu-code";
        case Standing::not_yet:
            return "not-yet";
        case Standing::never:
            return "never";
    }
    return "";
}

void refuse_typing(const std::string& reason, Location location, Standing standing) {
    SourceError error(ErrorClass::typing, reason, location);
    error.standing = standing;
    throw error;
}

void refuse_unsupported(const std::string& reason, Location location, Standing standing) {
    SourceError error(ErrorClass::unsupported, reason, location);
    error.standing = standing;
    throw error;
}

void refuse_no_implementation(const std::string& function, const std::string& name,
                              const std::vector<std::string>& argument_types, Location location,
                              const std::string& because, Standing standing) {
    std::string reason =
        "No implementation of function Function(" + function + ") found for signature:\n >>> " + name + "(";
    for (std::size_t i = 0; i < argument_types.size(); ++i) reason += (i ? ", " : "") + argument_types[i];
    reason += ")";
    if (!because.empty()) reason += "\n" + because;
    refuse_typing(reason, location, standing);
}

void refuse_construct(const std::string& construct, Location location) {
    static constexpr const char* by_bytecode[] = {"`import`",
                                                  "a class",
                                                  "`global`",
                                                  "`nonlocal`",
                                                  "`**` unpacking",
                                                  "a sequence as a pattern",
                                                  "a mapping as a pattern",
                                                  "a class as a pattern"};
    if (construct == "an integer of more than 64 bits")
        refuse_typing("Int value is too large: it does not fit in 64 bits", location);
    const bool is_bytecode = std::ranges::find(by_bytecode, construct) != std::end(by_bytecode);
    const std::string opcode = construct == "`import`" ? "Use of unsupported opcode (IMPORT_NAME) found: "
                               : construct == "a class"
                                   ? "Use of unsupported opcode (LOAD_BUILD_CLASS) found: "
                                   : "";
    throw SourceError(is_bytecode ? ErrorClass::unsupported_bytecode : ErrorClass::unsupported,
                      opcode + construct + " is not supported in kernels", location);
}

void name_place(SourceError& error, const FunctionSource& source) {
    if (!error.file.empty()) return;
    error.file = source.file;
    error.function = source.syntax.name;
    const int index = error.location.line - source.first_line;
    if (index >= 0 && index < static_cast<int>(source.lines.size())) error.source_line = source.lines[index];
}

}  // namespace cudasim::pykernel
