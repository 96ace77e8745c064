// __managed__ variables of the program (frontend/cuda_cpp/images/managed_variables.h): the host's variable
// is the memory, which kernels of every device get to use.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "simulator/driver/module.h"

namespace cudasim::cudart {

class ManagedVariables {
  public:
    [[nodiscard]] static ManagedVariables& of_this_process();

    /// The image's managed variables, by the mangled names and host addresses of all its variables: gives
    /// them their initial values. @param program the image's number (Programs)
    /// @param embedded an image as embedded_image.h describes it
    void add(std::size_t program, const void* embedded,
             const std::vector<std::pair<std::string, const void*>>& variables);
    /// Memory for a variable of NVIDIA's nvcc, whose host code has a pointer to it, which is set.
    /// @return the memory: the variable's address on the host
    const void* add_pointer(std::size_t program, void** pointer, std::string name, std::size_t bytes);
    /// Gives variables of add_pointer() their initial values, once.
    void initialise(std::size_t program, const image::KernelImage& image);
    /// Tells the module's kernels where the variables of the images are of which it was made.
    void bind(const std::shared_ptr<driver::Module>& module, const std::set<std::size_t>& programs);

    /// The library that has the variable is unloaded.
    void remove(const void* host_variable);

    [[nodiscard]] bool contains(const void* host_variable) const { return range(host_variable).has_value(); }
    [[nodiscard]] std::optional<execution::AddressRange> range(const void* host_variable) const;

  private:
    struct Variable {
        std::size_t program = 0;
        std::string name;  ///< mangled
        std::size_t bytes = 0;
        std::set<std::uint64_t> contexts;  ///< ids of those that know it
        bool waits = false;                ///< for its initial value
        std::unique_ptr<std::byte, decltype(&std::free)> memory{nullptr, &std::free};  ///< of add_pointer()
    };
    mutable std::mutex mutex_;
    std::map<const void*, Variable> variables_;
};

}  // namespace cudasim::cudart
