// Values of pointers to device functions. Such a pointer is a handle, the number of a function, not the
// address of code: it means the same in every process, in memory that a record keeps, and in PTX that is made
// for a recorded launch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace llvm {
class Function;
class Module;
}  // namespace llvm

namespace cudasim::image {

inline constexpr std::uint64_t function_handle_base = 0x0000'00F0'0000'0000ULL;
inline constexpr unsigned function_handle_shift = 4;  ///< handles of neighbours differ by 1 << this

/// @param index in functions_with_address()
[[nodiscard]] constexpr std::uint64_t function_handle(std::size_t index) {
    return function_handle_base + (std::uint64_t{index} << function_handle_shift);
}

/// Functions that have handles, in the order of the module. Initialisers of variables take addresses, lists
/// such as llvm.used do not. All bodies have to be there.
[[nodiscard]] std::vector<const llvm::Function*> functions_with_address(const llvm::Module& module);

}  // namespace cudasim::image
