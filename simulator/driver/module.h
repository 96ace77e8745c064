// Modules and their functions (CUDA Driver API, "Module Management"): an image that is loaded into a context,
// whose kernels and variables are found by name.
//
//   auto module = Module::load(context, image);            // cuModuleLoadData
//   Function add = module->function("add");                // cuModuleGetFunction
//   auto range = module->global("counter");                // cuModuleGetGlobal
//   module->unload();                                      // cuModuleUnload
//
// What a program can load, PTX or linked code, is read by front ends. All functions
// may be called from any thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "simulator/driver/context.h"
#include "simulator/driver/launch_plan.h"
#include "simulator/image/kernel_image.h"

namespace cudasim::driver {

class Function;

class Module : public std::enable_shared_from_this<Module> {
  public:
    /// @param context which has its engine
    /// @throws Error with the engine's code, 2 when the variables do not fit
    [[nodiscard]] static std::shared_ptr<Module> load(std::shared_ptr<Context> context,
                                                      const image::KernelImage& image);
    ~Module();
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    [[nodiscard]] const std::shared_ptr<Context>& context() const { return context_; }
    [[nodiscard]] const image::KernelImage& image() const { return image_; }
    /// A number that no other Module or Function of this process has.
    [[nodiscard]] std::uint64_t handle() const { return handle_; }
    /// The module that has this handle and is loaded. @throws Error 400, which names `call`, where none is
    [[nodiscard]] static std::shared_ptr<Module> with_handle(std::uint64_t handle, const char* call);

    /// @throws Error 500, which names the kernels that there are
    [[nodiscard]] Function function(const std::string& name);
    /// The memory of a variable in global or constant memory. @throws Error 400 after unload(), 500
    [[nodiscard]] execution::AddressRange global(std::string_view name) const;
    /// The image on the context's device. @throws Error 400 after unload()
    [[nodiscard]] std::shared_ptr<Target::Module> on_device() const;

    [[nodiscard]] bool is_loaded() const;
    /// Its variables are gone and its functions cannot be launched any more, when the
    /// launches that use them are over.
    /// @return whether it was loaded
    bool unload();

  private:
    friend class Function;
    Module(std::shared_ptr<Context> context, const image::KernelImage& image);

    const std::shared_ptr<Context> context_;
    const image::KernelImage image_;
    const std::uint64_t handle_;
    mutable std::mutex mutex_;                        ///< guards what follows
    std::shared_ptr<Target::Module> on_device_;       ///< null after unload()
    std::map<std::uint64_t, std::string> functions_;  ///< names by the handles that function() has given
};

/// A value for a kernel's parameter of another size.
struct ParameterMismatch : std::invalid_argument {
    ParameterMismatch(const std::string& what_it_takes, std::size_t which, std::size_t given)
        : std::invalid_argument(what_it_takes + ", the value has " + std::to_string(given)),
          parameter(what_it_takes),
          index(which) {}
    std::string parameter;  ///< "parameter n of add has 4 bytes"
    std::size_t index;      ///< of the parameter
};

/// A kernel of a module, which it keeps.
class Function {
  public:
    [[nodiscard]] const std::shared_ptr<Module>& module() const { return module_; }
    [[nodiscard]] const std::string& name() const { return kernel_.name; }
    [[nodiscard]] std::span<const image::Parameter> parameters() const { return kernel_.parameters; }
    [[nodiscard]] std::uint64_t handle() const { return handle_; }

    /// The buffer of parameters for a launch.
    /// @param values the bytes of each
    /// @throws std::invalid_argument for another number of them, ParameterMismatch for another size
    [[nodiscard]] std::vector<std::byte> pack(std::span<const std::span<const std::byte>> values) const;

    /// The function that has this handle, of a module that is loaded.
    /// @throws Error 400, which names `call`, where none is
    [[nodiscard]] static Function with_handle(std::uint64_t handle, const char* call);

    /// A launch of the kernel. @throws Error 400 when its module was unloaded
    [[nodiscard]] LaunchPlan plan(const execution::LaunchConfiguration& configuration,
                                  const execution::LaunchOptions& options) const;

    /// CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: the device's, because registers are not modelled.
    [[nodiscard]] unsigned max_threads_per_block() const;
    /// CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: its static shared memory. Compiles the kernel.
    /// @throws Error 400 when its module was unloaded; jit::CompileError
    [[nodiscard]] std::uint64_t static_shared_bytes() const;

  private:
    friend class Module;
    Function(std::shared_ptr<Module> module, const image::Kernel& kernel);
    Function(std::shared_ptr<Module> module, const image::Kernel& kernel, std::uint64_t handle);

    std::shared_ptr<Module> module_;
    image::Kernel kernel_;
    std::uint64_t handle_;
};

}  // namespace cudasim::driver
