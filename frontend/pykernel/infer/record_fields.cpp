// Fields of records and of arrays of records: which one an attribute or an index names, and what it is.
#include <algorithm>

#include "frontend/pykernel/infer/subscripts.h"

namespace cudasim::pykernel {
namespace {

std::string quoted_names(TypeRef record) {
    std::string names;
    for (const RecordField& field : record->fields) names += (names.empty() ? "'" : ", '") + field.name + "'";
    return "(" + names + (record->fields.size() == 1 ? ",)" : ")");
}

/// What Numba calls its ABI alignment: of a record within a record, 1.
std::uint64_t natural_alignment(TypeRef type) {
    if (type->is(TypeKind::array)) return natural_alignment(type->element());
    if (type->is(TypeKind::characters)) return 1;               // read byte by byte where it has to be
    if (type->is(TypeKind::complex)) return type->bytes() / 2;  // that of its components
    return type->is(TypeKind::record) ? 1 : type->bytes();
}

/// Whether an attribute or a method of arrays has this name.
bool is_of_arrays(std::string_view name) {
    const std::string full = "array." + std::string(name);
    return std::ranges::find(attribute_rules(), full, &Rule::name) != attribute_rules().end() ||
           find_callable(full);
}

}  // namespace

const RecordField* named_field(TypeRef object, std::string_view name, Location place) {
    if (object->is(TypeKind::array) && object->element()->is(TypeKind::record))
        return is_of_arrays(name) ? nullptr : object->element()->field(name);
    if (!object->is(TypeKind::record)) return nullptr;
    const RecordField* field = object->field(name);
    if (!field) {
        throw SourceError(ErrorClass::unknown_field,
                          "'" + std::string(name) + "' is not a field of " + object->name + ": it has " +
                              quoted_names(object),
                          place);
    }
    return field;
}

const RecordField* indexed_field(TypeRef container, TypeRef index, Location place) {
    const bool array = container->is(TypeKind::array) && container->element()->is(TypeKind::record);
    if (array && index->is(TypeKind::text)) {
        const RecordField* field = container->element()->field(index->text);
        if (field) return field;
        refuse_typing("Field '" + index->text + "' was not found in records with fields " +
                          quoted_names(container->element()),
                      place);
    }
    if (!container->is(TypeKind::record)) return nullptr;
    if (index->is(TypeKind::text)) {
        const RecordField* field = container->field(index->text);
        if (field) return field;
        refuse_typing(
            "Field '" + index->text + "' was not found in record with fields " + quoted_names(container),
            place);
    }
    const auto count = static_cast<std::int64_t>(container->fields.size());
    const std::int64_t number = index->literal ? *index->literal : count;
    if (!index->is(TypeKind::integer) || !index->literal || number < -count || number >= count) {
        refuse_typing("a record is indexed with the name of a field or with its number, a constant: " +
                          container->name + " has " + std::to_string(count) +
                          " field(s), the index is of type " + index->name,
                      place);
    }
    return &container->fields[static_cast<std::size_t>(number < 0 ? number + count : number)];
}

TypeRef field_value(TypeTable& types, TypeRef object, const RecordField& field, Location place) {
    if (!field.type || !(field.type->lies_in_memory() || field.type->is(TypeKind::array)))
        refuse_unsupported("fields of type " + field.type_name + " are not supported in kernels yet", place);
    if (object->is(TypeKind::array)) {
        const TypeRef element = field.type->is(TypeKind::array) ? field.type->element() : field.type;
        return types.array_like(object, element,
                                object->dimensions + static_cast<unsigned>(field.shape.size()), 'A');
    }
    if (const auto alignment = natural_alignment(field.type); alignment > 1 && field.offset % alignment) {
        const TypeRef element = field.type->is(TypeKind::array) ? field.type->element() : field.type;
        throw SourceError(ErrorClass::type,
                          object->name + "." + field.name + " of type " + element->name +
                              " is not aligned: a GPU cannot load it. Give the dtype align=True",
                          place);
    }
    if (field.type->is(TypeKind::array)) {
        return types.array(field.type->element(), field.type->dimensions, 'C', object->address_space,
                           object->read_only, object->aligned);
    }
    if (field.type->is(TypeKind::record))
        return types.record_in(field.type, object->address_space, object->read_only);
    return field.type;
}

}  // namespace cudasim::pykernel
