#include "gpu_backend/comparison/value_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <limits>

#include "gpu_backend/comparison/float_formats.h"

namespace cudasim::comparison {
namespace {

constexpr std::size_t most_characters = 64;
constexpr std::size_t most_bytes_of_bits = 32;

template <class T>
T read(const std::byte* at) {
    T value;
    std::memcpy(&value, at, sizeof value);
    return value;
}

template <class... Arguments>
std::string characters(Arguments... arguments) {
    std::array<char, 64> buffer;
    const auto result = std::to_chars(buffer.data(), buffer.data() + buffer.size(), arguments...);
    return {buffer.data(), result.ptr};
}

std::string bits_text(std::uint64_t bits, std::uint64_t bytes) {
    const std::string digits = characters(bits, 16);
    return "0x" + std::string(2 * bytes - digits.size(), '0') + digits;
}

std::uint64_t bits_of(const std::byte* value, std::uint64_t bytes) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, value, bytes);
    return bits;
}

/// The shortest text whose nearest value of a 16-bit format is this one.
template <class Format>
std::string shortest(typename Format::Bits bits) {
    using Bits = typename Format::Bits;
    const double value = Format::value(bits);
    if (value == 0 || !std::isfinite(value)) return characters(value);
    const Bits magnitude = bits & static_cast<Bits>(~sign_bit<Format>);
    const double size = std::fabs(value);
    const double below = Format::value(static_cast<Bits>(magnitude - 1));
    // Beyond the greatest value the next step would be as wide as the last.
    const auto next = static_cast<Bits>(magnitude + 1);
    const double above =
        is_finite<Format>(next) ? static_cast<double>(Format::value(next)) : size + (size - below);
    for (int precision = 1; precision < 17; ++precision) {
        const std::string text = characters(value, std::chars_format::general, precision);
        double read_back = 0;
        std::from_chars(text.data(), text.data() + text.size(), read_back);
        const double distance = std::fabs(read_back);
        if (distance > (below + size) / 2 && distance < (size + above) / 2) return text;
    }
    return characters(value);
}

template <class Format>
std::string float_text(const std::byte* at) {
    const auto bits = read<typename Format::Bits>(at);
    if (is_nan<Format>(bits)) return "nan";
    if constexpr (sizeof(bits) == 2)
        return shortest<Format>(bits);
    else
        return characters(Format::value(bits));
}

/// As Python writes floats: 1.0, not 1.
std::string with_point(std::string text) {
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
}

template <class Format>
std::string complex_text(const std::byte* at) {
    const std::string real = float_text<Format>(at);
    const std::string imaginary = float_text<Format>(at + sizeof(typename Format::Bits));
    return "(" + real + (imaginary.starts_with("-") ? "" : "+") + imaginary + "j)";
}

void append_character(std::string& text, std::uint32_t c) {
    const auto byte = [&](std::uint32_t value) { text.push_back(static_cast<char>(value)); };
    if (c == '\\' || c == '\'') {
        text.push_back('\\');
        byte(c);
    } else if (c >= 0x20 && c < 0x7F) {
        byte(c);
    } else if (c < 0xA0) {
        text += "\\x" + bits_text(c, 1).substr(2);
    } else if (c < 0x800) {
        byte(0xC0 | (c >> 6));
        byte(0x80 | (c & 0x3F));
    } else if (c < 0x10000 && (c < 0xD800 || c > 0xDFFF)) {
        byte(0xE0 | (c >> 12));
        byte(0x80 | ((c >> 6) & 0x3F));
        byte(0x80 | (c & 0x3F));
    } else if (c >= 0x10000 && c <= 0x10FFFF) {
        byte(0xF0 | (c >> 18));
        byte(0x80 | ((c >> 12) & 0x3F));
        byte(0x80 | ((c >> 6) & 0x3F));
        byte(0x80 | (c & 0x3F));
    } else {  // no character: half of a surrogate pair, or beyond Unicode
        text += "\\U" + bits_text(c, 4).substr(2);
    }
}

std::string quoted(const ElementType& type, const std::byte* at) {
    const std::uint64_t width = type.kind == Kind::text ? 4 : 1;
    std::uint64_t length = type.bytes / width;
    const auto character = [&](std::uint64_t i) {
        return static_cast<std::uint32_t>(bits_of(at + i * width, width));
    };
    while (length > 0 && character(length - 1) == 0) --length;
    std::string text = type.kind == Kind::text ? "'" : "b'";
    for (std::uint64_t i = 0; i < std::min<std::uint64_t>(length, most_characters); ++i) {
        const std::uint32_t c = character(i);
        if (width == 1 && c >= 0x80)
            text += "\\x" + bits_text(c, 1).substr(2);
        else
            append_character(text, c);
    }
    return text + (length > most_characters ? "...'" : "'");
}

struct Unit {
    std::string_view name;
    std::int64_t per_second;  ///< or 0: the unit is longer
    std::int64_t seconds;     ///< or 0: the unit is shorter, or a month or year
    int digits;               ///< of the fraction of a second
};

constexpr Unit units[] = {
    {"Y", 0, 0, 0},
    {"M", 0, 0, 0},
    {"W", 0, 604800, 0},
    {"D", 0, 86400, 0},
    {"h", 0, 3600, 0},
    {"m", 0, 60, 0},
    {"s", 1, 1, 0},
    {"ms", 1000, 0, 3},
    {"us", 1000000, 0, 6},
    {"ns", 1000000000, 0, 9},
    {"ps", 1000000000000, 0, 12},
    {"fs", 1000000000000000, 0, 15},
    {"as", 1000000000000000000, 0, 18},
};

constexpr __int128 floor_divide(__int128 dividend, __int128 divisor) {
    return dividend / divisor - (dividend % divisor < 0 ? 1 : 0);
}

std::string padded(std::int64_t number, std::size_t digits) {
    const std::string text = std::to_string(number);
    return text.size() < digits ? std::string(digits - text.size(), '0') + text : text;
}

/// ISO 8601, as NumPy writes dates: as long as the unit asks for. Empty for a date that is not between the
/// years 1 and 9999.
std::string date_text(std::int64_t value, std::int64_t multiple, const Unit& unit) {
    using namespace std::chrono;
    const __int128 count = static_cast<__int128>(value) * multiple;
    if (unit.name == "Y" || unit.name == "M") {
        const __int128 months = unit.name == "Y" ? count * 12 : count;
        const __int128 year = 1970 + floor_divide(months, 12);
        if (year < 1 || year > 9999) return {};
        const std::string text = padded(static_cast<std::int64_t>(year), 4);
        if (unit.name == "Y") return text;
        return text + "-" + padded(static_cast<std::int64_t>(months - floor_divide(months, 12) * 12) + 1, 2);
    }
    const __int128 seconds_since =
        unit.seconds != 0 ? count * unit.seconds : floor_divide(count, unit.per_second);
    const __int128 day = floor_divide(seconds_since, 86400);
    if (day < -719162 || day > 2932896) return {};
    const year_month_day date{sys_days{days{static_cast<int>(day)}}};
    std::string text = padded(static_cast<int>(date.year()), 4) + "-" +
                       padded(static_cast<unsigned>(date.month()), 2) + "-" +
                       padded(static_cast<unsigned>(date.day()), 2);
    if (unit.name == "W" || unit.name == "D") return text;
    const auto second = static_cast<std::int64_t>(seconds_since - day * 86400);
    text += "T" + padded(second / 3600, 2);
    if (unit.name == "h") return text;
    text += ":" + padded(second / 60 % 60, 2);
    if (unit.name == "m") return text;
    text += ":" + padded(second % 60, 2);
    if (unit.digits == 0) return text;
    const __int128 fraction = count - floor_divide(count, unit.per_second) * unit.per_second;
    return text + "." + padded(static_cast<std::int64_t>(fraction), static_cast<std::size_t>(unit.digits));
}

std::string time_text(const ElementType& type, std::int64_t value) {
    if (value == std::numeric_limits<std::int64_t>::min()) return "NaT";
    const std::size_t letters = std::min(type.unit.find_first_not_of("0123456789"), type.unit.size());
    std::int64_t multiple = 1;
    std::from_chars(type.unit.data(), type.unit.data() + letters, multiple);
    const std::string_view name = std::string_view(type.unit).substr(letters);
    if (type.kind == Kind::datetime) {
        for (const Unit& unit : units) {
            if (unit.name != name) continue;
            const std::string text = date_text(value, multiple, unit);
            if (!text.empty()) return text;
        }
    }
    if (type.unit.empty()) return std::to_string(value);
    return std::to_string(value) + (letters == 0 ? " " : "*") + type.unit;
}

std::string text_of(const ElementType& type, const std::byte* at) {
    switch (type.kind) {
        case Kind::boolean: {
            const auto byte = read<std::uint8_t>(at);
            if (byte > 1) return "True (" + bits_text(byte, 1) + ")";
            return byte != 0 ? "True" : "False";
        }
        case Kind::signed_integer: {
            const int unused = static_cast<int>(64 - 8 * type.bytes);
            return std::to_string(static_cast<std::int64_t>(bits_of(at, type.bytes) << unused) >> unused);
        }
        case Kind::unsigned_integer:
            return std::to_string(bits_of(at, type.bytes));
        case Kind::floating:
            if (type.bytes == 2) return with_point(float_text<Float16>(at));
            return with_point(type.bytes == 4 ? float_text<Float32>(at) : float_text<Float64>(at));
        case Kind::bfloat16:
            return with_point(float_text<BFloat16>(at));
        case Kind::complex:
            return type.bytes == 8 ? complex_text<Float32>(at) : complex_text<Float64>(at);
        case Kind::datetime:
        case Kind::timedelta:
            return time_text(type, read<std::int64_t>(at));
        case Kind::bytes:
        case Kind::text:
            return quoted(type, at);
        case Kind::opaque:
        case Kind::record:
            break;
    }
    return hexadecimal({at, std::min<std::uint64_t>(type.bytes, most_bytes_of_bits)});
}

}  // namespace

std::string hexadecimal(std::span<const std::byte> bytes) {
    std::string text;
    for (const std::byte byte : bytes) {
        if (!text.empty()) text += " ";
        text += bits_text(static_cast<std::uint64_t>(byte), 1).substr(2);
    }
    return text;
}

Value describe(const ElementType& type, const std::byte* value) {
    Value result{.text = text_of(type, value), .bits = {}};
    switch (type.kind) {
        case Kind::complex: {
            const std::uint64_t half = type.bytes / 2;
            result.bits =
                bits_text(bits_of(value, half), half) + ", " + bits_text(bits_of(value + half, half), half);
            break;
        }
        case Kind::bytes:
        case Kind::text:
        case Kind::opaque:
        case Kind::record:
            result.bits = hexadecimal({value, std::min<std::uint64_t>(type.bytes, most_bytes_of_bits)});
            break;
        default:
            result.bits = bits_text(bits_of(value, type.bytes), type.bytes);
    }
    return result;
}

}  // namespace cudasim::comparison
