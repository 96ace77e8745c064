// See cpp_nodes.h.
#include "debugger/expressions/cpp_nodes.h"

#include <cmath>
#include <cstring>

#include "debugger/values/number_text.h"

namespace cudasim::debugger {
namespace {

constexpr std::uint64_t bits_per_byte = 8;

/// The lowest bytes, with their sign if the type has one.
std::uint64_t extended(std::uint64_t bits, const Type& type) noexcept {
    if (type.kind == TypeKind::boolean) return bits & 0xff;
    if (type.bytes >= sizeof(std::uint64_t)) return bits;
    const auto unused = static_cast<unsigned>(64 - bits_per_byte * type.bytes);
    return is_signed(type) ? static_cast<std::uint64_t>(static_cast<std::int64_t>(bits << unused) >> unused)
                           : bits << unused >> unused;
}

CppScalar scalar_from(const std::byte* bytes, const Type& type) noexcept {
    CppScalar scalar;
    if (type.kind == TypeKind::floating && type.bytes == sizeof(float)) {
        float number = 0;
        std::memcpy(&number, bytes, sizeof number);
        scalar.real = number;
    } else if (type.kind == TypeKind::floating) {
        std::memcpy(&scalar.real, bytes, sizeof(double));
    } else {
        std::memcpy(&scalar.bits, bytes, type.bytes);
        scalar.bits = type.bits != 0 ? from_bit_field(type, scalar.bits) : extended(scalar.bits, type);
    }
    return scalar;
}

/// Of a number in the range of an integer; others give its ends, as conversions on a GPU do.
std::uint64_t integer_from(double number, const Type& type) noexcept {
    if (std::isnan(number)) return 0;
    const auto bits = static_cast<int>(bits_per_byte * type.bytes);
    if (is_signed(type)) {
        const double end = std::ldexp(1.0, bits - 1);
        if (number >= end) return (std::uint64_t{1} << (bits - 1)) - 1;
        if (number < -end) return extended(std::uint64_t{1} << (bits - 1), type);
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(number));
    }
    if (number <= 0) return 0;
    if (number >= std::ldexp(1.0, bits)) return extended(~std::uint64_t{0}, type);
    return static_cast<std::uint64_t>(number);
}

template <typename Number>
bool compare(Op op, Number left, Number right) noexcept {
    switch (op) {
        case Op::equal:
            return left == right;
        case Op::unequal:
            return left != right;
        case Op::less:
            return left < right;
        case Op::greater:
            return left > right;
        case Op::less_or_equal:
            return left <= right;
        default:
            return left >= right;
    }
}

template <typename Real>
double calculate(Op op, Real left, Real right) noexcept {
    switch (op) {
        case Op::add:
            return static_cast<Real>(left + right);
        case Op::subtract:
            return static_cast<Real>(left - right);
        case Op::multiply:
            return static_cast<Real>(left * right);
        default:
            return static_cast<Real>(left / right);
    }
}

}  // namespace

std::string CppFault::text() const {
    switch (kind) {
        case Kind::none:
            return {};
        case Kind::memory:
            return "the thread may not read the memory at " + hexadecimal(address);
        case Kind::null:
            return "a null pointer is dereferenced";
        case Kind::index:
            return "index " + std::to_string(index) + " is out of bounds for axis " + std::to_string(axis) +
                   " with size " + std::to_string(size);
        case Kind::division:
            return "integer division or modulo by zero";
        case Kind::no_address:
            return "it has no address";
    }
    return {};
}

CppScalar converted(const CppScalar& value, const Type& from, const Type& to) noexcept {
    CppScalar result;
    const bool is_real = from.kind == TypeKind::floating;
    if (to.kind == TypeKind::boolean) {
        result.bits = is_real ? value.real != 0 : value.bits != 0;
    } else if (to.kind == TypeKind::floating) {
        if (is_real)
            result.real = to.bytes == sizeof(float) ? static_cast<float>(value.real) : value.real;
        else if (is_signed(from))
            result.real = to.bytes == sizeof(float)
                              ? static_cast<float>(static_cast<std::int64_t>(value.bits))
                              : static_cast<double>(static_cast<std::int64_t>(value.bits));
        else
            result.real =
                to.bytes == sizeof(float) ? static_cast<float>(value.bits) : static_cast<double>(value.bits);
    } else {
        result.bits = extended(is_real ? integer_from(value.real, to) : value.bits, to);
    }
    return result;
}

std::vector<std::byte> bytes_of(const CppScalar& value, const Type& type) {
    std::vector<std::byte> bytes(type.bytes);
    if (type.kind == TypeKind::floating && type.bytes == sizeof(float)) {
        const auto number = static_cast<float>(value.real);
        std::memcpy(bytes.data(), &number, sizeof number);
    } else if (type.kind == TypeKind::floating) {
        std::memcpy(bytes.data(), &value.real, sizeof(double));
    } else {
        const std::uint64_t word = type.bits != 0 ? with_bit_field(type, 0, value.bits) : value.bits;
        std::memcpy(bytes.data(), &word, type.bytes);
    }
    return bytes;
}

// Places ---------------------------------------------------------------------------------------------------

CppFault CppMachine::read(const CppPlace& place, std::byte* target, std::size_t bytes) const noexcept {
    if (place.variable != CppPlace::in_memory) {
        std::memcpy(target, environment_.variable(place.variable) + place.offset, bytes);
        return {};
    }
    if (place.offset == 0) return {.kind = CppFault::Kind::null};
    if (environment_.read(place.offset, target, bytes)) return {};
    return {.kind = CppFault::Kind::memory, .address = place.offset};
}

CppFault CppMachine::load(const Node& node, CppScalar& result) const noexcept {
    CppPlace where;
    CppFault fault = place(node, where);
    if (fault.kind != CppFault::Kind::none) return fault;
    std::byte bytes[sizeof(std::uint64_t)]{};
    fault = read(where, bytes, node.type->bytes);
    if (fault.kind == CppFault::Kind::none) result = scalar_from(bytes, *node.type);
    return fault;
}

CppFault CppMachine::place(const Node& node, CppPlace& result) const noexcept {
    switch (node.op) {
        case Op::variable:
            result = {static_cast<std::size_t>(node.number), 0};
            return {};
        case Op::member: {
            const CppFault fault = place(*node.first, result);
            result.offset += static_cast<std::uint64_t>(node.number);
            return fault;
        }
        case Op::element: {
            CppScalar index;
            CppFault fault = place(*node.first, result);
            if (fault.kind == CppFault::Kind::none) fault = value(*node.second, index);
            if (fault.kind != CppFault::Kind::none) return fault;
            const auto at = static_cast<std::int64_t>(index.bits);
            const auto length = static_cast<std::int64_t>(node.first->type->length);
            if (at < 0 || at >= length) return {.kind = CppFault::Kind::index, .index = at, .size = length};
            result.offset += index.bits * node.type->bytes;
            return {};
        }
        case Op::dereference: {
            CppScalar pointer;
            const CppFault fault = value(*node.first, pointer);
            result = {CppPlace::in_memory, pointer.bits};
            return fault;
        }
        default:
            return array_element(node, result);
    }
}

CppFault CppMachine::array_element(const Node& node, CppPlace& result) const noexcept {
    const Type& type = *node.first->type;
    const std::uint64_t shape = type.member("shape")->offset, strides = type.member("strides")->offset;
    CppPlace array;
    CppFault fault = place(*node.first, array);
    if (fault.kind != CppFault::Kind::none) return fault;
    const auto word = [&](std::uint64_t offset, std::int64_t& target) {
        return read({array.variable, array.offset + offset}, reinterpret_cast<std::byte*>(&target),
                    sizeof target);
    };
    std::int64_t address = 0;
    fault = word(type.member("data")->offset, address);
    for (std::size_t axis = 0; axis < node.more.size() && fault.kind == CppFault::Kind::none; ++axis) {
        CppScalar index;
        std::int64_t size = 0, stride = 0;
        fault = value(*node.more[axis], index);
        if (fault.kind == CppFault::Kind::none) fault = word(shape + sizeof(size) * axis, size);
        if (fault.kind == CppFault::Kind::none) fault = word(strides + sizeof(stride) * axis, stride);
        if (fault.kind != CppFault::Kind::none) break;
        const auto given = static_cast<std::int64_t>(index.bits);
        const std::int64_t at = given < 0 ? given + size : given;
        if (at < 0 || at >= size)
            return {.kind = CppFault::Kind::index,
                    .index = given,
                    .size = size,
                    .axis = static_cast<unsigned>(axis)};
        address += at * stride;
    }
    result = {CppPlace::in_memory, static_cast<std::uint64_t>(address)};
    return fault;
}

// Values ---------------------------------------------------------------------------------------------------

CppFault CppMachine::value(const Node& node, CppScalar& result) const noexcept {
    switch (node.op) {
        case Op::constant:
            result = node.constant;
            return {};
        case Op::special:
            result.bits = environment_.special(static_cast<CppSpecial>(node.number), node.axis);
            return {};
        case Op::load:
            return load(*node.first, result);
        case Op::address: {
            CppPlace where;
            const CppFault fault = place(*node.first, where);
            result.bits = where.offset;
            if (where.variable == CppPlace::in_memory || fault.kind != CppFault::Kind::none) return fault;
            const std::uint64_t base = environment_.address(where.variable);
            result.bits += base;
            return {.kind = base == 0 ? CppFault::Kind::no_address : CppFault::Kind::none};
        }
        case Op::logical_and:
        case Op::logical_or: {
            const CppFault fault = value(*node.first, result);
            if (fault.kind != CppFault::Kind::none) return fault;
            if ((result.bits != 0) == (node.op == Op::logical_or)) return {};
            return value(*node.second, result);
        }
        case Op::choose: {
            const CppFault fault = value(*node.first, result);
            if (fault.kind != CppFault::Kind::none) return fault;
            return value(result.bits != 0 ? *node.second : *node.third, result);
        }
        default:
            break;
    }
    CppScalar left, right;
    CppFault fault = value(*node.first, left);
    if (fault.kind == CppFault::Kind::none && node.second) fault = value(*node.second, right);
    if (fault.kind != CppFault::Kind::none) return fault;
    const Type& type = *node.first->type;
    switch (node.op) {
        case Op::convert:
            result = converted(left, type, *node.type);
            return {};
        case Op::logical_not:
            result.bits = left.bits == 0;
            return {};
        case Op::negate:
            result.real = -left.real;
            result.bits = extended(std::uint64_t{0} - left.bits, type);
            return {};
        case Op::advance:
            result.bits = left.bits + right.bits * node.type->of->bytes;
            return {};
        case Op::distance:
            result.bits =
                static_cast<std::uint64_t>(static_cast<std::int64_t>(left.bits - right.bits) / node.number);
            return {};
        default:
            break;
    }
    if (node.op >= Op::equal && node.op <= Op::at_least) {
        result.bits = type.kind == TypeKind::floating ? compare(node.op, left.real, right.real)
                      : is_signed(type)               ? compare(node.op, static_cast<std::int64_t>(left.bits),
                                                                static_cast<std::int64_t>(right.bits))
                                                      : compare(node.op, left.bits, right.bits);
        return {};
    }
    if (type.kind == TypeKind::floating) {
        result.real = type.bytes == sizeof(float)
                          ? calculate(node.op, static_cast<float>(left.real), static_cast<float>(right.real))
                          : calculate(node.op, left.real, right.real);
        return {};
    }
    return integer(node, left, right, result);
}

CppFault CppMachine::integer(const Node& node, const CppScalar& left, const CppScalar& right,
                             CppScalar& result) const noexcept {
    const Type& type = *node.type;
    const std::uint64_t a = left.bits, b = right.bits;
    const auto signed_a = static_cast<std::int64_t>(a), signed_b = static_cast<std::int64_t>(b);
    const std::uint64_t width = bits_per_byte * type.bytes;
    std::uint64_t bits = 0;
    switch (node.op) {
        case Op::complement:
            bits = ~a;
            break;
        case Op::bit_or:
            bits = a | b;
            break;
        case Op::bit_xor:
            bits = a ^ b;
            break;
        case Op::bit_and:
            bits = a & b;
            break;
        case Op::shift_left:
            bits = b < width ? a << b : 0;
            break;
        case Op::shift_right:
            if (is_signed(type))
                bits = static_cast<std::uint64_t>(signed_a >> (b < width ? b : width - 1));
            else
                bits = b < width ? a >> b : 0;
            break;
        case Op::add:
            bits = a + b;
            break;
        case Op::subtract:
            bits = a - b;
            break;
        case Op::multiply:
            bits = a * b;
            break;
        default: {
            if (b == 0) return {.kind = CppFault::Kind::division};
            const bool divides = node.op == Op::divide;
            if (!is_signed(type))
                bits = divides ? a / b : a % b;
            else if (signed_b == -1)  // of the lowest number, too
                bits = divides ? std::uint64_t{0} - a : 0;
            else
                bits = static_cast<std::uint64_t>(divides ? signed_a / signed_b : signed_a % signed_b);
        }
    }
    result.bits = extended(bits, type);
    return {};
}

}  // namespace cudasim::debugger
