// See value.h.
#include "debugger/values/value.h"

#include <algorithm>
#include <cstring>

#include "debugger/values/number_text.h"

namespace cudasim::debugger {
namespace {

/// Of an array's elements in one line, in all, and along one axis; and of members.
constexpr std::uint64_t most_shown = 60, most_shown_along_an_axis = 10;
/// Structures in structures, and pointers.
constexpr unsigned deepest_text = 8;
constexpr std::uint64_t most_characters = 200;

std::uint64_t word_at(std::span<const std::byte> bytes, std::uint64_t offset) {
    std::uint64_t word = 0;
    if (offset + sizeof word <= bytes.size()) std::memcpy(&word, bytes.data() + offset, sizeof word);
    return word;
}

bool is_text(const Type& type) {
    return type.kind == TypeKind::sequence && type.of->kind == TypeKind::character;
}

bool is_optional(const Type& type) {
    return type.kind == TypeKind::structure && type.members.size() == 2 && type.members[0].name == "present";
}

std::optional<ElementArray> array_of(const Type& type, std::span<const std::byte> bytes) {
    if (!type.is_array()) return std::nullopt;
    ElementArray array;
    array.address = word_at(bytes, type.member("data")->offset);
    array.element = type.member("data")->type->of;
    const Member &shape = *type.member("shape"), &strides = *type.member("strides");
    for (std::uint64_t axis = 0; axis < shape.type->length; ++axis) {
        array.shape.push_back(static_cast<std::int64_t>(word_at(bytes, shape.offset + 8 * axis)));
        array.strides.push_back(static_cast<std::int64_t>(word_at(bytes, strides.offset + 8 * axis)));
    }
    return array;
}

/// Variables of Python that are records are pointers, too.
bool is_cpp_pointer(const Type& type) {
    return type.kind == TypeKind::pointer && !type.is_reference && !type.of->name.starts_with("Record");
}

/// "int **"
std::string name_in_cpp(const Type& type) {
    if (!is_cpp_pointer(type)) return type.name.empty() ? "?" : type.name;
    const std::string target = name_in_cpp(*type.of);
    return target + (target.ends_with('*') ? "*" : " *");
}

/// A part of a value that lies in the value's own bytes.
Value inside(const Value& whole, const TypePtr& type, std::uint64_t offset) {
    Value part;
    if (offset + type->bytes <= whole.bytes.size())
        part = value_from(type, std::span(whole.bytes).subspan(offset, type->bytes));
    else
        part.unavailable = "not known";
    part.type = type;
    part.offset = whole.offset + offset;
    if (whole.address) part.address = *whole.address + offset;
    return part;
}

Value row_or_element(const ElementArray& array, std::uint64_t index, const TypePtr& type,
                     const Memory& memory) {
    const std::uint64_t address =
        array.address + static_cast<std::uint64_t>(array.strides[0]) * index;  // modulo 2^64
    if (array.shape.size() == 1) return value_at(array.element, address, memory);
    Value row;
    row.type = type;
    row.array = ElementArray{address,
                             {array.shape.begin() + 1, array.shape.end()},
                             {array.strides.begin() + 1, array.strides.end()},
                             array.element};
    return row;
}

class Writer {
  public:
    explicit Writer(const Memory& memory) : memory_(memory) {}

    std::string text(const Value& value, unsigned depth) {
        if (!value.unavailable.empty()) return "<" + value.unavailable + ">";
        if (depth > deepest_text) return "...";
        if (value.array) return elements(*value.array, value.type, depth);
        const Type& type = *value.type;
        if (auto scalar = scalar_text(type, value.bytes)) return *scalar;
        switch (type.kind) {
            case TypeKind::structure:
                return structure(value, depth);
            case TypeKind::sequence:
                return list(
                    type.length, "[", "]",
                    [&](std::uint64_t i) { return inside(value, type.of, i * type.of->bytes); }, depth);
            case TypeKind::pointer:
                return pointer(value, depth);
            default:
                return "<of type " + (type.name.empty() ? std::string("unknown") : type.name) + ">";
        }
    }

  private:
    template <typename PartAt>
    std::string list(std::uint64_t count, const char* open, const char* close, PartAt&& part,
                     unsigned depth) {
        std::string result = open;
        for (std::uint64_t i = 0; i < count; ++i) {
            if (i != 0) result += ", ";
            if (i >= most_shown_along_an_axis || shown_ >= most_shown) {
                result += "...";
                break;
            }
            const Value each = part(i);
            if (!each.array && each.type->kind != TypeKind::structure) ++shown_;
            result += text(each, depth + 1);
        }
        return result + close;
    }

    std::string elements(const ElementArray& array, const TypePtr& type, unsigned depth) {
        if (array.shape.empty()) return text(value_at(array.element, array.address, memory_), depth + 1);
        const std::uint64_t count = static_cast<std::uint64_t>(std::max<std::int64_t>(array.shape[0], 0));
        return list(
            count, "[", "]", [&](std::uint64_t i) { return row_or_element(array, i, type, memory_); }, depth);
    }

    std::string structure(const Value& value, unsigned depth) {
        const Type& type = *value.type;
        if (is_optional(type)) {
            const bool present =
                text(inside(value, type.members[0].type, type.members[0].offset), depth) == "True";
            return present ? text(inside(value, type.members[1].type, type.members[1].offset), depth)
                           : "None";
        }
        std::string result = type.name.starts_with("range") ? "range(" : "(";
        const bool tuple = is_tuple(type) || type.name.starts_with("range");
        for (std::size_t i = 0; i < type.members.size(); ++i) {
            if (i != 0) result += ", ";
            if (shown_ >= most_shown) {
                result += "...";
                break;
            }
            ++shown_;
            if (!tuple) result += type.members[i].name + "=";
            result += text(inside(value, type.members[i].type, type.members[i].offset), depth + 1);
        }
        if (is_tuple(type) && type.members.size() == 1) result += ",";
        return result + ")";
    }

    /// A pointer of C++ as GDB shows it: "(int *) 0x7f00"; else what lies behind it: a record, and what a
    /// reference refers to.
    std::string pointer(const Value& value, unsigned depth) {
        const std::uint64_t address = word_at(value.bytes, 0);
        if (is_cpp_pointer(*value.type))
            return "(" + name_in_cpp(*value.type) + ") " + hexadecimal(address) +
                   text_behind(*value.type->of, address);
        if (address == 0) return "null";
        const Value behind = value_at(value.type->of, address, memory_);
        return behind.unavailable.empty() ? text(behind, depth + 1) : "<" + behind.unavailable + ">";
    }

    /// The characters behind a `char *`, in quotes, up to the first zero.
    [[nodiscard]] std::string text_behind(const Type& type, std::uint64_t address) const {
        if (type.bytes != 1 || type.name != "char") return {};
        std::string text;
        for (std::uint64_t i = 0; i < most_characters; ++i) {
            std::byte each{};
            if (!memory_.read(address + i, {&each, 1})) return {};
            const char character = static_cast<char>(each);
            if (character == 0) return " \"" + text + "\"";
            if (character < ' ' || character > '~') return {};  // no text
            text += character;
        }
        return " \"" + text + "\"...";
    }

    const Memory& memory_;
    std::uint64_t shown_ = 0;
};

/// What a pointer to a structure stands for.
std::optional<Value> behind_pointer(const Value& value, const Memory& memory) {
    if (value.array || !value.type || value.type->kind != TypeKind::pointer || value.bytes.size() < 8)
        return std::nullopt;
    return value_at(value.type->of, word_at(value.bytes, 0), memory);
}

}  // namespace

bool is_tuple(const Type& type) {
    if (type.kind != TypeKind::structure || type.name.starts_with("Record") || type.members.empty())
        return false;
    for (std::size_t i = 0; i < type.members.size(); ++i)
        if (type.members[i].name != "f" + std::to_string(i)) return false;
    return true;
}

Value value_from(TypePtr type, std::span<const std::byte> bytes) {
    Value value;
    value.bytes.assign(bytes.begin(), bytes.end());
    value.array = array_of(*type, bytes);
    value.type = std::move(type);
    return value;
}

Value value_at(TypePtr type, std::uint64_t address, const Memory& memory) {
    std::vector<std::byte> bytes(type->bytes);
    Value value;
    if (type->bytes != 0 && memory.read(address, bytes)) {
        value = value_from(std::move(type), bytes);
    } else {
        value.unavailable = type->bytes == 0 ? "of unknown size" : "not readable memory";
        value.type = std::move(type);
    }
    value.address = address;
    return value;
}

std::string text_of(const Value& value, const Memory& memory) {
    return Writer(memory).text(value, 0);
}

std::string type_text(const Value& value) {
    std::string text = value.type ? value.type->name : "";
    if (text.empty()) text = "unknown";
    if (!value.array) {
        if (value.type && value.type->kind == TypeKind::pointer &&
            value.type->of->kind == TypeKind::structure)
            return value.type->of->name;
        return text;
    }
    text += " shape (";
    for (std::size_t axis = 0; axis < value.array->shape.size(); ++axis)
        text += (axis != 0 ? ", " : "") + std::to_string(value.array->shape[axis]);
    return text + (value.array->shape.size() == 1 ? ",)" : ")");
}

std::uint64_t element_count(const Value& value) {
    if (!value.unavailable.empty()) return 0;
    if (value.array)
        return value.array->shape.empty()
                   ? 0
                   : static_cast<std::uint64_t>(std::max<std::int64_t>(value.array->shape[0], 0));
    if (is_tuple(*value.type)) return value.type->members.size();
    return value.type->kind == TypeKind::sequence && !is_text(*value.type) ? value.type->length : 0;
}

std::uint64_t member_count(const Value& value) {
    if (!value.unavailable.empty() || value.array || is_tuple(*value.type) || is_optional(*value.type))
        return 0;
    if (value.type->kind == TypeKind::pointer && value.type->of->kind == TypeKind::structure)
        return value.type->of->members.size();
    return value.type->kind == TypeKind::structure ? value.type->members.size() : 0;
}

std::optional<Value> element_of(const Value& value, std::int64_t index, const Memory& memory) {
    const auto count = static_cast<std::int64_t>(element_count(value));
    if (index < 0) index += count;
    if (index < 0 || index >= count) return std::nullopt;
    const auto place = static_cast<std::uint64_t>(index);
    if (value.array) return row_or_element(*value.array, place, value.type, memory);
    if (is_tuple(*value.type)) {
        const Member& member = value.type->members[place];
        return inside(value, member.type, member.offset);
    }
    return inside(value, value.type->of, place * value.type->of->bytes);
}

std::optional<Value> member_of(const Value& value, std::string_view name, const Memory& memory) {
    if (const auto behind = behind_pointer(value, memory)) return member_of(*behind, name, memory);
    if (value.array || !value.unavailable.empty()) return std::nullopt;
    const Member* member = value.type->member(name);
    if (member == nullptr || is_tuple(*value.type)) return std::nullopt;
    return inside(value, member->type, member->offset);
}

std::vector<Part> parts_of(const Value& value, std::uint64_t first, std::uint64_t count,
                           const Memory& memory) {
    std::vector<Part> parts;
    const auto last = [&](std::uint64_t all) {
        return count > all || first + count > all ? all : first + count;
    };
    if (const std::uint64_t all = element_count(value); all != 0) {
        for (std::uint64_t i = first; i < last(all); ++i) {
            const std::string name = "[" + std::to_string(i) + "]";
            parts.push_back({name, name, *element_of(value, static_cast<std::int64_t>(i), memory)});
        }
        return parts;
    }
    const std::uint64_t all = member_count(value);
    if (all == 0) return parts;
    const Type& type = value.type->kind == TypeKind::pointer ? *value.type->of : *value.type;
    for (std::uint64_t i = first; i < last(all); ++i) {
        const std::string& name = type.members[i].name;
        parts.push_back({name, "." + name, *member_of(value, name, memory)});
    }
    return parts;
}

}  // namespace cudasim::debugger
