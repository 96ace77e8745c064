// Types of characters, elements of NumPy's dtypes S and U, and what they are compared with: each other, bytes
// constants and string constants.
#pragma once

#include "frontend/pykernel/syntax/syntax_tree.h"
#include "frontend/pykernel/types/types.h"

namespace cudasim::pykernel {

/// Bytes of one character: 1 or 4; 0 for other types. Bytes constants and strings count.
[[nodiscard]] unsigned character_size(TypeRef type);
/// A bytes constant: an array of uint8 with a name of its own.
[[nodiscard]] bool is_bytes_constant(TypeRef type);
/// The result of a comparison in which characters or two bytes constants take part;
/// null for any other operation.
[[nodiscard]] TypeRef characters_operation(TypeTable& types, Operator op, TypeRef left, TypeRef right);
/// Whether an element `[char x 4]` or `[unichr x 4]` can be given the value.
[[nodiscard]] bool fits_characters(TypeRef element, TypeRef value);

}  // namespace cudasim::pykernel
