// See options.h.
#include "frontend/cuda_cpp/driver/options.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <optional>
#include <sstream>

namespace cudasim::nvcc {
namespace {

constexpr OptionRow table[] = {
#define NVCC_OPTION(identifier, kind, shape, long_name, short_name, value, help) \
    {Option::identifier, Kind::kind, Shape::shape, long_name, short_name, value, help},
#include "frontend/cuda_cpp/driver/options.def"
#undef NVCC_OPTION
};

const OptionRow* find(std::string_view name) {
    for (const OptionRow& row : table)
        if (name == row.long_name || name == row.short_name) return &row;
    return nullptr;
}

/// Short options whose value may follow without a space.
bool may_be_joined(const OptionRow& row) {
    return row.short_name.size() == 1 &&
           std::string_view("ODUILlxomt").find(row.short_name[0]) != std::string_view::npos;
}

/// Elements of a list: commas separate them unless a backslash, quotes or parentheses keep them.
std::vector<std::string> list_elements(std::string_view text) {
    std::vector<std::string> elements(1);
    int depth = 0;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (c == '\\' && i + 1 < text.size() && text[i + 1] == ',' && quote == 0) {
            elements.back() += text[++i];
            continue;
        }
        if (quote != 0)
            quote = c == quote ? '\0' : quote;
        else if (c == '"' || c == '\'')
            quote = c;
        else if (c == '(')
            ++depth;
        else if (c == ')')
            --depth;
        if (c == ',' && quote == 0 && depth == 0)
            elements.emplace_back();
        else
            elements.back() += c;
    }
    std::erase(elements, "");
    return elements;
}

std::vector<std::string> values_of(const OptionRow& row, const std::string& text) {
    switch (row.shape) {
        case Shape::list:
            return list_elements(text);
        case Shape::words: {
            std::vector<std::string> words;
            for (const auto& element : list_elements(text))
                for (auto& word : shell_words(element)) words.push_back(std::move(word));
            return words;
        }
        default:
            return {text};
    }
}

std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0]++;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t changed = diagonal + (a[i - 1] != b[j - 1] ? 1 : 0);
            diagonal = row[j];
            row[j] = std::min({changed, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row[b.size()];
}

/// The option whose name is nearest to a mistyped one, as it is written; empty if none is near.
std::string near_name(std::string_view name) {
    std::string best;
    std::size_t least = std::max<std::size_t>(1, name.size() / 4) + 1;
    for (const OptionRow& row : table)
        for (const auto& [dashes, known] : {std::pair{"--", row.long_name}, std::pair{"-", row.short_name}})
            if (known.size() > 1 && distance(name, known) < least) {
                least = distance(name, known);
                best = dashes + std::string(known);
            }
    return best;
}

bool looks_like_a_compilers(std::string_view argument) {
    return argument.starts_with("-f") || argument.starts_with("-W") || argument.starts_with("-m") ||
           argument == "-pthread" || argument == "-pedantic" || argument == "-pipe" ||
           argument == "-rdynamic" || argument == "-static";
}

std::string file_text(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw Fatal("Could not open input file '" + path + "'");
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

}  // namespace

std::span<const OptionRow> option_table() {
    return table;
}

std::vector<std::string> shell_words(std::string_view text) {
    std::vector<std::string> words;
    bool inside = false;
    char quote = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const char c = text[i];
        if (quote == 0 && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
            inside = false;
            continue;
        }
        if (!inside) words.emplace_back();
        inside = true;
        if (c == '\\' && quote != '\'' && i + 1 < text.size())
            words.back() += text[++i];
        else if (quote == 0 && (c == '"' || c == '\''))
            quote = c;
        else if (c == quote && quote != 0)
            quote = 0;
        else
            words.back() += c;
    }
    return words;
}

CommandLine CommandLine::read(const std::vector<std::string>& arguments) {
    CommandLine line;
    const auto from_environment = [&](const char* name) {
        if (const char* text = std::getenv(name)) line.read_arguments(shell_words(text), 0);
    };
    from_environment("NVCC_PREPEND_FLAGS");
    line.read_arguments(arguments, 0);
    from_environment("NVCC_APPEND_FLAGS");
    for (const auto& each : line.unknown_) line.unknown(each);
    return line;
}

void CommandLine::read_arguments(const std::vector<std::string>& arguments, int depth) {
    if (depth > 16) throw Fatal("Files of --options-file name each other");
    for (std::size_t at = 0; at < arguments.size();) {
        if (arguments[at].size() > 1 && arguments[at][0] == '-') {
            at = read_option(arguments, at, depth);
        } else {
            if (!arguments[at].empty()) inputs_.push_back(arguments[at]);
            ++at;
        }
    }
}

std::size_t CommandLine::read_option(const std::vector<std::string>& arguments, std::size_t at, int depth) {
    const std::string& argument = arguments[at++];
    const bool two_dashes = argument.starts_with("--");
    const std::string text = argument.substr(two_dashes ? 2 : 1);
    const std::size_t equals = text.find('=');
    std::optional<std::string> value;
    const OptionRow* row = find(text);
    if (row == nullptr && equals != std::string::npos) {
        row = find(text.substr(0, equals));
        if (row != nullptr) value = text.substr(equals + 1);
    }
    if (row == nullptr && !two_dashes) {
        row = find(text.substr(0, 1));
        if (row != nullptr && may_be_joined(*row))
            value = text.substr(1);
        else
            row = nullptr;
        // -l=name and -o=file are read above; -Ofast and -mcpu are not nvcc's.
        if (row != nullptr &&
            ((row->option == Option::optimise && text.size() != 2) ||
             (row->option == Option::threads && !std::isdigit(static_cast<unsigned char>(text[1]))) ||
             row->option == Option::machine || row->option == Option::output_file))
            row = nullptr;
    }
    if (row == nullptr) {
        unknown_.push_back(argument);
        return at;
    }
    if (row->kind == Kind::refused)
        throw Fatal("Option '" + argument + "' is not supported by cudasim: " + std::string(row->help));
    switch (row->shape) {
        case Shape::flag:
            if (value) throw Fatal("Option '" + argument.substr(0, argument.find('=')) + "' takes no value");
            given_.push_back({row->option, ""});
            return at;
        case Shape::boolean: {
            if (!value && at < arguments.size() && (arguments[at] == "true" || arguments[at] == "false"))
                value = arguments[at++];
            if (value && *value != "true" && *value != "false")
                throw Fatal("'true' or 'false' expected in option '" + argument + "'");
            given_.push_back({row->option, value.value_or("true")});
            return at;
        }
        default:
            break;
    }
    if (!value) {
        if (at == arguments.size()) throw Fatal("Missing argument of option '" + argument + "'");
        value = arguments[at++];
    }
    if (row->option == Option::options_file) {
        for (const auto& file : list_elements(*value))
            read_arguments(shell_words(file_text(file)), depth + 1);
        return at;
    }
    for (auto& each : values_of(*row, *value)) given_.push_back({row->option, std::move(each)});
    return at;
}

void CommandLine::unknown(const std::string& argument) {
    if (has(Option::forward_compiler) || has(Option::forward_opts)) return add(Option::to_compiler, argument);
    if (has(Option::forward_linker)) return add(Option::to_linker, argument);
    std::string message = "Unknown option '" + argument + "'";
    const std::string name = argument.substr(argument.starts_with("--") ? 2 : 1);
    if (const auto near = near_name(name.substr(0, name.find('='))); !near.empty())
        message += "; did you mean '" + near + "'?";
    else if (looks_like_a_compilers(argument))
        message += "; options of the host compiler follow -Xcompiler: -Xcompiler " + argument;
    throw Fatal(message);
}

bool CommandLine::has(Option option) const {
    return std::ranges::any_of(given_, [&](const Given& given) { return given.option == option; });
}

std::string CommandLine::last(Option option) const {
    for (auto given = given_.rbegin(); given != given_.rend(); ++given)
        if (given->option == option) return given->value;
    return "";
}

std::vector<std::string> CommandLine::all(Option option) const {
    std::vector<std::string> values;
    for (const Given& given : given_)
        if (given.option == option) values.push_back(given.value);
    return values;
}

bool CommandLine::boolean(Option option, bool otherwise) const {
    return has(option) ? last(option) == "true" : otherwise;
}

}  // namespace cudasim::nvcc
