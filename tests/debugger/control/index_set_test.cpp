// Ranges of threads and blocks, and hit counts.
#include "debugger/control/index_set.h"

#include <gtest/gtest.h>

#include "debugger/control/hit_condition.h"

namespace cudasim::debugger {
namespace {

std::string in(std::string_view text, const findings::Dim3& extents) {
    std::string error;
    const auto set = IndexSet::parse(text, error);
    return set ? text_of(set->in(extents)) : "error";
}

TEST(IndexSets, are_numbers_ranges_coordinates_and_lists) {
    EXPECT_EQ(in("3", {64}), "3");
    EXPECT_EQ(in("0..31", {64}), "0..31");
    EXPECT_EQ(in("[40, 2..3, 7]", {64}), "2..3, 7, 40");
    EXPECT_EQ(in("(1,2,0)", {8, 4, 2}), "17");
    EXPECT_EQ(in("(1,2,1)", {8, 4, 2}), "49");
    EXPECT_EQ(in("(5)", {8, 4, 2}), "5");
    EXPECT_EQ(in(" (1 , 2) , 0 ", {8, 4, 2}), "0, 17");
}

TEST(IndexSets, name_nothing_outside_of_the_grid) {
    EXPECT_EQ(in("(8,0,0)", {8, 4, 2}), "");
    EXPECT_EQ(in("(0,4)", {8, 4, 2}), "");
}

TEST(IndexSets, are_everything_for_a_star_and_by_themselves) {
    EXPECT_TRUE(contains(IndexSet().in({1}), 12345));
    std::string error;
    EXPECT_TRUE(contains(IndexSet::parse("*", error)->in({1}), 12345));
    EXPECT_FALSE(contains(IndexSet::parse("1..3", error)->in({8}), 4));
    EXPECT_TRUE(contains(IndexSet::parse("1..3", error)->in({8}), 3));
}

TEST(IndexSets, of_other_texts_are_refused) {
    for (const char* text : {"", "x", "3..", "..3", "5..3", "(1", "(1,2,3,4)", "()", "3 4", "[3", "3]", "-1",
                             "99999999999999999999999", "1,,2"}) {
        std::string error;
        EXPECT_FALSE(IndexSet::parse(text, error)) << text;
        EXPECT_NE(error.find("no range of threads or blocks"), std::string::npos) << text;
    }
}

std::string stops(std::string_view text) {
    const auto condition = HitCondition::parse(text);
    if (!condition) return "none";
    std::string hits;
    for (std::uint64_t hit = 1; hit <= 6; ++hit) hits += condition->stops(hit) ? '1' : '0';
    return hits;
}

TEST(HitConditions, say_which_hit_stops) {
    EXPECT_EQ(stops("3"), "001111");
    EXPECT_EQ(stops(">= 3"), "001111");
    EXPECT_EQ(stops("==3"), "001000");
    EXPECT_EQ(stops(" % 2 "), "010101");
    for (const char* text : {"", "x", "% 0", "= 3", "3 4", "-1"}) EXPECT_EQ(stops(text), "none") << text;
}

}  // namespace
}  // namespace cudasim::debugger
