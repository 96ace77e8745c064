// A call of the CUDA driver that failed: which call, CUDA's code, and what is wrong, in the words that
// programs read.
//
//   throw Error("cuMemFree", CudaResult::invalid_value, "double free: this device memory was freed before");
//   return in_call("cuMemAlloc", [&] { return device.allocate(bytes); });  // what the engine refuses, too
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "simulator/execution/device.h"
#include "simulator/findings/cuda_result.h"

namespace cudasim::driver {

using findings::CudaResult;

/// "Call to cuMemAlloc results in CUDA_ERROR_OUT_OF_MEMORY: " and the reason; without a call only the rest.
[[nodiscard]] std::string error_text(std::string_view call, CudaResult code, std::string_view reason);

/// An address as errors show it: "0x7f00".
[[nodiscard]] std::string hexadecimal(std::uint64_t address);

/// what() is error_text().
struct Error : std::runtime_error {
    Error(std::string_view driver_call, CudaResult result, const std::string& reason,
          findings::CallChain where = {})
        : std::runtime_error(error_text(driver_call, result, reason)),
          call(driver_call),
          code(result),
          location(std::move(where)) {}

    /// The same error with one more line in its message.
    Error(const Error& error, const std::string& line)
        : std::runtime_error(std::string(error.what()) + "\n" + line),
          call(error.call),
          code(error.code),
          location(error.location) {}

    std::string call;  ///< e.g. "cuMemAlloc"
    CudaResult code;
    findings::CallChain location;  ///< the place in a kernel that it is about, where there is one
};

/// Runs `body`; what the engine refuses leaves it as the error of this driver call.
template <typename Body>
decltype(auto) in_call(const char* call, Body&& body) {
    try {
        return std::forward<Body>(body)();
    } catch (const execution::CudaError& error) {
        throw Error(call, error.code, error.what(), error.location);
    }
}

}  // namespace cudasim::driver
