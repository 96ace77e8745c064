// Characters: elements of NumPy's dtypes S and U, compared with each other, with bytes constants and with
// string constants.
//
// A value is a list of 64-bit words, as its bytes lie in memory (little-endian), filled up with zeros: so the
// length, as NumPy's, is what comes before the zeros at the end, and values of different sizes compare word
// by word.
#pragma once

#include "frontend/pykernel/emission.h"

namespace cudasim::pykernel {

/// Bytes of one character: 1 or 4; 0 for other types. Bytes constants and strings count.
[[nodiscard]] unsigned character_size(TypeRef type);
/// A bytes constant: an array of uint8 with a name of its own.
[[nodiscard]] bool is_bytes_constant(TypeRef type);
/// Of a comparison in which characters or two bytes constants take part; null: it is none.
[[nodiscard]] TypeRef characters_operation(TypeTable& types, Operator op, TypeRef left, TypeRef right);
/// Whether an element `[char x 4]` or `[unichr x 4]` can be given the value.
[[nodiscard]] bool fits_characters(TypeRef element, TypeRef value);

[[nodiscard]] Emitted emit_characters_operation(FunctionEmitter& e, Operator op, const Emitted& left,
                                                const Emitted& right);
/// A value as characters of a type: longer ones lose what is too much.
[[nodiscard]] Emitted to_characters(FunctionEmitter& e, const Emitted& value, TypeRef type);
[[nodiscard]] llvm::Value* characters_length(FunctionEmitter& e, const Emitted& value);
/// A byte, by its index; beyond the length an IndexError.
[[nodiscard]] llvm::Value* character_at(FunctionEmitter& e, const Emitted& value, llvm::Value* index);
[[nodiscard]] Emitted load_characters(FunctionEmitter& e, llvm::Value* place, TypeRef type,
                                      TypeRef container);
void store_characters(FunctionEmitter& e, llvm::Value* place, const Emitted& value, TypeRef container);

}  // namespace cudasim::pykernel
