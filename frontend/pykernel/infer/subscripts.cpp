// See subscripts.h. Rules: Numba's array and tuple typing.
#include "frontend/pykernel/infer/subscripts.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

#include "frontend/pykernel/infer/callable.h"
#include "frontend/pykernel/types/grid_group.h"
#include "frontend/pykernel/types/number_limits.h"

namespace cudasim::pykernel {

TypeRef attribute_type(TypeTable& types, TypeRef object, std::string_view name, Location place) {
    if (object->is(TypeKind::dim3) && (name == "x" || name == "y" || name == "z")) return types.int32;
    if (object->is(TypeKind::vector) && name.size() == 1) {
        const auto axis = std::string_view("xyzw").find(name);
        if (axis < object->elements.size()) return object->element();
    }
    if (object->is(TypeKind::array)) {
        const unsigned dimensions = object->dimensions;
        if (name == "shape" || name == "strides")
            return types.tuple(std::vector<TypeRef>(dimensions, types.int64));
        if (name == "size" || name == "itemsize" || name == "nbytes") return types.int64;
        if (name == "ndim") return types.literal(types.int64, dimensions);
        const bool is_complex = object->element()->is(TypeKind::complex);
        if (is_complex && (name == "real" || name == "imag"))
            return types.array_like(object, types.component(object->element()), dimensions, 'A');
        if (name == "real" && !object->element()->is(TypeKind::boolean)) return object;
        if (name == "flat") return types.wrapped(TypeKind::flat, object);
        if (name == "dtype") return types.data_type(object->element());
        if (name == "T") {
            const char layout = dimensions < 2          ? object->layout
                                : object->layout == 'C' ? 'F'
                                : object->layout == 'F' ? 'C'
                                                        : 'A';
            return types.array_like(object, object->element(), dimensions, layout);
        }
    }
    if (object->is(TypeKind::member) && name == "value") return object->element();
    if (const auto found = std::ranges::find(object->names, name); found != object->names.end())
        return object->elements[static_cast<std::size_t>(found - object->names.begin())];
    if (is_field(object, name)) return field_value(types, object, *named_field(object, name, place), place);
    const bool number = object->is(TypeKind::integer) || object->is(TypeKind::floating);
    const std::string_view owner = object->is(TypeKind::array)     ? "array."
                                   : object->is(TypeKind::tuple)   ? "tuple."
                                   : number                        ? "number."
                                   : object->is(TypeKind::complex) ? "complex."
                                   : is_grid_group(object)         ? "GridGroup."
                                                                   : "";
    const std::string method = std::string(owner) + std::string(name);
    if (!owner.empty() && find_callable(method)) return types.method(object, method);
    if (object->is(TypeKind::array) && name == "ctypes") return types.method(object, "array.ctypes");
    if (object->is(TypeKind::method) && object->row == "array.ctypes" && name == "data") return types.uint64;
    if (object->is(TypeKind::data_type) && name == "type") return object;
    if (object->is(TypeKind::limits)) {
        if (const TypeRef limit = limit_type(types, object, name)) return limit;
    }
    if (object->is(TypeKind::slice) && (name == "start" || name == "stop" || name == "step"))
        return types.int64;
    if (object->is(TypeKind::range) && (name == "start" || name == "stop" || name == "step"))
        return object->element();
    if (object->is(TypeKind::complex) && (name == "real" || name == "imag")) return types.component(object);
    if (number && (name == "real" || name == "imag")) return types.without_literal(object);
    refuse_typing("Unknown attribute '" + std::string(name) + "' of type " + object->name, place);
}

/// Python's rule (library reference, "Common Sequence Operations"): bounds below 0 count from the end, and
/// are then clamped.
std::vector<std::size_t> sliced_positions(TypeRef tuple, TypeRef slice, Location place) {
    const auto count = static_cast<std::int64_t>(tuple->elements.size());
    auto bound = [&](std::size_t i) -> std::optional<std::int64_t> {
        if (i >= slice->elements.size() || slice->elements[i]->is(TypeKind::none)) return std::nullopt;
        if (!slice->elements[i]->literal)
            refuse_typing("the bounds of a slice of a tuple must be constants", place);
        return slice->elements[i]->literal;
    };
    const std::int64_t step = bound(2).value_or(1);
    if (step == 0) throw SourceError(ErrorClass::value, "slice step cannot be zero", place);
    const std::int64_t lowest = step > 0 ? 0 : -1, highest = step > 0 ? count : count - 1;
    auto position = [&](std::size_t i, std::int64_t missing) {
        const auto given = bound(i);
        if (!given) return missing;
        return std::clamp(*given < 0 ? *given + count : *given, lowest, highest);
    };
    std::vector<std::size_t> positions;
    const std::int64_t stop = position(1, step > 0 ? highest : lowest);
    for (std::int64_t i = position(0, step > 0 ? lowest : highest); step > 0 ? i < stop : i > stop;
         i += step) {
        positions.push_back(static_cast<std::size_t>(i));
        if (std::abs(step) > count) break;
    }
    return positions;
}

namespace {

/// A character of a string, by a constant index. @throws SourceError
TypeRef character(TypeTable& types, TypeRef text, TypeRef index, Location place) {
    const std::string bytes = text->text;
    std::vector<std::string> characters;  // of UTF-8: bytes 10xxxxxx continue one
    for (char c : bytes) {
        if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) characters.emplace_back();
        characters.back() += c;
    }
    const auto count = static_cast<std::int64_t>(characters.size());
    if (!index->is(TypeKind::integer) || !index->literal)
        refuse_typing("a string is indexed with constants only in kernels", place);
    const std::int64_t i = *index->literal < 0 ? *index->literal + count : *index->literal;
    if (i < 0 || i >= count) refuse_typing("string index out of range", place);
    return types.text(characters[static_cast<std::size_t>(i)]);
}

/// What p[i] is, as in C: no extent is known, negative indices go backwards. @throws SourceError
TypeRef pointee(TypeRef pointer, TypeRef index, Location place) {
    if (pointer->elements.empty() || !pointer->elements[0]->is_scalar())
        refuse_typing("a value of type " + pointer->name + " cannot be indexed", place);
    if (!index->is(TypeKind::integer))
        refuse_typing(pointer->name + " cannot be indexed with " + index->name, place);
    return pointer->elements[0];
}

}  // namespace

TypeRef item_type(TypeTable& types, TypeRef container, TypeRef index, Location place) {
    if (container->is(TypeKind::text)) return character(types, container, index, place);
    if (container->is(TypeKind::characters) && container->dimensions == 1 && index->is(TypeKind::integer))
        return types.uint32;
    if (container->is(TypeKind::tuple)) {
        const auto count = static_cast<std::int64_t>(container->elements.size());
        if (index->is(TypeKind::slice)) {
            std::vector<TypeRef> elements;
            for (std::size_t i : sliced_positions(container, index, place))
                elements.push_back(container->elements[i]);
            return types.tuple(std::move(elements));
        }
        if (!index->is(TypeKind::integer))
            refuse_typing("a tuple cannot be indexed with " + index->name, place);
        if (index->literal) {
            const std::int64_t i = *index->literal < 0 ? *index->literal + count : *index->literal;
            if (i < 0 || i >= count) {
                refuse_typing(
                    "tuple index out of range: " + std::to_string(*index->literal) + " in " + container->name,
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
    if (container->is(TypeKind::flat)) {
        if (!index->is(TypeKind::integer))
            refuse_typing(container->name + " cannot be indexed with " + index->name, place);
        return types.value_in(container->element());
    }
    if (const RecordField* field = indexed_field(container, index, place))
        return field_value(types, container, *field, place);
    if (container->is(TypeKind::pointer)) return pointee(container, index, place);
    if (!container->is(TypeKind::array)) {
        refuse_typing("a value of type " + container->name + " cannot be indexed", place);
    }
    if (index->is(TypeKind::ellipsis) || index->is(TypeKind::none)) {
        throw SourceError(
            ErrorClass::not_implemented,
            "an index that is `" + std::string(index->is(TypeKind::none) ? "None" : "...") +
                "` alone is not supported in kernels, nor by Numba's CUDA target: write a[:], or "
                "a[None, :]",
            place);
    }
    return indexed_array(types, container, index, place);
}

TypeRef slice_type(TypeTable& types, const std::vector<TypeRef>& bounds, Location place) {
    for (TypeRef bound : bounds) {
        if (!bound->is_number() && !bound->is(TypeKind::none))
            refuse_typing("a slice cannot have a bound of type " + bound->name + ": it is an integer or None",
                          place);
    }
    return types.slice(bounds);
}

TypeRef iterator_over(TypeTable& types, TypeRef over, std::uint32_t site, std::size_t position,
                      Location place) {
    if (over->is_iterator()) return over;
    if (over->is(TypeKind::array) && over->dimensions == 0)
        refuse_typing("iteration over a 0-d array", place);
    if (!element_type(types, over))
        refuse_typing(
            "Invalid use of getiter with parameters (" + over->name + "): a loop cannot run over it", place);
    return types.iterator(over, site, position);
}

TypeRef element_type(TypeTable& types, TypeRef over) {
    auto uniform = [&](TypeRef tuple) -> TypeRef {
        const TypeRef plain = types.without_literal(tuple);
        if (plain->elements.empty()) return nullptr;
        for (TypeRef element : plain->elements) {
            if (element != plain->elements[0]) return nullptr;
        }
        return plain->elements[0];
    };
    switch (over->kind) {
        case TypeKind::range:
        case TypeKind::flat:
            return over->is(TypeKind::flat) ? types.value_in(over->element()) : over->element();
        case TypeKind::array:
            if (over->dimensions == 0) return nullptr;
            if (over->dimensions == 1) return types.value_in(over);
            return types.array_like(over, over->element(), over->dimensions - 1, 'A');
        case TypeKind::tuple:
            return uniform(over);
        case TypeKind::index_grid:
            return over->element();
        case TypeKind::index_items: {
            const TypeRef indices =
                types.tuple(std::vector<TypeRef>(over->element()->dimensions, types.int64));
            return types.tuple({indices, types.value_in(over->element())});
        }
        case TypeKind::iterator:
            return element_type(types, over->element());
        case TypeKind::enumerated:
            return types.tuple({types.int64, element_type(types, over->element())});
        case TypeKind::zipped: {
            std::vector<TypeRef> elements;
            for (TypeRef iterator : over->elements) elements.push_back(element_type(types, iterator));
            return types.tuple(std::move(elements));
        }
        default:
            return nullptr;
    }
}

}  // namespace cudasim::pykernel
