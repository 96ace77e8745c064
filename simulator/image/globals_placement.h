// Where the variables of an image's device and constant memory lie in the segment that holds them. The
// simulator and PTX that is made for a recorded launch place them alike.
//
//   | 32 redzone | variable 0 | >= 32 redzone | variable 1 | ... | 32 redzone |
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

namespace llvm {
class GlobalVariable;
class Module;
}  // namespace llvm

namespace cudasim::image {

struct GlobalsPlacement {
    std::vector<std::pair<llvm::GlobalVariable*, std::uint64_t>> offsets;  ///< in the order of the module
    std::uint64_t bytes = 0;  ///< of the segment; 0: no variables
};

/// Deterministic for a module as the image's bitcode has it.
[[nodiscard]] GlobalsPlacement place_globals(llvm::Module& module);

}  // namespace cudasim::image
