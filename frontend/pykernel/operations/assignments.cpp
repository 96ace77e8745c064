// What `a[i] = x` and `record.field = x` assign: Numba's rules, beside their code.
#include <algorithm>

#include "frontend/pykernel/infer/subscripts.h"
#include "frontend/pykernel/operations/rules.h"
#include "frontend/pykernel/types/character_types.h"

namespace cudasim::pykernel {
namespace {

/// Whether one element in memory can be given the value.
bool fits_element(const CallTyping& assignment, TypeRef element, TypeRef value) {
    if (element->is(TypeKind::added) || value->is(TypeKind::added))
        return element == value || assignment.program.ask_for_cast(value, element, assignment.call.location);
    if (element->is(TypeKind::record)) return value->is(TypeKind::record) && holds_fields_of(value, element);
    if (element->is(TypeKind::characters)) return fits_characters(element, value);
    return value->is_scalar() && can_cast(value, element);
}

/// One element goes everywhere, a tuple of numbers into a row. An array would need a copy in case the two
/// overlap, memory that a kernel does not have.
bool can_assign(const CallTyping& assignment, TypeRef target, TypeRef value) {
    if (fits_element(assignment, target->is(TypeKind::array) ? target->element() : target, value))
        return true;
    if (!target->is(TypeKind::array)) return false;
    if (value->is(TypeKind::array)) {
        throw SourceError(ErrorClass::runtime,
                          "NRT required but not enabled: assigning an array (" + value->name +
                              ") to a part of another is not supported in kernels, by Numba's CUDA target "
                              "neither; write a loop over the elements",
                          assignment.call.location);
    }
    return value->is(TypeKind::tuple) && target->dimensions == 1 && target->element()->is_scalar() &&
           std::ranges::all_of(value->elements,
                               [&](TypeRef one) { return fits_element(assignment, target->element(), one); });
}

/// The parameters are the types of the field and, where that is an array, of the elements that are copied.
TypeRef type_set_field(const CallTyping& assignment, const RecordField& field, TypeRef value) {
    const TypeRef record = assignment[0];
    const Location place = assignment.call.location;
    if (record->read_only)
        refuse_typing("Cannot assign to a field of a constant record (" + record->name + ")", place);
    const TypeRef target = field_value(assignment.types(), record, field, place);
    const bool fits = target->is(TypeKind::array) ? value->is(TypeKind::array) && value->dimensions > 0 &&
                                                        value->element() == target->element()
                                                  : fits_element(assignment, target, value);
    if (!fits) {
        refuse_typing("Cannot convert " + value->name + " to " + field.type_name +
                          ", the type of the field '" + field.name + "'",
                      place);
    }
    assignment.resolution.field = &field;
    assignment.resolution.parameters = {target};
    if (target->is(TypeKind::array))
        assignment.resolution.parameters.push_back(assignment.types().value_in(value));
    return assignment.types().none;
}

Emitted emit_set_field(CallEmission& assignment) {
    FunctionEmitter& e = assignment.emitter;
    const Resolution& resolution = assignment.resolution;
    const TypeRef target = resolution.parameters[0];
    const Emitted &record = assignment[0], &value = assignment.arguments.back();
    if (target->is(TypeKind::array))
        e.copy_elements(e.get_field(record, *resolution.field, target), value, resolution.parameters[1]);
    else
        e.store_element(e.field_address(record, *resolution.field), value, target, record.type);
    return {resolution.result, {}};
}

TypeRef type_set_named_field(const CallTyping& assignment) {
    if (!assignment[0]->is(TypeKind::record)) return nullptr;
    return type_set_field(assignment,
                          *named_field(assignment[0], assignment.call.text, assignment.call.location),
                          assignment[1]);
}

TypeRef type_set_indexed_field(const CallTyping& assignment) {
    if (!assignment[0]->is(TypeKind::record)) return nullptr;
    return type_set_field(assignment, *indexed_field(assignment[0], assignment[1], assignment.call.location),
                          assignment[2]);
}

/// The array whose elements are assigned; null where it is something else. @throws SourceError for constants
TypeRef assigned_array(const CallTyping& assignment) {
    const TypeRef container = assignment[0];
    const TypeRef array = container->is(TypeKind::flat) ? container->element() : container;
    if (!array->is(TypeKind::array)) return nullptr;
    if (array->read_only) {
        refuse_typing("Cannot assign to an element of a constant array (" + container->name + ")",
                      assignment.call.location);
    }
    return array;
}

/// `a[indices] = value` and `a[mask] = value`: every element, or row, that the index names gets it.
TypeRef type_set_chosen(const CallTyping& assignment) {
    const TypeRef array = assigned_array(assignment), index = assignment[1], value = assignment[2];
    const bool defined = array && assignment[0]->is(TypeKind::array) && index->is(TypeKind::array) &&
                         index->dimensions == 1 && index->element()->is_integral() && array->dimensions > 0 &&
                         fits_element(assignment, array->element(), value);
    if (!defined) return nullptr;
    const bool mask = index->element()->is(TypeKind::boolean);
    const TypeRef one = mask ? assignment.types().int64 : index->element();
    assignment.resolution.inner.push_back(
        resolve_set_item(assignment.program, assignment.call, array, one, value));
    return assignment.types().none;
}

Emitted emit_set_chosen(CallEmission& assignment) {
    assignment.emitter.for_each_chosen(assignment[1], [&](const Emitted& index) {
        (void)assignment.apply(0, {assignment[0], index, assignment[2]});
    });
    return {assignment.resolution.result, {}};
}

[[noreturn]] void refuse_value(const CallTyping& assignment, TypeRef array) {
    const TypeRef container = assignment[0], index = assignment[1], value = assignment[2];
    refuse_no_implementation("<built-in function setitem>", "setitem",
                             {container->name, index->name, value->name}, assignment.call.location,
                             "Cannot convert " + value->name + " to " + array->element()->name +
                                 ", the type of the array's elements");
}

TypeRef type_set_element(const CallTyping& assignment) {
    const TypeRef array = assigned_array(assignment);
    Resolution place = find_place(assignment.program, assignment.call, assignment[0], assignment[1]);
    if (!place.result) return nullptr;
    const bool fits = can_assign(assignment, place.result, assignment[2]);
    if (!fits && array) refuse_value(assignment, array);
    assignment.resolution.inner.push_back(std::move(place));
    return fits ? assignment.types().none : nullptr;
}

/// The value is converted before the index is checked, as Python evaluates it first. A record is copied from
/// where it is.
Emitted emit_set_element(CallEmission& assignment) {
    FunctionEmitter& e = assignment.emitter;
    const Resolution& place = assignment.resolution.inner[0];
    const bool record = place.result->is(TypeKind::record);
    const Emitted value = record ? assignment[2] : e.convert(assignment[2], place.result);
    llvm::Value* address = assignment.apply(0, {assignment[0], assignment[1]}).value();
    e.store_element(address, value, place.result, place.parameters[0]);
    return {assignment.resolution.result, {}};
}

/// The parameter is the type of the part.
TypeRef type_set_part(const CallTyping& assignment) {
    const TypeRef array = assigned_array(assignment);
    if (!array) return nullptr;
    const TypeRef part = indexed_array(assignment.types(), array, assignment[1], assignment.call.location);
    if (!can_assign(assignment, part, assignment[2])) refuse_value(assignment, array);
    assignment.resolution.parameters = {part};
    return assignment.types().none;
}

/// By integers, fewer than there are axes.
TypeRef type_set_rows(const CallTyping& assignment) {
    return count_integers(assignment[1]) ? type_set_part(assignment) : nullptr;
}

Emitted emit_set_rows(CallEmission& assignment) {
    FunctionEmitter& e = assignment.emitter;
    const Emitted& array = assignment[0];
    const Parts indices = e.checked_indices(array, assignment[1]);
    e.assign_view(e.item_at(array, indices, assignment.resolution.parameters[0]), assignment[2]);
    return {assignment.resolution.result, {}};
}

Emitted emit_set_part(CallEmission& assignment) {
    FunctionEmitter& e = assignment.emitter;
    e.assign_view(e.selected(assignment[0], assignment[1], assignment.resolution.parameters[0]),
                  assignment[2]);
    return {assignment.resolution.result, {}};
}

constexpr Rule rows[] = {
    {"a field of a record", "object value", type_set_named_field, emit_set_field},
    {"a field of a record, by an index", "container index value", type_set_indexed_field, emit_set_field},
    {"elements that an array names", "container index value", type_set_chosen, emit_set_chosen},
    {"an element in memory", "container index value", type_set_element, emit_set_element},
    {"rows of an array", "container index value", type_set_rows, emit_set_rows},
    {"a part of an array", "container index value", type_set_part, emit_set_part},
};

}  // namespace

std::span<const Rule> assignments() {
    return rows;
}

}  // namespace cudasim::pykernel
