// Memory of a real GPU in a process in which another library, such as PyTorch or CuPy, uses that GPU. It is
// read and written through the driver that this library has loaded, in the context that owns the memory.
//
//   if (const auto driver = LoadedDriver::find(); driver && driver->knows(address))
//       driver->read(buffer, address, streams);
//
// Nothing is loaded or initialised here.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

#include "gpu_backend/libcuda/functions.h"
#include "gpu_backend/libcuda/library.h"

namespace cudasim::libcuda {

/// The driver refused a call. what() is "cuMemcpyDtoH fails with CUDA_ERROR_ILLEGAL_ADDRESS (700): …".
struct CallFailed : std::runtime_error {
    CallFailed(Result code, const std::string& message) : std::runtime_error(message), result(code) {}
    Result result;
};

class LoadedDriver {
  public:
    /// The library with the soname libcuda.so.1 in this process. nullopt where there is none, or where it
    /// lacks a function that is needed here.
    [[nodiscard]] static std::optional<LoadedDriver> find();

    /// The library's file, as the dynamic linker has it.
    [[nodiscard]] const std::string& path() const { return library_.path(); }

    /// Whether the address is in memory that the driver manages: page "Unified Addressing",
    /// cuPointerGetAttribute, which returns CUDA_ERROR_INVALID_VALUE for others. Throws CallFailed for other
    /// codes.
    [[nodiscard]] bool knows(DevicePointer address) const;

    /// Waits for the streams, or for all work of the context where none is named, and copies `to.size()`
    /// bytes to the host. Throws CallFailed.
    void read(std::span<std::byte> to, DevicePointer from, std::span<const Stream> streams) const;

    /// Copies to the GPU. The bytes have arrived at the return, which cuMemcpyHtoD alone does not promise for
    /// pageable memory (page "API synchronization behavior"), so streams that do not wait for the default
    /// stream see them, too. Throws CallFailed.
    void write(DevicePointer to, std::span<const std::byte> from) const;

  private:
    class OwningContext;
    explicit LoadedDriver(Library library);
    void require(const char* function, Result result) const;
    Library library_;
    Functions functions_;
};

}  // namespace cudasim::libcuda
