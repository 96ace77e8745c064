// Values as text, for reports.
#pragma once

#include "gpu_backend/comparison/comparison.h"

namespace cudasim::comparison {

/// A value of a type that is no record. Text is UTF-8 and without control characters, and no longer than
/// about 100 characters.
[[nodiscard]] Value describe(const ElementType& type, const std::byte* value);

/// Bytes as hexadecimal digits in the order in which they lie, such as "00 3f a0".
[[nodiscard]] std::string hexadecimal(std::span<const std::byte> bytes);

}  // namespace cudasim::comparison
