// Which functions of libdevice use the processor's approximations, so that a GPU may differ from the
// simulator in their last bits even where both run the same code.
#pragma once

#include <span>
#include <string_view>

namespace cudasim::gpu_backend {

struct ApproximatingFunction {
    std::string_view name;          ///< without `__nv_`
    std::string_view instructions;  ///< of PTX, separated by blanks: "ex2 rcp"
};

/// All of them, in the order of their names (approximating_functions.def says of which version).
[[nodiscard]] std::span<const ApproximatingFunction> approximating_functions();

/// The instructions of a function; empty for one that uses none, or that the table does not have.
/// @param name with or without `__nv_`
[[nodiscard]] std::string_view approximate_instructions(std::string_view name);

}  // namespace cudasim::gpu_backend
