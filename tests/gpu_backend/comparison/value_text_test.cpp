#include "gpu_backend/comparison/value_text.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

#include "gpu_backend/comparison/float_formats.h"
#include "tests/gpu_backend/comparison/contents.h"

namespace cudasim::comparison {
namespace {

template <class T>
Value described(const char* type, std::initializer_list<T> values) {
    const Bytes bytes = bytes_of(values);
    return describe(parse_element_type(type), bytes.data());
}

TEST(Values, numbers_are_written_as_python_writes_them) {
    EXPECT_EQ(described("float32", {0.1f}).text, "0.1");
    EXPECT_EQ(described("float32", {1.0f}).text, "1.0");
    EXPECT_EQ(described("float64", {-0.0}).text, "-0.0");
    EXPECT_EQ(described("float64", {1e-5}).text, "1e-05");
    EXPECT_EQ(described("float64", {-std::nan("")}).text, "nan");
    EXPECT_EQ(described("float32", {-INFINITY}).text, "-inf");
    EXPECT_EQ(described("complex64", {1.0f, -2.5f}).text, "(1-2.5j)");
    EXPECT_EQ(described("int8", {std::int8_t{-5}}).text, "-5");
    EXPECT_EQ(described("uint64", {~std::uint64_t{0}}).text, "18446744073709551615");
    EXPECT_EQ(described("bool", {std::uint8_t{1}}).text, "True");
    EXPECT_EQ(described("bool", {std::uint8_t{7}}).text, "True (0x07)");
}

TEST(Values, have_their_bits) {
    EXPECT_EQ(described("float32", {1.0f}).bits, "0x3f800000");
    EXPECT_EQ(described("int16", {std::int16_t{-1}}).bits, "0xffff");
    EXPECT_EQ(described("complex64", {1.0f, 0.0f}).bits, "0x3f800000, 0x00000000");
    EXPECT_EQ(described("S3", {'a', 'b', '\0'}).bits, "61 62 00");
}

TEST(Values, texts_are_quoted_and_shortened) {
    EXPECT_EQ(described("S4", {'a', '\n', '\'', '\0'}).text, "b'a\\x0a\\''");
    EXPECT_EQ(described("U3", {std::uint32_t{'a'}, std::uint32_t{0x20AC}, std::uint32_t{0xD800}}).text,
              "'a\u20ac\\U0000d800'");
    const Bytes lengthy(1000, std::byte{'x'});
    EXPECT_EQ(describe(parse_element_type("S1000"), lengthy.data()).text,
              "b'" + std::string(64, 'x') + "...'");
    EXPECT_EQ(described("V2", {std::uint8_t{1}, std::uint8_t{0xAB}}).text, "01 ab");
}

TEST(Values, dates_are_written_as_numpy_writes_them) {
    using Count = std::int64_t;
    EXPECT_EQ(described("datetime64[D]", {Count{18262}}).text, "2020-01-01");
    EXPECT_EQ(described("datetime64[ns]", {Count{-1}}).text, "1969-12-31T23:59:59.999999999");
    EXPECT_EQ(described("datetime64[25s]", {Count{4}}).text, "1970-01-01T00:01:40");
    EXPECT_EQ(described("datetime64[M]", {Count{-1}}).text, "1969-12");
    EXPECT_EQ(described("datetime64[Y]", {Count{30}}).text, "2000");
    EXPECT_EQ(described("datetime64[h]", {Count{25}}).text, "1970-01-02T01");
    EXPECT_EQ(described("datetime64[Y]", {Count{1} << 60}).text, "1152921504606846976 Y");
    EXPECT_EQ(described("datetime64[s]", {std::numeric_limits<Count>::min()}).text, "NaT");
    EXPECT_EQ(described("timedelta64[ms]", {Count{-3}}).text, "-3 ms");
    EXPECT_EQ(described("timedelta64[10ms]", {Count{3}}).text, "3*10ms");
}

/// The nearest value, found among all of them.
template <class Format>
std::uint16_t nearest(double value) {
    std::uint16_t best = 0;
    for (std::uint32_t bits = 0; bits < Format::exponent; ++bits)
        if (std::fabs(Format::value(static_cast<std::uint16_t>(bits)) - value) <
            std::fabs(Format::value(best) - value))
            best = static_cast<std::uint16_t>(bits);
    return best;
}

template <class Format>
void all_texts_read_back(const char* type) {
    // Every 97th of them; the search of the nearest is slow.
    for (std::uint32_t bits = 0; bits < Format::exponent; bits += 97) {
        const std::string text = described(type, {static_cast<std::uint16_t>(bits)}).text;
        ASSERT_EQ(nearest<Format>(std::strtod(text.c_str(), nullptr)), bits) << text;
    }
}

TEST(Values, sixteen_bit_floats_are_written_with_the_fewest_digits_that_read_back) {
    all_texts_read_back<Float16>("float16");
    all_texts_read_back<BFloat16>("bfloat16");
    EXPECT_EQ(described("float16", {std::uint16_t{0x2E66}}).text, "0.1");
    EXPECT_EQ(described("bfloat16", {std::uint16_t{0x3DCD}}).text, "0.1");
    EXPECT_EQ(described("float16", {std::uint16_t{0x7BFF}}).text, "6.55e+04");
    EXPECT_EQ(described("float16", {std::uint16_t{0x8001}}).text, "-6e-08");
}

TEST(Floats, float16_values_are_those_of_the_format) {
    EXPECT_EQ(Float16::value(0x3C00), 1.0f);
    EXPECT_EQ(Float16::value(0xC000), -2.0f);
    EXPECT_EQ(Float16::value(0x0001), 0x1p-24f);
    EXPECT_EQ(Float16::value(0x03FF), 0x3FFp-24f);
    EXPECT_EQ(Float16::value(0x7BFF), 65504.0f);
    EXPECT_EQ(Float16::value(0xFC00), -INFINITY);
    EXPECT_TRUE(std::isnan(Float16::value(0x7E00)));
    EXPECT_TRUE(std::signbit(Float16::value(0x8000)));
}

}  // namespace
}  // namespace cudasim::comparison
