// Modules and their functions (page "Module Management"): PTX is read by frontend/ptx and compiled for the
// engine when it is loaded, as a driver does.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>

#include "tests/gpu_backend/libcuda/stand_in/gpu.h"

namespace cudasim::libcuda {

struct ModuleState {
    stand_in::Gpu& gpu;
    std::string text;           ///< the PTX
    std::uint64_t variant = 0;  ///< numbers the modules that are loaded from the same text
    std::unique_ptr<driver::Target::Module> loaded;
    image::KernelImage image;
    std::map<std::string, std::unique_ptr<FunctionState>> functions;  ///< by name
};

/// A kernel. Its parameters are known from the image.
struct FunctionState {
    const ModuleState& module;
    const image::Kernel& kernel;
    std::uint64_t static_shared_bytes = 0;
    std::uint64_t local_bytes = 0;                ///< of each thread
    std::uint64_t most_dynamic_shared_bytes = 0;  ///< that a launch may ask for
};

}  // namespace cudasim::libcuda

namespace cudasim::stand_in {

/// A module that the driver refuses: the code, and what goes into the error log.
struct Refused : std::runtime_error {
    Refused(Result code, const std::string& message) : std::runtime_error(message), result(code) {}
    Result result;
};

class Modules {
  public:
    [[nodiscard]] static Modules& of_this_process();

    /// @throws Refused
    [[nodiscard]] Module load(Gpu& gpu, const std::string& text);
    /// False for what is no loaded module of the device.
    [[nodiscard]] bool unload(Gpu& gpu, Module module);
    void unload_all(Gpu& gpu);
    /// Null for what is no loaded module of the device.
    [[nodiscard]] std::shared_ptr<libcuda::ModuleState> find(const Gpu& gpu, Module module) const;
    /// The module of the function; null for a function of no loaded module of the device.
    [[nodiscard]] std::shared_ptr<libcuda::ModuleState> find(const Gpu& gpu, Function function) const;

  private:
    [[nodiscard]] std::uint64_t free_variant(const std::string& text) const;

    mutable std::mutex mutex_;
    std::map<Module, std::shared_ptr<libcuda::ModuleState>> modules_;
};

/// What all kernels are compiled with: multiply-adds are fused where PTX says so, and accesses are checked.
[[nodiscard]] execution::LaunchOptions usual_options();

}  // namespace cudasim::stand_in
