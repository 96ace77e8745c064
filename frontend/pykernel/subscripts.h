// Types of attributes, of elements and of what a loop yields.
#pragma once

#include <string_view>
#include <vector>

#include "frontend/pykernel/source_error.h"
#include "frontend/pykernel/types.h"

namespace cudasim::pykernel {

/// @throws SourceError when the type has no such attribute
[[nodiscard]] TypeRef attribute_type(TypeTable& types, TypeRef object, std::string_view name, Location place);
/// Which elements tuple[slice] has, in order. @throws SourceError when the bounds are not constants
[[nodiscard]] std::vector<std::size_t> sliced_positions(TypeRef tuple, TypeRef slice, Location place);
/// Type of container[index]. @throws SourceError
[[nodiscard]] TypeRef item_type(TypeTable& types, TypeRef container, TypeRef index, Location place);
/// Type of start:stop:step. @throws SourceError when a bound is no number
[[nodiscard]] TypeRef slice_type(TypeTable& types, const std::vector<TypeRef>& bounds, Location place);
/// iter(over): an iterator is its own. @throws SourceError when nothing can loop over it
[[nodiscard]] TypeRef iterator_over(TypeTable& types, TypeRef over, std::uint32_t site, std::size_t position,
                                    Location place);
/// What a loop over `over` yields; null when nothing can loop over it.
[[nodiscard]] TypeRef element_type(TypeTable& types, TypeRef over);
/// Types of the parts of an index: its elements when it is a tuple, else itself.
[[nodiscard]] std::vector<TypeRef> index_parts(TypeRef index);
/// a[index], or what `a[index] = ...` assigns to: an element or a view. @throws SourceError when it is no
/// index
[[nodiscard]] TypeRef indexed_array(TypeTable& types, TypeRef array, TypeRef index, Location place);

}  // namespace cudasim::pykernel
