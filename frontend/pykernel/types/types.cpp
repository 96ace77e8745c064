// Interning, naming and parsing of types.
#include "frontend/pykernel/types/types.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "frontend/pykernel/types/date_types.h"

namespace cudasim::pykernel {

TypeTable::TypeTable() {
    none = intern({.name = "none"});
    boolean = intern({.kind = TypeKind::boolean, .bits = 8, .name = "bool"});
    auto make_integer = [&](unsigned bits, bool is_signed) {
        return intern({.kind = TypeKind::integer,
                       .is_signed = is_signed,
                       .bits = bits,
                       .name = (is_signed ? "int" : "uint") + std::to_string(bits)});
    };
    int8 = make_integer(8, true), int16 = make_integer(16, true);
    int32 = make_integer(32, true), int64 = make_integer(64, true);
    uint8 = make_integer(8, false), uint16 = make_integer(16, false);
    uint32 = make_integer(32, false), uint64 = make_integer(64, false);
    float16 = intern({.kind = TypeKind::floating, .bits = 16, .name = "float16"});
    bfloat16 = intern({.kind = TypeKind::bfloat, .bits = 16, .name = "__nv_bfloat16"});
    float32 = intern({.kind = TypeKind::floating, .bits = 32, .name = "float32"});
    float64 = intern({.kind = TypeKind::floating, .bits = 64, .name = "float64"});
    complex64 = intern({.kind = TypeKind::complex, .bits = 64, .name = "complex64"});
    complex128 = intern({.kind = TypeKind::complex, .bits = 128, .name = "complex128"});
}

TypeRef TypeTable::intern(Type type, std::string_view key_suffix) {
    std::string key = type.name + std::string(key_suffix);
    auto found = types_.find(key);
    if (found == types_.end()) {
        found = types_.emplace(std::move(key), std::make_unique<Type>(std::move(type))).first;
    }
    return found->second.get();
}

TypeRef TypeTable::integer(unsigned bits, bool is_signed) const {
    switch (bits) {
        case 8:
            return is_signed ? int8 : uint8;
        case 16:
            return is_signed ? int16 : uint16;
        case 32:
            return is_signed ? int32 : uint32;
        default:
            return is_signed ? int64 : uint64;
    }
}

TypeRef TypeTable::date(TypeKind kind, int unit) {
    const std::string prefix = kind == TypeKind::datetime64 ? "datetime64[" : "timedelta64[";
    return intern({.kind = kind,
                   .is_signed = true,
                   .bits = 64,
                   .unit = unit,
                   .name = prefix + std::string(date_units::units[unit].name) + "]"});
}

TypeRef TypeTable::literal(TypeRef base, std::int64_t value) {
    const auto [known, is_new] = literals_.try_emplace({base, value});
    if (!is_new) return known->second;
    Type type = *base;
    type.literal = value;
    type.plain = without_literal(base);
    const bool is_bool = base->is(TypeKind::boolean);
    const std::string shown = is_bool           ? (value ? "True" : "False")
                              : base->is_signed ? std::to_string(value)
                                                : std::to_string(static_cast<std::uint64_t>(value));
    type.name = "Literal[" + std::string(is_bool ? "bool" : "int") + "](" + shown + ")";
    return known->second = intern(std::move(type), base->name);
}

TypeRef TypeTable::text(std::string_view value) {
    return intern({.kind = TypeKind::text,
                   .text = std::string(value),
                   .name = "Literal[str](" + std::string(value) + ")"});
}

TypeRef TypeTable::characters(unsigned size, unsigned count) {
    static constexpr unsigned most_bytes = 1024;  // each word of eight is a variable of the compiled code
    if (count == 0 || size * count > most_bytes) return nullptr;
    return intern({.kind = TypeKind::characters,
                   .bits = 8 * size * count,
                   .dimensions = size,
                   .name = std::string(size == 1 ? "[char x " : "[unichr x ") + std::to_string(count) + "]"});
}

TypeRef TypeTable::bytes_constant(const std::string& value) {
    return intern({.kind = TypeKind::array,
                   .elements = {uint8},
                   .text = value,
                   .is_bytes = true,
                   .dimensions = 1,
                   .address_space = constant_space,
                   .read_only = true,
                   .name = "readonly bytes(uint8, 1d, C)"},
                  value);
}

std::string Type::request_name() const {
    if (is(TypeKind::added)) return text;
    if (is(TypeKind::array) && element()->is(TypeKind::added)) {
        const std::size_t place = name.find("array(") + 6;
        return std::string(name).replace(place, element()->name.size(), element()->text);
    }
    if (is(TypeKind::optional)) return "OptionalType(" + element()->request_name() + ")";
    if (is(TypeKind::data_type)) return "class(" + element()->request_name() + ")";
    if (!is(TypeKind::tuple)) return name;
    std::string inside;
    for (std::size_t i = 0; i < elements.size(); ++i)
        inside += (i ? ", " : "") + (names.empty() ? "" : names[i] + "=") + elements[i]->request_name();
    if (!names.empty()) return "namedtuple(" + class_name + "; " + inside + ")";
    return is_uniform_tuple()
               ? "UniTuple(" + elements[0]->request_name() + " x " + std::to_string(elements.size()) + ")"
               : "Tuple(" + inside + ")";
}

bool Type::is_uniform_tuple() const {
    return is(TypeKind::tuple) && !elements.empty() &&
           std::ranges::all_of(elements, [&](TypeRef each) { return each == elements.front(); });
}

TypeRef TypeTable::tuple(std::vector<TypeRef> elements) {
    const auto known = tuples_.find(elements);
    if (known != tuples_.end()) return known->second;
    const TypeRef made = make_tuple({}, {}, elements);
    return tuples_.emplace(std::move(elements), made).first->second;
}

TypeRef TypeTable::named_tuple(std::string_view class_name, std::vector<std::string> names,
                               std::vector<TypeRef> elements) {
    return make_tuple(class_name, std::move(names), std::move(elements));
}

TypeRef TypeTable::make_tuple(std::string_view class_name, std::vector<std::string> names,
                              std::vector<TypeRef> elements) {
    std::string name(class_name);
    const bool uniform = !elements.empty() && std::ranges::all_of(elements, [&](TypeRef element) {
        return element == elements.front();
    });
    if (uniform) {
        name += class_name.empty() ? "UniTuple(" : "(";
        name += elements.front()->name + " x " + std::to_string(elements.size()) + ")";
    } else {
        name += class_name.empty() ? "Tuple(" : "(";
        for (std::size_t i = 0; i < elements.size(); ++i) name += (i ? ", " : "") + elements[i]->name;
        name += ")";
    }
    // Equal names can hide different address spaces.
    std::string key;
    for (const std::string& field : names) key += "." + field;
    for (TypeRef element : elements) key += "/" + std::to_string(reinterpret_cast<std::uintptr_t>(element));
    std::uint64_t values = 0;
    for (TypeRef element : elements) values += element->values;
    TypeRef plain = nullptr;
    if (std::ranges::any_of(elements, [](TypeRef element) { return element->plain != nullptr; })) {
        std::vector<TypeRef> plain_elements;
        for (TypeRef element : elements) plain_elements.push_back(without_literal(element));
        plain = make_tuple(class_name, names, std::move(plain_elements));
    }
    return intern({.kind = TypeKind::tuple,
                   .elements = std::move(elements),
                   .class_name = std::string(class_name),
                   .names = std::move(names),
                   .values = values,
                   .plain = plain,
                   .name = std::move(name)},
                  key);
}

TypeRef TypeTable::array(TypeRef element, unsigned dimensions, char layout, unsigned address_space,
                         bool read_only, bool aligned) {
    if (element->is(TypeKind::record)) {
        element = record_in(element, global_space, false);
        aligned = aligned && element->aligned;
    }
    std::string name = std::string(aligned ? "" : "unaligned ") + (read_only ? "readonly " : "") + "array(" +
                       element->name + ", " + std::to_string(dimensions) + "d, " + layout + ")";
    return intern({.kind = TypeKind::array,
                   .elements = {element},
                   .dimensions = dimensions,
                   .layout = layout,
                   .address_space = address_space,
                   .read_only = read_only,
                   .aligned = aligned,
                   .name = std::move(name)},
                  "@" + std::to_string(address_space) + element->text);
}

TypeRef TypeTable::vector(TypeRef component, unsigned count) {
    return intern({.kind = TypeKind::vector,
                   .elements = std::vector<TypeRef>(count, component),
                   .values = count,
                   .name = component->name + "x" + std::to_string(count)});
}

TypeRef TypeTable::member(std::string_view name, TypeRef value) {
    return intern_by_identity({.kind = TypeKind::member,
                               .elements = {value},
                               .is_integer = name.starts_with("IntEnum"),
                               .name = std::string(name)},
                              0, 0);
}

TypeRef TypeTable::exception(const GlobalValue& exception_class, const std::string& message) {
    return intern({.kind = TypeKind::exception,
                   .text = message,
                   .global = &exception_class,
                   .name = exception_class.text + "('" + message + "')"},
                  " made");
}

TypeRef TypeTable::optional(TypeRef element) {
    element = without_literal(element);
    return intern(
        {.kind = TypeKind::optional, .elements = {element}, .name = "OptionalType(" + element->name + ")"},
        std::to_string(reinterpret_cast<std::uintptr_t>(element)));
}

TypeRef TypeTable::range(TypeRef element) {
    return intern({.kind = TypeKind::range, .elements = {element}, .name = "range_state_" + element->name});
}

TypeRef TypeTable::slice(std::vector<TypeRef> bounds) {
    const char* name = bounds.size() == 3 ? "slice<a:b:c>" : "slice<a:b>";
    std::vector<TypeRef> plain_bounds = bounds;
    for (TypeRef& bound : plain_bounds) bound = bound->is(TypeKind::none) ? bound : int64;
    const TypeRef plain = plain_bounds == bounds ? nullptr : slice(std::move(plain_bounds));
    return intern_by_identity(
        {.kind = TypeKind::slice, .elements = std::move(bounds), .plain = plain, .name = name}, 0, 0);
}

TypeRef TypeTable::ellipsis() {
    return intern({.kind = TypeKind::ellipsis, .name = "..."});
}

/// Equal names can hide different address spaces and different places.
TypeRef TypeTable::intern_by_identity(Type type, std::uint32_t site, std::size_t position) {
    std::string key = "@" + std::to_string(site) + "." + std::to_string(position);
    for (TypeRef element : type.elements)
        key += "/" + std::to_string(reinterpret_cast<std::uintptr_t>(element));
    return intern(std::move(type), key);
}

TypeRef TypeTable::wrapped(TypeKind kind, TypeRef over) {
    const char* prefix = kind == TypeKind::flat         ? "array.flat("
                         : kind == TypeKind::index_grid ? "ndindex("
                         : kind == TypeKind::limits     ? (over->is(TypeKind::floating) ? "finfo(" : "iinfo(")
                                                        : "ndenumerate(";
    return intern_by_identity({.kind = kind, .elements = {over}, .name = prefix + over->name + ")"}, 0, 0);
}

TypeRef TypeTable::iterator(TypeRef over, std::uint32_t site, std::size_t position, TypeRef yielded) {
    Type type{.kind = TypeKind::iterator, .elements = {over}, .name = "iter(" + over->name + ")"};
    if (yielded) type.elements.push_back(yielded);
    return intern_by_identity(std::move(type), site, position);
}

TypeRef TypeTable::enumerated(TypeRef iterator, std::uint32_t site) {
    return intern_by_identity(
        {.kind = TypeKind::enumerated, .elements = {iterator}, .name = "enumerate(" + iterator->name + ")"},
        site, 0);
}

TypeRef TypeTable::zipped(std::vector<TypeRef> iterators, std::uint32_t site) {
    std::string name = "zip(";
    for (std::size_t i = 0; i < iterators.size(); ++i) name += (i ? ", " : "") + iterators[i]->name;
    return intern_by_identity(
        {.kind = TypeKind::zipped, .elements = std::move(iterators), .name = name + ")"}, site, 0);
}

TypeRef TypeTable::pointer(TypeRef pointee) {
    return intern({.kind = TypeKind::pointer,
                   .elements = {pointee},
                   .name = (pointee->is(TypeKind::none) ? "void" : pointee->name) + "*"});
}

TypeRef TypeTable::method(TypeRef object, std::string_view row) {
    return intern_by_identity(
        {.kind = TypeKind::method, .elements = {object}, .row = std::string(row), .name = std::string(row)},
        0, 0);
}

TypeRef TypeTable::added_method(TypeRef object, std::uint32_t function) {
    return intern_by_identity({.kind = TypeKind::method,
                               .elements = {object},
                               .added = function,
                               .name = "added method " + std::to_string(function)},
                              0, 0);
}

TypeRef TypeTable::data_type(TypeRef type) {
    return intern({.kind = TypeKind::data_type, .elements = {type}, .name = "class(" + type->name + ")"},
                  type->text);
}

TypeRef TypeTable::object(const GlobalValue& global) {
    // One function is one object, wherever it is named.
    const bool known_by_number = global.kind == GlobalKind::function;
    const bool known_by_name = global.kind == GlobalKind::intrinsic || global.kind == GlobalKind::exception;
    return intern({.kind = TypeKind::object, .global = &global, .name = "Function(" + global.text + ")"},
                  known_by_number ? "#" + std::to_string(global.integer)
                  : known_by_name ? std::to_string(static_cast<int>(global.kind))
                                  : "@" + std::to_string(reinterpret_cast<std::uintptr_t>(&global)));
}

TypeRef TypeTable::dim3(const GlobalValue& global) {
    return intern({.kind = TypeKind::dim3, .global = &global, .name = "Dim3"}, global.text);
}

TypeRef TypeTable::scalar_named(std::string_view name) const {
    using Row = std::pair<std::string_view, TypeRef TypeTable::*>;
    static constexpr Row rows[] = {
        {"bool", &TypeTable::boolean},
        {"boolean", &TypeTable::boolean},
        {"bool_", &TypeTable::boolean},
        {"?", &TypeTable::boolean},
        {"b1", &TypeTable::boolean},
        {"int8", &TypeTable::int8},
        {"i1", &TypeTable::int8},
        {"b", &TypeTable::int8},
        {"byte", &TypeTable::int8},
        {"int16", &TypeTable::int16},
        {"i2", &TypeTable::int16},
        {"h", &TypeTable::int16},
        {"short", &TypeTable::int16},
        {"int32", &TypeTable::int32},
        {"i4", &TypeTable::int32},
        {"i", &TypeTable::int32},
        {"intc", &TypeTable::int32},
        {"int64", &TypeTable::int64},
        {"i8", &TypeTable::int64},
        {"l", &TypeTable::int64},
        {"q", &TypeTable::int64},
        {"int", &TypeTable::int64},
        {"intp", &TypeTable::int64},
        {"int_", &TypeTable::int64},
        {"long", &TypeTable::int64},
        {"longlong", &TypeTable::int64},
        {"uint8", &TypeTable::uint8},
        {"u1", &TypeTable::uint8},
        {"B", &TypeTable::uint8},
        {"ubyte", &TypeTable::uint8},
        {"uint16", &TypeTable::uint16},
        {"u2", &TypeTable::uint16},
        {"H", &TypeTable::uint16},
        {"ushort", &TypeTable::uint16},
        {"uint32", &TypeTable::uint32},
        {"u4", &TypeTable::uint32},
        {"I", &TypeTable::uint32},
        {"uintc", &TypeTable::uint32},
        {"uint64", &TypeTable::uint64},
        {"u8", &TypeTable::uint64},
        {"L", &TypeTable::uint64},
        {"Q", &TypeTable::uint64},
        {"uint", &TypeTable::uint64},
        {"uintp", &TypeTable::uint64},
        {"ulonglong", &TypeTable::uint64},
        {"float32", &TypeTable::float32},
        {"f4", &TypeTable::float32},
        {"f", &TypeTable::float32},
        {"single", &TypeTable::float32},
        {"float64", &TypeTable::float64},
        {"f8", &TypeTable::float64},
        {"d", &TypeTable::float64},
        {"double", &TypeTable::float64},
        {"float", &TypeTable::float64},
        {"none", &TypeTable::none},
        {"__nv_bfloat16", &TypeTable::bfloat16},
        {"bfloat16", &TypeTable::bfloat16},
        {"float16", &TypeTable::float16},
        {"f2", &TypeTable::float16},
        {"e", &TypeTable::float16},
        {"half", &TypeTable::float16},
        {"complex64", &TypeTable::complex64},
        {"c8", &TypeTable::complex64},
        {"F", &TypeTable::complex64},
        {"csingle", &TypeTable::complex64},
        {"complex128", &TypeTable::complex128},
        {"c16", &TypeTable::complex128},
        {"D", &TypeTable::complex128},
        {"cdouble", &TypeTable::complex128},
        {"complex", &TypeTable::complex128},
    };
    for (const auto& [text, type] : rows) {
        if (text == name) return this->*type;
    }
    return nullptr;
}

namespace {

std::string_view trim(std::string_view text) {
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
    while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
    return text;
}

/// Splits at commas that are not inside parentheses.
std::vector<std::string_view> split_arguments(std::string_view text) {
    std::vector<std::string_view> parts;
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t i = 0; i <= text.size(); ++i) {
        if (i < text.size() && (text[i] == '(' || text[i] == '[')) ++depth;
        if (i < text.size() && (text[i] == ')' || text[i] == ']')) --depth;
        if (i == text.size() || (text[i] == ',' && depth == 0)) {
            if (auto part = trim(text.substr(begin, i - begin)); !part.empty()) parts.push_back(part);
            begin = i + 1;
        }
    }
    return parts;
}

unsigned parse_count(std::string_view text) {
    unsigned value = 0;
    for (char c : text) {
        if (!std::isdigit(static_cast<unsigned char>(c)) || value > 1000) return 0;
        value = value * 10 + static_cast<unsigned>(c - '0');
    }
    return value;
}

}  // namespace

TypeRef TypeTable::parse_scalar(std::string_view name) {
    for (const auto& [prefix, size] :
         {std::pair<std::string_view, unsigned>{"[char x ", 1}, {"[unichr x ", 4}}) {
        if (name.starts_with(prefix) && name.ends_with(']'))
            return characters(size, parse_count(name.substr(prefix.size(), name.size() - prefix.size() - 1)));
    }
    for (TypeKind kind : {TypeKind::datetime64, TypeKind::timedelta64}) {
        const std::string_view prefix = kind == TypeKind::datetime64 ? "datetime64[" : "timedelta64[";
        if (!name.starts_with(prefix) || !name.ends_with(']')) continue;
        const std::string_view unit = name.substr(prefix.size(), name.size() - prefix.size() - 1);
        const auto found = std::ranges::find(date_units::units, unit, &date_units::Unit::name);
        return found == date_units::units.end()
                   ? nullptr
                   : date(kind, static_cast<int>(found - date_units::units.begin()));
    }
    return scalar_named(name);
}

/// "namedtuple(Point; x=int64, y=float64)": Numba's own name, Point(int64, float64), does not say what the
/// fields are called.
TypeRef TypeTable::parse_named_tuple(std::string_view name) {
    if (!name.ends_with(')')) return nullptr;
    const std::string_view inside = name.substr(11, name.size() - 12);
    const auto end = inside.find(';');
    if (end == std::string_view::npos) return nullptr;
    std::vector<std::string> names;
    std::vector<TypeRef> elements;
    for (std::string_view field : split_arguments(inside.substr(end + 1))) {
        const auto equals = field.find('=');
        if (equals == std::string_view::npos) return nullptr;
        names.emplace_back(field.substr(0, equals));
        elements.push_back(parse(field.substr(equals + 1)));
        if (!elements.back()) return nullptr;
    }
    return named_tuple(inside.substr(0, end), std::move(names), std::move(elements));
}

TypeRef TypeTable::parse_array(std::string_view name) {
    const bool unaligned = name.starts_with("unaligned ");
    if (unaligned) name = trim(name.substr(10));
    const bool read_only = name.starts_with("readonly ");
    if (read_only) name = trim(name.substr(9));
    const bool array_name = name.starts_with("array(") || name.starts_with("Array(");
    if (!array_name || !name.ends_with(')')) return nullptr;
    const auto parts = split_arguments(name.substr(6, name.size() - 7));
    if (parts.size() < 3 || !parts[1].ends_with('d') || parts[2].size() != 1) return nullptr;
    const TypeRef element = parts[0].starts_with("Record(")  ? parse_record(parts[0])
                            : parts[0].starts_with("Added(") ? parse_added(parts[0])
                                                             : parse_scalar(parts[0]);
    const unsigned dimensions = parse_count(parts[1].substr(0, parts[1].size() - 1));
    const char layout = parts[2].front();
    const bool known = layout == 'C' || layout == 'F' || layout == 'A';
    if (!element || !known || parts[1] == "d") return nullptr;
    return array(element, dimensions, layout, global_space, read_only, !unaligned);
}

TypeRef TypeTable::parse(std::string_view name) {
    name = trim(name);
    if (name.starts_with("Record(")) return parse_record(name);
    if (name.starts_with("namedtuple(")) return parse_named_tuple(name);
    if (name.starts_with("Added(") || name.starts_with("Text(")) return parse_added(name);
    if (name == "slice<a:b>") return slice({int64, int64});
    if (name == "slice<a:b:c>") return slice({int64, int64, int64});
    if (const TypeRef parsed = parse_array(name)) return parsed;
    if (name == "void*") return pointer(none);
    if (name == "Dim3") return intern({.kind = TypeKind::dim3, .name = "Dim3"}, " declared");
    if (name == "GridGroup") return method(int64, "GridGroup");
    if (name.ends_with('*')) {
        const TypeRef pointee = parse(name.substr(0, name.size() - 1));
        return pointee ? pointer(pointee) : nullptr;
    }
    if (name.starts_with("Enum<") || name.starts_with("IntEnum<")) {
        const auto begin = name.find('<') + 1;
        const TypeRef value = scalar_named(name.substr(begin, name.find('>') - begin));
        return value ? member(name, value) : nullptr;
    }
    const auto open = name.find('(');
    if (open == std::string_view::npos) return parse_scalar(name);
    if (!name.ends_with(')')) return nullptr;
    const std::string_view head = name.substr(0, open);
    const std::string_view inside = name.substr(open + 1, name.size() - open - 2);
    const auto parts = split_arguments(inside);
    if (head == "OptionalType") {
        const TypeRef element = parse(inside);
        return element ? optional(element) : nullptr;
    }
    if (head == "UniTuple") {
        const auto times = inside.rfind(" x ");
        if (times == std::string_view::npos) return nullptr;
        const TypeRef element = parse(inside.substr(0, times));
        const unsigned count = parse_count(trim(inside.substr(times + 3)));
        return element && count ? tuple(std::vector<TypeRef>(count, element)) : nullptr;
    }
    if (head != "Tuple") return nullptr;
    std::vector<TypeRef> elements;
    for (std::string_view part : parts) {
        elements.push_back(parse(part));
        if (!elements.back()) return nullptr;
    }
    return tuple(std::move(elements));
}

}  // namespace cudasim::pykernel
