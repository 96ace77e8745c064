// The attributes of np.finfo(dtype) and np.iinfo(dtype), known while compiling.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "frontend/pykernel/types/types.h"

namespace cudasim::pykernel {

/// @param limits a type of kind `limits` @returns null when there is no such attribute
[[nodiscard]] TypeRef limit_type(TypeTable& types, TypeRef limits, std::string_view name);
/// An attribute of np.finfo whose value is of the number's own type: "eps", "max"…
/// @param type float32 or float64
[[nodiscard]] std::optional<double> real_limit(TypeRef type, std::string_view name);
/// An attribute whose value is an integer, the bits of a uint64 where it is one: of np.iinfo, and "bits",
/// "nmant"… of np.finfo.
[[nodiscard]] std::optional<std::int64_t> integer_limit(TypeRef type, std::string_view name);

}  // namespace cudasim::pykernel
