// Records: NumPy's structured scalars, as types. Their names are Numba's and say all there is to know,
//   Record(x[type=float64;offset=0],v[type=nestedarray(int32, (2, 3));offset=8];32;False)
// with the size in bytes and whether it is laid out as C does it (NumPy's align=True).
#include <charconv>
#include <utility>

#include "frontend/pykernel/types/types.h"

namespace cudasim::pykernel {
namespace {

std::optional<std::uint64_t> number_in(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value > 1U << 28) return std::nullopt;
    return value;
}

/// Cuts `text` behind the first `separator` outside of brackets and parentheses; what stood before it.
std::optional<std::string_view> cut(std::string_view& text, std::string_view separator) {
    int depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (depth == 0 && text.substr(i).starts_with(separator)) {
            const std::string_view before = text.substr(0, i);
            text.remove_prefix(i + separator.size());
            return before;
        }
        if (text[i] == '(' || text[i] == '[') ++depth;
        if (text[i] == ')' || text[i] == ']') --depth;
    }
    return std::nullopt;
}

/// "(2, 3)", "(4,)".
std::optional<std::vector<std::int64_t>> extents_in(std::string_view text) {
    if (!text.starts_with('(') || !text.ends_with(')')) return std::nullopt;
    text = text.substr(1, text.size() - 2);
    std::vector<std::int64_t> extents;
    while (!text.empty()) {
        const auto comma = text.find(',');
        const auto extent = number_in(text.substr(0, comma));
        if (!extent) return std::nullopt;
        extents.push_back(static_cast<std::int64_t>(*extent));
        text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
        while (text.starts_with(' ')) text.remove_prefix(1);
    }
    return extents;
}

}  // namespace

const RecordField* Type::field(std::string_view name) const {
    for (const RecordField& field : fields) {
        if (field.name == name) return &field;
    }
    return nullptr;
}

/// "type=float64;offset=0". False when malformed.
bool TypeTable::parse_field(std::string_view text, RecordField& field) {
    if (!text.starts_with("type=")) return false;
    text.remove_prefix(5);
    const auto type_name = cut(text, ";offset=");
    const auto offset = number_in(text.substr(0, text.find(';')));  // ";title=" may follow
    if (!type_name || !offset) return false;
    field.type_name = *type_name;
    field.offset = *offset;
    if (!type_name->starts_with("nestedarray(")) {
        field.type = parse(*type_name);
        return true;
    }
    std::string_view inside = type_name->substr(12, type_name->size() - 13);
    const auto element_name = cut(inside, ", ");
    const auto shape = extents_in(inside);
    if (!element_name || !shape) return false;
    const TypeRef element = parse(*element_name);
    field.shape = *shape;
    if (element) field.type = array(element, static_cast<unsigned>(shape->size()), 'C', global_space);
    return true;
}

TypeRef TypeTable::parse_record(std::string_view name) {
    if (!name.starts_with("Record(") || !name.ends_with(')')) return nullptr;
    std::string_view rest = name.substr(7, name.size() - 8);
    Type type{.kind = TypeKind::record, .name = std::string(name)};
    while (!rest.empty() && rest.front() != ';') {
        // A name may hold anything but what ends it.
        const auto open = rest.find("[type=");
        if (open == std::string_view::npos) return nullptr;
        RecordField field{.name = std::string(rest.substr(0, open))};
        rest.remove_prefix(open + 1);
        const auto description = cut(rest, "]");
        if (!description || !parse_field(*description, field)) return nullptr;
        type.fields.push_back(std::move(field));
        if (rest.starts_with(',')) rest.remove_prefix(1);
    }
    if (!rest.starts_with(';')) return nullptr;
    rest.remove_prefix(1);
    const auto size = number_in(rest.substr(0, rest.find(';')));
    if (!size) return nullptr;
    type.bits = static_cast<unsigned>(8 * *size);
    type.aligned = rest.ends_with(";True");
    return intern(std::move(type), "@" + std::to_string(global_space));
}

TypeRef TypeTable::record_in(TypeRef record, unsigned address_space, bool read_only) {
    if (record->address_space == address_space && record->read_only == read_only) return record;
    Type type = *record;
    type.address_space = address_space;
    type.read_only = read_only;
    return intern(std::move(type), "@" + std::to_string(address_space) + (read_only ? "r" : ""));
}

TypeRef TypeTable::value_in(TypeRef array) {
    const TypeRef element = array->element();
    return element->is(TypeKind::record) ? record_in(element, array->address_space, array->read_only)
                                         : element;
}

bool holds_fields_of(TypeRef record, TypeRef other) {
    if (other->fields.size() > record->fields.size()) return false;
    for (std::size_t i = 0; i < other->fields.size(); ++i) {
        const RecordField &a = record->fields[i], &b = other->fields[i];
        if (a.name != b.name || a.type_name != b.type_name || a.offset != b.offset) return false;
    }
    return true;
}

TypeRef TypeTable::array_like(TypeRef array, TypeRef element, unsigned dimensions, char layout) {
    return this->array(element, dimensions, layout, array->address_space, array->read_only, array->aligned);
}

}  // namespace cudasim::pykernel
