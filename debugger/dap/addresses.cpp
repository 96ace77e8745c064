// Inspection's part for gdb's operators of addresses (inspection.h), which Python does not have:
//
//   &x    &y[i + 1, 2]    &a[3] + 2                     where something lies
//   *x    *0x20000000010 : 8    *(float32 *) 0x20000000010    what lies there
//   x@4   a[2]@n    *(float32 *) 0x20000000010 @ 4      elements that lie one behind the other
#include <cstring>

#include "debugger/dap/inspection.h"
#include "debugger/dap/thread_memory.h"
#include "debugger/values/assignment.h"
#include "debugger/values/number_text.h"

namespace cudasim::debugger {
namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 20;

std::string trimmed(std::string_view text) {
    return llvm::StringRef(text).trim().str();
}

bool is_pointer(const Value& value) {
    return !value.array && value.type && value.type->kind == TypeKind::pointer && value.bytes.size() >= 8;
}

std::uint64_t pointer_in(const Value& value) {
    std::uint64_t address = 0;
    std::memcpy(&address, value.bytes.data(), sizeof address);
    return address;
}

/// Something in memory: its first element, and where that is.
struct InMemory {
    std::uint64_t address = 0;
    TypePtr type;
};

/// Of arrays the first element. Nothing for what lies nowhere.
std::optional<InMemory> first_element(const Value& value, bool is_behind_pointer) {
    if (value.array) return InMemory{value.array->address, value.array->element};
    if (is_pointer(value) && value.type->is_reference) return InMemory{pointer_in(value), value.type->of};
    if (is_behind_pointer && is_pointer(value)) return InMemory{pointer_in(value), value.type->of};
    if (!value.address || !value.type) return std::nullopt;
    if (value.type->kind == TypeKind::sequence && value.type->of->kind != TypeKind::character)
        return InMemory{*value.address, value.type->of};
    return InMemory{*value.address, value.type};
}

}  // namespace

/// C++: a variable, a part of one, or an element behind a pointer.
std::optional<Value> Inspection::element_behind(Control& control, const Frame& here,
                                                const std::string& text) {
    std::string path = text;
    for (std::size_t arrow; (arrow = path.find("->")) != path.npos;) path.replace(arrow, 2, ".");
    if (auto node = place(control, here, path)) return std::move(node->value);
    if (!text.ends_with(']')) return std::nullopt;
    std::size_t bracket = text.npos;
    int depth = 0;
    for (std::size_t at = text.size(); at-- > 0 && bracket == text.npos;) {
        depth += (text[at] == ']') - (text[at] == '[');
        if (depth == 0) bracket = at;
    }
    if (bracket == text.npos || bracket == 0) return std::nullopt;
    const auto base = place(control, here, trimmed(text.substr(0, bracket)));
    if (!base || !is_pointer(base->value)) return std::nullopt;
    const TypePtr& type = base->value.type->of;
    const std::int64_t index =
        whole_number(control, here, text.substr(bracket + 1, text.size() - bracket - 2));
    return value_at(type, pointer_in(base->value) + static_cast<std::uint64_t>(index) * type->bytes,
                    ThreadMemory(control.launch(), here.thread));
}

std::optional<Value> Inspection::in_memory(Control& control, const Frame& here, const std::string& text) {
    const bool is_cplusplus = this->is_cplusplus(control);
    const bool is_dereferenced = text.starts_with('*');
    const std::string inner = is_dereferenced ? trimmed(text.substr(1)) : text;
    const bool is_address = !inner.empty() && (llvm::isDigit(inner.front()) || inner.front() == '(');
    const ThreadMemory memory(control.launch(), here.thread);
    if (is_dereferenced && is_address) return WatchTargets::value(watch_place(control, here), text);
    std::optional<Value> value = is_cplusplus ? element_behind(control, here, inner)
                                              : WatchTargets::value(watch_place(control, here), inner);
    if (!value || !is_dereferenced) return value;
    if (value->array && !value->array->shape.empty()) {
        auto first = element_of(*value, 0, memory);
        if (!first) throw RequestError("'" + inner + "' has no elements");
        return first;
    }
    const auto behind = first_element(*value, true);
    if (!is_pointer(*value) || !behind) throw RequestError("'" + inner + "' is no array and no pointer");
    return value_at(behind->type, behind->address, memory);
}

/// What the operator & gives. Nothing: it is no such expression.
std::optional<json::Object> Inspection::located(Control& control, const Frame& here,
                                                const std::string& text) {
    std::string place = trimmed(std::string_view(text).substr(1));
    const std::size_t plus = last_outside_of_brackets(place, '+');
    std::size_t minus = last_outside_of_brackets(place, '-');
    if (minus != place.npos && place.substr(minus).starts_with("->")) minus = place.npos;
    const std::size_t sign = plus == place.npos ? minus : minus == place.npos ? plus : std::max(plus, minus);
    std::int64_t distance = 0;
    if (sign != place.npos) {
        distance = whole_number(control, here, trimmed(place.substr(sign + 1)));
        if (place[sign] == '-') distance = -distance;
        place = trimmed(place.substr(0, sign));
    }
    const std::optional<Value> value = in_memory(control, here, place);
    if (!value) return std::nullopt;
    if (!value->unavailable.empty() && !value->address) throw RequestError(value->unavailable);
    if (value->type && value->type->bits != 0) throw RequestError("a bit-field has no address");
    const auto found = first_element(*value, !is_cplusplus(control));
    if (!found)
        throw RequestError("'" + place +
                           "' has no address: compiled code keeps it as a variable of the thread, which lies "
                           "in no memory of the device");
    const std::uint64_t address = found->address + static_cast<std::uint64_t>(distance) * found->type->bytes;
    const std::string type = (found->type->name.empty() ? "void" : found->type->name) + " *";
    return json::Object{{"result", json_text("(" + type + ") " + hexadecimal(address))},
                        {"type", json_text(type)},
                        {"memoryReference", hexadecimal(address)},
                        {"variablesReference", 0}};
}

/// What gdb's operator @ gives, an array of `count` elements from one on.
Inspection::Node Inspection::elements_from(Control& control, const Frame& here, const std::string& text,
                                           const Value& first, std::int64_t count) {
    const auto found = first_element(first, !is_cplusplus(control));
    if (!found) throw RequestError("only values in memory can be extended with '@'");
    if (count < 1 || count > most_elements)
        throw RequestError("the number behind '@' is one from 1 to " + std::to_string(most_elements));
    const std::uint64_t size = found->type->bytes;
    std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size);
    if (size == 0 || !control.launch().read(here.thread, found->address, bytes))
        throw RequestError("the thread may not read all of the " + std::to_string(count) + " elements at " +
                           hexadecimal(found->address));
    auto type = std::make_shared<Type>();
    type->name = "array(" + found->type->name + ", 1d, C)";
    Node node{Scope::none, here, {}, text, {}};
    node.value.type = std::move(type);
    node.value.array = ElementArray{found->address, {count}, {static_cast<std::int64_t>(size)}, found->type};
    return node;
}

std::optional<json::Value> Inspection::of_memory(Control& control, const Frame& here,
                                                 const std::string& expression) {
    const std::string text = trimmed(expression);
    if (here.is_host || text.empty()) return std::nullopt;
    const ThreadMemory memory(control.launch(), here.thread);
    const auto shown = [&](Node node) -> json::Value {
        if (!node.value.unavailable.empty()) throw RequestError(node.value.unavailable);
        json::Object described{{"result", json_text(text_of(node.value, memory))}};
        describe(described, std::move(node), memory);
        return described;
    };
    const std::size_t at = last_outside_of_brackets(text, '@');
    if (at != text.npos) {
        // In Python it is a product of matrices where what follows is no number.
        const Evaluation count = front_end_value(control, here, trimmed(text.substr(at + 1)));
        std::int64_t number = 0;
        if (!count.ok || llvm::StringRef(count.text).getAsInteger(10, number)) return std::nullopt;
        const auto first = in_memory(control, here, trimmed(text.substr(0, at)));
        if (!first) return std::nullopt;
        return shown(elements_from(control, here, text, *first, number));
    }
    if (text.front() == '&') {
        auto address = located(control, here, text);
        if (address) return json::Value(std::move(*address));
    } else if (text.front() == '*' && !is_cplusplus(control)) {
        if (auto value = in_memory(control, here, text))
            return shown({Scope::none, here, {}, text, std::move(*value)});
    }
    return std::nullopt;
}

}  // namespace cudasim::debugger
