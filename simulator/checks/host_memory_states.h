// Which bits of the shared and local arrays of kernels that are host code have been written: such arrays lie
// in the host's memory, outside of the window of an InitShadow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "simulator/execution/access_observer.h"

namespace cudasim::checks {

class HostMemoryStates {
  public:
    /// Nothing of the array is written. What was known of the range before is forgotten.
    void begins(const execution::ObservedMemory& memory);
    void ends(const execution::ObservedMemory& memory);
    void clear() { arrays_.clear(); }

    /// The states of a range within one array: a 1 for each bit that was written. Null for any other range.
    [[nodiscard]] std::byte* states(std::uint64_t address, std::uint64_t bytes);
    [[nodiscard]] bool is_local(std::uint64_t address);
    /// As far as the range lies in one array.
    void set_written(std::uint64_t address, std::uint64_t bytes);

  private:
    struct Array {
        execution::MemorySpace space{};
        std::vector<std::byte> states;
    };
    using Arrays = std::map<std::uint64_t, Array>;  ///< by address
    [[nodiscard]] Arrays::iterator find(std::uint64_t address);

    Arrays arrays_;
};

}  // namespace cudasim::checks
