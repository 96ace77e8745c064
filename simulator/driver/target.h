// Target: something that holds device memory and runs kernel images: the simulated device, or a real GPU.
// What records of launches are restored to and compared on knows no more of it than this.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "simulator/execution/device.h"

namespace cudasim::driver {

using execution::DevicePointer;

class Target {
  public:
    /// An image on the target, with memory for its global variables.
    class Module {
      public:
        Module() = default;
        virtual ~Module() = default;
        Module(const Module&) = delete;
        Module& operator=(const Module&) = delete;
        /// Where its global variables begin; 0 when it has none.
        [[nodiscard]] virtual DevicePointer globals_base() const = 0;
        /// Where a variable in global or constant memory lies.
        /// @throws execution::CudaError 500 for an unknown name
        [[nodiscard]] virtual execution::AddressRange global_range(std::string_view name) const = 0;
    };

    Target() = default;
    virtual ~Target() = default;
    Target(const Target&) = delete;
    Target& operator=(const Target&) = delete;

    /// What messages call it.
    [[nodiscard]] virtual std::string name() const = 0;

    /// @throws execution::CudaError 2 when it does not fit
    [[nodiscard]] virtual DevicePointer allocate(std::uint64_t bytes,
                                                 const execution::AllocateOptions& options) = 0;
    /// False when the place is not free, or the target cannot choose places.
    [[nodiscard]] virtual bool allocate_at(DevicePointer address, std::uint64_t bytes,
                                           const execution::AllocateOptions& options) = 0;
    /// Lets kernels use host memory, until free(). False when part of it is device memory already.
    [[nodiscard]] virtual bool adopt(DevicePointer address, std::uint64_t bytes,
                                     const std::string& label) = 0;
    /// @throws execution::CudaError 1 for what is not the start of an allocation
    virtual void free(DevicePointer pointer) = 0;
    /// Ranges lie in one allocation. @throws execution::CudaError 1
    virtual void copy_to_device(DevicePointer target, const void* source, std::uint64_t bytes) = 0;
    virtual void copy_from_device(void* target, DevicePointer source, std::uint64_t bytes) = 0;

    /// @param globals_at where the global variables are to lie if that place is free; 0: anywhere
    /// @throws execution::CudaError
    [[nodiscard]] virtual std::unique_ptr<Module> load(const image::KernelImage& image,
                                                       DevicePointer globals_at) = 0;
    /// Compiles a kernel now, for launches with these options; else its first launch does.
    /// @throws execution::CudaError, jit::CompileError, image::Cancelled
    virtual void compile(Module& module, std::string_view kernel,
                         const execution::LaunchOptions& options) = 0;
    /// Runs the kernel to its end. @throws execution::CudaError for what the target forbids
    [[nodiscard]] virtual execution::LaunchResult launch(Module& module, std::string_view kernel,
                                                         const execution::LaunchConfiguration& configuration,
                                                         std::span<const std::byte> parameters,
                                                         const execution::LaunchOptions& options) = 0;
};

}  // namespace cudasim::driver
