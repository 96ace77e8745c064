// What asking for a GPU can come to, for messages and exit codes.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace cudasim::libcuda {

enum class Outcome {
    found,
    no_driver,      ///< no libcuda.so.1 anywhere
    broken_driver,  ///< it does not load, lacks a required function, or one that has to succeed fails
    no_device,      ///< the driver works and sees no GPU
    too_old,        ///< the driver, or every GPU, is older than cudasim needs
};

/// "found", "no-driver", "broken-driver", "no-device", "too-old"
[[nodiscard]] std::string_view name_of(Outcome outcome);

/// What programs of cudasim that need a GPU end with: 0 for found, then 10, 11, 12, 13 in the order of
/// Outcome. 1 and 2 are left for the errors of kernels and of usage.
[[nodiscard]] int exit_code(Outcome outcome);

/// There is no GPU to be had. what() says what is wrong, where, and what can be done, in whole sentences.
struct Unavailable : std::runtime_error {
    Unavailable(Outcome what_came_of_it, const std::string& message, std::string file = {})
        : std::runtime_error(message), outcome(what_came_of_it), library(std::move(file)) {}
    Outcome outcome;      ///< not found
    std::string library;  ///< the file that was loaded; empty where none was
};

}  // namespace cudasim::libcuda
