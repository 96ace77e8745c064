// A call of the driver that did not succeed.
#pragma once

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

}  // namespace cudasim::runner
