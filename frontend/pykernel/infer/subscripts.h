// Types of attributes, of elements and of what a loop yields.
#pragma once

#include <string_view>
#include <vector>

#include "frontend/pykernel/syntax/source_error.h"
#include "frontend/pykernel/types/types.h"

namespace cudasim::pykernel {

/// @throws SourceError when the type has no such attribute
[[nodiscard]] TypeRef attribute_type(TypeTable& types, TypeRef object, std::string_view name, Location place);
// Fields of records (record_fields.cpp).

/// Whether object.name means a field; attributes and methods of arrays come first. For a record every name
/// does.
[[nodiscard]] bool is_field(TypeRef object, std::string_view name);
/// The field that object.name is; null for what has no fields and for arrays of records without that one.
/// @throws SourceError when a record has no such field
[[nodiscard]] const RecordField* named_field(TypeRef object, std::string_view name, Location place);
/// The field that container[index] names; null for what has no fields, and where the index names an element.
/// @throws SourceError when there is no such field
[[nodiscard]] const RecordField* indexed_field(TypeRef container, TypeRef index, Location place);
/// What a field of a record is, or of an array of records: an array of the fields. @throws SourceError
[[nodiscard]] TypeRef field_value(TypeTable& types, TypeRef object, const RecordField& field, Location place);
/// Which elements tuple[slice] has, in order. @throws SourceError when the bounds are not constants
[[nodiscard]] std::vector<std::size_t> sliced_positions(TypeRef tuple, TypeRef slice, Location place);
/// Type of container[index]. @throws SourceError
[[nodiscard]] TypeRef item_type(TypeTable& types, TypeRef container, TypeRef index, Location place);
/// Type of start:stop:step. @throws SourceError when a bound is not a number
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
