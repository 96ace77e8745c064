#include "frontend/pykernel/types/character_types.h"

namespace cudasim::pykernel {

bool is_bytes_constant(TypeRef type) {
    return type->is(TypeKind::array) && type->is_bytes;
}

unsigned character_size(TypeRef type) {
    if (type->is(TypeKind::characters)) return type->dimensions;
    return type->is(TypeKind::text) ? 4 : is_bytes_constant(type) ? 1 : 0;
}

TypeRef characters_operation(TypeTable& types, Operator op, TypeRef left, TypeRef right) {
    const bool characters = left->is(TypeKind::characters) || right->is(TypeKind::characters) ||
                            (is_bytes_constant(left) && is_bytes_constant(right));
    if (!characters || op < Operator::equal || op > Operator::greater_equal) return nullptr;
    const unsigned size = character_size(left), other = character_size(right);
    if (size == 0 || other == 0) return nullptr;
    if (size == other) return types.boolean;
    // Bytes are never equal to strings.
    const bool equality = op == Operator::equal || op == Operator::not_equal;
    return equality ? types.literal(types.boolean, op == Operator::not_equal) : nullptr;
}

bool fits_characters(TypeRef element, TypeRef value) {
    return element->is(TypeKind::characters) && character_size(value) == character_size(element);
}

}  // namespace cudasim::pykernel
