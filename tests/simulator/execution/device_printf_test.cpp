// The formatter behind vprintf: every conversion of the CUDA C++ Programming Guide's "Formatted Output" gives
// what C's printf gives for the same argument, and nothing outside of what the reader allows is touched.
#include "simulator/execution/device_printf.h"

#include <gtest/gtest.h>

#include <climits>
#include <cmath>
#include <cstring>
#include <map>

namespace cudasim::execution {
namespace {

/// A kernel's memory: a format, packed arguments and texts at made-up addresses.
class Memory {
  public:
    explicit Memory(std::string format) { place(format_at, format.c_str(), format.size() + 1); }

    template <typename T>
    Memory& operator<<(T value) {
        arguments_.resize((arguments_.size() + sizeof(T) - 1) / sizeof(T) * sizeof(T));
        const auto* bytes = reinterpret_cast<const char*>(&value);
        arguments_.insert(arguments_.end(), bytes, bytes + sizeof(T));
        return *this;
    }
    Memory& operator<<(const char* text) {
        const std::uint64_t at = next_text_;
        place(at, text, std::strlen(text) + 1);
        next_text_ += 0x1000;
        return *this << at;
    }
    Printed print() {
        place(arguments_at, arguments_.data(), arguments_.size());
        return device_printf(format_at, arguments_at,
                             [this](std::uint64_t address, void* target, std::size_t bytes) {
                                 for (const auto& [at, content] : content_) {
                                     if (address < at || address + bytes > at + content.size()) continue;
                                     std::memcpy(target, content.data() + (address - at), bytes);
                                     return true;
                                 }
                                 return false;
                             });
    }
    std::string text() { return print().text; }

    static constexpr std::uint64_t format_at = 0x10000, arguments_at = 0x20000;

  private:
    void place(std::uint64_t at, const char* bytes, std::size_t count) { content_[at].assign(bytes, count); }
    std::map<std::uint64_t, std::string> content_;
    std::string arguments_;
    std::uint64_t next_text_ = 0x30000;
};

std::string host(const char* format, auto... arguments) {
    char text[512];
    std::snprintf(text, sizeof text, format, arguments...);
    return text;
}

/// The same call on both sides.
template <typename... Arguments>
void expect_as_host(const char* format, Arguments... arguments) {
    Memory memory(format);
    (void)(memory << ... << arguments);
    EXPECT_EQ(memory.text(), host(format, arguments...)) << format;
}

TEST(DevicePrintf, integers_of_all_sizes_and_flags) {
    for (const char* format : {"%d", "%i", "%5d|", "%-5d|", "%05d", "%+d", "% d", "%.3d", "%8.3d", "%-+8.3d|",
                               "%u", "%o", "%#o", "%x", "%X", "%#x", "%#10x", "%#010X"}) {
        for (int value : {0, 7, -7, 12345, INT_MAX, INT_MIN}) expect_as_host(format, value);
    }
    for (const char* format :
         {"%ld", "%lld", "%li", "%20lld", "%-20lld|", "%lu", "%llx", "%llo", "%#llX", "%+lld"}) {
        for (long long value : {0LL, -1LL, LLONG_MAX, LLONG_MIN}) expect_as_host(format, value);
    }
    for (const char* format : {"%hd", "%hu", "%hx", "%hhd", "%hhu", "%hhx"}) {
        for (int value : {0, -1, 70000, 300}) expect_as_host(format, value);
    }
}

TEST(DevicePrintf, floating_point) {
    for (const char* format : {"%f", "%e", "%g", "%a", "%F", "%E", "%G", "%A", "%10.2f|", "%-10.2f|", "%+.0f",
                               "%#.0f", "%010.3e", "%.15g", "% g", "%.0e"}) {
        for (double value :
             {0.0, -0.0, 1.5, -2.75, 1e300, 1e-300, HUGE_VAL, -HUGE_VAL, std::nan(""), 123456789.125})
            expect_as_host(format, value);
    }
}

TEST(DevicePrintf, characters_texts_and_pointers) {
    for (const char* format : {"%c", "%3c|", "%-3c|"}) expect_as_host(format, static_cast<int>('x'));
    for (const char* format : {"%s", "%10s|", "%-10s|", "%.2s|", "%10.3s|"}) expect_as_host(format, "hello");
    EXPECT_EQ((Memory("%p") << std::uint64_t{0x1234}).text(), "0x1234");
    EXPECT_EQ((Memory("%s") << std::uint64_t{0}).text(), "(null)");
}

TEST(DevicePrintf, width_from_an_argument) {
    expect_as_host("%*d|", 8, 42);
    expect_as_host("%*d|", -8, 42);
}

TEST(DevicePrintf, what_the_host_has_and_cuda_has_not_is_printed_as_it_stands) {
    EXPECT_EQ((Memory("%.*f|") << 3 << 1.0).text(), "%.*f|");
    EXPECT_EQ((Memory("%zu %td %jd %d") << 5).text(), "%zu %td %jd 5");
}

TEST(DevicePrintf, arguments_are_aligned_to_their_size) {
    expect_as_host("%d %f %d %lld %c %s %d", 1, 2.5, 3, 4LL, static_cast<int>('5'), "six", 7);
}

TEST(DevicePrintf, percent_signs_and_what_is_no_conversion) {
    EXPECT_EQ(Memory("100%% sure\n").text(), "100% sure\n");
    EXPECT_EQ((Memory("%n %y %d") << 3).text(), "%n %y 3");
    EXPECT_EQ(Memory("ends with %").text(), "ends with %");
    EXPECT_EQ(Memory("ends with %5.").text(), "ends with %5.");
    EXPECT_EQ(Memory("").text(), "");
}

TEST(DevicePrintf, returns_what_cuda_returns) {
    EXPECT_EQ(Memory("no arguments").print().result, 0);
    EXPECT_EQ((Memory("%d %*d %s") << 1 << 2 << 3 << "x").print().result, 4);
    const Printed null = device_printf(0, 0, [](std::uint64_t, void*, std::size_t) { return false; });
    EXPECT_EQ(null.result, -1);
    EXPECT_EQ(null.bad_bytes, 0U);
}

TEST(DevicePrintf, unreadable_memory_is_named_and_what_came_before_is_printed) {
    const Printed argument = (Memory("a=%d b=%lld") << 1).print();
    EXPECT_EQ(argument.text, "a=1 b=");
    EXPECT_EQ(argument.bad_address, Memory::arguments_at + 8);
    EXPECT_EQ(argument.bad_bytes, 8U);
    EXPECT_EQ(argument.result, -2);
    const Printed text = (Memory("%s") << std::uint64_t{0x77777}).print();
    EXPECT_EQ(text.bad_address, 0x77777U);
    EXPECT_EQ(text.bad_bytes, 1U);
    const Printed format = device_printf(0x66666, 0, [](std::uint64_t, void*, std::size_t) { return false; });
    EXPECT_EQ(format.bad_address, 0x66666U);
}

TEST(DevicePrintf, no_call_prints_more_than_the_limit) {
    const Printed wide =
        (Memory("%*d%*d%999999999999999999999d") << INT_MAX << 1 << INT_MIN << 2 << 3).print();
    EXPECT_EQ(wide.text.size(), longest_print);
    EXPECT_EQ(wide.result, -2);
    EXPECT_EQ((Memory("%.2147483647f") << 1.0).print().text.size(), longest_print);
}

}  // namespace
}  // namespace cudasim::execution
