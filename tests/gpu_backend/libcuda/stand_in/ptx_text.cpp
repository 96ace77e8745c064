#include "tests/gpu_backend/libcuda/stand_in/ptx_text.h"

#include <regex>
#include <sstream>

namespace cudasim::stand_in {

std::optional<PtxHeader> header_of(const std::string& text) {
    static const std::regex version(R"((?:^|\n)[ \t]*\.version[ \t]+(\d+)\.(\d+))");
    static const std::regex target(R"((?:^|\n)[ \t]*\.target[ \t]+sm_(\d+)([af]?))");
    std::smatch found;
    PtxHeader header;
    if (!std::regex_search(text, found, version)) return std::nullopt;
    header.version_major = std::stoi(found[1]);
    header.version_minor = std::stoi(found[2]);
    if (!std::regex_search(text, found, target)) return std::nullopt;
    header.architecture = std::stoi(found[1]);
    if (found[2].length() > 0) header.suffix = *found[2].first;
    return header;
}

int newest_ptx_of(int driver) {
    const int major = driver / 1000, minor = driver % 1000 / 10;
    const bool same_as_before = major == 12 && minor >= 6;  // CUDA 12.5 and 12.6 both have PTX 8.5
    return 10 * (major - 4) + minor - (same_as_before ? 1 : 0);
}

std::string with_divisions_of_a_gpu(const std::string& text) {
    // [@guard] div.s32 result, dividend, divisor; with a divisor that is a register
    static const std::regex division(
        R"((@!?%[\w$]+[ \t]+)?\b(div|rem)\.([su])(16|32|64)[ \t]+(%[\w$]+),[ \t]*([^,;]+),[ \t]*(%[\w$]+)[ \t]*;)");
    // The result may be the divisor.
    constexpr const char* checked =
        "{ .reg .pred %standin_p; .reg .b$4 %standin_d; setp.eq.$3$4 %standin_p, $7, 0; "
        "selp.b$4 %standin_d, 1, $7, %standin_p; $1$2.$3$4 %standin_d, $6, %standin_d; "
        "selp.b$4 %standin_d, -1, %standin_d, %standin_p; $1mov.b$4 $5, %standin_d; }";
    std::string result;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line); result += '\n')
        result += line.find("div.") != std::string::npos || line.find("rem.") != std::string::npos
                      ? std::regex_replace(line, division, checked)
                      : line;
    return result;
}

}  // namespace cudasim::stand_in
