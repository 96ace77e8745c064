// make_functions_inline(): see patched_sources.h.
#include <algorithm>
#include <cctype>
#include <regex>
#include <set>
#include <string_view>

#include "frontend/cuda_cpp/driver/code_text.h"
#include "frontend/cuda_cpp/driver/patched_sources.h"

namespace cudasim::nvcc {
namespace {

using Copy = PatchedSources::Copy;
constexpr std::size_t none = std::string::npos;
/// Characters of a declaration that are looked at: regular expressions recurse.
constexpr std::size_t most_of_a_head = 2000;

/// Whether what stands before a brace opens a scope of declarations.
bool opens_scope(const std::string& head) {
    static const std::regex scope(
        R"(^(inline\s+)?(namespace|class|struct|union|enum|extern\s*"[^"]*"\s*$|template\s*<[^{]*>\s*(class|struct|union)\b))");
    return std::regex_search(head, scope);
}

bool is_access_specifier(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
    return text == "public" || text == "private" || text == "protected";
}

/// @return where the declaration of the outermost function around a place begins, or none
std::size_t function_around(const std::string& text, std::size_t place) {
    struct Brace {
        bool scope;
        std::size_t declaration;
    };
    std::vector<Brace> braces;
    std::size_t declaration = none;
    int parentheses = 0;
    for (std::size_t at = 0; at < place;) {
        if (const std::size_t end = skip_no_code(text, at); end != at) {
            if (declaration == none && text[at] == '"') declaration = at;
            at = end;
            continue;
        }
        const char c = text[at++];
        if (std::isspace(static_cast<unsigned char>(c))) continue;
        if (c == '{') {
            braces.push_back(
                {declaration != none &&
                     opens_scope(text.substr(declaration, std::min(at - 1 - declaration, most_of_a_head))),
                 declaration});
            declaration = none;
        } else if (c == '}') {
            if (!braces.empty()) braces.pop_back();
            declaration = none;
        } else if (c == ';' && parentheses == 0) {
            declaration = none;
        } else if (c == ':' && declaration != none &&
                   is_access_specifier(std::string_view(text).substr(declaration, at - 1 - declaration))) {
            declaration = none;
        } else {
            if (c == '(') ++parentheses;
            if (c == ')') --parentheses;
            if (declaration == none) declaration = at - 1;
        }
    }
    for (const Brace& brace : braces)
        if (!brace.scope) return brace.declaration;
    return declaration;  // the place is in the function's head
}

/// @return where "inline" can stand: behind `extern "C"`
std::size_t behind_linkage(const std::string& text, std::size_t declaration) {
    static const std::regex linkage(R"(^extern\s*"[^"]*"\s*)");
    std::smatch match;
    const auto from = text.begin() + static_cast<std::ptrdiff_t>(declaration);
    return std::regex_search(from, text.end(), match, linkage, std::regex_constants::match_continuous)
               ? declaration + static_cast<std::size_t>(match.length())
               : declaration;
}

bool may_become_inline(const std::string& declaration) {
    static const std::regex no(
        R"(^(inline|template|extern|using|typedef|friend|virtual|explicit|namespace|class|struct|union|enum)\b|^[^(]*\bmain\s*\()");
    return !std::regex_search(declaration, no);
}

}  // namespace

bool make_functions_inline(PatchedSources& sources, const std::string& messages) {
    std::set<std::pair<std::string, std::size_t>> starts;
    bool here = false;
    for (const auto& line : lines_of(messages)) {
        const auto place = MessagePlace::read(line);
        if (!place) continue;
        if (!place->rest.starts_with(": note:"))
            here = place->rest.starts_with(": error:") &&
                   place->rest.find("in __host__ __device__ function") != none;
        if (!here || place->rest.ends_with(" declared here") || place->file.starts_with("/usr/")) continue;
        const Copy* copy = sources.copy_of(place->file);
        if (copy == nullptr || place->line == 0 || place->line > copy->lines.size()) continue;
        std::string text;
        std::size_t offset = 0;
        for (std::size_t i = 0; i < copy->lines.size(); ++i) {
            if (i + 1 == place->line) offset = text.size() + place->column - 1;
            text += copy->lines[i] + "\n";
        }
        std::size_t start = function_around(text, offset);
        if (start != none) start = behind_linkage(text, start);
        if (start != none && may_become_inline(text.substr(start, most_of_a_head)))
            starts.emplace(place->file, start);
    }
    for (auto each = starts.rbegin(); each != starts.rend(); ++each) {
        Copy* copy = sources.copy_of(each->first);
        std::size_t line = 0, column = each->second;
        while (column > copy->lines[line].size()) column -= copy->lines[line++].size() + 1;
        copy->insert(line, column, "inline ");
    }
    if (!starts.empty()) sources.write();
    return !starts.empty();
}

}  // namespace cudasim::nvcc
