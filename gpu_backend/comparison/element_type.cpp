#include "gpu_backend/comparison/element_type.h"

#include <algorithm>
#include <stdexcept>

#include "gpu_backend/comparison/python_literal.h"

namespace cudasim::comparison {
namespace {

// An element of more bytes would overflow the arithmetic of offsets; no GPU has that much memory.
constexpr std::uint64_t most_bytes = std::uint64_t{1} << 48;
constexpr std::size_t most_leaves = 65536;

[[noreturn]] void refuse(std::string_view text, std::string_view why) {
    throw std::invalid_argument("'" + std::string(text.substr(0, 200)) +
                                "' is not an element type: " + std::string(why));
}

std::uint64_t product(const std::vector<std::uint64_t>& shape, std::uint64_t bytes, std::string_view text) {
    std::uint64_t result = std::max<std::uint64_t>(bytes, 1);
    for (const std::uint64_t extent : shape) {
        if (extent != 0 && result > most_bytes / extent) refuse(text, "it is too large");
        result *= extent;
    }
    return bytes == 0 ? 0 : result;
}

std::uint64_t number(std::string_view digits, std::string_view text) {
    std::uint64_t value = 0;
    if (digits.empty()) refuse(text, "a size is missing");
    for (const char digit : digits) {
        if (digit < '0' || digit > '9') refuse(text, "a size is not a number");
        value = value * 10 + static_cast<std::uint64_t>(digit - '0');
        if (value > most_bytes) refuse(text, "it is too large");
    }
    return value;
}

ElementType scalar(Kind kind, std::uint64_t bytes, std::string unit = {}) {
    return {.kind = kind, .bytes = bytes, .unit = std::move(unit), .fields = {}};
}

ElementType with_code(char code, std::string_view rest, std::string_view text) {
    if (code == 'M' || code == 'm') {
        if (!rest.starts_with("8")) refuse(text, "dates have 8 bytes");
        std::string_view unit = rest.substr(1);
        if (unit.starts_with("[") && unit.ends_with("]"))
            unit = unit.substr(1, unit.size() - 2);
        else if (!unit.empty())
            refuse(text, "the unit of a date is written as [ns]");
        return scalar(code == 'M' ? Kind::datetime : Kind::timedelta, 8, std::string(unit));
    }
    const std::uint64_t size = number(rest, text);
    const auto one_of = [&](std::initializer_list<std::uint64_t> sizes) {
        for (const std::uint64_t known : sizes)
            if (size == known) return;
        refuse(text, "there is no such type of that size in kernels");
    };
    switch (code) {
        case 'b':
            one_of({1});
            return scalar(Kind::boolean, 1);
        case 'i':
            one_of({1, 2, 4, 8});
            return scalar(Kind::signed_integer, size);
        case 'u':
            one_of({1, 2, 4, 8});
            return scalar(Kind::unsigned_integer, size);
        case 'f':
            one_of({2, 4, 8});
            return scalar(Kind::floating, size);
        case 'c':
            one_of({8, 16});
            return scalar(Kind::complex, size);
        case 'S':
        case 'a':
            return scalar(Kind::bytes, size);
        case 'U':
            if (size > most_bytes / 4) refuse(text, "it is too large");
            return scalar(Kind::text, 4 * size);
        case 'V':
            return scalar(Kind::opaque, size);
        default:
            refuse(text, "kernels have no values of that type");
    }
}

struct NamedType {
    std::string_view name;
    Kind kind;
    std::uint64_t bytes;
};

constexpr NamedType named_types[] = {
    {"bool", Kind::boolean, 1},
    {"bool_", Kind::boolean, 1},
    {"?", Kind::boolean, 1},
    {"int8", Kind::signed_integer, 1},
    {"int16", Kind::signed_integer, 2},
    {"int32", Kind::signed_integer, 4},
    {"int64", Kind::signed_integer, 8},
    {"uint8", Kind::unsigned_integer, 1},
    {"uint16", Kind::unsigned_integer, 2},
    {"uint32", Kind::unsigned_integer, 4},
    {"uint64", Kind::unsigned_integer, 8},
    {"float16", Kind::floating, 2},
    {"float32", Kind::floating, 4},
    {"float64", Kind::floating, 8},
    {"bfloat16", Kind::bfloat16, 2},
    {"complex64", Kind::complex, 8},
    {"complex128", Kind::complex, 16},
};

ElementType simple_type(std::string_view text) {
    std::string_view code = text;
    if (code.starts_with(">")) refuse(text, "kernels have little-endian values only");
    if (code.starts_with("<") || code.starts_with("|") || code.starts_with("=")) code.remove_prefix(1);
    for (const NamedType& known : named_types)
        if (code == known.name) return scalar(known.kind, known.bytes);
    if (code.starts_with("datetime64")) return with_code('M', "8" + std::string(code.substr(10)), text);
    if (code.starts_with("timedelta64")) return with_code('m', "8" + std::string(code.substr(11)), text);
    if (code.empty()) refuse(text, "it is empty");
    return with_code(code.front(), code.substr(1), text);
}

class Reader {
  public:
    explicit Reader(std::string_view text) : text_(text) {}

    /// The type, and in `shape` that of a sub-array: ('<f8', (3,)).
    ElementType type(const Literal& value, std::vector<std::uint64_t>& shape) const {
        switch (value.kind) {
            case Literal::Kind::string:
            case Literal::Kind::name:
                return simple_type(value.text);
            case Literal::Kind::list:
                return record_of_list(value);
            case Literal::Kind::dictionary:
                return record_of_dictionary(value);
            case Literal::Kind::tuple:
                if (value.items.size() == 2 && is_record_class(value.items[0]))
                    return type(value.items[1], shape);
                if (value.items.size() == 2) {
                    std::vector<std::uint64_t> inner;
                    ElementType element = type(value.items[0], inner);
                    shape = extents(value.items[1]);
                    shape.insert(shape.end(), inner.begin(), inner.end());
                    return element;
                }
                break;
            case Literal::Kind::integer:
                break;
        }
        refuse(text_, "a type is missing");
    }

  private:
    static bool is_record_class(const Literal& value) {
        return value.kind == Literal::Kind::name && value.text.ends_with("record");
    }

    std::vector<std::uint64_t> extents(const Literal& value) const {
        if (value.kind == Literal::Kind::integer) return {value.integer};
        if (value.kind != Literal::Kind::tuple) refuse(text_, "the shape of a sub-array is a tuple");
        std::vector<std::uint64_t> shape;
        for (const Literal& extent : value.items) {
            if (extent.kind != Literal::Kind::integer)
                refuse(text_, "the shape of a sub-array holds numbers");
            shape.push_back(extent.integer);
        }
        return shape;
    }

    std::string name(const Literal& value) const {
        // ('title', 'name')
        const bool titled = value.kind == Literal::Kind::tuple && value.items.size() == 2;
        const Literal& own = titled ? value.items[1] : value;
        if (own.kind != Literal::Kind::string) refuse(text_, "the name of a field is a string");
        return own.text;
    }

    Field field(std::string name, std::uint64_t offset, const Literal& format) const {
        Field result{.name = std::move(name), .offset = offset, .type = {}, .shape = {}};
        result.type = type(format, result.shape);
        return result;
    }

    [[nodiscard]] std::uint64_t end_of(const Field& field) const {
        const std::uint64_t bytes = product(field.shape, field.type.bytes, text_);
        if (field.offset > most_bytes - bytes) refuse(text_, "it is too large");
        return field.offset + bytes;
    }

    ElementType record_of_list(const Literal& value) const {
        ElementType record = scalar(Kind::record, 0);
        for (const Literal& item : value.items) {
            if (item.kind != Literal::Kind::tuple || item.items.size() < 2 || item.items.size() > 3)
                refuse(text_, "a field is (name, type) or (name, type, shape)");
            Field one = field(name(item.items[0]), record.bytes, item.items[1]);
            if (item.items.size() == 3) {
                std::vector<std::uint64_t> shape = extents(item.items[2]);
                one.shape.insert(one.shape.begin(), shape.begin(), shape.end());
            }
            record.bytes = end_of(one);
            const bool is_padding = one.name.empty() && one.type.kind == Kind::opaque;
            if (!is_padding) record.fields.push_back(std::move(one));
        }
        return record;
    }

    ElementType record_of_dictionary(const Literal& value) const {
        const Literal* names = value.find("names");
        const Literal* formats = value.find("formats");
        const Literal* offsets = value.find("offsets");
        const Literal* itemsize = value.find("itemsize");
        if (!names || !formats || names->items.size() != formats->items.size())
            refuse(text_, "a record has as many names as formats");
        if (offsets && offsets->items.size() != names->items.size())
            refuse(text_, "a record has as many offsets as names");
        ElementType record = scalar(Kind::record, 0);
        for (std::size_t i = 0; i < names->items.size(); ++i) {
            if (offsets && offsets->items[i].kind != Literal::Kind::integer)
                refuse(text_, "an offset is a number");
            const std::uint64_t offset = offsets ? offsets->items[i].integer : record.bytes;
            record.fields.push_back(field(name(names->items[i]), offset, formats->items[i]));
            record.bytes = std::max(record.bytes, end_of(record.fields.back()));
        }
        if (itemsize && itemsize->kind == Literal::Kind::integer) {
            if (itemsize->integer < record.bytes || itemsize->integer > most_bytes)
                refuse(text_, "its itemsize does not hold its fields");
            record.bytes = itemsize->integer;
        }
        return record;
    }

    std::string_view text_;
};

bool has_scalars(const ElementType& type) {
    if (type.kind != Kind::record) return type.bytes != 0;
    return std::ranges::any_of(type.fields, [](const Field& field) {
        return std::ranges::find(field.shape, 0u) == field.shape.end() && has_scalars(field.type);
    });
}

void add_leaves(const ElementType& type, std::uint64_t offset, const std::string& path,
                const std::vector<std::uint64_t>& shape, std::vector<Leaf>& leaves) {
    if (!has_scalars(type)) return;
    if (type.kind != Kind::record) {
        if (leaves.size() == most_leaves)
            throw std::invalid_argument(
                "a record type has more than 65536 fields, which is more than can be compared");
        leaves.push_back({.offset = offset, .type = type, .path = path, .shape = shape});
        return;
    }
    // Each record of a sub-array has leaves of its own.
    Leaf records{.offset = offset, .type = {}, .path = path, .shape = shape};
    const std::uint64_t count = records.count();
    for (std::uint64_t index = 0; index < count; ++index) {
        const std::string prefix = shape.empty() ? path : records.path_of(index);
        for (const Field& field : type.fields) {
            const std::string name = prefix.empty() ? field.name : prefix + "." + field.name;
            add_leaves(field.type, offset + index * type.bytes + field.offset, name, field.shape, leaves);
        }
    }
}

}  // namespace

ElementType parse_element_type(std::string_view text) {
    // What begins with none of these is one word, which need not be a Python literal: datetime64[25s].
    if (text.find_first_of("[({") != 0) return simple_type(text);
    const std::optional<Literal> literal = parse_literal(text);
    if (!literal) refuse(text, "it is not written as NumPy writes types");
    std::vector<std::uint64_t> shape;
    ElementType type = Reader(text).type(*literal, shape);
    if (!shape.empty()) refuse(text, "an array has its own shape; give the type of its elements");
    return type;
}

std::uint64_t Leaf::count() const {
    std::uint64_t result = 1;
    for (const std::uint64_t extent : shape) result *= extent;
    return result;
}

std::string Leaf::path_of(std::uint64_t index) const {
    if (shape.empty()) return path;
    std::vector<std::uint64_t> indices(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        indices[axis] = index % shape[axis];
        index /= shape[axis];
    }
    return path + "[" + to_text(indices) + "]";
}

std::vector<Leaf> leaves_of(const ElementType& type) {
    std::vector<Leaf> leaves;
    add_leaves(type, 0, "", {}, leaves);
    return leaves;
}

std::string name_of(const ElementType& type) {
    const std::string bits = std::to_string(8 * type.bytes);
    const std::string unit = type.unit.empty() ? "" : "[" + type.unit + "]";
    switch (type.kind) {
        case Kind::boolean:
            return "bool";
        case Kind::signed_integer:
            return "int" + bits;
        case Kind::unsigned_integer:
            return "uint" + bits;
        case Kind::floating:
            return "float" + bits;
        case Kind::bfloat16:
            return "bfloat16";
        case Kind::complex:
            return "complex" + bits;
        case Kind::datetime:
            return "datetime64" + unit;
        case Kind::timedelta:
            return "timedelta64" + unit;
        case Kind::bytes:
            return "S" + std::to_string(type.bytes);
        case Kind::text:
            return "U" + std::to_string(type.bytes / 4);
        case Kind::opaque:
            return "V" + std::to_string(type.bytes);
        case Kind::record:
            return "record";
    }
    return {};
}

std::string to_text(const std::vector<std::uint64_t>& index) {
    std::string text;
    for (const std::uint64_t one : index) {
        if (!text.empty()) text += ", ";
        text += std::to_string(one);
    }
    return text;
}

}  // namespace cudasim::comparison
