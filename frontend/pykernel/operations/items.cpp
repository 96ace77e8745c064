// Subscripts that are read, and the places in memory of the elements that they name.
#include <llvm/IR/Constants.h>

#include <algorithm>
#include <array>

#include "frontend/pykernel/emit/characters.h"
#include "frontend/pykernel/infer/subscripts.h"
#include "frontend/pykernel/operations/rules.h"

namespace cudasim::pykernel {
namespace {

[[noreturn]] void refuse_index(const CallTyping& item) {
    refuse_typing(item[0]->name + " cannot be indexed with " + item[1]->name, item.call.location);
}

/// A character of a string, by a constant index.
TypeRef type_character_of_text(const CallTyping& item) {
    const TypeRef text = item[0]->present(), index = item[1]->present();
    if (!text->is(TypeKind::text)) return nullptr;
    std::vector<std::string> characters;  // of UTF-8: bytes 10xxxxxx continue one
    for (char c : text->text) {
        if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) characters.emplace_back();
        characters.back() += c;
    }
    const auto count = static_cast<std::int64_t>(characters.size());
    if (!index->is(TypeKind::integer) || !index->literal)
        refuse_typing("a string is indexed with constants only in kernels", item.call.location);
    const std::int64_t i = *index->literal < 0 ? *index->literal + count : *index->literal;
    if (i < 0 || i >= count) refuse_typing("string index out of range", item.call.location);
    return item.types().text(characters[static_cast<std::size_t>(i)]);
}

TypeRef type_character(const CallTyping& item) {
    const TypeRef value = item[0];
    const bool defined =
        value->is(TypeKind::characters) && value->dimensions == 1 && item[1]->is(TypeKind::integer);
    return defined ? item.types().uint32 : nullptr;
}

Emitted emit_character(CallEmission& item) {
    FunctionEmitter& e = item.emitter;
    llvm::Value* index = e.meant(e.check_index(item[1], characters_length(e, item[0]), 0));
    return e.convert(e.number(character_at(e, item[0], index), e.types().uint64), item.resolution.result);
}

TypeRef type_part_of_tuple(const CallTyping& item) {
    if (!item[0]->is(TypeKind::tuple) || !item[1]->is(TypeKind::slice)) return nullptr;
    item.resolution.positions = sliced_positions(item[0], item[1], item.call.location);
    std::vector<TypeRef> elements;
    for (std::uint32_t i : item.resolution.positions) elements.push_back(item[0]->elements[i]);
    return item.types().tuple(std::move(elements));
}

Emitted emit_part_of_tuple(CallEmission& item) {
    Emitted picked{item.resolution.result, {}};
    for (std::uint32_t i : item.resolution.positions)
        picked.parts.append(item.emitter.element_of(item[0], i).parts);
    return picked;
}

/// By a constant.
TypeRef type_known_element(const CallTyping& item) {
    const TypeRef tuple = item[0], index = item[1];
    if (!tuple->is(TypeKind::tuple)) return nullptr;
    if (!index->is(TypeKind::integer))
        refuse_typing("a tuple cannot be indexed with " + index->name, item.call.location);
    if (!index->literal) return nullptr;
    const auto count = static_cast<std::int64_t>(tuple->elements.size());
    const std::int64_t i = *index->literal < 0 ? *index->literal + count : *index->literal;
    if (i < 0 || i >= count) {
        refuse_typing("tuple index out of range: " + std::to_string(*index->literal) + " in " + tuple->name,
                      item.call.location);
    }
    item.resolution.positions = {static_cast<std::uint32_t>(i)};
    return tuple->elements[static_cast<std::size_t>(i)];
}

Emitted emit_known_element(CallEmission& item) {
    return item.emitter.element_of(item[0], item.resolution.positions[0]);
}

/// By a number that only the running kernel knows.
TypeRef type_any_element(const CallTyping& item) {
    if (!item[0]->is(TypeKind::tuple)) return nullptr;
    const TypeRef plain = item.types().without_literal(item[0]);
    if (!plain->is_uniform_tuple()) {
        refuse_typing(
            "the tuple " + plain->name + " has elements of several types, so its index must be a constant",
            item.call.location);
    }
    return plain->elements[0];
}

Emitted emit_any_element(CallEmission& item) {
    const TypeRef result = item.resolution.result;
    if (result->is(TypeKind::text)) return {result, {}};
    return item.emitter.any_element_of(item[0], item[1], result);
}

TypeRef type_field(const CallTyping& item) {
    const RecordField* field = indexed_field(item[0], item[1], item.call.location);
    item.resolution.field = field;
    return field ? field_value(item.types(), item[0], *field, item.call.location) : nullptr;
}

Emitted emit_field(CallEmission& item) {
    return item.emitter.get_field(item[0], *item.resolution.field, item.resolution.result);
}

TypeRef type_element(const CallTyping& item) {
    const TypeRef index = item[1];
    if (item[0]->is(TypeKind::array) && (index->is(TypeKind::ellipsis) || index->is(TypeKind::none))) {
        throw SourceError(
            ErrorClass::not_implemented,
            "an index that is `" + std::string(index->is(TypeKind::none) ? "None" : "...") +
                "` alone is not supported in kernels, nor by Numba's CUDA target: write a[:], or "
                "a[None, :]",
            item.call.location);
    }
    Resolution place = find_place(item.program, item.call, item[0], index);
    const TypeRef result = place.result;
    if (result) item.resolution.inner.push_back(std::move(place));
    return result;
}

Emitted emit_element(CallEmission& item) {
    llvm::Value* place = item.apply(0, {item[0], item[1]}).value();
    return item.emitter.load_element(place, item.resolution.result, item.resolution.inner[0].parameters[0]);
}

/// By integers, fewer than there are axes.
TypeRef type_rows(const CallTyping& item) {
    const bool defined = item[0]->is(TypeKind::array) && count_integers(item[1]);
    return defined ? indexed_array(item.types(), item[0], item[1], item.call.location) : nullptr;
}

Emitted emit_rows(CallEmission& item) {
    FunctionEmitter& e = item.emitter;
    return e.item_at(item[0], e.checked_indices(item[0], item[1]), item.resolution.result);
}

TypeRef type_part(const CallTyping& item) {
    if (!item[0]->is(TypeKind::array)) return nullptr;
    return indexed_array(item.types(), item[0], item[1], item.call.location);
}

Emitted emit_part(CallEmission& item) {
    return item.emitter.selected(item[0], item[1], item.resolution.result);
}

TypeRef type_unpacked_array(const CallTyping& item) {
    const bool defined = item[0]->is(TypeKind::array) && item[0]->dimensions > 0;
    return defined ? element_type(item.types(), item[0]) : nullptr;
}

/// `x, y = a`: the array must have as many rows as there are names.
Emitted emit_unpacked_array(CallEmission& item) {
    FunctionEmitter& e = item.emitter;
    const Emitted& array = item[0];
    if (item.call.index == 0) {
        const std::string count = std::to_string(item.call.count);
        e.require(e.builder.CreateICmpSGE(array.parts[1], e.int64(item.call.count)), "ValueError",
                  "need more values to unpack: " + count + " names, but the array is shorter");
        e.require(e.builder.CreateICmpSLE(array.parts[1], e.int64(item.call.count)), "ValueError",
                  "too many values to unpack (expected " + count + ")");
    }
    return e.item_at(array, std::array<llvm::Value*, 1>{e.int64(item.call.index)}, item.resolution.result);
}

TypeRef type_unpacked_tuple(const CallTyping& item) {
    const TypeRef tuple = item[0];
    if (!tuple->is(TypeKind::tuple)) return nullptr;
    if (tuple->elements.size() != item.call.count) {
        refuse_typing("Cannot unpack " + std::to_string(tuple->elements.size()) + " values into " +
                          std::to_string(item.call.count) + " names",
                      item.call.location);
    }
    item.resolution.positions = {item.call.index};
    return tuple->elements[item.call.index];
}

// Places. A resolution's parameter is the type of the memory: what the element's access is checked for.

TypeRef type_place_in_flat(const CallTyping& place) {
    if (!place[0]->is(TypeKind::flat)) return nullptr;
    if (!place[1]->is(TypeKind::integer)) refuse_index(place);
    place.resolution.parameters = {place[0]->element()};
    return place.types().value_in(place[0]->element());
}

Emitted emit_place_in_flat(CallEmission& place) {
    FunctionEmitter& e = place.emitter;
    const Emitted array{place[0].type->element(), place[0].parts};
    llvm::Value* position = e.check_index(place[1], e.array_size(array), 0);
    return {place.resolution.result, {e.flat_address(array, position)}};
}

/// As in C: no extent is known, negative indices go backwards.
TypeRef type_pointed_place(const CallTyping& place) {
    const TypeRef pointer = place[0];
    if (!pointer->is(TypeKind::pointer)) return nullptr;
    if (pointer->elements.empty() || !pointer->elements[0]->is_scalar())
        refuse_typing("a value of type " + pointer->name + " cannot be indexed", place.call.location);
    if (!place[1]->is(TypeKind::integer)) refuse_index(place);
    place.resolution.parameters = {pointer};
    return pointer->elements[0];
}

Emitted emit_pointed_place(CallEmission& place) {
    FunctionEmitter& e = place.emitter;
    const Emitted& pointer = place[0];
    llvm::Value* distance = e.convert(place[1], e.types().int64).value();
    return {place.resolution.result,
            {e.builder.CreateGEP(e.module.memory_type(pointer.type->element()), pointer.value(), distance)}};
}

/// By as many integers as there are axes.
TypeRef type_indexed_place(const CallTyping& place) {
    const TypeRef array = place[0];
    if (!array->is(TypeKind::array) || count_integers(place[1]) != array->dimensions) return nullptr;
    place.resolution.parameters = {array};
    return place.types().value_in(array);
}

Emitted emit_indexed_place(CallEmission& place) {
    return {place.resolution.result, {place.emitter.element_address(place[0], place[1])}};
}

/// By as many integers, and `...`, which then stands for no axis.
TypeRef type_selected_place(const CallTyping& place) {
    const TypeRef array = place[0], index = place[1];
    if (!array->is(TypeKind::array)) return nullptr;
    const std::vector<TypeRef> parts =
        index->is(TypeKind::tuple) ? index->elements : std::vector<TypeRef>{index};
    const auto count = [&](TypeKind kind) {
        return std::ranges::count_if(parts, [&](TypeRef part) { return part->is(kind); });
    };
    const bool defined = count(TypeKind::ellipsis) == 1 && count(TypeKind::integer) == array->dimensions &&
                         parts.size() == array->dimensions + 1;
    place.resolution.parameters = {array};
    return defined ? place.types().value_in(array) : nullptr;
}

Emitted emit_selected_place(CallEmission& place) {
    return {place.resolution.result,
            {place.emitter.selected(place[0], place[1], place.resolution.result).parts[0]}};
}

constexpr Rule rows[] = {
    {"a character of a string", "container index", type_character_of_text, emit_known, true},
    {"a character", "container index", type_character, emit_character},
    {"a slice of a tuple", "container index", type_part_of_tuple, emit_part_of_tuple},
    {"an element of a tuple, by a constant", "container index", type_known_element, emit_known_element},
    {"an element of a tuple", "container index", type_any_element, emit_any_element},
    {"a field", "container index", type_field, emit_field},
    {"an element in memory", "container index", type_element, emit_element},
    {"rows of an array", "container index", type_rows, emit_rows},
    {"a part of an array", "container index", type_part, emit_part},
    {"a row of an array that is unpacked", "sequence", type_unpacked_array, emit_unpacked_array},
    {"an element of a tuple that is unpacked", "sequence", type_unpacked_tuple, emit_known_element},
    {"the place in a.flat", "memory index", type_place_in_flat, emit_place_in_flat},
    {"the place that a pointer leads to", "memory index", type_pointed_place, emit_pointed_place},
    {"the place by integers", "memory index", type_indexed_place, emit_indexed_place},
    {"the place by integers and `...`", "memory index", type_selected_place, emit_selected_place},
};

}  // namespace

std::span<const Rule> items() {
    return rows;
}

}  // namespace cudasim::pykernel
