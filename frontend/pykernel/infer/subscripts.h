// What attributes, subscripts and assignments to them mean: the first rule of operations/ that is for
// operands of such types. Types of what a loop yields. Which elements and fields an index names.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "frontend/pykernel/infer/callable.h"
#include "frontend/pykernel/infer/program.h"

namespace cudasim::pykernel {

// Rules, in the order in which they are tried.
[[nodiscard]] std::span<const Rule* const> attribute_rules();
[[nodiscard]] std::span<const Rule* const> get_item_rules();
[[nodiscard]] std::span<const Rule* const> place_rules();
[[nodiscard]] std::span<const Rule* const> unpack_rules();
[[nodiscard]] std::span<const Rule* const> set_item_rules();
[[nodiscard]] std::span<const Rule* const> set_attribute_rules();
/// That of a method: an object that only can be called.
[[nodiscard]] const Rule& method_rule();

/// Attribute `at.text` of a value. @throws SourceError when the type has no such attribute
[[nodiscard]] Resolution resolve_attribute(Program& program, const Instruction& at, TypeRef object);
/// container[index]. @throws SourceError
[[nodiscard]] Resolution resolve_get_item(Program& program, const Instruction& at, TypeRef container,
                                          TypeRef index);
/// The one element in memory that container[index] names: its address. Without a result where that is
/// something else. @throws SourceError
[[nodiscard]] Resolution find_place(Program& program, const Instruction& at, TypeRef container,
                                    TypeRef index);
/// Element `at.index` of `at.count` that a sequence is unpacked to. @throws SourceError
[[nodiscard]] Resolution resolve_unpack(Program& program, const Instruction& at, TypeRef sequence);
/// container[index] = value. @throws SourceError
[[nodiscard]] Resolution resolve_set_item(Program& program, const Instruction& at, TypeRef container,
                                          TypeRef index, TypeRef value);
/// object.text = value, `text` of the instruction. @throws SourceError
[[nodiscard]] Resolution resolve_set_attribute(Program& program, const Instruction& at, TypeRef object,
                                               TypeRef value);

// Fields of records (record_fields.cpp).

/// The field that object.name is; null for what has no fields, and for arrays of records where the name is
/// that of an attribute or a method of arrays. @throws SourceError when a record has no such field
[[nodiscard]] const RecordField* named_field(TypeRef object, std::string_view name, Location place);
/// The field that container[index] names; null for what has no fields, and where the index names an element.
/// @throws SourceError when there is no such field
[[nodiscard]] const RecordField* indexed_field(TypeRef container, TypeRef index, Location place);
/// What a field of a record is, or of an array of records: an array of the fields. @throws SourceError
[[nodiscard]] TypeRef field_value(TypeTable& types, TypeRef object, const RecordField& field, Location place);

/// Which elements tuple[slice] has, in order. @throws SourceError when the bounds are not constants
[[nodiscard]] std::vector<std::uint32_t> sliced_positions(TypeRef tuple, TypeRef slice, Location place);
/// Type of start:stop:step. @throws SourceError when a bound is not a number
[[nodiscard]] TypeRef slice_type(TypeTable& types, const std::vector<TypeRef>& bounds, Location place);
/// iter(over): an iterator is its own. @throws SourceError when nothing can loop over it
[[nodiscard]] TypeRef iterator_over(Program& program, TypeRef over, std::uint32_t site, std::size_t position,
                                    Location place);
/// What a loop over `over` yields; null when nothing can loop over it.
[[nodiscard]] TypeRef element_type(TypeTable& types, TypeRef over);
/// a[index], or what `a[index] = ...` assigns to: an element or a view. @throws SourceError when it is no
/// index
[[nodiscard]] TypeRef indexed_array(TypeTable& types, TypeRef array, TypeRef index, Location place);
/// Whether an index consists of integers, and of how many; nothing where it has other parts.
[[nodiscard]] std::optional<std::size_t> count_integers(TypeRef index);

}  // namespace cudasim::pykernel
