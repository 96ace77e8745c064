// See diagnostics.h.
#include "frontend/cuda_cpp/driver/diagnostics.h"

#include <algorithm>
#include <cctype>
#include <string_view>
#include <vector>

namespace cudasim::nvcc {
namespace {

std::string without_colour(std::string_view line) {
    std::string plain;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '\033') {
            while (i < line.size() && !std::isalpha(static_cast<unsigned char>(line[i]))) ++i;
            continue;
        }
        plain += line[i];
    }
    return plain;
}

/// "2 warnings and 1 error generated when compiling for sm_75."
bool counts_messages(std::string_view line) {
    return !line.empty() && std::isdigit(static_cast<unsigned char>(line[0])) != 0 &&
           (line.find("error generated") != line.npos || line.find("errors generated") != line.npos ||
            line.find("warning generated") != line.npos || line.find("warnings generated") != line.npos);
}

/// Notes, pieces of source and instantiations follow the message that they belong to.
bool is_a_message(std::string_view line) {
    for (const char* kind : {": warning: ", ": error: ", ": fatal error: ", ": remark: "})
        if (line.find(kind) != line.npos) return true;
    return line.starts_with("warning: ") || line.starts_with("error: ");
}

/// clang's words for a kernel that launches a kernel.
bool is_of_a_launch_by_device_code(std::string_view message) {
    return message.find(": error: reference to __global__ function '") != message.npos;
}

/// What `#error` says in the headers of scripts/write_missing_headers.py.
bool is_of_a_missing_header(std::string_view message) {
    return message.find("error: \"") != message.npos &&
           message.find(" is not part of cudasim") != message.npos;
}

bool leads_to_a_message(std::string_view line) {
    return line.starts_with("In file included from ") || line.starts_with("In module ");
}

}  // namespace

std::string Diagnostics::unseen(const std::string& text) {
    std::string result, leading, whole, key;
    const auto finish = [&] {
        const bool missing = is_of_a_missing_header(key);
        header_missing_ |= missing;
        const bool follows = header_missing_ && !missing && key.find(": error: ") != key.npos;
        // A pass that was ended because the other one had failed may have written a part of a message.
        const auto like = seen_.lower_bound(key);
        const bool seen = like != seen_.end() && like->starts_with(key);
        if (!whole.empty() && !follows && !seen) {
            seen_.insert(key);
            result += whole;
            if (is_of_a_launch_by_device_code(key))
                result +=
                    "note: launches by device code (dynamic parallelism) are not part of cudasim (yet)\n";
        }
        whole.clear();
        key.clear();
    };
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
        const std::string line = text.substr(at, end - at);
        const std::string plain = without_colour(line);
        at = end;
        if (counts_messages(plain)) continue;
        if (leads_to_a_message(plain)) {
            if (leading.empty()) finish();
            leading += line;
            continue;
        }
        if (is_a_message(plain)) finish();
        whole += leading + line;
        key += plain;
        leading.clear();
    }
    whole += leading;
    finish();
    return result;
}

}  // namespace cudasim::nvcc
