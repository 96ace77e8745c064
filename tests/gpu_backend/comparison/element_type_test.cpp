#include "gpu_backend/comparison/element_type.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace cudasim::comparison {
namespace {

TEST(ElementTypes, names_and_codes_of_numpy_are_read) {
    const struct {
        const char* text;
        Kind kind;
        std::uint64_t bytes;
        const char* name;
    } known[] = {
        {"bool", Kind::boolean, 1, "bool"},
        {"|b1", Kind::boolean, 1, "bool"},
        {"?", Kind::boolean, 1, "bool"},
        {"int8", Kind::signed_integer, 1, "int8"},
        {"<i4", Kind::signed_integer, 4, "int32"},
        {"uint64", Kind::unsigned_integer, 8, "uint64"},
        {"=u2", Kind::unsigned_integer, 2, "uint16"},
        {"float16", Kind::floating, 2, "float16"},
        {"<f8", Kind::floating, 8, "float64"},
        {"bfloat16", Kind::bfloat16, 2, "bfloat16"},
        {"complex64", Kind::complex, 8, "complex64"},
        {"<c16", Kind::complex, 16, "complex128"},
        {"datetime64[ns]", Kind::datetime, 8, "datetime64[ns]"},
        {"<M8[25s]", Kind::datetime, 8, "datetime64[25s]"},
        {"timedelta64", Kind::timedelta, 8, "timedelta64"},
        {"|S5", Kind::bytes, 5, "S5"},
        {"<U3", Kind::text, 12, "U3"},
        {"|V7", Kind::opaque, 7, "V7"},
    };
    for (const auto& [text, kind, bytes, name] : known) {
        const ElementType type = parse_element_type(text);
        EXPECT_EQ(type.kind, kind) << text;
        EXPECT_EQ(type.bytes, bytes) << text;
        EXPECT_EQ(name_of(type), name);
    }
}

TEST(ElementTypes, a_packed_record_has_its_fields_one_after_another) {
    const ElementType type =
        parse_element_type("[('a', '<i4'), ('b', '<f8', (3,)), ('c', [('x', '<i2')], (2, 2))]");
    EXPECT_EQ(type.kind, Kind::record);
    EXPECT_EQ(type.bytes, 4u + 24 + 8);
    const std::vector<Leaf> leaves = leaves_of(type);
    ASSERT_EQ(leaves.size(), 6u);
    EXPECT_EQ(leaves[0].path, "a");
    EXPECT_EQ(leaves[1].offset, 4u);
    EXPECT_EQ(leaves[1].count(), 3u);
    EXPECT_EQ(leaves[1].path_of(2), "b[2]");
    EXPECT_EQ(leaves[4].path, "c[1, 0].x");
    EXPECT_EQ(leaves[4].offset, 4u + 24 + 4);
}

TEST(ElementTypes, an_aligned_record_has_offsets_and_padding) {
    const ElementType type = parse_element_type(
        "{'names': ['a', 'b'], 'formats': ['i1', '<f8'], 'offsets': [0, 8], 'itemsize': 24, 'aligned': "
        "True}");
    EXPECT_EQ(type.bytes, 24u);
    EXPECT_EQ(type.fields[1].offset, 8u);
    EXPECT_EQ(parse_element_type("[('a', 'i1'), ('', '|V7'), ('b', '<f8')]").fields[1].offset, 8u);
}

TEST(ElementTypes, other_forms_of_records_are_read) {
    EXPECT_EQ(parse_element_type("(numpy.record, [('a', '<i4')])").bytes, 4u);
    EXPECT_EQ(parse_element_type("[(('title', 'name'), '<i4')]").fields[0].name, "name");
    EXPECT_EQ(parse_element_type("[('a', bfloat16)]").fields[0].type.kind, Kind::bfloat16);
    EXPECT_EQ(parse_element_type("[('a', ('<f4', (2, 2)))]").bytes, 16u);
    EXPECT_EQ(parse_element_type(R"([("it's", '<i4'), ('a\n\xe9', '<i4')])").fields[1].name, "a\n\u00e9");
    EXPECT_EQ(parse_element_type("[]").bytes, 0u);
}

TEST(ElementTypes, what_is_no_type_is_refused_with_its_text) {
    for (const char* text :
         {"", "float", "f3", "<f16", ">f4", "O", "<i", "datetime64ns", "M4", "[('a', '<i4'", "[('a',)]",
          "{'names': ['a']}", "{'names': ['a'], 'formats': ['<i4'], 'offsets': [8], 'itemsize': 4}",
          "('<f4', (2, 2))", "[1]", "[('a', '<i4')] x", "S99999999999999999999",
          "[('a', '<f8', (4294967296, 4294967296))]", "[('a', 'S0', (4294967296, 4294967296))]"}) {
        try {
            (void)parse_element_type(text);
            FAIL() << text;
        } catch (const std::invalid_argument& error) {
            EXPECT_NE(std::string(error.what()).find("'" + std::string(text) + "'"), std::string::npos)
                << error.what();
        }
    }
    EXPECT_THROW((void)parse_element_type(std::string(100000, '[')), std::invalid_argument);
}

TEST(ElementTypes, records_with_too_many_fields_are_refused_and_empty_ones_are_not_walked) {
    EXPECT_THROW((void)leaves_of(parse_element_type("[('a', [('x', '<i4')], (1000, 1000))]")),
                 std::invalid_argument);
    EXPECT_EQ(leaves_of(parse_element_type("[('a', [('x', [])], (65535, 65535))]")).size(), 0u);
    EXPECT_EQ(leaves_of(parse_element_type("[('a', '<f4', (1000000,))]")).size(), 1u);
}

}  // namespace
}  // namespace cudasim::comparison
