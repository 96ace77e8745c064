// Types of variables as debug info describes them, in JSON, for whoever shows values.
//
//   {"name": "int64", "kind": "signed", "bytes": 8}  kinds: signed, unsigned, float, complex, bool, character
//   {"name": ..., "kind": "struct", "bytes": n, "members": [[name, offset, type], ...]}
//   a member that is a bit-field has a type with "bits": how many it has, and "bit": how many lie below them
//   in its bytes
//   {"kind": "pointer", "to": type}, with "reference": true where C++ calls it a reference
//   {"kind": "sequence", "length": n, "of": type}
//   {"kind": "alias", "name": ..., "of": type}
//   {"kind": "unknown", "name": ...}
//   An enumeration is an alias of its number's type, with "enumerators": [[name, value], ...], and
//   "scoped": true where it is an `enum class`.
#pragma once

#include <llvm/IR/DebugInfoMetadata.h>

#include <cstdint>
#include <optional>
#include <string>

namespace cudasim::jit {

[[nodiscard]] std::string type_description(const llvm::DIType* type);
/// Of what C++ would call a reference to it; of an array without an end, a pointer to its first element.
[[nodiscard]] std::string reference_description(const llvm::DIType* type);

/// Memory that a variable refers to: an array (a struct of data, shape and strides), or one element behind a
/// pointer.
struct ReferredMemory {
    std::uint32_t dimensions = 0;
    std::uint64_t element_bytes = 0;
};
[[nodiscard]] std::optional<ReferredMemory> referred_memory(const llvm::DIType* type);

}  // namespace cudasim::jit
