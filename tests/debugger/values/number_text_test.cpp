// Numbers as texts, and texts as numbers: what is written reads back as the same bytes.
#include "debugger/values/number_text.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace cudasim::debugger {
namespace {

Type type_of(TypeKind kind, std::uint64_t bytes, std::string name = "t") {
    Type type;
    type.kind = kind;
    type.bytes = bytes;
    type.name = std::move(name);
    return type;
}

template <typename T>
std::string text(TypeKind kind, T value, std::string name = "t") {
    return scalar_text(type_of(kind, sizeof value, std::move(name)), std::as_bytes(std::span(&value, 1)))
        .value_or("nothing");
}

TEST(NumberText, writes_whole_numbers_of_every_size) {
    EXPECT_EQ(text(TypeKind::signed_number, std::int8_t{-128}), "-128");
    EXPECT_EQ(text(TypeKind::signed_number, std::int16_t{-2}), "-2");
    EXPECT_EQ(text(TypeKind::signed_number, std::numeric_limits<std::int64_t>::min()),
              "-9223372036854775808");
    EXPECT_EQ(text(TypeKind::unsigned_number, std::uint8_t{255}), "255");
    EXPECT_EQ(text(TypeKind::unsigned_number, ~std::uint64_t{0}), "18446744073709551615");
    EXPECT_EQ(text(TypeKind::boolean, std::uint8_t{1}), "True");
    EXPECT_EQ(text(TypeKind::boolean, std::uint8_t{0}), "False");
}

TEST(NumberText, writes_reals_as_python_does) {
    EXPECT_EQ(text(TypeKind::floating, 0.1), "0.1");
    EXPECT_EQ(text(TypeKind::floating, 0.1F), "0.1");
    EXPECT_EQ(text(TypeKind::floating, 1.0), "1.0");
    EXPECT_EQ(text(TypeKind::floating, -0.0), "-0.0");
    EXPECT_EQ(text(TypeKind::floating, 1e15), "1000000000000000.0");
    EXPECT_EQ(text(TypeKind::floating, 1e16), "1e+16");
    EXPECT_EQ(text(TypeKind::floating, 1.5e-5), "1.5e-05");
    EXPECT_EQ(text(TypeKind::floating, 0.0001), "0.0001");
    EXPECT_EQ(text(TypeKind::floating, 123.456), "123.456");
    EXPECT_EQ(text(TypeKind::floating, 5e-324), "5e-324");
    EXPECT_EQ(text(TypeKind::floating, std::numeric_limits<double>::max()), "1.7976931348623157e+308");
    EXPECT_EQ(text(TypeKind::floating, -std::numeric_limits<double>::infinity()), "-inf");
    EXPECT_EQ(text(TypeKind::floating, std::nan("")), "nan");
}

TEST(NumberText, writes_short_reals_with_the_fewest_digits_that_name_them) {
    EXPECT_EQ(text(TypeKind::floating, std::uint16_t{0x2e66}, "float16"), "0.1");
    EXPECT_EQ(text(TypeKind::floating, std::uint16_t{0x3c00}, "float16"), "1.0");
    EXPECT_EQ(text(TypeKind::floating, std::uint16_t{0x7bff}, "float16"), "65500.0");
    EXPECT_EQ(text(TypeKind::floating, std::uint16_t{0x0001}, "float16"), "6e-08");
    EXPECT_EQ(text(TypeKind::floating, std::uint16_t{0xfc00}, "float16"), "-inf");
    EXPECT_EQ(text(TypeKind::floating, std::uint16_t{0x3dcd}, "bfloat16"), "0.1");
}

TEST(NumberText, writes_complex_numbers_as_python_does) {
    EXPECT_EQ(text(TypeKind::complex, std::array{1.0, 2.0}), "(1+2j)");
    EXPECT_EQ(text(TypeKind::complex, std::array{1.5F, -0.25F}), "(1.5-0.25j)");
    EXPECT_EQ(text(TypeKind::complex, std::array{0.0, 2.0}), "2j");
}

TEST(NumberText, writes_characters_in_quotes) {
    Type ascii = type_of(TypeKind::sequence, 4);
    ascii.of = std::make_shared<Type>(type_of(TypeKind::character, 1, "char"));
    EXPECT_EQ(scalar_text(ascii, std::as_bytes(std::span("ab\0", 4))), "b'ab'");
    const std::array<std::uint32_t, 3> codes{0xe4, 0x27, 0x1f600};
    Type text = type_of(TypeKind::sequence, 12);
    text.of = std::make_shared<Type>(type_of(TypeKind::character, 4, "unichr"));
    EXPECT_EQ(scalar_text(text, std::as_bytes(std::span(codes))), "'\xc3\xa4\\'\xf0\x9f\x98\x80'");
}

TEST(NumberText, has_nothing_for_bytes_that_are_missing_and_types_that_are_no_numbers) {
    EXPECT_FALSE(scalar_text(type_of(TypeKind::floating, 8), std::as_bytes(std::span("abc", 3))));
    EXPECT_FALSE(scalar_text(type_of(TypeKind::structure, 3), std::as_bytes(std::span("abc", 3))));
    EXPECT_FALSE(scalar_text(type_of(TypeKind::signed_number, 3), std::as_bytes(std::span("abc", 3))));
}

/// The literal, written again.
std::string round_trip(const Type& type, std::string_view literal) {
    std::string error;
    const auto bytes = bytes_of_literal(type, literal, error);
    return bytes ? scalar_text(type, *bytes).value_or("nothing") : "error: " + error;
}

TEST(Literals, are_read_as_they_are_written) {
    EXPECT_EQ(round_trip(type_of(TypeKind::signed_number, 8), "-12"), "-12");
    EXPECT_EQ(round_trip(type_of(TypeKind::signed_number, 8), " 0x1f "), "31");
    EXPECT_EQ(round_trip(type_of(TypeKind::unsigned_number, 8), "18446744073709551615"),
              "18446744073709551615");
    EXPECT_EQ(round_trip(type_of(TypeKind::floating, 8), "1e300"), "1e+300");
    EXPECT_EQ(round_trip(type_of(TypeKind::floating, 4), "0.1"), "0.1");
    EXPECT_EQ(round_trip(type_of(TypeKind::floating, 8), "-inf"), "-inf");
    EXPECT_EQ(round_trip(type_of(TypeKind::floating, 8), "3"), "3.0");
    EXPECT_EQ(round_trip(type_of(TypeKind::boolean, 1), "True"), "True");
    EXPECT_EQ(round_trip(type_of(TypeKind::boolean, 1), "0"), "False");
    EXPECT_EQ(round_trip(type_of(TypeKind::complex, 16), "(1-2.5j)"), "(1-2.5j)");
    EXPECT_EQ(round_trip(type_of(TypeKind::complex, 8), "1e-3j"), "0.001j");
    EXPECT_EQ(round_trip(type_of(TypeKind::complex, 16), "4"), "(4+0j)");
}

TEST(Literals, of_short_reals_are_rounded_to_the_nearest) {
    const Type half = type_of(TypeKind::floating, 2, "float16"),
               brain = type_of(TypeKind::floating, 2, "bfloat16");
    for (const std::uint32_t bits : {0U, 1U, 0x3ffU, 0x400U, 0x3c00U, 0x3555U, 0x7bffU, 0x7c00U, 0xc123U}) {
        const auto number = static_cast<std::uint16_t>(bits);
        std::string error;
        const std::string written = *scalar_text(half, std::as_bytes(std::span(&number, 1)));
        const auto read = bytes_of_literal(half, written, error);
        ASSERT_TRUE(read) << written << error;
        EXPECT_EQ(std::memcmp(read->data(), &number, 2), 0) << written;
    }
    EXPECT_EQ(round_trip(half, "65519"), "65500.0");
    EXPECT_EQ(round_trip(half, "65520"), "inf");
    EXPECT_EQ(round_trip(brain, "0.1"), "0.1");
}

TEST(Literals, that_do_not_fit_are_refused) {
    EXPECT_EQ(round_trip(type_of(TypeKind::signed_number, 1, "int8"), "128"),
              "error: 128 does not fit into int8");
    EXPECT_EQ(round_trip(type_of(TypeKind::signed_number, 1, "int8"), "-128"), "-128");
    EXPECT_EQ(round_trip(type_of(TypeKind::unsigned_number, 4, "uint32"), "-1"),
              "error: -1 does not fit into uint32");
    EXPECT_EQ(round_trip(type_of(TypeKind::signed_number, 8, "int64"), "1.5"),
              "error: '1.5' is no whole number, which int64 takes");
    EXPECT_EQ(round_trip(type_of(TypeKind::floating, 8, "float64"), "one"),
              "error: 'one' is no value of type float64");
    EXPECT_EQ(round_trip(type_of(TypeKind::structure, 8, "Tuple"), "1"),
              "error: a value of type Tuple cannot be set as a whole");
}

}  // namespace
}  // namespace cudasim::debugger
