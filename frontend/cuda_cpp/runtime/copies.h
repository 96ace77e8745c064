// Copies and fills of the runtime API: boxes of bytes in memory of the host and of devices, found by their
// addresses.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "frontend/cuda_cpp/runtime/host_calls.h"
#include "simulator/driver/context.h"
#include "simulator/driver/error.h"
#include "simulator/streams/timeline.h"

namespace cudasim::cudart {

[[nodiscard]] inline std::uint64_t address_of(const void* pointer) {
    return reinterpret_cast<std::uint64_t>(pointer);
}

/// @throws driver::Error with cudaErrorInvalidValue
[[noreturn]] void refuse(const char* function, const std::string& reason,
                         cudaError_t code = cudaErrorInvalidValue);

/// The stream by its handle, of the current device. @throws driver::Error with
/// cudaErrorInvalidResourceHandle
[[nodiscard]] streams::StreamKey stream_of(const std::shared_ptr<driver::Context>& current,
                                           cudaStream_t stream, const char* function);

/// One side of a copy: rows that lie `pitch` bytes apart, in slices that lie `slice` bytes apart.
struct Side {
    std::uint64_t address = 0;
    std::size_t pitch = 0, slice = 0;
};
struct Box {
    std::size_t width = 0;  ///< bytes
    std::size_t height = 1, depth = 1;
};

/// Where a copy runs: in a stream, or when the call is made, after everything else.
using WhereToRun = std::optional<streams::StreamKey>;

/// For functions with a stream (an address) and without one (null).
[[nodiscard]] inline WhereToRun stream_if(const std::shared_ptr<driver::Context>& current,
                                          const cudaStream_t* stream, const char* function) {
    return stream == nullptr ? WhereToRun{} : stream_of(current, *stream, function);
}

/// A kind that says host for memory of the device is a mistake that a GPU does not mind: it is reported.
/// @throws driver::Error with cudaErrorInvalidMemcpyDirection for a kind that does not exist,
/// cudaErrorInvalidValue for host memory where the kind says device, and for memory that is not large enough
void copy(const HostCall& host, const std::shared_ptr<driver::Context>& current, Side target, Side source,
          Box box, cudaMemcpyKind kind, WhereToRun where);

/// @param element_bytes 1, 2 or 4: of the value
void fill(const HostCall& host, const std::shared_ptr<driver::Context>& current, Side target,
          std::uint32_t value, unsigned element_bytes, Box box, WhereToRun where);

}  // namespace cudasim::cudart
