// See kernel_code.h.
#include "debugger/control/kernel_code.h"

#include <algorithm>
#include <filesystem>

namespace cudasim::debugger {
namespace {

constexpr std::uint32_t lines_of_a_head = 2;

std::string last_part(const std::string& path) {
    return path.substr(path.find_last_of('/') + 1);
}

/// Several statements may have one site: a `for` line's, before the first round and before the others.
void add_site(std::optional<std::uint32_t> site, std::vector<std::uint32_t>& sites) {
    if (site && std::ranges::find(sites, *site) == sites.end()) sites.push_back(*site);
}

}  // namespace

std::string normalised_path(const std::string& path) {
    if (path.empty() || path.front() == '<') return path;
    std::error_code error;
    const std::filesystem::path absolute = std::filesystem::absolute(path, error);
    if (error) return path;
    const std::filesystem::path canonical = std::filesystem::weakly_canonical(absolute, error);
    return error ? absolute.lexically_normal().string() : canonical.string();
}

KernelCode::KernelCode(const jit::CompiledKernel& kernel)
    : name_(kernel.head.function.empty() ? kernel.name : kernel.head.function) {
    for (const execution::Statement& statement : execution::statements_of(kernel)) {
        const findings::SourceLocation& place = statement.place->front();
        add({place, statement.place->size() == 1 && place.function == name_, statement.is_breakpoint,
             statement.is_entry, statement.site});
    }
    find_calls();
    for (const findings::CallChain& site : kernel.sites) {
        const findings::CallChain place = findings::without_own_code(site);
        const Line* line = nullptr;
        if (const auto file = place.empty() ? lines_.end() : lines_.find(place.front().file);
            file != lines_.end())
            if (const auto found = file->second.find(place.front().line); found != file->second.end())
                line = &found->second;
        line_of_site_.push_back(line);
    }
}

KernelCode::KernelCode(const std::string& kernel, const jit::SourceStatements& source)
    : name_(source.head.function.empty() ? kernel : source.head.function) {
    for (const jit::SourceStatement& statement : source.statements)
        add({statement.place, statement.place.function == name_, statement.is_breakpoint, statement.is_entry,
             std::nullopt});
    find_calls();
}

void KernelCode::add(const PlaceOfStatement& statement) {
    const findings::SourceLocation& place = statement.place;
    if (place.file.starts_with(findings::own_code)) return;
    Line& line = lines_[place.file][place.line];
    line.file = place.file;
    line.line = place.line;
    add_site(statement.site, line.sites);
    if (statement.is_breakpoint) add_site(statement.site, call_sites_[{place.file, place.line}]);
    Function& function = functions_[place.file][place.function];
    if (function.name.empty()) function = {place.function, place.line, place.line, false};
    function.first = std::min(function.first, place.line);
    function.last = std::max(function.last, place.line);
    function.is_kernel |= statement.is_in_kernel;
    if (!statement.is_entry) return;
    Line& entry = function.entry;
    if (entry.line == 0 || place.line < entry.line) entry = {place.file, place.line, {}};
    if (place.line == entry.line) add_site(statement.site, entry.sites);
}

/// All statements are known.
void KernelCode::find_calls() {
    for (auto& [place, sites] : std::exchange(call_sites_, {})) {
        // A breakpoint of the line stops where the line begins, once.
        std::vector<std::uint32_t>& all = lines_[place.first][place.second].sites;
        const auto is_call = [&](std::uint32_t site) {
            return std::ranges::find(sites, site) != sites.end();
        };
        if (!std::ranges::all_of(all, is_call)) std::erase_if(all, is_call);
        calls_.push_back({place.first, place.second, std::move(sites)});
    }
    for (const auto& [file, lines] : lines_) files_[normalised_path(file)] = file;
}

std::string KernelCode::file_of_kernel() const {
    for (const auto& [file, functions] : functions_)
        for (const auto& [name, function] : functions)
            if (function.is_kernel) return file;
    return {};
}

std::optional<std::string> KernelCode::file(const std::string& path) const {
    if (lines_.contains(path)) return path;
    if (const auto found = files_.find(normalised_path(path)); found != files_.end()) return found->second;
    // The program may have been started from elsewhere: the name alone, where only one file has it.
    if (path.find('/') != std::string::npos) return std::nullopt;
    const std::string* only = nullptr;
    for (const auto& [normalised, file] : files_) {
        if (last_part(normalised) != path) continue;
        if (only != nullptr) return std::nullopt;
        only = &file;
    }
    return only != nullptr ? std::optional(*only) : std::nullopt;
}

const KernelCode::Line* KernelCode::line(const std::string& path, std::uint32_t wanted) const {
    const auto name = file(path);
    if (!name) return nullptr;
    const auto& lines = lines_.at(*name);
    const auto found = lines.lower_bound(wanted);
    if (found == lines.end() || found->first == wanted)
        return found == lines.end() ? nullptr : &found->second;
    for (const auto& [function, each] : functions_.at(*name)) {
        const std::uint32_t begin = each.first > lines_of_a_head ? each.first - lines_of_a_head : 1;
        if (wanted >= begin && found->first <= each.last && found->first >= each.first) return &found->second;
    }
    return nullptr;
}

namespace {

/// "dot" for "geo::Vec3<float>::dot(Vec3<float>)": debug information names functions without what is around
/// them.
std::string_view unqualified(std::string_view wanted) {
    wanted = wanted.substr(0, wanted.find('('));
    std::size_t begin = 0;
    int depth = 0;
    for (std::size_t i = 0; i + 1 < wanted.size(); ++i) {
        depth += (wanted[i] == '<') - (wanted[i] == '>');
        if (depth == 0 && wanted[i] == ':' && wanted[i + 1] == ':') begin = i + 2;
    }
    return wanted.substr(begin);
}

/// Whether a function has the name that is wanted: of Python also without its module or class, of C++ also
/// with what is around it, and of a template's instances without their arguments.
bool has_name(std::string_view name, std::string_view wanted) {
    if (name == wanted) return true;
    const std::size_t dot = name.rfind('.');
    if (dot != std::string_view::npos && name.substr(dot + 1) == wanted) return true;
    wanted = unqualified(wanted);
    if (wanted.empty()) return false;
    if (name == wanted) return true;
    return name.ends_with('>') && name.substr(0, name.find('<')) == wanted;
}

}  // namespace

std::vector<const KernelCode::Line*> KernelCode::entries(std::string_view wanted) const {
    std::vector<const Line*> found;
    for (const auto& [file, functions] : functions_) {
        for (const auto& [name, function] : functions) {
            if (!has_name(name, wanted) && (wanted != "*" || !function.is_kernel)) continue;
            found.push_back(function.entry.line != 0 ? &function.entry : &lines_.at(file).at(function.first));
        }
    }
    return found;
}

std::vector<std::uint32_t> KernelCode::lines(const std::string& path) const {
    std::vector<std::uint32_t> numbers;
    if (const auto name = file(path))
        for (const auto& [number, line] : lines_.at(*name)) numbers.push_back(number);
    return numbers;
}

}  // namespace cudasim::debugger
