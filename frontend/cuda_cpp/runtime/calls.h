// How a function of the runtime API is written: its body throws the driver's errors, which become the
// function's result and the thread's last error.
#pragma once

#include <driver_types.h>

#include <cstdint>
#include <exception>
#include <string>
#include <utility>

namespace cudasim::cudart {

/// The result of what is being handled, inside of a catch block; it is also the thread's last error.
[[nodiscard]] cudaError_t caught(const char* call) noexcept;

/// Notes the result as cudaGetLastError() has it.
cudaError_t noted(cudaError_t result);

/// Ends a call with this result.
[[noreturn]] void fail(const char* call, cudaError_t code, const std::string& reason);
/// Whether the process has memory there: a wild pointer is an error, not the end of the program.
[[nodiscard]] bool is_memory(const void* pointer);
/// @throws driver::Error 1 for a null pointer and for one to no memory
void require_argument(const char* call, const void* pointer, const char* what);
/// The same for an argument that may be null.
/// The same for arrays of so many elements each, of which there is at least one.
template <typename... Elements>
void require_arrays(const char* call, std::size_t count, const Elements*... arrays) {
    const auto require = [&](const auto* array) {
        const auto last = reinterpret_cast<std::uintptr_t>(array) + (count - 1) * sizeof *array;
        require_argument(call, array, "an array");
        require_argument(call, reinterpret_cast<const void*>(last), "the end of an array");
    };
    (require(arrays), ...);
}
void require_optional(const char* call, const void* pointer, const char* what);

template <typename Body>
cudaError_t call(const char* name, Body&& body) noexcept {
    try {
        std::forward<Body>(body)();
        return cudaSuccess;
    } catch (...) {
        return caught(name);
    }
}

}  // namespace cudasim::cudart
