// The formatting behind CUDA's `vprintf(format, arguments)` (CUDA C++ Programming Guide, "Formatted Output":
// %[flags][width][.precision][size]type with flags "#0 +-", sizes h, l, ll and types "%cdiouxXpeEfgGaAs").
//
// Everything is read from the kernel's memory through a reader that says what may be read. Nothing of the
// kernel's reaches the host's printf but one conversion at a time, rebuilt from its parsed parts, with an
// argument of the type it names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace cudasim::execution {

/// Longest text of one call, and most that a width or precision may ask for: the default size of CUDA's
/// printf buffer (cudaLimitPrintfFifoSize).
inline constexpr std::size_t longest_print = std::size_t{1} << 20;

struct Printed {
    std::string text;
    /// What printf() returns in CUDA (programming guide): the number of arguments, -1 for a null format, -2
    /// for any other error.
    std::int32_t result = 0;
    /// Bytes that could not be read; `bad_bytes` is 0 when all could.
    std::uint64_t bad_address = 0, bad_bytes = 0;
};

/// Copies `bytes` from the kernel's address; false when it may not be read.
using MemoryReader = std::function<bool(std::uint64_t address, void* target, std::size_t bytes)>;

/// @param arguments address of the arguments, one behind the other, each aligned to its size, promoted as C's
///     variable arguments are (4 bytes for int, 8 for long, long long, double and pointers)
[[nodiscard]] Printed device_printf(std::uint64_t format, std::uint64_t arguments, const MemoryReader& read);

}  // namespace cudasim::execution
