// See patched_sources.h.
#include "frontend/cuda_cpp/driver/patched_sources.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <sstream>
#include <system_error>
#include <utility>

namespace cudasim::nvcc {
namespace {

namespace fs = std::filesystem;

std::string key_of(const std::string& file) {
    return fs::absolute(file).lexically_normal();
}

/// As clang shows a line: tabs are filled up to a column that 8 divides.
std::string without_tabs(const std::string& line) {
    std::string text;
    for (const char c : line) {
        if (c != '\t')
            text += c;
        else
            text.append(8 - text.size() % 8, ' ');
    }
    return text;
}

/// The number that is the text from `start` to `end`.
std::optional<std::size_t> number_in(const std::string& text, std::size_t start, std::size_t end) {
    if (start >= end) return std::nullopt;
    std::size_t number = 0;
    const auto [stop, error] = std::from_chars(text.data() + start, text.data() + end, number);
    if (error != std::errc() || stop != text.data() + end || number == 0) return std::nullopt;
    return number;
}

std::string quoted(const std::string& text) {
    std::string result = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') result += '\\';
        result += c;
    }
    return result + "\"";
}

}  // namespace

std::vector<std::string> lines_of(const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    return lines;
}

std::optional<MessagePlace> MessagePlace::read(const std::string& line) {
    if (line.empty() || line[0] == ' ') return std::nullopt;
    for (const char* kind : {": fatal error: ", ": error: ", ": warning: ", ": note: ", ": remark: "}) {
        const std::size_t rest = line.find(kind);
        if (rest == line.npos) continue;
        const std::size_t column = line.rfind(':', rest - 1);
        const std::size_t number =
            column == line.npos || column == 0 ? line.npos : line.rfind(':', column - 1);
        if (number == line.npos || number == 0) continue;
        const auto at = number_in(line, number + 1, column), column_at = number_in(line, column + 1, rest);
        if (at && column_at) return MessagePlace{line.substr(0, number), *at, *column_at, line.substr(rest)};
    }
    return std::nullopt;
}

std::vector<Message> messages_in(const std::string& messages) {
    std::vector<Message> result;
    for (const auto& line : lines_of(messages)) {
        const auto place = MessagePlace::read(line);
        if (!place) continue;
        if (!place->rest.starts_with(": note: ")) {
            result.push_back({*place, {}});
        } else if (!result.empty() && !place->rest.starts_with(": note: expanded from")) {
            result.back().notes.push_back(*place);
        } else if (!result.empty() && place->file[0] != '<') {
            auto& outer = result.back().notes.empty() ? result.back().place : result.back().notes.back();
            outer = {place->file, place->line, place->column, outer.rest};
        }
    }
    return result;
}

std::vector<MessagePlace> places_of(const std::vector<std::string>& texts, const std::string& messages,
                                    Expansions expansions) {
    std::vector<MessagePlace> places;
    bool here = false;
    for (const auto& line : lines_of(messages)) {
        const auto place = MessagePlace::read(line);
        if (!place) continue;
        const bool expanded = place->rest.starts_with(": note: expanded from");
        if (!expanded) here = std::ranges::count(texts, place->rest.substr(2)) > 0;
        if (!here) continue;
        if (!expanded || expansions == Expansions::all) places.emplace_back();
        if (place->file[0] != '<') places.back() = *place;
    }
    std::ranges::sort(places, [](const MessagePlace& a, const MessagePlace& b) {
        return std::pair(a.line, a.column) > std::pair(b.line, b.column);
    });
    return places;
}

void PatchedSources::Copy::insert(std::size_t line, std::size_t column, const std::string& text) {
    lines[line].insert(column, text);
    std::map<std::size_t, std::size_t> moved{{column, text.size()}};
    for (const auto& [at, size] : inserted[line]) moved[at >= column ? at + text.size() : at] = size;
    inserted[line] = std::move(moved);
}

void PatchedSources::Copy::replace(std::size_t line, std::size_t column, char c) {
    lines[line][column] = c;
    (void)inserted[line];
}

PatchedSources::Copy* PatchedSources::copy_of(const std::string& file) {
    const std::string path = key_of(file);
    if (const auto found = copies_.find(path); found != copies_.end()) return &found->second;
    // Not "<command line>" and "<scratch space>".
    if (!fs::is_regular_file(path)) return nullptr;
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    Copy copy;
    copy.original = copy.lines = lines_of(text.str());
    copy.path = path_of_copy(copies_.size(), path);
    return &copies_.emplace(path, std::move(copy)).first->second;
}

PatchedSources::Copy* PatchedSources::copy_at(const MessagePlace& place) {
    Copy* const copy = copy_of(place.file);
    return copy != nullptr && place.line != 0 && place.line <= copy->lines.size() ? copy : nullptr;
}

PatchedSources PatchedSources::further(const std::string& name) const {
    PatchedSources result(folder_, name);
    result.copies_ = copies_;
    std::size_t number = 0;
    for (auto& [path, copy] : result.copies_) copy.path = result.path_of_copy(number++, path);
    return result;
}

std::string PatchedSources::path_of_copy(std::size_t number, const std::string& path) const {
    return folder_ / (name_ + "_" + std::to_string(number) + "_" + fs::path(path).filename().string());
}

void PatchedSources::write() const {
    std::ofstream overlay(folder_ / (name_ + ".yaml"));
    overlay << R"({"version": 0, "use-external-names": false, "roots": [)";
    const char* comma = "";
    for (const auto& [path, copy] : copies_) {
        if (copy.inserted.empty()) continue;
        std::ofstream file(copy.path, std::ios::binary);
        for (const auto& line : copy.lines) file << line << '\n';
        overlay << comma << "\n{\"type\": \"file\", \"name\": " << quoted(path)
                << ", \"external-contents\": " << quoted(copy.path) << "}";
        comma = ",";
    }
    overlay << "]}\n";
}

Command PatchedSources::options() const {
    if (std::ranges::all_of(copies_, [](const auto& each) { return each.second.inserted.empty(); }))
        return {};
    // of_the_files() reads messages without colours.
    return {"-ivfsoverlay", folder_ / (name_ + ".yaml"), "-fno-color-diagnostics"};
}

std::string PatchedSources::of_the_files(const std::string& messages) const {
    if (copies_.empty()) return messages;
    std::string result;
    const Copy* copy = nullptr;
    std::map<std::size_t, std::size_t> removed;  // of what clang shows of the current line
    for (auto line : lines_of(messages)) {
        // "   12 | text", and below it "      | ^~~".
        const std::size_t bar = line.find(" | ");
        const std::size_t first = line.find_first_not_of(' ');
        if (auto place = MessagePlace::read(line)) {
            removed.clear();
            const auto found = copies_.find(key_of(place->file));
            copy = found == copies_.end() ? nullptr : &found->second;
            if (copy != nullptr)
                if (const auto changed = copy->inserted.find(place->line - 1);
                    changed != copy->inserted.end()) {
                    std::size_t less = 0;
                    for (const auto& [at, size] : changed->second)
                        if (at + size < place->column) less += size;
                    line = place->file + ":" + std::to_string(place->line) + ":" +
                           std::to_string(place->column - less) + place->rest;
                }
        } else if (const auto number =
                       copy != nullptr && bar != line.npos ? number_in(line, first, bar) : std::nullopt) {
            removed.clear();
            const auto changed = copy->inserted.find(*number - 1);
            if (changed != copy->inserted.end() &&
                without_tabs(copy->lines[*number - 1]) == line.substr(bar + 3)) {
                for (const auto& [at, size] : changed->second)
                    removed[without_tabs(copy->lines[*number - 1].substr(0, at)).size()] = size;
                line = line.substr(0, bar + 3) + without_tabs(copy->original[*number - 1]);
            }
        } else if (!removed.empty() && bar != line.npos && first == bar + 1) {
            for (auto each = removed.rbegin(); each != removed.rend(); ++each)
                if (bar + 3 + each->first < line.size()) line.erase(bar + 3 + each->first, each->second);
        }
        result += line + '\n';
    }
    return result;
}

}  // namespace cudasim::nvcc
