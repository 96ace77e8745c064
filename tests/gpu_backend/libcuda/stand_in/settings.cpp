#include "tests/gpu_backend/libcuda/stand_in/settings.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "gpu_backend/libcuda/functions.h"

namespace cudasim::stand_in {
namespace {

constexpr const char* variable = "CUDASIM_TEST_LIBCUDA";

[[noreturn]] void refuse(const std::string& entry) {
    std::fprintf(stderr, "%s: the stand-in driver does not know the entry '%s'\n", variable, entry.c_str());
    std::abort();
}

std::vector<std::string> parts_of(const std::string& text, char separator) {
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, separator);) {
        const auto first = part.find_first_not_of(' ');
        if (first != std::string::npos)
            parts.push_back(part.substr(first, part.find_last_not_of(' ') - first + 1));
    }
    return parts;
}

int number(const std::string& text, const std::string& entry) {
    char* end = nullptr;
    const long value = std::strtol(text.c_str(), &end, 10);
    if (text.empty() || *end != '\0') refuse(entry);
    return static_cast<int>(value);
}

bool is_symbol(std::string_view name) {
    for (const auto& row : libcuda::function_rows())
        if (name == row.symbol) return true;
    return false;
}

std::vector<std::pair<int, int>> capabilities(const std::string& text, const std::string& entry) {
    std::vector<std::pair<int, int>> result;
    for (const auto& part : parts_of(text, ',')) {
        const auto numbers = parts_of(part, '.');
        if (numbers.size() != 2) refuse(entry);
        result.emplace_back(number(numbers[0], entry), number(numbers[1], entry));
    }
    if (result.empty()) refuse(entry);
    return result;
}

void take(Settings& settings, const std::string& entry) {
    const auto equals = entry.find('=');
    if (equals == std::string::npos) refuse(entry);
    const std::string name = entry.substr(0, equals);
    const std::string value = entry.substr(equals + 1);
    std::set<std::string>* symbols = name == "missing" ? &settings.missing
                                     : name == "crash" ? &settings.crashing
                                     : name == "hang"  ? &settings.hanging
                                                       : nullptr;
    if (symbols != nullptr) {
        if (!is_symbol(value) && !(name == "missing" && value == "all")) refuse(entry);
        symbols->insert(value);
    } else if (name == "version") {
        settings.version = number(value, entry);
    } else if (name == "devices") {
        settings.devices = number(value, entry);
    } else if (name == "capabilities") {
        settings.capabilities = capabilities(value, entry);
    } else if (name == "virtual_memory") {
        settings.virtual_memory = number(value, entry) != 0;
    } else if (is_symbol(name)) {
        settings.results[name] = number(value, entry);
    } else {
        refuse(entry);
    }
}

}  // namespace

Settings settings() {
    Settings settings;
    const char* text = std::getenv(variable);
    for (const auto& entry : parts_of(text != nullptr ? text : "", ';')) take(settings, entry);
    return settings;
}

}  // namespace cudasim::stand_in
