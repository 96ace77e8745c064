// What a driver looks at, and does to, PTX before it is translated.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace cudasim::stand_in {

/// "PTX ISA", chapter "Directives": .version and .target.
struct PtxHeader {
    int version_major = 0, version_minor = 0;
    int architecture = 0;  ///< 90 of sm_90
    char suffix = '\0';    ///< 'a' or 'f' of sm_90a, sm_100f
};

/// nullopt where a directive is missing.
[[nodiscard]] std::optional<PtxHeader> header_of(const std::string& text);

/// The newest PTX that a driver reads ("PTX ISA", Release Notes), as 10 * major + minor.
/// @param driver as cuDriverGetVersion tells it
[[nodiscard]] int newest_ptx_of(int driver);

/// The text in which integer divisions and remainders by zero give all ones, as GPUs do (docs/gpu_results.md,
/// "Faults"): PTX leaves the value open, and the engine would end the thread. Lines are kept.
[[nodiscard]] std::string with_divisions_of_a_gpu(const std::string& text);

}  // namespace cudasim::stand_in
