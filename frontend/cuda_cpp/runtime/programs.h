// What the program's own constructors register: its device code, and which kernel or variable of it stands
// behind which address of the host. Of the shared libraries of a process each registers its own.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "frontend/cuda_cpp/images/declared_limits.h"
#include "frontend/cuda_cpp/runtime/kernels.h"
#include "simulator/driver/error.h"
#include "simulator/driver/module.h"

namespace cudasim::cudart {

/// A kernel's host function, or the shadow of a device variable.
struct Registered {
    std::size_t program = 0;  ///< of Programs::images_
    std::string name;         ///< mangled
};

class Programs {
  public:
    [[nodiscard]] static Programs& of_this_process();

    /// @param data what the fat binary wrapper points to
    /// @param files of what nvcc linked (-rdc=true): a fat binary of each file, null behind the last; else
    /// null
    std::size_t add_image(const void* data, const void* const* files);
    void add_kernel(std::size_t program, const void* host_function, std::string name);
    void add_variable(std::size_t program, const void* host_variable, std::string name);
    /// All kernels and variables of an image are registered.
    void end_of_image(std::size_t program);
    /// Host code is about to use managed variables of the image: they get their initial values.
    void load_managed(std::size_t program) noexcept;
    /// The library that registered the image is unloaded.
    void remove_image(std::size_t program);
    /// The device is reset: its variables get their initial values when they are next used.
    void forget_device(const driver::Context& context);
    /// Changes whenever a kernel that kernel() gave may be another one's now.
    [[nodiscard]] std::uint64_t generation() const { return generation_.load(std::memory_order_acquire); }

    /// @throws driver::Error 400 for an address that is no kernel's, 98 for null; with what makes the image
    /// unusable
    [[nodiscard]] std::shared_ptr<PreparedKernel> kernel(const std::shared_ptr<driver::Context>& context,
                                                         const void* host_function, const char* call);
    /// The mangled name. @throws driver::Error 400, 98
    [[nodiscard]] const std::string& kernel_name(const void* host_function, const char* call);
    /// Of a file of this name among the sources of the images that have been loaded; the name where there is
    /// none.
    [[nodiscard]] std::string path_of_source(const std::string& name);
    /// @throws driver::Error with cudaErrorInvalidSymbol for an address that is no variable's
    [[nodiscard]] execution::AddressRange variable(const std::shared_ptr<driver::Context>& context,
                                                   const void* host_variable);

  private:
    /// An image on a device, or several that were linked together.
    struct OnDevice {
        std::shared_ptr<driver::Module> module;
        cuda_cpp::DeclaredLimits limits;
        std::shared_ptr<const EmbeddedCode> embedded;  ///< null: as the module has it
        std::map<std::string, std::shared_ptr<PreparedKernel>, std::less<>> kernels;
    };
    struct Image {
        const void* data = nullptr;          ///< null: removed
        const void* const* files = nullptr;  ///< see add_image()
        const void* library = nullptr;       ///< where the executable or shared library begins that holds it
        std::map<std::uint64_t, std::shared_ptr<OnDevice>> on_devices;  ///< by context id
        std::optional<driver::Error> refused;                           ///< why it cannot be loaded
    };
    [[nodiscard]] OnDevice& on_device(const std::shared_ptr<driver::Context>& context, std::size_t program);
    [[nodiscard]] image::KernelImage unlike_others(const image::KernelImage& code,
                                                   std::uint64_t context) const;
    [[nodiscard]] std::shared_ptr<OnDevice> load(const std::shared_ptr<driver::Context>& context,
                                                 std::size_t program);
    [[nodiscard]] const Registered& registered_kernel(const void* host_function, const char* call) const;

    std::mutex mutex_;
    std::vector<Image> images_;
    std::map<const void*, Registered> kernels_, variables_;
    std::set<std::string> source_paths_;  ///< of images that have been loaded
    std::atomic<std::uint64_t> generation_{1};
};

}  // namespace cudasim::cudart
