// See host_calls.h.
#include "frontend/cuda_cpp/runtime/host_calls.h"

#include <cstdio>
#include <mutex>
#include <set>

#include "frontend/cuda_cpp/host_code/host_lines.h"

namespace cudasim::cudart {
namespace {

/// The reason alone: "Call to cuMemFree results in CUDA_ERROR_INVALID_VALUE: " is the driver's API.
std::string reason_of(const driver::Error& error) {
    const std::string text = error.what(), prefix = driver::error_text(error.call, error.code, "");
    return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

}  // namespace

void report_mistake(const HostCall& call, const driver::Error& error) {
    // Others are not about this call: an earlier kernel's error, for example.
    if (error.code != driver::CudaResult::invalid_value && error.code != driver::CudaResult::out_of_memory &&
        error.code != driver::CudaResult::host_memory_already_registered &&
        error.code != driver::CudaResult::host_memory_not_registered)
        return;
    static std::mutex mutex;
    static auto& reported = *new std::set<const void*>;
    {
        const std::lock_guard lock(mutex);
        if (!reported.insert(call.return_address).second) return;
    }
    const auto chain = cuda_cpp::host_lines(call.return_address);
    std::string place = call.function + (" at " + cuda_cpp::host_place(call.return_address));
    if (!chain.empty() && chain.front().line != 0 && !chain.front().function.empty())
        place += ", in " + chain.front().function;
    std::fflush(stdout);
    std::fprintf(stderr, "cudasim: %s: %s\n", place.c_str(), cuda_cpp::with_lines(reason_of(error)).c_str());
}

}  // namespace cudasim::cudart
