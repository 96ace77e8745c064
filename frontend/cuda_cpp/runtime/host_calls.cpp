// See host_calls.h.
#include "frontend/cuda_cpp/runtime/host_calls.h"

#include <array>
#include <cstdio>
#include <mutex>
#include <set>

#include "frontend/cuda_cpp/host_code/host_lines.h"
#include "frontend/cuda_cpp/runtime/host_findings.h"
#include "frontend/cuda_cpp/runtime/launch_runner.h"

namespace cudasim::cudart {

namespace {

/// Reasons name functions of the driver's API.
std::string in_words_of_runtime(std::string text) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 3> words{
        {{"cuMemFreeHost", "cudaFreeHost"},
         {"cuMemHostUnregister", "cudaHostUnregister"},
         {"cuMemFree", "cudaFree"}}};
    for (const auto& [of_driver, of_runtime] : words)
        for (std::size_t at = 0; (at = text.find(of_driver, at)) != std::string::npos;
             at += of_runtime.size())
            text.replace(at, of_driver.size(), of_runtime);
    return text;
}

}  // namespace

std::string reason_of(const std::exception& error) {
    const std::string text = error.what();
    const auto* of_driver = dynamic_cast<const driver::Error*>(&error);
    if (of_driver == nullptr) return text;
    const std::string prefix = driver::error_text(of_driver->call, of_driver->code, "");
    return in_words_of_runtime(text.starts_with(prefix) ? text.substr(prefix.size()) : text);
}

void report_mistake(const HostCall& call, const driver::Error& error) {
    // Others are not about this call: an earlier kernel's error, for example.
    if (error.code != driver::CudaResult::invalid_value && error.code != driver::CudaResult::out_of_memory &&
        error.code != driver::CudaResult::host_memory_already_registered &&
        error.code != driver::CudaResult::host_memory_not_registered)
        return;
    static std::mutex mutex;
    static auto& addresses = *new std::set<const void*>;
    static auto& places = *new std::set<std::string>;
    const std::lock_guard lock(mutex);
    if (!addresses.insert(call.return_address).second) return;
    const auto chain = cuda_cpp::host_lines(call.return_address);
    std::string place = call.function + (" " + cuda_cpp::host_place(call.return_address));
    if (!chain.empty() && chain.front().line != 0 && !chain.front().function.empty())
        place += ", in " + chain.front().function;
    if (!places.insert(place).second) return;  // a loop that was unrolled has several addresses
    // A program may ask for more memory than there is to find out how much it gets.
    if (LaunchRunner::of_this_process().tells_findings() && error.code != driver::CudaResult::out_of_memory) {
        tell_of_host(
            findings::FindingKind::failed_call,
            "a call of the CUDA runtime failed: " + std::string(call.function) + ": " + reason_of(error),
            chain);
        return;
    }
    std::fflush(stdout);
    std::fprintf(stderr, "cudasim: %s: %s\n", place.c_str(), cuda_cpp::with_lines(reason_of(error)).c_str());
}

}  // namespace cudasim::cudart
