// The memory that a launch's parameters lie in, where the kernel's entry takes them from.
#pragma once

#include <cstdint>

namespace cudasim::jit {

/// Whatever a parameter's own alignment is: the buffer is memory of `new`.
inline constexpr std::uint64_t parameter_buffer_alignment = __STDCPP_DEFAULT_NEW_ALIGNMENT__;

}  // namespace cudasim::jit
