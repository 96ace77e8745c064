// See assignments.h.
#include "frontend/pykernel/infer/assignments.h"

#include <algorithm>

#include "frontend/pykernel/infer/program.h"
#include "frontend/pykernel/infer/subscripts.h"
#include "frontend/pykernel/types/character_types.h"

namespace cudasim::pykernel {
namespace {

/// Whether one element in memory can be given the value.
bool fits_element(TypeRef element, TypeRef value) {
    if (element->is(TypeKind::record)) return value->is(TypeKind::record) && holds_fields_of(value, element);
    if (element->is(TypeKind::characters)) return fits_characters(element, value);
    return value->is_scalar() && can_cast(value, element);
}

/// One element goes everywhere, a tuple of numbers into a row. An array would need a copy in case the two
/// overlap, memory that a kernel does not have.
bool can_assign(const Instruction& in, TypeRef target, TypeRef value) {
    if (fits_element(target->is(TypeKind::array) ? target->element() : target, value)) return true;
    if (!target->is(TypeKind::array)) return false;
    if (value->is(TypeKind::array)) {
        throw SourceError(ErrorClass::runtime,
                          "NRT required but not enabled: assigning an array (" + value->name +
                              ") to a part of another is not supported in kernels, by Numba's CUDA target "
                              "neither; write a loop over the elements",
                          in.location);
    }
    return value->is(TypeKind::tuple) && target->dimensions == 1 && target->element()->is_scalar() &&
           std::ranges::all_of(value->elements,
                               [&](TypeRef one) { return fits_element(target->element(), one); });
}

void check_set_field(TypeTable& types, const Instruction& in, TypeRef record, const RecordField& field,
                     TypeRef value) {
    if (record->read_only)
        refuse_typing("Cannot assign to a field of a constant record (" + record->name + ")", in.location);
    const TypeRef target = field_value(types, record, field, in.location);
    const bool fits = target->is(TypeKind::array) ? value->is(TypeKind::array) && value->dimensions > 0 &&
                                                        value->element() == target->element()
                                                  : fits_element(target, value);
    if (!fits) {
        refuse_typing("Cannot convert " + value->name + " to " + field.type_name +
                          ", the type of the field '" + field.name + "'",
                      in.location);
    }
}

}  // namespace

void check_set_attribute(TypeTable& types, const Instruction& in, TypeRef object, TypeRef value) {
    if (!object->is(TypeKind::record))
        refuse_typing("attribute '" + in.text + "' cannot be set in a kernel", in.location);
    check_set_field(types, in, object, *named_field(object, in.text, in.location), value);
}

void check_set_item(TypeTable& types, const Instruction& in, TypeRef container, TypeRef index,
                    TypeRef value) {
    if (container->is(TypeKind::record)) {
        if (const RecordField* field = indexed_field(container, index, in.location))
            return check_set_field(types, in, container, *field, value);
    }
    const TypeRef array = container->is(TypeKind::flat) ? container->element() : container;
    if (container->is(TypeKind::pointer) &&
        can_assign(in, item_type(types, container, index, in.location), value))
        return;
    if (!array->is(TypeKind::array)) {
        refuse_no_implementation("<built-in function setitem>", "setitem",
                                 {container->name, index->name, value->name}, in.location,
                                 "elements of " + container->name + " cannot be assigned to");
    }
    if (array->read_only) {
        refuse_typing("Cannot assign to an element of a constant array (" + container->name + ")",
                      in.location);
    }
    if (container->is(TypeKind::array) && index->is(TypeKind::array) && index->dimensions == 1 &&
        index->element()->is_integral() && array->dimensions > 0 && fits_element(array->element(), value)) {
        return;  // every element, or row, that the index names
    }
    const TypeRef target = container->is(TypeKind::flat)
                               ? item_type(types, container, index, in.location)
                               : indexed_array(types, container, index, in.location);
    if (!can_assign(in, target, value)) {
        refuse_no_implementation("<built-in function setitem>", "setitem",
                                 {container->name, index->name, value->name}, in.location,
                                 "Cannot convert " + value->name + " to " + array->element()->name +
                                     ", the type of the array's elements");
    }
}

}  // namespace cudasim::pykernel
