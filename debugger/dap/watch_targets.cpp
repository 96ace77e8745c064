// See watch_targets.h.
#include "debugger/dap/watch_targets.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <memory>

#include "debugger/dap/message.h"
#include "debugger/dap/thread_memory.h"

namespace cudasim::debugger {

using execution::StoppedLaunch;
using execution::WatchedRange;
using execution::WatchedSpace;
using execution::WatchHit;

namespace {

/// A column of a matrix of so many rows can be watched, and slices with as many pieces.
constexpr std::size_t most_ranges = 4096;

// Expressions ----------------------------------------------------------------------------------------------

std::string_view stripped(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

/// The parts of a text between separators that stand in no brackets.
std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts(1);
    int depth = 0;
    for (const char c : text) {
        depth += c == '(' || c == '[' || c == '{';
        depth -= c == ')' || c == ']' || c == '}';
        if (c == separator && depth == 0)
            parts.emplace_back();
        else
            parts.back() += c;
    }
    for (std::string& part : parts) part = std::string(stripped(part));
    return parts;
}

struct Step {
    std::string member;              ///< else
    std::vector<std::string> items;  ///< of [items]
};

struct Expression {
    std::string name;
    std::vector<Step> steps;
    std::vector<std::size_t> ends;  ///< of each step in the text
};

std::optional<Expression> parsed(std::string_view text) {
    const auto begins_name = [](char c) {
        return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c & 0x80) != 0;
    };
    std::size_t at = 0;
    const auto skip_blanks = [&] {
        while (at < text.size() && (text[at] == ' ' || text[at] == '\t')) ++at;
    };
    const auto name = [&]() -> std::string {
        skip_blanks();
        const std::size_t begin = at;
        while (at < text.size() &&
               (begins_name(text[at]) || (at > begin && text[at] >= '0' && text[at] <= '9')))
            ++at;
        return std::string(text.substr(begin, at - begin));
    };
    Expression found;
    found.name = name();
    if (found.name.empty()) return std::nullopt;
    for (skip_blanks(); at < text.size(); skip_blanks()) {
        Step step;
        if (text[at] == '.') {
            ++at;
            step.member = name();
            if (step.member.empty()) return std::nullopt;
        } else if (text[at] == '[') {
            const std::size_t begin = ++at;
            for (int depth = 1; at < text.size(); ++at) {
                depth += text[at] == '[' || text[at] == '(';
                depth -= text[at] == ']' || text[at] == ')';
                if (depth == 0) break;
            }
            if (at == text.size()) return std::nullopt;
            step.items = split(text.substr(begin, at - begin), ',');
            ++at;
        } else {
            return std::nullopt;
        }
        found.steps.push_back(std::move(step));
        found.ends.push_back(at);
    }
    return found;
}

/// What an index of an element's name is: a number that was given, or counted along an axis.
struct Axis {
    bool is_fixed = false;
    std::int64_t start = 0, step = 1;
};

/// What is watched: one value, or elements with names.
struct Found {
    Value value;
    std::string prefix;      ///< of elements' names
    std::vector<Axis> axes;  ///< of their indices
};

std::int64_t index_in(const WatchTargets::Place& place, const std::string& text) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size()) return number;
    return place.number(text);
}

/// As Python's slice.indices().
Axis slice_of(const WatchTargets::Place& place, const std::string& item, std::int64_t size,
              std::int64_t& count) {
    const std::vector<std::string> parts = split(item, ':');
    if (parts.size() > 3) throw RequestError("'" + item + "' is no slice");
    Axis axis;
    if (parts.size() == 3 && !parts[2].empty()) axis.step = index_in(place, parts[2]);
    if (axis.step == 0) throw RequestError("the step of '" + item + "' is 0");
    const bool back = axis.step < 0;
    const auto bound = [&](const std::string& text, std::int64_t otherwise) {
        if (text.empty()) return otherwise;
        std::int64_t number = index_in(place, text);
        if (number < 0) number += size;
        return std::clamp<std::int64_t>(number, back ? -1 : 0, back ? size - 1 : size);
    };
    axis.start = bound(parts[0], back ? size - 1 : 0);
    const std::int64_t stop = bound(parts[1], back ? -1 : size);
    const std::int64_t distance = back ? axis.start - stop : stop - axis.start;
    const std::int64_t width = back ? -axis.step : axis.step;
    count = distance <= 0 ? 0 : (distance + width - 1) / width;
    return axis;
}

void take_slices(const WatchTargets::Place& place, const std::vector<std::string>& items, Found& found) {
    if (!found.value.array) throw RequestError("only arrays have slices");
    const ElementArray& whole = *found.value.array;
    if (items.size() > whole.shape.size()) throw RequestError("the array has fewer axes");
    ElementArray part{whole.address, {}, {}, whole.element};
    for (std::size_t axis = 0; axis < whole.shape.size(); ++axis) {
        const std::int64_t size = whole.shape[axis], stride = whole.strides[axis];
        Axis name;
        std::int64_t count = size;
        if (axis < items.size() && items[axis].find(':') != std::string::npos) {
            name = slice_of(place, items[axis], size, count);
        } else if (axis < items.size()) {
            std::int64_t index = index_in(place, items[axis]);
            if (index < 0) index += size;
            if (index < 0 || index >= size)
                throw RequestError("index " + items[axis] + " is out of bounds: the axis has " +
                                   std::to_string(size));
            name = {true, index, 0};
        }
        part.address += static_cast<std::uint64_t>(stride * name.start);
        found.axes.push_back(name);
        if (name.is_fixed) continue;
        part.shape.push_back(count);
        part.strides.push_back(stride * name.step);
    }
    found.value.array = std::move(part);
    found.value.address.reset();
}

Found place_of(const WatchTargets::Place& place, const std::string& text) {
    const auto expression = parsed(text);
    if (!expression)
        throw RequestError("'" + text +
                           "' is no place that can be watched: write a variable, an element, a slice, "
                           "a member, or *ADDRESS : BYTES");
    Found found;
    auto value = place.variable(expression->name);
    if (!value && place.launch.declares(place.frame, expression->name)) {
        if (!expression->steps.empty())
            throw RequestError("'" + expression->name +
                               "' is not assigned yet: go on to a statement behind its assignment");
        found.value.type = std::make_shared<Type>();
        return found;
    }
    if (!value) throw RequestError("there is no variable '" + expression->name + "' here");
    const ThreadMemory memory(place.launch, place.frame.thread);
    found.value = std::move(*value);
    found.prefix = text;
    for (std::size_t i = 0; i < expression->steps.size(); ++i) {
        const Step& step = expression->steps[i];
        const std::string so_far = text.substr(0, expression->ends[i]);
        if (!found.axes.empty()) throw RequestError("nothing may follow a slice");
        const bool is_slice = std::ranges::any_of(
            step.items, [](const std::string& item) { return split(item, ':').size() > 1; });
        if (is_slice) {
            found.prefix = text.substr(0, i == 0 ? expression->name.size() : expression->ends[i - 1]);
            take_slices(place, step.items, found);
            continue;
        }
        std::optional<Value> next;
        if (!step.member.empty()) {
            next = member_of(found.value, step.member, memory);
        } else {
            next = found.value;
            for (const std::string& item : step.items)
                if (next) next = element_of(*next, index_in(place, item), memory);
        }
        if (!next) throw RequestError("there is no '" + so_far + "' here");
        found.value = std::move(*next);
    }
    if (found.axes.empty() && found.value.array) found.axes.resize(found.value.array->shape.size());
    return found;
}

// Addresses ------------------------------------------------------------------------------------------------

TypePtr number_type(TypeKind kind, std::uint64_t bytes, std::string name) {
    auto type = std::make_shared<Type>();
    type->kind = kind;
    type->bytes = bytes;
    type->name = std::move(name);
    return type;
}

TypePtr type_named(const std::string& name) {
    struct Row {
        const char* name;
        TypeKind kind;
        std::uint64_t bytes;
    };
    static constexpr std::array rows{
        Row{"int8", TypeKind::signed_number, 1},     Row{"int16", TypeKind::signed_number, 2},
        Row{"int32", TypeKind::signed_number, 4},    Row{"int64", TypeKind::signed_number, 8},
        Row{"uint8", TypeKind::unsigned_number, 1},  Row{"uint16", TypeKind::unsigned_number, 2},
        Row{"uint32", TypeKind::unsigned_number, 4}, Row{"uint64", TypeKind::unsigned_number, 8},
        Row{"float16", TypeKind::floating, 2},       Row{"float32", TypeKind::floating, 4},
        Row{"float64", TypeKind::floating, 8},       Row{"complex64", TypeKind::complex, 8},
        Row{"complex128", TypeKind::complex, 16},    Row{"bool", TypeKind::boolean, 1},
        Row{"char", TypeKind::signed_number, 1},     Row{"short", TypeKind::signed_number, 2},
        Row{"int", TypeKind::signed_number, 4},      Row{"long", TypeKind::signed_number, 8},
        Row{"float", TypeKind::floating, 4},         Row{"double", TypeKind::floating, 8},
    };
    const auto row = std::ranges::find(rows, name, [](const Row& each) { return std::string(each.name); });
    if (row == rows.end())
        throw RequestError("'" + name + "' is no type of numbers: write int32, float64, ...");
    return number_type(row->kind, row->bytes, row->name);
}

/// Numbers of 1, 2, 4 and 8 bytes; else bytes.
TypePtr type_of_bytes(std::uint64_t bytes) {
    if (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8)
        return type_named("uint" + std::to_string(8 * bytes));
    auto type = std::make_shared<Type>();
    type->kind = TypeKind::sequence;
    type->bytes = type->length = bytes;
    type->of = type_named("uint8");
    type->name = "uint8[" + std::to_string(bytes) + "]";
    return type;
}

std::optional<std::uint64_t> address_from(std::string_view text) {
    text = stripped(text);
    const int base = text.starts_with("0x") || text.starts_with("0X") ? 16 : 10;
    if (base == 16) text.remove_prefix(2);
    std::uint64_t address = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), address, base);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return address;
}

/// Of the one that the text begins with; all ones: there is none.
std::size_t closing_parenthesis(std::string_view text) {
    std::size_t depth = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        depth += text[i] == '(' ? 1 : 0;
        if (text[i] == ')' && --depth == 0) return i;
    }
    return std::string_view::npos;
}

/// "*&x[2]" and "*(&x[2])" are x[2], and "*((float32 *) 0x10)" is "*(float32 *) 0x10".
std::string simplified(const std::string& text) {
    std::string_view rest = stripped(text);
    if (!rest.starts_with('*')) return std::string(rest);
    rest = stripped(rest.substr(1));
    while (rest.starts_with('(') && closing_parenthesis(rest) == rest.size() - 1)
        rest = stripped(rest.substr(1, rest.size() - 2));
    if (rest.starts_with('&')) return simplified(std::string(rest.substr(1)));
    return "*" + std::string(rest);
}

/// Of "*0x10 : 8" and "*(float32 *) 0x10".
Found at_address(const std::string& text, std::uint64_t bytes) {
    std::string_view rest = stripped(std::string_view(text).substr(1));
    TypePtr type;
    const std::size_t colon = rest.rfind(':');
    if (colon != rest.npos) {
        bytes = address_from(rest.substr(colon + 1)).value_or(0);
        if (bytes == 0 || bytes > execution::Watches::most_bytes)
            throw RequestError("'" + std::string(stripped(rest.substr(colon + 1))) +
                               "' is no number of bytes");
        rest = stripped(rest.substr(0, colon));
    }
    while (rest.starts_with('(')) {  // of several the first says the type
        const std::size_t close = rest.find(')');
        if (closing_parenthesis(rest) == rest.size() - 1) {
            rest = stripped(rest.substr(1, rest.size() - 2));
            continue;
        }
        std::string_view name = stripped(rest.substr(1, close == rest.npos ? close : close - 1));
        if (close == rest.npos || !name.ends_with('*'))
            throw RequestError("write *(TYPE *) ADDRESS, as in *(float32 *) 0x20000000000");
        name.remove_suffix(1);
        if (!type) type = type_named(std::string(stripped(name)));
        rest = stripped(rest.substr(close + 1));
    }
    const auto address = address_from(rest);
    if (!address) throw RequestError("'" + std::string(stripped(rest)) + "' is no address");
    Found found;
    found.value.type = type && colon == text.npos ? type : type_of_bytes(bytes == 0 ? 4 : bytes);
    found.value.address = *address;
    return found;
}

// Ranges ---------------------------------------------------------------------------------------------------

/// An axis whose stride is positive.
struct Run {
    std::uint64_t stride, count;
    std::size_t axis;
    bool is_backwards;
};

/// Longest strides last; `address` becomes the lowest one.
std::vector<Run> runs_of(const ElementArray& array, std::uint64_t& address) {
    std::vector<Run> runs;
    for (std::size_t axis = 0; axis < array.shape.size(); ++axis) {
        const std::int64_t stride = array.strides[axis], count = array.shape[axis];
        if (stride < 0) address += static_cast<std::uint64_t>(stride * (count - 1));
        runs.push_back({static_cast<std::uint64_t>(stride < 0 ? -stride : stride),
                        static_cast<std::uint64_t>(count), axis, stride < 0});
    }
    std::ranges::stable_sort(runs, {}, &Run::stride);
    return runs;
}

std::vector<WatchedRange> ranges_of(const ElementArray& array) {
    std::uint64_t address = array.address;
    WatchedRange piece{0, array.element->bytes, 0, 1};
    std::vector<std::uint64_t> offsets{0};
    for (const Run& run : runs_of(array, address)) {
        if (run.count == 0) throw RequestError("there are no elements to watch");
        if (run.count == 1) continue;
        if (piece.count == 1 && run.stride == piece.bytes) {
            piece.bytes *= run.count;
        } else if (piece.count == 1 && run.stride > piece.bytes) {
            piece.stride = run.stride;
            piece.count = run.count;
        } else if (piece.count > 1 && run.stride == piece.stride * piece.count) {
            piece.count *= run.count;
        } else {
            const std::vector<std::uint64_t> before = offsets;
            offsets.clear();
            for (std::uint64_t i = 0; i < run.count && offsets.size() <= most_ranges; ++i)
                for (const std::uint64_t offset : before) offsets.push_back(offset + i * run.stride);
        }
        if (offsets.size() > most_ranges)
            throw RequestError("these elements lie in more than " + std::to_string(most_ranges) +
                               " pieces of memory");
    }
    std::vector<WatchedRange> ranges;
    for (const std::uint64_t offset : offsets) {
        ranges.push_back(piece);
        ranges.back().address = address + offset;
    }
    return ranges;
}

// Texts ----------------------------------------------------------------------------------------------------

std::uint64_t shared_base(const StoppedLaunch& launch, std::uint64_t block) {
    return reinterpret_cast<std::uint64_t>(launch.shared(block).data());
}

/// The element that begins at or before the address, and its name.
std::uint64_t element_at(const ElementArray& array, const Found& found, std::uint64_t address,
                         std::string& name) {
    std::uint64_t element = array.address;
    std::vector<Run> runs = runs_of(array, element);
    std::vector<std::int64_t> indices(array.shape.size());
    for (auto run = runs.rbegin(); run != runs.rend(); ++run) {
        const std::uint64_t step =
            run->stride == 0 ? 0 : std::min((address - element) / run->stride, run->count - 1);
        element += step * run->stride;
        indices[run->axis] = static_cast<std::int64_t>(run->is_backwards ? run->count - 1 - step : step);
    }
    name = found.prefix + "[";
    std::size_t next = 0;
    for (std::size_t i = 0; i < found.axes.size(); ++i) {
        const Axis& axis = found.axes[i];
        const std::int64_t index = axis.is_fixed ? axis.start : axis.start + axis.step * indices[next++];
        name += (i != 0 ? ", " : "") + std::to_string(index);
    }
    name += "]";
    return element;
}

WatchTexts texts_of_memory(const Found& found, bool is_shared, const StoppedLaunch& launch,
                           const WatchHit& hit) {
    const ThreadMemory memory(launch, hit.thread);
    const std::uint64_t base = is_shared ? shared_base(launch, hit.thread.block) : hit.moved;
    WatchTexts texts;
    TypePtr type = found.value.type;
    std::uint64_t address = found.value.address.value_or(0) + base;
    if (found.value.array) {
        ElementArray array = *found.value.array;
        array.address += base;
        type = array.element;
        address = element_at(array, found, hit.address, texts.element);
        if (hit.address + hit.bytes > address + type->bytes) texts.element += " and further elements";
    }
    std::vector<std::byte> bytes(type->bytes);
    if (!launch.read(hit.thread, address, bytes)) return texts;
    texts.new_value = text_of(value_from(type, bytes), memory);
    launch.watches().before(hit, address, bytes);
    texts.old_value = text_of(value_from(type, bytes), memory);
    return texts;
}

WatchTexts texts_of_variable(const TypePtr& part, const StoppedLaunch& launch, const WatchHit& hit) {
    const ThreadMemory memory(launch, hit.thread);
    Types types;
    const auto text = [&](const findings::VariableValue& variable) -> std::string {
        if (!variable.known) return "<not assigned>";
        const TypePtr type = part ? part : types.parse(variable.type);
        if (variable.bytes.size() < type->bytes) return "<of another type>";
        return text_of(value_from(type, variable.bytes), memory);
    };
    return {"", text(launch.watches().variable(hit, true)), text(launch.watches().variable(hit, false))};
}

}  // namespace

Value WatchTargets::value(const Place& place, const std::string& text) {
    const std::string expression(stripped(text));
    if (!expression.starts_with('*')) {
        Found found = place_of(place, expression);
        if (!found.value.array && found.value.type->kind == TypeKind::unknown && found.value.bytes.empty())
            throw RequestError("'" + expression +
                               "' is not assigned yet: go on to a statement behind its assignment");
        return std::move(found.value);
    }
    Value value = at_address(expression, 0).value;
    return value_at(value.type, *value.address, ThreadMemory(place.launch, place.frame.thread));
}

WatchTarget WatchTargets::find(const Place& place, const std::string& text, std::uint64_t bytes) {
    const std::string expression = simplified(text);
    const bool is_address = expression.starts_with('*');
    auto found =
        std::make_shared<Found>(is_address ? at_address(expression, bytes) : place_of(place, expression));
    Value& value = found->value;
    WatchTarget target;
    target.expression = expression;
    target.launch = place.launch_number;
    if (!value.unavailable.empty())
        throw RequestError("'" + expression + "' cannot be watched: " + value.unavailable);
    if (!value.array && value.type->kind == TypeKind::pointer && value.bytes.size() >= 8) {
        std::uint64_t address = 0;
        std::memcpy(&address, value.bytes.data(), sizeof address);
        value.address = address;
        value.type = value.type->of;
    }
    if (!value.array && !value.address) {
        const bool is_whole = expression.find_first_of(".[") == std::string::npos;
        target.is_variable = true;
        target.frame = place.frame;
        target.variable = std::string(stripped(expression.substr(0, expression.find_first_of(".["))));
        target.offset = value.offset;
        target.bytes = is_whole ? 0 : value.type->bytes;
        target.describe = [part = is_whole ? nullptr : value.type](const auto& launch, const auto& hit) {
            return texts_of_variable(part, launch, hit);
        };
        return target;
    }
    target.ranges = value.array ? ranges_of(*value.array)
                                : std::vector{WatchedRange{*value.address, value.type->bytes, 0, 1}};
    std::uint64_t all = 0;
    for (const WatchedRange& range : target.ranges) {
        const std::uint64_t extent = range.extent();
        all += extent;
        const auto space = extent == 0 || all > execution::Watches::most_bytes
                               ? std::nullopt
                               : place.launch.space_of(place.frame.thread, range.address, extent);
        if (!space && extent != 0 && all > execution::Watches::most_bytes)
            throw RequestError("'" + expression + "' is too large: at most " +
                               std::to_string(execution::Watches::most_bytes >> 20) + " MiB can be watched");
        if (!space) throw RequestError("'" + expression + "' lies in memory that the thread may not read");
        target.space = *space;
    }
    const bool is_shared = target.space == WatchedSpace::shared;
    if (target.space == WatchedSpace::global) target.launch = 0;
    if (target.space == WatchedSpace::local) target.frame = place.frame;
    if (is_shared) {
        target.block = place.frame.thread.block;
        const std::uint64_t base = shared_base(place.launch, place.frame.thread.block);
        for (WatchedRange& range : target.ranges) range.address -= base;
        if (value.address) *value.address -= base;
        if (value.array) value.array->address -= base;
    }
    target.describe = [found, is_shared](const auto& launch, const auto& hit) {
        return texts_of_memory(*found, is_shared, launch, hit);
    };
    return target;
}

}  // namespace cudasim::debugger
