// The arrays among a launch's arguments, read from its parameters: for reports, which name elements, and for
// checks that ask which memory a kernel can reach.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "simulator/driver/launch_plan.h"
#include "simulator/execution/named_array.h"

namespace cudasim::driver {

/// Arguments whose type says "array(float32, 2d, C)", in their order. An array is its address, its extents
/// and its strides, 8 bytes each. Empty where the types of the arguments are not known, or those of one in
/// front of an array.
[[nodiscard]] std::vector<execution::NamedArray> array_arguments(const LaunchPlan& plan,
                                                                 std::span<const std::byte> parameters);
/// The same for arguments of a kernel.
[[nodiscard]] std::vector<execution::NamedArray> array_arguments(const image::Kernel& kernel,
                                                                 std::span<const Argument> arguments,
                                                                 std::span<const std::byte> parameters);

}  // namespace cudasim::driver
