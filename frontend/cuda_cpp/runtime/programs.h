// What the program's own constructors register: its device code, and which kernel or variable of it stands
// behind which address of the host.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

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
    std::size_t add_image(const void* data);
    void add_kernel(std::size_t program, const void* host_function, std::string name);
    void add_variable(std::size_t program, const void* host_variable, std::string name);

    /// @throws driver::Error 98 for an address that is no kernel's
    [[nodiscard]] driver::Function kernel(const std::shared_ptr<driver::Context>& context,
                                          const void* host_function);
    /// @throws driver::Error with cudaErrorInvalidSymbol for an address that is no variable's
    [[nodiscard]] execution::AddressRange variable(const std::shared_ptr<driver::Context>& context,
                                                   const void* host_variable);
    /// All kernels and variables of an image are registered.
    void end_of_image(std::size_t program);

  private:
    struct Image {
        const void* data = nullptr;
        std::map<std::uint64_t, std::shared_ptr<driver::Module>> modules;  ///< by context id
        std::optional<driver::Error> refused;                              ///< why it cannot be loaded
    };
    [[nodiscard]] std::shared_ptr<driver::Module> module_of(const std::shared_ptr<driver::Context>& context,
                                                            std::size_t program);

    std::mutex mutex_;
    std::vector<Image> images_;
    std::map<const void*, Registered> kernels_, variables_;
};

}  // namespace cudasim::cudart
