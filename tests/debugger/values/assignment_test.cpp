// What of the text that users type is an assignment.
#include "debugger/values/assignment.h"

#include <gtest/gtest.h>

namespace cudasim::debugger {
namespace {

/// "a b += 3" of targets a and b, the operation + and the value 3; "-" where it is no assignment.
std::string read(std::string_view text) {
    const auto found = assignment_from(text);
    if (!found) return "-";
    std::string result;
    for (const std::string& target : found->targets) result += target + " ";
    return result + found->operation + "= " + found->value;
}

TEST(Assignments, have_targets_an_operation_and_a_value) {
    EXPECT_EQ(read("total = 0"), "total = 0");
    EXPECT_EQ(read(" p.mass=i+1 "), "p.mass = i+1");
    EXPECT_EQ(read("a = b[i] = 3"), "a b[i] = 3");
    EXPECT_EQ(read("a, b = b, a"), "a, b = b, a");
    EXPECT_EQ(read("lambdas = 3"), "lambdas = 3");
    EXPECT_EQ(read("a = lambda v=1: v"), "a = lambda v=1: v");
}

TEST(Assignments, have_the_operators_of_both_languages) {
    for (const std::string operation : {"+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^", "@"})
        EXPECT_EQ(read("i " + operation + "= 2"), "i " + operation + "= 2");
    EXPECT_EQ(read("x[f(a=1)] **= 2"), "x[f(a=1)] **= 2");
    EXPECT_EQ(read("a = b += 3"), "a = b += 3");  // of the value "b += 3", which Python refuses
}

TEST(Assignments, are_no_comparisons_arguments_and_texts) {
    for (const char* text : {"i == 3", "i != 3", "i <= 3", "i >= 3", "f(a=3)", "'a = b'", "\"a\\\" = b\"",
                             "i", "", "= 3", "i =", "(i := 3)", "lambda v=1: v", "a = = 3"})
        EXPECT_EQ(read(text), "-") << text;
}

TEST(OutsideOfBrackets, the_last_one_is_found) {
    EXPECT_EQ(last_outside_of_brackets("x[a@b]@3", '@'), 6U);
    EXPECT_EQ(last_outside_of_brackets("x[a@b] '@' (@)", '@'), std::string_view::npos);
    EXPECT_EQ(last_outside_of_brackets("a@b@c", '@'), 3U);
}

}  // namespace
}  // namespace cudasim::debugger
