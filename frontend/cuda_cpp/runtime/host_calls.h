// How a call of the runtime API knows the line of the host program that made it, and what is said of calls
// that are mistakes whatever the program does with their result: a free that frees nothing, a copy in the
// wrong direction or beyond its memory.
#pragma once

#include <string>
#include <utility>

#include "frontend/cuda_cpp/host_code/call_labels.h"
#include "frontend/cuda_cpp/runtime/calls.h"
#include "simulator/driver/error.h"

namespace cudasim::cudart {

struct HostCall {
    const char* function = nullptr;
    const void* return_address = nullptr;

    /// What reports call memory that the call allocates.
    [[nodiscard]] std::string label() const { return cuda_cpp::call_label(function, return_address); }
};

/// What is wrong, without the name of the driver's call.
[[nodiscard]] std::string reason_of(const std::exception& error);

/// One line on the standard error, for each place of the program once: "cudasim: cudaFree at main.cu:12, in
/// main: double free". The program gets CUDA's error code and may know what to do about it, so that the line
/// leaves the exit status alone. For `cudasim check` it is a finding, a warning.
void report_mistake(const HostCall& call, const driver::Error& error);

/// call(), with report_mistake().
template <typename Body>
cudaError_t call_of_host(const HostCall& host, Body&& body) noexcept {
    return call(host.function, [&] {
        try {
            std::forward<Body>(body)();
        } catch (const driver::Error& error) {
            report_mistake(host, error);
            throw;
        }
    });
}

}  // namespace cudasim::cudart

/// The call that is being made, in a function of the runtime API.
#define CUDASIM_HOST_CALL                     \
    ::cudasim::cudart::HostCall {             \
        __func__, __builtin_return_address(0) \
    }
