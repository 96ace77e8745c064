// Types of the functions of functions.def, as data.
#pragma once

#include <span>
#include <string_view>

namespace cudasim::libdevice {

/// Integers without sign: Numba's CUDA target has libdevice's unsigned ones as signed.
enum class ValueKind { none, int16, int32, int64, float32, float64 };

struct Parameter {
    ValueKind kind = ValueKind::none;
    bool is_result = false;  ///< a pointer, through which the function gives a further result
};

struct Signature {
    std::string_view name;               ///< without "__nv_"
    ValueKind result = ValueKind::none;  ///< none: void
    std::span<const Parameter> parameters;
};

/// The signatures of all functions, in the order of the table.
[[nodiscard]] std::span<const Signature> signatures();

}  // namespace cudasim::libdevice
