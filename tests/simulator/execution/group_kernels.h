// Kernels without checks whose threads may run in groups (simulator/jit/thread_groups.h), for their tests.
#pragma once

#include <string>

#include "simulator/execution/loaded_image.h"
#include "simulator/jit/group_code.h"
#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::execution {

/// Fibers carry threads one by one, so no group runs on them.
inline LaunchOptions unchecked(Carrier carrier) {
    LaunchOptions options;
    options.carrier = carrier;
    options.policy = Policy::forward;
    options.workers = 1;
    options.compile.instrumentations = {&jit::safepoint_polls()};
    return options;
}

inline bool has_groups(LoadedImage& image, const LaunchOptions& options) {
    const auto kernel = image.prepare("k", options.compile).kernel;
    for (const auto& [first, last] : kernel->code)
        for (std::uintptr_t at = first; at < last; ++at)
            if (jit::runs_groups_at(*kernel, at)) return true;
    return false;
}

template <typename... Arguments>
LaunchResult launch(LoadedImage& image, Dim3 grid, Dim3 block, const LaunchOptions& options,
                    Arguments... arguments) {
    const std::uint64_t parameters[sizeof...(arguments) + 1] = {static_cast<std::uint64_t>(arguments)..., 0};
    return device().launch(image, "k", {grid, block, 0}, std::as_bytes(std::span(parameters)), options);
}

}  // namespace cudasim::execution
