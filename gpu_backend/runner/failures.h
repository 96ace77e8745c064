// Calls of the driver that did not succeed, or did not come back in time.
#pragma once

#include <array>
#include <cstdio>
#include <stdexcept>
#include <string>

#include "gpu_backend/libcuda/driver.h"

namespace cudasim::runner {

struct DriverFailure : std::runtime_error {
    DriverFailure(const libcuda::Driver& driver, const char* called, libcuda::Result what)
        : std::runtime_error(std::string(called) + " returned " + driver.text_of(what)),
          function(called),
          result(what) {}
    std::string function;
    libcuda::Result result;
};

/// @throws DriverFailure unless `result` is success
inline void require(const libcuda::Driver& driver, const char* function, libcuda::Result result) {
    if (result != libcuda::Result::success) throw DriverFailure(driver, function, result);
}

/// "0.5 seconds", "60 seconds"
inline std::string seconds_text(double seconds) {
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), "%g seconds", seconds);
    return text.data();
}

}  // namespace cudasim::runner
