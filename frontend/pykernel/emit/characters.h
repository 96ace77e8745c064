// Code for characters (types/character_types.h): comparisons, loads and stores.
//
// A value is a list of 64-bit words, as its bytes lie in memory (little-endian), filled up with zeros: so the
// length, as NumPy's, is what comes before the zeros at the end, and values of different sizes compare word
// by word.
#pragma once

#include "frontend/pykernel/emit/emission.h"
#include "frontend/pykernel/types/character_types.h"

namespace cudasim::pykernel {

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
