// See subscripts.h. Rules: Numba's array and tuple typing.
#include "frontend/pykernel/subscripts.h"

#include <algorithm>

namespace cudasim::pykernel {

TypeRef attribute_type(TypeTable& types, TypeRef object, std::string_view name, Location place) {
    if (object->is(TypeKind::dim3) && (name == "x" || name == "y" || name == "z")) return types.int32;
    if (object->is(TypeKind::array)) {
        const unsigned dimensions = object->dimensions;
        if (name == "shape" || name == "strides")
            return types.tuple(std::vector<TypeRef>(dimensions, types.int64));
        if (name == "size" || name == "itemsize" || name == "nbytes") return types.int64;
        if (name == "ndim") return types.literal(types.int64, dimensions);
        if (name == "dtype") return types.data_type(object->element());
        if (name == "T") {
            const char layout = dimensions < 2          ? object->layout
                                : object->layout == 'C' ? 'F'
                                : object->layout == 'F' ? 'C'
                                                        : 'A';
            return types.array(object->element(), dimensions, layout, object->address_space,
                               object->read_only);
        }
    }
    if (object->is_number() && name == "real") return types.without_literal(object);
    refuse_typing("Unknown attribute '" + std::string(name) + "' of type " + object->name, place);
}

std::vector<TypeRef> index_types(TypeRef index) {
    std::vector<TypeRef> result = index->is(TypeKind::tuple) ? index->elements : std::vector<TypeRef>{index};
    if (!std::ranges::all_of(result, [](TypeRef type) { return type->is(TypeKind::integer); })) return {};
    return result;
}

TypeRef remaining_array(TypeTable& types, TypeRef array, unsigned count) {
    const char layout = count == 0 || array->layout == 'C' ? array->layout : 'A';
    return types.array(array->element(), array->dimensions - count, layout, array->address_space,
                       array->read_only);
}

TypeRef item_type(TypeTable& types, TypeRef container, TypeRef index, Location place) {
    if (container->is(TypeKind::tuple)) {
        const auto count = static_cast<std::int64_t>(container->elements.size());
        if (!index->is(TypeKind::integer))
            refuse_typing("a tuple cannot be indexed with " + index->name, place);
        if (index->literal) {
            const std::int64_t i = *index->literal < 0 ? *index->literal + count : *index->literal;
            if (i < 0 || i >= count) {
                refuse_typing("tuple index " + std::to_string(*index->literal) + " is out of range for " +
                                  container->name,
                              place);
            }
            return container->elements[static_cast<std::size_t>(i)];
        }
        const TypeRef plain = types.without_literal(container);
        const bool uniform = count > 0 && std::ranges::all_of(plain->elements, [&](TypeRef t) {
                                 return t == plain->elements[0];
                             });
        if (!uniform) {
            refuse_typing("the tuple " + plain->name +
                              " has elements of several types, so its index must be a constant",
                          place);
        }
        return plain->elements[0];
    }
    if (!container->is(TypeKind::array)) {
        refuse_typing("a value of type " + container->name + " cannot be indexed", place);
    }
    const std::vector<TypeRef> indices = index_types(index);
    if (indices.empty()) {
        refuse_typing("Unsupported array index type " + types.without_literal(index)->name + " for " +
                          container->name + ": an index is an integer, or a tuple of integers",
                      place);
    }
    if (indices.size() > container->dimensions) {
        refuse_typing("Cannot index " + container->name + " with " + std::to_string(indices.size()) +
                          " indices: it has " + std::to_string(container->dimensions) + " dimension(s)",
                      place);
    }
    if (indices.size() == container->dimensions) return container->element();
    return remaining_array(types, container, static_cast<unsigned>(indices.size()));
}

TypeRef element_type(TypeTable& types, TypeRef over) {
    if (over->is(TypeKind::range)) return over->element();
    if (over->is(TypeKind::array)) {
        if (over->dimensions == 0) return nullptr;
        return over->dimensions == 1 ? over->element() : remaining_array(types, over, 1);
    }
    if (!over->is(TypeKind::tuple) || over->elements.empty()) return nullptr;
    const TypeRef plain = types.without_literal(over);
    const bool uniform =
        std::ranges::all_of(plain->elements, [&](TypeRef t) { return t == plain->elements[0]; });
    return uniform ? plain->elements[0] : nullptr;
}

}  // namespace cudasim::pykernel
