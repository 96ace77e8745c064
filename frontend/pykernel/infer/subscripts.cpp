// See subscripts.h. Rules: Numba's array and tuple typing.
#include "frontend/pykernel/infer/subscripts.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>

#include "frontend/pykernel/infer/added_operations.h"

namespace cudasim::pykernel {

namespace {

/// Whether a rule is for attributes of this name: "array.shape" for shape, "record.*" for any.
bool is_for(const Rule& rule, std::string_view name) {
    const std::string_view wanted = rule.name.substr(rule.name.find('.') + 1);
    return wanted == name || wanted == "*";
}

}  // namespace

Resolution resolve_attribute(Program& program, const Instruction& at, TypeRef object) {
    for (const Rule* rule : attribute_rules()) {
        if (!is_for(*rule, at.text)) continue;
        Resolution found = by_rule(program, at, *rule, {object});
        if (found.result) return found;
    }
    refuse_typing("Unknown attribute '" + at.text + "' of type " + object->name, at.location);
}

Resolution resolve_get_item(Program& program, const Instruction& at, TypeRef container, TypeRef index) {
    if (container->is(TypeKind::added))
        return resolve_added(program, at.location, "operator.getitem", std::array{container, index});
    Resolution found = by_first_rule(program, at, get_item_rules(), {container, index});
    if (found.result) return found;
    refuse_typing("a value of type " + container->name + " cannot be indexed", at.location);
}

Resolution find_place(Program& program, const Instruction& at, TypeRef container, TypeRef index) {
    return by_first_rule(program, at, place_rules(), {container, index});
}

Resolution resolve_unpack(Program& program, const Instruction& at, TypeRef sequence) {
    Resolution found = by_first_rule(program, at, unpack_rules(), {sequence});
    if (found.result) return found;
    refuse_typing("a value of type " + sequence->name + " cannot be unpacked", at.location);
}

Resolution resolve_set_item(Program& program, const Instruction& at, TypeRef container, TypeRef index,
                            TypeRef value) {
    if (container->is(TypeKind::added))
        return resolve_added(program, at.location, "operator.setitem", std::array{container, index, value});
    Resolution found = by_first_rule(program, at, set_item_rules(), {container, index, value});
    if (found.result) return found;
    refuse_no_implementation("<built-in function setitem>", "setitem",
                             {container->name, index->name, value->name}, at.location,
                             "elements of " + container->name + " cannot be assigned to");
}

Resolution resolve_set_attribute(Program& program, const Instruction& at, TypeRef object, TypeRef value) {
    if (object->is(TypeKind::added))
        return resolve_added(program, at.location, "setattr " + at.text, std::array{object, value});
    Resolution found = by_first_rule(program, at, set_attribute_rules(), {object, value});
    if (found.result) return found;
    refuse_typing("attribute '" + at.text + "' cannot be set in a kernel", at.location);
}

/// Python's rule (library reference, "Common Sequence Operations"): bounds below 0 count from the end, and
/// are then clamped.
std::vector<std::uint32_t> sliced_positions(TypeRef tuple, TypeRef slice, Location place) {
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
    std::vector<std::uint32_t> positions;
    const std::int64_t stop = position(1, step > 0 ? highest : lowest);
    for (std::int64_t i = position(0, step > 0 ? lowest : highest); step > 0 ? i < stop : i > stop;
         i += step) {
        positions.push_back(static_cast<std::uint32_t>(i));
        if (std::abs(step) > count) break;
    }
    return positions;
}

TypeRef slice_type(TypeTable& types, const std::vector<TypeRef>& bounds, Location place) {
    for (TypeRef bound : bounds) {
        if (!bound->is_number() && !bound->is(TypeKind::none))
            refuse_typing("a slice cannot have a bound of type " + bound->name + ": it is an integer or None",
                          place);
    }
    return types.slice(bounds);
}

TypeRef iterator_over(Program& program, TypeRef over, std::uint32_t site, std::size_t position,
                      Location place) {
    TypeTable& types = program.types;
    if (over->is_iterator()) return over;
    if (over->is(TypeKind::added))
        return types.iterator(over, site, position,
                              program.ask_for_iteration(over, place).next.result->elements[1]);
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
            return over->elements.size() > 1 ? over->elements[1] : element_type(types, over->element());
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
