// __managed__ variables of the program (frontend/cuda_cpp/images/managed_variables.h): the host's variable
// is the memory, which kernels of every device get to use.
#pragma once

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
    /// them their initial values. @param embedded an image as embedded_image.h describes it
    void add(const void* embedded, const std::vector<std::pair<std::string, const void*>>& variables);
    /// Tells the module's kernels where those variables are.
    void bind(const std::shared_ptr<driver::Module>& module);

    /// The library that has the variable is unloaded.
    void remove(const void* host_variable);

    [[nodiscard]] bool contains(const void* host_variable) const { return range(host_variable).has_value(); }
    [[nodiscard]] std::optional<execution::AddressRange> range(const void* host_variable) const;

  private:
    struct Variable {
        std::string name;  ///< mangled
        std::size_t bytes = 0;
        std::set<std::uint64_t> contexts;  ///< ids of those that know it
    };
    mutable std::mutex mutex_;
    std::map<const void*, Variable> variables_;
};

}  // namespace cudasim::cudart
