// What calls of the driver throw, as values that tests compare.
#pragma once

#include <exception>
#include <string>

#include "simulator/driver/error.h"

namespace cudasim::driver::testing {

/// The code of the driver's error that the body throws; success for none.
template <typename Body>
CudaResult result_of(Body&& body) {
    try {
        body();
    } catch (const Error& error) {
        return error.code;
    }
    return CudaResult::success;
}

/// what() of what the body throws; empty for nothing.
template <typename Body>
std::string message_of(Body&& body) {
    try {
        body();
    } catch (const std::exception& error) {
        return error.what();
    }
    return "";
}

}  // namespace cudasim::driver::testing
