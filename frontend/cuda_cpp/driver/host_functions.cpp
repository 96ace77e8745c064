// See host_functions.h.
#include "frontend/cuda_cpp/driver/host_functions.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>
#include <regex>
#include <set>
#include <string_view>
#include <vector>

#include "frontend/cuda_cpp/driver/code_text.h"

namespace cudasim::nvcc {
namespace {

using Copy = PatchedSources::Copy;
constexpr std::size_t none = std::string::npos;
constexpr std::string_view mark = "__attribute__((host, device, error(\"cudasim: host function '";
constexpr std::string_view end_of_mark = "'\"))) ";

std::string attributes_for(const std::string& name) {
    std::string text(mark);
    for (const char c : name)
        if (c != '"' && c != '\\') text += c;  // operator""_x
    return text + std::string(end_of_mark);
}

/// A file's copy as one text.
struct Text {
    explicit Text(const Copy& copy) {
        for (const auto& line : copy.lines) {
            starts.push_back(all.size());
            all += line + "\n";
        }
    }
    [[nodiscard]] std::pair<std::size_t, std::size_t> place_of(std::size_t at) const {
        const auto next = std::upper_bound(starts.begin(), starts.end(), at);
        const std::size_t line = static_cast<std::size_t>(next - starts.begin()) - 1;
        return {line, at - starts[line]};
    }

    std::string all;
    std::vector<std::size_t> starts;
};

std::size_t skip_spaces(const std::string& text, std::size_t at) {
    while (at < text.size()) {
        const std::size_t end = skip_no_code(text, at);
        if (end == at && std::isspace(static_cast<unsigned char>(text[at])) == 0) return at;
        at = end == at ? at + 1 : end;
    }
    return at;
}

struct Definition {
    std::size_t head_end = none;          ///< what comes first of the initialisers of members and the body
    std::size_t body = none, end = none;  ///< from its brace to behind its last one
    bool deduces_type = false;
};

/// The body behind the initialisers of a constructor's members.
std::size_t behind_initialisers(const std::string& text, std::size_t at) {
    while (true) {
        while (at < text.size() && text[at] != '(' && text[at] != '{' && text[at] != ';') {
            const std::size_t end = skip_no_code(text, at);
            at = end == at ? at + 1 : end;
        }
        if (at >= text.size() || text[at] == ';') return none;
        at = behind_bracket(text, at);
        if (at == none) return none;
        at = skip_spaces(text, at);
        if (text.compare(at, 3, "...") == 0) at = skip_spaces(text, at + 3);
        if (at >= text.size()) return none;
        if (text[at] == '{') return at;
        if (text[at] != ',') return none;
        ++at;
    }
}

/// @param name of the function in its declaration
/// @return nothing to replace if it is declared only
Definition definition_at(const std::string& text, std::size_t name) {
    Definition result;
    std::size_t at = name;
    if (text.compare(at, 8, "operator") == 0) {
        at = skip_spaces(text, at + 8);
        if (text[at] == '(') at = behind_bracket(text, at);
    }
    if (at != none) at = text.find('(', at);
    if (at != none) at = behind_bracket(text, at);
    while (at != none && at < text.size()) {
        at = skip_spaces(text, at);
        if (at >= text.size() || text[at] == ';') return result;
        if (text[at] == '=') {
            result.head_end = at;
            const std::size_t word = skip_spaces(text, at + 1);
            if (text.compare(word, 7, "default") == 0) result.body = word, result.end = word + 7;
            return result;
        }
        if (text[at] == '(' || text[at] == '[') {
            at = behind_bracket(text, at);
        } else if (text[at] == '{' || (text[at] == ':' && text[at + 1] != ':')) {
            result.head_end = at;
            result.body = text[at] == '{' ? at : behind_initialisers(text, at + 1);
            if (result.body != none) result.end = behind_bracket(text, result.body);
            return result;
        } else {
            at += text.compare(at, 2, "::") == 0 ? 2 : 1;
        }
    }
    return result;
}

/// "auto f(…) {" takes its type from its body.
bool deduces_its_type(const std::string& text, std::size_t name, const Definition& definition) {
    static const std::regex deduced(R"((\bauto\b|\bdecltype\s*\(\s*auto\s*\))[\s&*]*$)");
    const std::size_t from = text.find_last_of(";{}", name);
    const std::string head = text.substr(from == none ? 0 : from + 1, name - (from == none ? 0 : from + 1));
    return std::regex_search(head, deduced) &&
           text.substr(name, definition.head_end - name).find("->") == none;
}

/// Whether a line of the text from `start` to `end` is the preprocessor's: what closes the body may be in a
/// part that is left out.
bool has_directives(const std::string& text, std::size_t start, std::size_t end) {
    static const std::regex directive(R"(\n[ \t]*#)");
    return std::regex_search(text.begin() + static_cast<std::ptrdiff_t>(start),
                             text.begin() + static_cast<std::ptrdiff_t>(end), directive);
}

/// Spaces in the place of the text from `start` to `end`, but for ends of lines.
void blank(Copy& copy, const Text& text, std::size_t start, std::size_t end) {
    for (; start < end; ++start) {
        const auto [line, column] = text.place_of(start);
        if (column < copy.lines[line].size() && copy.lines[line][column] != '\t')
            copy.replace(line, column, ' ');
    }
}

/// A body that is never executed in the place of the function's own, which stays where that is not easy: then
/// clang has to take what it calls, too.
void drop_body(Copy& copy, std::size_t line, std::size_t column) {
    const bool in_its_class = start_of_qualified_name(copy.lines[line], column) == column;
    const Text text(copy);
    const std::size_t name = text.starts[line] + column;
    const Definition definition = definition_at(text.all, name);
    if (definition.end == none || deduces_its_type(text.all, name, definition) ||
        has_directives(text.all, definition.head_end, definition.end))
        return;
    const bool defaulted = text.all[definition.head_end] == '=';
    const bool initialises = text.all[definition.head_end] == ':';
    if (defaulted && !in_its_class) return;
    // Elsewhere the members and bases may need what a constructor says of them.
    const bool declared_only = in_its_class && (initialises || defaulted || text.all[name] == '~');
    blank(copy, text, initialises && !in_its_class ? definition.body + 1 : definition.head_end,
          definition.end - (initialises && !in_its_class ? 1 : 0));
    const auto [line_of_end, end] = text.place_of(definition.end - 1);
    if (declared_only && !defaulted)
        copy.replace(line_of_end, end, ';');
    else if (!declared_only)
        copy.insert(line_of_end, end, initialises ? "__builtin_trap();" : "{ __builtin_trap(); }");
}

bool is_marked_at(PatchedSources& sources, const MessagePlace& place) {
    const Copy* copy = sources.copy_of(place.file);
    if (!is_at_a_name(copy, place)) return false;
    const std::string_view text = copy->lines[place.line - 1];
    return text.substr(0, start_of_qualified_name(text, place.column - 1)).ends_with(end_of_mark);
}

/// Functions that clang knows itself, as it does exit(): its messages name no declaration.
std::optional<MessagePlace> declaration_in_c(PatchedSources& sources, const std::string& name) {
    for (const std::string header : {"stdlib", "string", "stdio", "strings", "unistd", "time"}) {
        const std::string path = "/usr/include/" + header + ".h";
        const Copy* copy = sources.copy_of(path);
        if (copy == nullptr) continue;
        for (std::size_t line = 0; line < copy->lines.size(); ++line) {
            const std::string& text = copy->lines[line];
            const std::size_t at = text.find(name + " (");
            if (text.starts_with("extern ") && at != none && (text[at - 1] == ' ' || text[at - 1] == '*'))
                return MessagePlace{path, line + 1, at + 1, ""};
        }
    }
    return std::nullopt;
}

/// "f" in "reference to __host__ function 'f' in …"
std::string name_in(const std::string& message, std::string_view before, std::string_view behind) {
    if (!message.starts_with(before)) return "";
    const std::size_t end = message.find(behind, before.size());
    return end == none ? "" : message.substr(before.size(), end - before.size());
}

constexpr std::string_view before_name = ": error: reference to __host__ function '",
                           behind_name = "' in __host__ __device__ function";

/// The messages of calls with what belongs to them, as warnings.
/// @param known places and names that need no second one
std::string as_warnings(const std::string& messages, std::set<std::string>& known) {
    std::string result, leading;
    bool here = false;
    for (const auto& line : lines_of(messages)) {
        const auto place = MessagePlace::read(line);
        if (line.starts_with("In file included from ")) {
            leading += line + "\n";
            continue;
        }
        if (place && !place->rest.starts_with(": note: ")) {
            const std::string name = name_in(place->rest, before_name, behind_name);
            // What headers of the system call then is no word to the user.
            here = !name.empty() && !place->file.starts_with("/usr/") &&
                   known
                       .insert(place->file + ":" + std::to_string(place->line) + ":" +
                               std::to_string(place->column) + name)
                       .second;
            if (here)
                result +=
                    leading + place->file + ":" + std::to_string(place->line) + ":" +
                    std::to_string(place->column) + ": warning: calling the __host__ function '" + name +
                    "' from a __host__ __device__ function is not allowed on the device, where it fails\n";
        } else if (here && (place || line.starts_with(" "))) {
            result += leading + line + "\n";
        }
        leading.clear();
    }
    return result;
}

}  // namespace

Command HostFunctions::options() const {
    Command options;
    if (all_messages_) options.push_back("-ferror-limit=0");
    if (!known_.empty()) options.insert(options.end(), {"-Wno-undefined-inline", "-Wno-undefined-internal"});
    return options;
}

bool HostFunctions::take(PatchedSources& sources, const std::string& messages) {
    if (messages.find("fatal error: too many errors emitted") != none && !all_messages_ &&
        messages.find(before_name) != none) {
        all_messages_ = true;
        sources.write();
        return true;
    }
    std::map<std::tuple<std::string, std::size_t, std::size_t>, std::string> found;
    for (const Message& message : messages_in(messages)) {
        if (!message.is_error()) continue;
        const MessagePlace* declared = nullptr;
        std::optional<MessagePlace> of_c;
        std::string name = name_in(message.place.rest, before_name, behind_name);
        if (!name.empty()) {
            for (const auto& note : message.notes)
                if (note.rest.ends_with("' declared here")) declared = &note;
            if (declared == nullptr && (of_c = declaration_in_c(sources, name))) declared = &*of_c;
        } else if (!message.notes.empty()) {
            // One of a function's two places has been taken; this is the other.
            const bool second = is_marked_at(sources, message.notes[0]);
            name =
                name_in(message.place.rest,
                        second ? ": error: __host__ function '" : ": error: __host__ __device__ function '",
                        "' cannot overload __host__ ");
            if (second || is_marked_at(sources, message.place))
                declared = second ? &message.place : &message.notes[0];
            if (name.empty()) return false;
        }
        if (declared == nullptr) return false;
        const Copy* copy = sources.copy_of(declared->file);
        if (!is_at_a_name(copy, *declared) || is_marked_at(sources, *declared)) return false;
        found.emplace(std::tuple(declared->file, declared->line, declared->column), name);
    }
    if (found.empty()) return false;
    warnings_ += as_warnings(sources.of_the_files(messages), known_);
    for (auto each = found.rbegin(); each != found.rend(); ++each) {
        const auto& [file, line, column] = each->first;
        drop_body(*sources.copy_of(file), line - 1, column - 1);
        if (!add_attributes(sources, {{file, line, column, ""}}, attributes_for(each->second))) return false;
    }
    sources.write();
    return true;
}

}  // namespace cudasim::nvcc
