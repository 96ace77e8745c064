// What nvcc says about itself. See options.h.
#include <sstream>

#include "frontend/cuda_cpp/driver/options.h"

namespace cudasim::nvcc {
namespace {

std::string_view meaning(Kind kind) {
    switch (kind) {
        case Kind::honoured:
            return "honoured";
        case Kind::passed_on:
            return "passed on";
        case Kind::no_meaning:
            return "without meaning here";
        case Kind::refused:
            return "refused";
    }
    return "";
}

std::string spelling(const OptionRow& row) {
    std::string value(row.value);
    if (row.shape == Shape::boolean) value = "true|false";
    if (!value.empty()) value = (row.shape == Shape::boolean ? "=" : " ") + value;
    std::string text = "--" + std::string(row.long_name) + value;
    if (row.short_name != row.long_name || row.short_name.size() > 1)
        text += ", -" + std::string(row.short_name);
    return text;
}

/// Text in lines of at most 100 characters, indented by 8.
std::string filled(std::string_view text) {
    std::string out, line;
    std::istringstream words{std::string(text)};
    for (std::string word; words >> word;) {
        if (!line.empty() && line.size() + word.size() > 90) {
            out += "        " + line + "\n";
            line.clear();
        }
        line += (line.empty() ? "" : " ") + word;
    }
    return out + "        " + line + "\n";
}

/// A bar inside of a cell would end it.
std::string cell(std::string_view text) {
    std::string escaped;
    for (const char c : text) {
        if (c == '|') escaped += '\\';
        escaped += c;
    }
    return escaped;
}

}  // namespace

std::string help_text() {
    std::string text =
        "\nUsage: nvcc [options] FILE...\n\n"
        "nvcc of cudasim compiles CUDA C++ for the simulator, with clang. Its options are those of NVIDIA's\n"
        "nvcc. Values follow after a space or '='; lists are separated by commas, or the option is "
        "repeated.\n"
        "The variables NVCC_PREPEND_FLAGS and NVCC_APPEND_FLAGS hold options before and after those given.\n"
        "CUDASIM_CLANG names the program clang++.\n\n";
    for (const OptionRow& row : option_table()) {
        text += spelling(row) + "\n";
        std::string help(row.help);
        if (row.kind == Kind::no_meaning) help = "Accepted, without meaning here. " + help;
        if (row.kind == Kind::refused) help = "Refused. " + help;
        text += filled(help);
    }
    return text;
}

std::string help_markdown() {
    std::string text = "| Option | | Meaning |\n|---|---|---|\n";
    for (const OptionRow& row : option_table())
        text += "| `" + cell(spelling(row)) + "` | " + std::string(meaning(row.kind)) + " | " +
                cell(row.help) + " |\n";
    return text;
}

}  // namespace cudasim::nvcc
