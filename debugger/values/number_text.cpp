// See number_text.h.
#include "debugger/values/number_text.h"

#include <llvm/ADT/StringExtras.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>

namespace cudasim::debugger {
namespace {

template <typename T>
T take(std::span<const std::byte> bytes) {
    T value{};
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
}

template <typename T>
std::vector<std::byte> bytes_of(T value) {
    std::vector<std::byte> bytes(sizeof value);
    std::memcpy(bytes.data(), &value, sizeof value);
    return bytes;
}

std::int64_t signed_number(std::span<const std::byte> bytes) {
    switch (bytes.size()) {
        case 1:
            return take<std::int8_t>(bytes);
        case 2:
            return take<std::int16_t>(bytes);
        case 4:
            return take<std::int32_t>(bytes);
        default:
            return take<std::int64_t>(bytes);
    }
}

std::uint64_t unsigned_number(std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), std::min(bytes.size(), sizeof value));
    return value;
}

bool is_power_of_two_up_to_eight(std::size_t bytes) {
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8;
}

// Floating point -------------------------------------------------------------------------------------------

/// A 16-bit format: IEEE's binary16, or the upper half of a binary32.
double half_to_double(std::uint16_t bits, bool brain) {
    if (brain) return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const double sign = (bits >> 15) != 0 ? -1.0 : 1.0;
    if (exponent == 31) return fraction != 0 ? std::nan("") : sign * std::numeric_limits<double>::infinity();
    if (exponent == 0) return sign * std::ldexp(fraction, -24);
    return sign * std::ldexp(1024 + fraction, exponent - 25);
}

/// "-1.25e+03" as digits and an exponent, in the form that Python's repr() chooses.
std::string arranged(std::string_view scientific, bool with_point) {
    std::string sign, digits;
    if (scientific.starts_with('-')) {
        sign = "-";
        scientific.remove_prefix(1);
    }
    const std::size_t e = scientific.find('e');
    for (const char c : scientific.substr(0, e))
        if (c != '.') digits += c;
    int exponent = 0;
    const char* first = scientific.data() + e + 1;
    if (*first == '+') ++first;
    std::from_chars(first, scientific.data() + scientific.size(), exponent);
    const int count = static_cast<int>(digits.size());
    if (exponent < -4 || exponent >= 16) {
        std::string text = sign + digits.substr(0, 1);
        if (count > 1) text += "." + digits.substr(1);
        const std::string number = std::to_string(std::abs(exponent));
        return text + (exponent < 0 ? "e-" : "e+") + (number.size() < 2 ? "0" : "") + number;
    }
    if (exponent < 0) return sign + "0." + std::string(static_cast<std::size_t>(-exponent - 1), '0') + digits;
    if (count <= exponent + 1)
        return sign + digits + std::string(static_cast<std::size_t>(exponent + 1 - count), '0') +
               (with_point ? ".0" : "");
    const auto whole = static_cast<std::size_t>(exponent) + 1;
    return sign + digits.substr(0, whole) + "." + digits.substr(whole);
}

template <typename Number>
std::string float_text(Number value, bool with_point = true) {
    if (std::isnan(value)) return "nan";
    if (std::isinf(value)) return value < 0 ? "-inf" : "inf";
    std::array<char, 64> buffer{};
    const auto end =
        std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::scientific);
    return arranged({buffer.data(), end.ptr}, with_point);
}

std::string half_text(std::uint16_t bits, bool brain) {
    const double value = half_to_double(bits, brain);
    if (!std::isfinite(value)) return float_text(value);
    if (value == 0) return (bits >> 15) != 0 ? "-0.0" : "0.0";
    const auto neighbour = [&](int step) {
        const double near = half_to_double(static_cast<std::uint16_t>(bits + step), brain);
        return std::isfinite(near)
                   ? near
                   : value + (value - half_to_double(static_cast<std::uint16_t>(bits - step), brain));
    };
    const double reach = std::min(std::abs(neighbour(1) - value), std::abs(value - neighbour(-1))) / 2;
    for (int digits = 0; digits < 8; ++digits) {
        std::array<char, 64> buffer{};
        const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value,
                                       std::chars_format::scientific, digits);
        double read = 0;
        std::from_chars(buffer.data(), end.ptr, read);
        if (std::abs(read - value) < reach) return float_text(read);
    }
    return float_text(value);
}

std::uint16_t nearest_half(double value, bool brain) {
    if (std::isnan(value)) return brain ? 0x7fc0 : 0x7e00;
    const std::uint16_t sign = std::signbit(value) ? 0x8000 : 0, infinity = brain ? 0x7f80 : 0x7c00;
    const double size = std::abs(value);
    // Representations of one sign are ordered as their values are.
    std::uint16_t low = 0, high = infinity;
    while (high - low > 1) {
        const auto middle = static_cast<std::uint16_t>((low + high) / 2);
        (half_to_double(middle, brain) <= size ? low : high) = middle;
    }
    const double below = half_to_double(low, brain);
    const double step = low == 0 ? half_to_double(1, brain)
                                 : below - half_to_double(static_cast<std::uint16_t>(low - 1), brain);
    const double above = high == infinity ? below + step : half_to_double(high, brain);
    const bool up = size - below > above - size || (size - below == above - size && (low & 1) != 0);
    return sign | (up ? high : low);
}

std::optional<std::string> floating_text(const Type& type, std::span<const std::byte> bytes) {
    switch (type.bytes) {
        case 2:
            return half_text(take<std::uint16_t>(bytes), type.name == "bfloat16");
        case 4:
            return float_text(take<float>(bytes));
        case 8:
            return float_text(take<double>(bytes));
        default:
            return std::nullopt;
    }
}

/// As Python writes it: 2j, (1+2j), (1-2j).
template <typename Number>
std::string complex_text(std::span<const std::byte> bytes) {
    const auto real = take<Number>(bytes), imaginary = take<Number>(bytes.subspan(sizeof(Number)));
    const std::string second = float_text(imaginary, false);
    if (real == 0 && !std::signbit(real)) return second + "j";
    const bool has_sign = second.starts_with('-');
    return "(" + float_text(real, false) + (has_sign ? "" : "+") + second + "j)";
}

// Characters -----------------------------------------------------------------------------------------------

void append_utf8(std::string& text, std::uint32_t code) {
    if (code < 0x80) {
        text += static_cast<char>(code);
    } else if (code < 0x800) {
        text += static_cast<char>(0xc0 | code >> 6);
        text += static_cast<char>(0x80 | (code & 63));
    } else if (code < 0x10000 && (code < 0xd800 || code > 0xdfff)) {
        text += static_cast<char>(0xe0 | code >> 12);
        text += static_cast<char>(0x80 | (code >> 6 & 63));
        text += static_cast<char>(0x80 | (code & 63));
    } else if (code >= 0x10000 && code < 0x110000) {
        text += static_cast<char>(0xf0 | code >> 18);
        text += static_cast<char>(0x80 | (code >> 12 & 63));
        text += static_cast<char>(0x80 | (code >> 6 & 63));
        text += static_cast<char>(0x80 | (code & 63));
    } else {
        text += "\xef\xbf\xbd";
    }
}

/// In quotes; zeros at the end are padding. Bytes are written as Python writes bytes objects.
std::string characters_text(std::uint64_t width, std::span<const std::byte> bytes) {
    std::vector<std::uint32_t> codes;
    for (std::size_t at = 0; at + width <= bytes.size(); at += width)
        codes.push_back(static_cast<std::uint32_t>(unsigned_number(bytes.subspan(at, width))));
    while (!codes.empty() && codes.back() == 0) codes.pop_back();
    std::string text = width == 1 ? "b'" : "'";
    for (const std::uint32_t code : codes) {
        if (code == '\'' || code == '\\') {
            text += '\\';
            text += static_cast<char>(code);
        } else if (code < 0x20 || code == 0x7f || (width == 1 && code > 0x7f)) {
            constexpr std::string_view digits = "0123456789abcdef";
            text += "\\x";
            text += digits[code >> 4 & 15];
            text += digits[code & 15];
        } else {
            append_utf8(text, code);
        }
    }
    return text + "'";
}

// Literals -------------------------------------------------------------------------------------------------

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
    return text;
}

struct WholeNumber {
    bool negative = false;
    std::uint64_t size = 0;
};

std::optional<WholeNumber> whole_number(std::string_view text) {
    WholeNumber number;
    if (text.starts_with('-') || text.starts_with('+')) {
        number.negative = text.starts_with('-');
        text.remove_prefix(1);
    }
    int base = 10;
    if (text.starts_with("0x") || text.starts_with("0X")) base = 16;
    if (text.starts_with("0b") || text.starts_with("0B")) base = 2;
    if (base != 10) text.remove_prefix(2);
    if (text.empty()) return std::nullopt;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number.size, base);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return number;
}

std::optional<double> real_number(std::string_view text) {
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (text.empty() || error != std::errc() || end != text.data() + text.size()) {
        const auto whole = whole_number(text);  // hexadecimal
        if (!whole) return std::nullopt;
        value = static_cast<double>(whole->size);
        return whole->negative ? -value : value;
    }
    return value;
}

std::optional<std::vector<std::byte>> whole_bytes(const Type& type, std::string_view text,
                                                  std::string& error) {
    if (text == "True" || text == "False") text = text == "True" ? "1" : "0";
    const auto number = whole_number(text);
    if (!number || !is_power_of_two_up_to_eight(type.bytes)) {
        const std::string_view digits = text.substr(text.starts_with('-') || text.starts_with('+') ? 1 : 0);
        const bool is_large = !digits.empty() && digits.find_first_not_of("0123456789") == digits.npos;
        error = is_large ? std::string(text) + " does not fit into " + type.name
                         : "'" + std::string(text) + "' is no whole number, which " + type.name + " takes";
        return std::nullopt;
    }
    const unsigned bits = static_cast<unsigned>(8 * type.bytes);
    const bool is_signed = type.kind == TypeKind::signed_number;
    const std::uint64_t highest = is_signed    ? (std::uint64_t{1} << (bits - 1)) - 1
                                  : bits == 64 ? ~std::uint64_t{0}
                                               : (std::uint64_t{1} << bits) - 1;
    const std::uint64_t limit = number->negative ? (is_signed ? highest + 1 : 0) : highest;
    if (number->size > limit) {
        error = std::string(text) + " does not fit into " + type.name;
        return std::nullopt;
    }
    const std::uint64_t value = number->negative ? 0 - number->size : number->size;
    std::vector<std::byte> bytes(type.bytes);
    std::memcpy(bytes.data(), &value, bytes.size());
    return bytes;
}

std::optional<std::vector<std::byte>> floating_bytes(const Type& type, std::string_view text) {
    const auto value = real_number(text);
    if (!value) return std::nullopt;
    if (type.bytes == 2) return bytes_of(nearest_half(*value, type.name == "bfloat16"));
    if (type.bytes == 4) return bytes_of(static_cast<float>(*value));
    if (type.bytes == 8) return bytes_of(*value);
    return std::nullopt;
}

std::optional<std::vector<std::byte>> complex_bytes(const Type& type, std::string_view text) {
    if (text.starts_with('(') && text.ends_with(')')) text = trimmed(text.substr(1, text.size() - 2));
    double real = 0, imaginary = 0;
    if (text.ends_with('j')) {
        text.remove_suffix(1);
        std::size_t split = text.size();
        while (split > 0) {
            --split;
            const bool sign = text[split] == '+' || text[split] == '-';
            if (sign && (split == 0 || (text[split - 1] != 'e' && text[split - 1] != 'E'))) break;
        }
        const auto first = split > 0 ? real_number(trimmed(text.substr(0, split))) : std::optional(0.0);
        const auto second = real_number(text.substr(split));
        if (!first || !second) return std::nullopt;
        real = *first;
        imaginary = *second;
    } else if (const auto only = real_number(text)) {
        real = *only;
    } else {
        return std::nullopt;
    }
    std::vector<std::byte> bytes;
    if (type.bytes == 8) {
        bytes = bytes_of(std::array{static_cast<float>(real), static_cast<float>(imaginary)});
    } else if (type.bytes == 16) {
        bytes = bytes_of(std::array{real, imaginary});
    } else {
        return std::nullopt;
    }
    return bytes;
}

}  // namespace

std::string hexadecimal(std::uint64_t number) {
    return "0x" + llvm::utohexstr(number, true);
}

std::optional<std::string> scalar_text(const Type& type, std::span<const std::byte> bytes) {
    if (bytes.size() < type.bytes || type.bytes == 0) return std::nullopt;
    bytes = bytes.first(type.bytes);
    if (type.bits != 0) {
        Type plain = type;
        plain.bits = 0;
        const auto number = bytes_of(from_bit_field(type, unsigned_number(bytes)));
        return scalar_text(plain, std::span(number).first(type.bytes));
    }
    switch (type.kind) {
        case TypeKind::signed_number:
            if (!is_power_of_two_up_to_eight(type.bytes)) return std::nullopt;
            if (!type.enumerators.empty()) return type.enumerator_text(signed_number(bytes));
            return std::to_string(signed_number(bytes));
        case TypeKind::unsigned_number:
            if (!is_power_of_two_up_to_eight(type.bytes)) return std::nullopt;
            if (!type.enumerators.empty())
                return type.enumerator_text(static_cast<std::int64_t>(unsigned_number(bytes)));
            return std::to_string(unsigned_number(bytes));
        case TypeKind::boolean:
            return unsigned_number(bytes) != 0 ? "True" : "False";
        case TypeKind::floating:
            return floating_text(type, bytes);
        case TypeKind::complex:
            if (type.bytes == 8) return complex_text<float>(bytes);
            if (type.bytes == 16) return complex_text<double>(bytes);
            return std::nullopt;
        case TypeKind::character:
            return characters_text(type.bytes, bytes);
        case TypeKind::sequence:
            if (type.of->kind != TypeKind::character || type.of->bytes == 0) return std::nullopt;
            return characters_text(type.of->bytes, bytes);
        default:
            return std::nullopt;
    }
}

std::optional<std::vector<std::byte>> bytes_of_literal(const Type& type, std::string_view given,
                                                       std::string& error) {
    const std::string_view text = trimmed(given);
    std::optional<std::vector<std::byte>> bytes;
    if (type.bits != 0) {
        error = "a bit-field is set by an expression: set var";
        return std::nullopt;
    }
    for (const Enumerator& each : type.enumerators)
        if (text == each.name || text == type.name + "::" + each.name)
            return whole_bytes(type, std::to_string(each.value), error);
    switch (type.kind) {
        case TypeKind::signed_number:
        case TypeKind::unsigned_number:
            return whole_bytes(type, text, error);
        case TypeKind::boolean: {
            const auto number = whole_number(text);
            if (text == "True" || text == "False" || number)
                bytes = std::vector<std::byte>(
                    std::max<std::size_t>(type.bytes, 1),
                    std::byte{static_cast<unsigned char>(text == "True" || (number && number->size != 0))});
            break;
        }
        case TypeKind::floating:
            bytes = floating_bytes(type, text);
            break;
        case TypeKind::complex:
            bytes = complex_bytes(type, text);
            break;
        default:
            error = "a value of type " + (type.name.empty() ? "unknown" : type.name) +
                    " cannot be set as a whole";
            return std::nullopt;
    }
    if (!bytes) error = "'" + std::string(text) + "' is no value of type " + type.name;
    return bytes;
}

}  // namespace cudasim::debugger
