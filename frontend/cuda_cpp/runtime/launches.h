// One launch, whichever function of the runtime API it comes from.
#pragma once

#include <driver_types.h>

#include <optional>

namespace cudasim::cudart {

struct LaunchRequest {
    const char* call = nullptr;
    const void* function = nullptr;  ///< the host's
    dim3 grid, block;
    void** arguments = nullptr;
    size_t shared_bytes = 0;
    cudaStream_t stream = nullptr;
    bool cooperative = false;
    const void* return_address = nullptr;  ///< of the program's line
    bool is_statement = false;             ///< kernel<<<...>>>(...), which has no result
    std::optional<dim3> cluster = {};      ///< blocks of each cluster, where the launch says it
};

/// What the configuration, the kernel or the device forbids is the result, at once; what the kernel
/// does wrong is reported on the standard error, and the next call that waits for the device has it as
/// its result.
[[nodiscard]] cudaError_t launch(const LaunchRequest& request) noexcept;

/// The calling thread keeps nothing of the kernels that it has launched: their library is unloaded, and what
/// it has on the device ends with it.
void forget_launches() noexcept;

}  // namespace cudasim::cudart
