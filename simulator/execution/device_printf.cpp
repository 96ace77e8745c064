// See device_printf.h.
#include "simulator/execution/device_printf.h"

#include <algorithm>
#include <cstdio>
#include <optional>
#include <string_view>

namespace cudasim::execution {
namespace {

/// One conversion, parsed.
struct Conversion {
    std::string flags;
    int width = 0;
    int precision = -1;  ///< -1: not given
    unsigned bytes = 4;  ///< of an integer argument
    unsigned kept = 4;   ///< bytes of it that count: h and hh cut
    char type = 0;
};

/// An address that the kernel named could not be read.
struct Unreadable {
    std::uint64_t address, bytes;
};

class Formatter {
  public:
    Formatter(std::uint64_t format, std::uint64_t arguments, const MemoryReader& read)
        : format_(format), arguments_(arguments), read_(read) {}

    Printed run() {
        if (format_ == 0) return {.text = {}, .result = -1};
        try {
            for (char c = next(); c != 0; c = next()) {
                if (c == '%')
                    convert();
                else
                    put({&c, 1});
            }
        } catch (const Unreadable& place) {
            return {std::move(text_), -2, place.address, place.bytes};
        }
        return {std::move(text_), too_long_ ? -2 : count_};
    }

  private:
    template <typename T>
    T load(std::uint64_t address) {
        T value{};
        if (!read_(address, &value, sizeof value)) throw Unreadable{address, sizeof value};
        return value;
    }

    char next() { return load<char>(format_++); }

    template <typename T>
    T argument() {
        offset_ = (offset_ + sizeof(T) - 1) / sizeof(T) * sizeof(T);
        const T value = load<T>(arguments_ + offset_);
        offset_ += sizeof(T);
        ++count_;
        return value;
    }

    void put(std::string_view text) {
        const std::size_t room = longest_print - text_.size();
        too_long_ |= text.size() > room;
        text_.append(text.substr(0, room));
    }

    /// Digits; none are 0.
    int number(char& c) {
        std::int64_t value = 0;
        for (; c >= '0' && c <= '9'; c = next())
            value = std::min<std::int64_t>(value * 10 + (c - '0'), longest_print);
        return static_cast<int>(value);
    }

    void size(char& c, Conversion& conversion) {
        for (; c == 'h' || c == 'l'; c = next()) {
            if (c == 'h')
                conversion.kept = conversion.kept == 2 ? 1 : 2;
            else
                conversion.bytes = conversion.kept = 8;
        }
    }

    void convert() {
        const std::uint64_t begin = format_;
        Conversion conversion;
        char c = next();
        for (; c != 0 && std::string_view("#0 +-").find(c) != std::string_view::npos; c = next()) {
            if (conversion.flags.find(c) == std::string::npos) conversion.flags += c;
        }
        if (c == '*') {
            c = next();
            conversion.width = argument<std::int32_t>();
        } else {
            conversion.width = number(c);
        }
        if (conversion.width < 0) {  // from `*`: as the flag `-`
            conversion.flags += '-';
            conversion.width = conversion.width == INT32_MIN ? INT32_MAX : -conversion.width;
        }
        if (c == '.') {
            c = next();
            conversion.precision = number(c);
        }
        constexpr int most = static_cast<int>(longest_print);
        conversion.width = std::min(conversion.width, most);
        conversion.precision = std::min(conversion.precision, most);
        size(c, conversion);
        conversion.type = c;
        if (c == 0) --format_;  // the format ends within a conversion: print what there is of it
        if (!print(conversion)) echo(begin);
    }

    /// What is not a conversion is printed as it stands.
    void echo(std::uint64_t begin) {
        put("%");
        for (std::uint64_t at = begin; at < format_; ++at) {
            const char c = load<char>(at);
            put({&c, 1});
        }
    }

    bool print(const Conversion& conversion) {
        switch (conversion.type) {
            case '%':
                put("%");
                return true;
            case 'd':
            case 'i':
                print_signed(conversion);
                return true;
            case 'u':
            case 'o':
            case 'x':
            case 'X':
                print_unsigned(conversion);
                return true;
            case 'c':
                print_one(conversion, "",
                          static_cast<int>(static_cast<unsigned char>(argument<std::int32_t>())));
                return true;
            case 'e':
            case 'E':
            case 'f':
            case 'F':
            case 'g':
            case 'G':
            case 'a':
            case 'A':
                print_one(conversion, "", argument<double>());
                return true;
            case 'p':
                print_one(conversion, "", reinterpret_cast<void*>(argument<std::uint64_t>()));
                return true;
            case 's':
                print_text(conversion);
                return true;
            default:
                return false;
        }
    }

    void print_signed(const Conversion& conversion) {
        long long value = conversion.bytes == 8 ? argument<std::int64_t>() : argument<std::int32_t>();
        if (conversion.kept == 2) value = static_cast<std::int16_t>(value);
        if (conversion.kept == 1) value = static_cast<std::int8_t>(value);
        print_one(conversion, "ll", value);
    }

    void print_unsigned(const Conversion& conversion) {
        unsigned long long value =
            conversion.bytes == 8 ? argument<std::uint64_t>() : argument<std::uint32_t>();
        if (conversion.kept == 2) value = static_cast<std::uint16_t>(value);
        if (conversion.kept == 1) value = static_cast<std::uint8_t>(value);
        print_one(conversion, "ll", value);
    }

    void print_text(const Conversion& conversion) {
        const auto address = argument<std::uint64_t>();
        std::string text;
        const std::size_t most =
            conversion.precision < 0 ? longest_print : static_cast<std::size_t>(conversion.precision);
        if (address == 0)
            text = "(null)";
        else {
            while (text.size() < most) {
                const char c = load<char>(address + text.size());
                if (c == 0) break;
                text += c;
            }
        }
        print_one(conversion, "", text.c_str());
    }

    /// The host's printf for one argument whose type the rebuilt conversion names.
    template <typename T>
    void print_one(const Conversion& conversion, const char* length, T value) {
        std::string format = "%" + conversion.flags + "*";
        if (conversion.precision >= 0) format += "." + std::to_string(conversion.precision);
        format += length;
        format += conversion.type;
        const int size = std::snprintf(nullptr, 0, format.c_str(), conversion.width, value);
        if (size < 0) return;
        std::string text(static_cast<std::size_t>(size) + 1, '\0');
        std::snprintf(text.data(), text.size(), format.c_str(), conversion.width, value);
        text.pop_back();
        put(text);
    }

    std::uint64_t format_, arguments_;
    const MemoryReader& read_;
    std::uint64_t offset_ = 0;
    std::int32_t count_ = 0;
    bool too_long_ = false;
    std::string text_;
};

}  // namespace

Printed device_printf(std::uint64_t format, std::uint64_t arguments, const MemoryReader& read) {
    return Formatter(format, arguments, read).run();
}

}  // namespace cudasim::execution
