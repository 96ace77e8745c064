// Contents of arrays for tests of comparisons.
#pragma once

#include <cstring>
#include <initializer_list>
#include <type_traits>
#include <vector>

#include "gpu_backend/comparison/comparison.h"

namespace cudasim::comparison {

using Bytes = std::vector<std::byte>;

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
    Bytes bytes(values.size() * sizeof(T));
    if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
    return bytes;
}

template <class T>
Bytes bytes_of(std::initializer_list<T> values) {
    return bytes_of(std::vector<T>(values));
}

/// A C-contiguous array at address 0x1000.
inline ArrayView array(const char* type, std::vector<std::uint64_t> shape) {
    return {.name = "x", .address = 0x1000, .type = parse_element_type(type), .shape = std::move(shape)};
}

}  // namespace cudasim::comparison
