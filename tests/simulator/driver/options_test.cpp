// The table of options: what texts say, and where values come from.
#include "simulator/driver/options.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "simulator/checks/checks.h"
#include "simulator/driver/launch_options.h"

namespace cudasim::driver {
namespace {

OptionValue value(std::string_view name, std::string_view text) {
    return parse_option(option_named(name), text, "here");
}

std::string refusal(std::string_view name, std::string_view text) {
    try {
        (void)value(name, text);
    } catch (const OptionError& error) {
        return error.what();
    }
    return "";
}

TEST(Options, defaults_are_valid) {
    for (const Option& option : option_table())
        EXPECT_NO_THROW((void)parse_option(option, option.default_text, "the default")) << option.name;
}

TEST(Options, numbers_are_read_as_python_reads_them) {
    for (const char* text : {"7", " 7\n", "+7", "0_7", "007"})
        EXPECT_EQ(value("workers", text), OptionValue(std::uint64_t{7}));
    EXPECT_EQ(value("workers", "-0"), OptionValue(std::uint64_t{0}));
    EXPECT_EQ(value("seed", "18446744073709551615"), OptionValue(~std::uint64_t{0}));
    for (const char* text :
         {"", "-1", "1025", "7.0", "0x7", "7_", "_7", "7__0", "seven", "+ 7", "18446744073709551616"})
        EXPECT_NE(refusal("workers", text), "") << text;
    EXPECT_NE(refusal("max_faults", "0"), "");
}

TEST(Options, seconds_are_numbers_from_0_on) {
    EXPECT_EQ(value("time_limit", "1.5"), OptionValue(1.5));
    EXPECT_EQ(value("time_limit", "1e3"), OptionValue(1000.0));
    EXPECT_EQ(value("time_limit", " .5 "), OptionValue(0.5));
    for (const char* text : {"", "-1", "nan", "inf", "1e10", "1s", "0x10", "+-1"})
        EXPECT_NE(refusal("time_limit", text), "") << text;
}

TEST(Options, sizes_have_units) {
    constexpr std::uint64_t mebi = 1 << 20;
    for (const char* text : {"64M", "64m", "64 MiB", "64mb", "67108864", " 67108864B", "65536K", "0.0625G"})
        EXPECT_EQ(value("cache_size", text), OptionValue(64 * mebi)) << text;
    for (const char* text : {"", ".", "M", "-1", "1.2.3", "64X", "64MM", "65T", "64 M B", "1e9"})
        EXPECT_NE(refusal("cache_size", text), "") << text;
}

TEST(Options, switches_take_the_usual_words) {
    for (const char* text : {"1", "true", "YES", " On "})
        EXPECT_EQ(value("strict", text), OptionValue(true)) << text;
    for (const char* text : {"0", "False", "no", "OFF"})
        EXPECT_EQ(value("strict", text), OptionValue(false)) << text;
    EXPECT_NE(refusal("strict", "2"), "");
}

TEST(Options, what_is_not_valid_is_refused_with_place_text_and_what_is_accepted) {
    EXPECT_EQ(refusal("policy", "backwards"),
              "here: 'backwards' is not valid; policy takes forward, reverse, random, "
              "lockstep, preempt, pct, starve");
    EXPECT_EQ(refusal("policy", ""),
              "here: '' is not valid; policy takes forward, reverse, random, "
              "lockstep, preempt, pct, starve");
    EXPECT_NE(refusal("policy", std::string(500, 'x')).find("... (500 bytes)"), std::string::npos);
    EXPECT_NE(refusal("cache_dir", std::string_view("a\0b", 3)), "");
    EXPECT_NE(refusal("polcy", "forward").find("there is no option 'polcy'. Options are: mode, "),
              std::string::npos);
}

TEST(Options, checks_are_words_of_which_all_has_the_hosts) {
    const auto all = checks::checks_from("all");
    const auto some = checks::checks_from(" races ,\tleaks");
    ASSERT_TRUE(all && some);
    EXPECT_TRUE(all->leaks && all->memory && all->races && all->init && !all->arithmetic);
    EXPECT_TRUE(some->leaks && some->races && !some->init);
    EXPECT_FALSE(checks::checks_from("default")->leaks);
    EXPECT_FALSE(checks::checks_from("leaks,unknown"));
    EXPECT_EQ(checks::text_of(*some), "races,leaks,sync");
}

TEST(Options, the_environment_is_stronger_than_the_default) {
    const Option& seed = option_named("seed");
    EXPECT_EQ(environment_variable(option_named("time_limit")), "CUDASIM_TIME_LIMIT");
    ASSERT_EQ(std::getenv("CUDASIM_SEED"), nullptr);
    EXPECT_EQ(option_from_environment(seed).value, OptionValue(std::uint64_t{0}));
    EXPECT_EQ(option_from_environment(seed).source, "default (any will do)");
    setenv("CUDASIM_SEED", "9", 1);
    EXPECT_EQ(option_from_environment(seed).value, OptionValue(std::uint64_t{9}));
    EXPECT_EQ(option_from_environment(seed).source, "environment variable CUDASIM_SEED");
    setenv("CUDASIM_SEED", "", 1);
    EXPECT_EQ(option_from_environment(seed).value, OptionValue(std::uint64_t{0}));
    setenv("CUDASIM_SEED", "nine", 1);
    try {
        (void)option_from_environment(seed);
        ADD_FAILURE() << "accepted";
    } catch (const OptionError& error) {
        EXPECT_STREQ(
            error.what(),
            "environment variable CUDASIM_SEED: 'nine' is not valid; seed takes a number from 0 to 2^64 - 1");
    }
    unsetenv("CUDASIM_SEED");
}

/// Those of cooperative launches and "optimisation" are the program's, not the user's.
TEST(Options, those_of_launches_take_the_values_of_the_table) {
    std::size_t known = 0;
    for (const LaunchOption& launch : launch_option_table()) {
        if (launch.name.starts_with("cooperative") || launch.name == "optimisation") continue;
        const Option& option = option_named(launch.name);
        execution::LaunchOptions options;
        EXPECT_EQ(launch.get(options), parse_option(option, option.default_text, "the default"))
            << launch.name;
        std::string_view words = option.kind == OptionKind::choice ? option.accepts : std::string_view();
        while (!words.empty()) {
            const std::size_t end = std::min(words.find(", "), words.size());
            const OptionValue word = std::string(words.substr(0, end));
            launch.set(options, launch.name, word);
            EXPECT_EQ(launch.get(options), word) << launch.name;
            words.remove_prefix(std::min(end + 2, words.size()));
        }
        ++known;
    }
    EXPECT_EQ(known + 3, launch_option_table().size());
}

}  // namespace
}  // namespace cudasim::driver
