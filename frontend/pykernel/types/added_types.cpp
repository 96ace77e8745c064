// Types that programs add with numba.cuda.extending, as the caller describes them:
//   Added(3;16;lo:float64:0|hi:float64:8;Interval%281d%29)
// a number that tells it from others, the bytes of a value in memory, its parts with their places there, and
// its name, whose characters other than letters, digits, '_' and '.' are percent signs with two hexadecimal
// digits. Text(%25f) is a text that is known, whose characters are written so: what their print() prints.
#include <charconv>

#include "frontend/pykernel/types/types.h"

namespace cudasim::pykernel {
namespace {

/// Cuts `text` behind the first separator; what stood before it.
std::string_view cut(std::string_view& text, char separator) {
    const std::size_t end = std::min(text.find(separator), text.size());
    const std::string_view before = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return before;
}

std::uint64_t number_in(std::string_view text, int base = 10) {
    std::uint64_t value = 0;
    std::from_chars(text.data(), text.data() + text.size(), value, base);
    return value;
}

std::string unescaped(std::string_view text) {
    std::string result;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '%') {
            result += static_cast<char>(number_in(text.substr(i + 1, 2), 16));
            i += 2;
        } else {
            result += text[i];
        }
    }
    return result;
}

}  // namespace

TypeRef TypeTable::parse_added(std::string_view name) {
    if (!name.ends_with(')')) return nullptr;
    if (name.starts_with("Text(")) return text(unescaped(name.substr(5, name.size() - 6)));
    std::string_view inside = name.substr(6, name.size() - 7);
    cut(inside, ';');
    Type type{.kind = TypeKind::added, .text = std::string(name)};
    type.bits = static_cast<unsigned>(8 * number_in(cut(inside, ';')));
    std::string_view parts = cut(inside, ';');
    while (!parts.empty()) {
        std::string_view part = cut(parts, '|');
        RecordField field;
        field.name = unescaped(cut(part, ':'));
        field.type_name = std::string(cut(part, ':'));
        field.type = scalar_named(field.type_name);
        field.offset = number_in(part);
        if (!field.type || field.type->bits == 0) return nullptr;
        type.fields.push_back(std::move(field));
    }
    type.values = type.fields.size();
    type.name = unescaped(inside);
    return intern(std::move(type), name);
}

}  // namespace cudasim::pykernel
