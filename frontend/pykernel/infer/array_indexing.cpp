// Types of indexed arrays: how many axes remain, and which layout Numba infers for the view.
//
// An index is basic: integers, slices, one `...`, and None for new axes. Numba keeps a C layout where all
// indices but the last are single integers and the last may be a slice without a step; the same, read from
// the right, keeps an F layout. Anything else is A, whatever the strides turn out to be.
#include <algorithm>
#include <span>

#include "frontend/pykernel/infer/subscripts.h"

namespace cudasim::pykernel {
namespace {

struct IndexShape {
    std::size_t ellipsis;  ///< position of `...`; the number of parts when there is none
    unsigned integers = 0;
    unsigned slices = 0;
    unsigned new_axes = 0;
    [[nodiscard]] unsigned axes() const { return integers + slices; }
};

bool steps(TypeRef part) {
    return part->elements.size() == 3;
}

/// Whether the parts, from the outermost axis inwards, leave the elements without gaps.
template <typename Parts>
bool contiguous(const Parts& parts) {
    const auto count = static_cast<std::size_t>(std::ranges::distance(parts));
    std::size_t position = 0;
    for (TypeRef part : parts) {
        const bool innermost = ++position == count;
        if (part->is(TypeKind::slice) && (!innermost || steps(part))) return false;
    }
    return true;
}

char layout_of_view(TypeRef array, const std::vector<TypeRef>& parts, const IndexShape& shape) {
    const bool every_axis = shape.axes() == array->dimensions;
    const bool has_ellipsis = shape.ellipsis < parts.size();
    if (shape.new_axes > 0 || array->layout == 'A') return 'A';
    std::vector<TypeRef> indices = parts;
    std::erase_if(indices, [](TypeRef part) { return part->is(TypeKind::ellipsis); });
    if (array->layout == 'C') {
        // What stands right of `...` names inner axes, unless `...` stands for none.
        const bool from_the_left = every_axis || !has_ellipsis || shape.ellipsis + 1 == parts.size();
        return from_the_left && contiguous(indices) ? 'C' : 'A';
    }
    const bool from_the_right = every_axis || (has_ellipsis && shape.ellipsis == 0);
    std::ranges::reverse(indices);
    return from_the_right && contiguous(indices) ? 'F' : 'A';
}

[[noreturn]] void refuse_index(TypeTable& types, TypeRef array, TypeRef index, Location place) {
    refuse_typing("Unsupported array index type " + types.without_literal(index)->name + " for " +
                      array->name + ": an index is an integer, a slice, `...` or None, or a tuple of them",
                  place);
}

}  // namespace

std::optional<std::size_t> count_integers(TypeRef index) {
    if (!index->is(TypeKind::tuple))
        return index->is(TypeKind::integer) ? std::optional<std::size_t>(1) : std::nullopt;
    const auto is_integer = [](TypeRef part) { return part->is(TypeKind::integer); };
    if (!std::ranges::all_of(index->elements, is_integer)) return std::nullopt;
    return index->elements.size();
}

TypeRef indexed_array(TypeTable& types, TypeRef array, TypeRef index, Location place) {
    const bool several = index->is(TypeKind::tuple);
    const std::vector<TypeRef> parts = several ? index->elements : std::vector<TypeRef>{index};
    IndexShape shape{.ellipsis = parts.size()};
    for (std::size_t i = 0; i < parts.size(); ++i) {
        if (parts[i]->is(TypeKind::integer)) {
            ++shape.integers;
        } else if (parts[i]->is(TypeKind::slice)) {
            ++shape.slices;
        } else if (parts[i]->is(TypeKind::none)) {
            ++shape.new_axes;
        } else if (parts[i]->is(TypeKind::ellipsis) && shape.ellipsis == parts.size()) {
            shape.ellipsis = i;
        } else {
            refuse_index(types, array, index, place);
        }
    }
    if (shape.axes() > array->dimensions) {
        refuse_typing("Cannot index " + array->name + " with " + std::to_string(shape.axes()) +
                          " indices: it has " + std::to_string(array->dimensions) + " dimension(s)",
                      place);
    }
    const unsigned dimensions = array->dimensions - shape.integers + shape.new_axes;
    if (dimensions == 0) return types.value_in(array);
    return types.array_like(array, array->element(), dimensions, layout_of_view(array, parts, shape));
}

}  // namespace cudasim::pykernel
