// The element types of arrays and records, and their values as Python objects and as bits. What is converted
// here are values: the memory of kernels is reached through accesses.h only.
#pragma once

#include <Python.h>

#include <cstddef>
#include <cstdint>

namespace cudasim::pyfiber {

enum class Element : std::uint8_t {
    boolean,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
    bfloat16,
    float16,
    float32,
    float64,
    complex64,
    complex128,
    record,  ///< kernel_record.h
    other
};

inline constexpr std::int8_t element_widths[] = {1, 1, 2, 4, 8, 1, 2, 4, 8, 2, 2, 4, 8, 8, 16, 0, 0};
/// Size in bytes; 0 for records and others.
[[nodiscard]] constexpr int width(Element type) {
    return element_widths[static_cast<int>(type)];
}
inline constexpr std::size_t most_element_bytes = 16;

/// New reference, or null with an exception set. @param bits width(element) of them, not a kernel's memory
[[nodiscard]] PyObject* value_of_bits(Element element, const char* bits);
/// Converts as the compiler does. False with an exception set. @param bits gets width(element) bytes; not a
/// kernel's memory
[[nodiscard]] bool bits_of_value(Element element, PyObject* value, char* bits);

}  // namespace cudasim::pyfiber
