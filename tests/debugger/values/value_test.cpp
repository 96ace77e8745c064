// Values: types from their descriptions, arrays in memory, parts, paths.
#include "debugger/values/value.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "debugger/values/path.h"

namespace cudasim::debugger {
namespace {

/// The test's own memory; what `hidden` names cannot be read.
class OwnMemory final : public Memory {
  public:
    std::uint64_t hidden = 0;
    mutable std::uint64_t reads = 0;
    [[nodiscard]] bool read(std::uint64_t address, std::span<std::byte> target) const override {
        ++reads;
        if (hidden >= address && hidden < address + target.size()) return false;
        std::memcpy(target.data(), reinterpret_cast<const void*>(address), target.size());
        return true;
    }
};

constexpr const char* float64 = R"({"name":"float64","kind":"float","bytes":8})";
constexpr const char* int64 = R"({"name":"int64","kind":"signed","bytes":8})";

std::string array_type(const std::string& element, int axes) {
    const std::string words =
        R"({"kind":"sequence","length":)" + std::to_string(axes) + R"(,"of":)" + int64 + "}";
    return R"({"kind":"struct","name":"array","bytes":)" + std::to_string(8 + 16 * axes) +
           R"(,"members":[["data",0,{"kind":"pointer","to":)" + element + R"(}],["shape",8,)" + words +
           R"(],["strides",)" + std::to_string(8 + 8 * axes) + "," + words + "]]}";
}

template <std::size_t axes>
struct Descriptor {
    const void* data;
    std::array<std::int64_t, axes> shape, strides;
};

class Values : public ::testing::Test {
  protected:
    template <typename T>
    Value of(const std::string& type, const T& object) {
        return value_from(types.parse(type), std::as_bytes(std::span(&object, 1)));
    }
    [[nodiscard]] std::string text(const Value& value) const { return text_of(value, memory); }

    Types types;
    OwnMemory memory;
};

TEST_F(Values, descriptions_are_parsed_once_and_nonsense_is_of_unknown_type) {
    EXPECT_EQ(types.parse(float64), types.parse(float64));
    EXPECT_EQ(types.parse("{")->kind, TypeKind::unknown);
    EXPECT_EQ(types.parse("[1]")->kind, TypeKind::unknown);
    EXPECT_EQ(types.parse(R"({"kind":"struct","members":[1,[2]]})")->members.size(), 0U);
}

TEST_F(Values, arrays_are_read_where_they_lie) {
    const std::array<double, 6> elements{0, 1, 2, 3, 4, 5};
    // The transpose of a 2 x 3 array.
    const Value value = of(array_type(float64, 2), Descriptor<2>{elements.data(), {3, 2}, {8, 24}});
    EXPECT_EQ(text(value), "[[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]");
    EXPECT_EQ(type_text(value), "array shape (3, 2)");
    EXPECT_EQ(element_count(value), 3U);
    const auto rows = parts_of(value, 1, 5, memory);
    ASSERT_EQ(rows.size(), 2U);
    EXPECT_EQ(rows[0].suffix, "[1]");
    EXPECT_EQ(text(rows[0].value), "[1.0, 4.0]");
    EXPECT_EQ(text(*element_of(*element_of(value, -1, memory), 1, memory)), "5.0");
    EXPECT_FALSE(element_of(value, 3, memory));
    EXPECT_FALSE(element_of(value, -4, memory));
    EXPECT_EQ(element_of(*element_of(value, 2, memory), 0, memory)->address,
              reinterpret_cast<std::uint64_t>(&elements[2]));
}

TEST_F(Values, large_arrays_are_shown_in_part) {
    std::vector<double> elements(1'000'000, 1.5);
    const Value value = of(array_type(float64, 1), Descriptor<1>{elements.data(), {1'000'000}, {8}});
    EXPECT_EQ(text(value), "[1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, 1.5, ...]");
    EXPECT_LE(memory.reads, 20U);
    EXPECT_EQ(parts_of(value, 999'998, 100, memory).size(), 2U);
    const Value cube =
        of(array_type(float64, 3), Descriptor<3>{elements.data(), {100, 100, 100}, {80000, 800, 8}});
    EXPECT_LT(text(cube).size(), 600U);
    const Value wrong = of(array_type(float64, 1), Descriptor<1>{elements.data(), {-5}, {8}});
    EXPECT_EQ(text(wrong), "[]");
}

TEST_F(Values, memory_that_cannot_be_read_is_said) {
    const std::array<double, 3> elements{0, 1, 2};
    memory.hidden = reinterpret_cast<std::uint64_t>(&elements[1]);
    const Value value = of(array_type(float64, 1), Descriptor<1>{elements.data(), {3}, {8}});
    EXPECT_EQ(text(value), "[0.0, <not readable memory>, 2.0]");
}

TEST_F(Values, tuples_records_and_optionals_have_their_own_texts) {
    struct {
        std::int64_t first;
        double second;
    } both{3, 0.5};
    const auto members = [](const char* a, const char* b, const char* name) {
        return std::string(R"({"kind":"struct","bytes":16,"name":")") + name + R"(","members":[[")" + a +
               R"(",0,)" + int64 + R"(],[")" + b + R"(",8,)" + float64 + "]]}";
    };
    const Value tuple = of(members("f0", "f1", "Tuple(int64, float64)"), both);
    EXPECT_EQ(text(tuple), "(3, 0.5)");
    EXPECT_EQ(element_count(tuple), 2U);
    EXPECT_EQ(text(*element_of(tuple, 1, memory)), "0.5");
    const Value record = of(members("f0", "f1", "Record"), both);
    EXPECT_EQ(text(record), "(f0=3, f1=0.5)");
    EXPECT_EQ(element_count(record), 0U);
    ASSERT_TRUE(member_of(record, "f1", memory));
    EXPECT_EQ(member_of(record, "f1", memory)->offset, 8U);
    EXPECT_FALSE(member_of(record, "f2", memory));
    // Behind a pointer the members have addresses.
    const void* pointer = &both;
    const Value behind = of(R"({"kind":"pointer","to":)" + members("x", "y", "Record") + "}", pointer);
    EXPECT_EQ(text(behind), "(x=3, y=0.5)");
    EXPECT_EQ(member_count(behind), 2U);
    EXPECT_EQ(member_of(behind, "y", memory)->address, reinterpret_cast<std::uint64_t>(&both.second));
    // A pointer of C++ is an address.
    const std::string number = R"({"kind":"signed","name":"int","bytes":4}})",
                      to = R"({"kind":"pointer","to":)";
    const auto* const address = reinterpret_cast<const void*>(0x7f0010);
    EXPECT_EQ(text(of(to + number, address)), "(int *) 0x7f0010");
    EXPECT_EQ(text(of(to + to + number + "}", address)), "(int **) 0x7f0010");
    EXPECT_EQ(text(of(to + members("x", "y", "Node") + "}", pointer)).substr(0, 11), "(Node *) 0x");
    EXPECT_EQ(
        text(of(R"({"kind":"pointer","reference":true,"to":)" + members("x", "y", "Node") + "}", pointer)),
        "(x=3, y=0.5)");
    both.first = 0;
    const std::string optional =
        std::string(R"({"kind":"struct","bytes":16,"name":"Optional","members":[["present",0,)") +
        R"({"kind":"bool","name":"bool","bytes":1}],["f0",8,)" + float64 + "]]}";
    EXPECT_EQ(text(of(optional, both)), "None");
    both.first = 1;
    EXPECT_EQ(text(of(optional, both)), "0.5");
}

TEST(Paths, are_names_with_indices_and_members) {
    const auto path = path_from(" x [3, -2].mass[0x1]");
    EXPECT_FALSE(path);  // indices are decimal
    const auto good = path_from(" x [3, -2].mass ");
    ASSERT_TRUE(good);
    EXPECT_EQ(good->name, "x");
    ASSERT_EQ(good->steps.size(), 3U);
    EXPECT_EQ(std::get<std::int64_t>(good->steps[1]), -2);
    EXPECT_EQ(std::get<std::string>(good->steps[2]), "mass");
    for (const char* other : {"", "3", "x +", "x[i]", "x[1:2]", "x.", "x[", "f(x)", "x y", "-x"})
        EXPECT_FALSE(path_from(other)) << other;
}

}  // namespace
}  // namespace cudasim::debugger
