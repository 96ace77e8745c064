// Types of attributes, of elements and of what a loop yields.
#pragma once

#include <string_view>
#include <vector>

#include "frontend/pykernel/source_error.h"
#include "frontend/pykernel/types.h"

namespace cudasim::pykernel {

/// @throws SourceError when the type has no such attribute
[[nodiscard]] TypeRef attribute_type(TypeTable& types, TypeRef object, std::string_view name, Location place);
/// Type of container[index]. @throws SourceError
[[nodiscard]] TypeRef item_type(TypeTable& types, TypeRef container, TypeRef index, Location place);
/// What a loop over `over` yields; null when nothing can loop over it.
[[nodiscard]] TypeRef element_type(TypeTable& types, TypeRef over);
/// Types of the integers in an index: one, or a tuple of them. Empty when it is no index.
[[nodiscard]] std::vector<TypeRef> index_types(TypeRef index);
/// The array that remains of `array` when its first `count` axes are indexed.
[[nodiscard]] TypeRef remaining_array(TypeTable& types, TypeRef array, unsigned count);

}  // namespace cudasim::pykernel
