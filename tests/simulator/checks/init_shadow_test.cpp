// Which memory was written: ranges of every length, copies that overlap, addresses outside of the window.
#include "simulator/checks/init_shadow.h"

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <vector>

namespace cudasim::checks {
namespace {

constexpr std::uint64_t low = 0x2000'0000'0000, bytes = 4 << 20;

TEST(InitShadow, everything_begins_unwritten_and_outside_counts_as_written) {
    InitShadow shadow(low, bytes);
    EXPECT_EQ(shadow.first_unwritten(low + 100, 8), low + 100);
    EXPECT_FALSE(shadow.any_written(low, bytes));
    EXPECT_EQ(shadow.first_unwritten(low - 64, 64), std::nullopt);
    EXPECT_EQ(shadow.first_unwritten(low - 64, 65), low);
    EXPECT_EQ(shadow.first_unwritten(low + bytes, 64), std::nullopt);
    EXPECT_TRUE(shadow.any_written(low + bytes, 64));
}

/// Against one bool for each byte.
TEST(InitShadow, agrees_with_a_plain_table) {
    constexpr std::uint64_t length = 1 << 20;
    InitShadow shadow(low, bytes);
    std::vector<char> written(length);
    std::mt19937_64 random(7);
    const auto somewhere = [&](std::uint64_t most) {
        const std::uint64_t size = random() % most + 1;
        return std::pair(random() % (length - size), size);
    };
    for (int round = 0; round < 400; ++round) {
        // From a few bytes to many pages.
        const auto [at, size] = somewhere(std::array<std::uint64_t, 3>{16, 5000, length / 2}[random() % 3]);
        const std::uint64_t source = random() % (length - size);
        const auto first = written.begin() + static_cast<std::ptrdiff_t>(at);
        switch (random() % 3) {
            case 0:
                shadow.set_written(low + at, size);
                std::fill_n(first, size, 1);
                break;
            case 1:
                shadow.set_unwritten(low + at, size);
                std::fill_n(first, size, 0);
                break;
            default: {
                shadow.copy(low + at, low + source, size);
                const auto from = written.begin() + static_cast<std::ptrdiff_t>(source);
                const std::vector<char> copied(from, from + static_cast<std::ptrdiff_t>(size));
                std::ranges::copy(copied, first);
            }
        }
        const auto [from, count] = somewhere(round % 2 == 0 ? 100 : length - 1);
        const auto begin = written.begin() + static_cast<std::ptrdiff_t>(from),
                   end = begin + static_cast<std::ptrdiff_t>(count);
        const auto gap = std::find(begin, end, 0);
        const auto found = shadow.first_unwritten(low + from, count);
        ASSERT_EQ(found.has_value(), gap != end) << round;
        if (found) ASSERT_EQ(*found, low + static_cast<std::uint64_t>(gap - written.begin())) << round;
        ASSERT_EQ(shadow.any_written(low + from, count), std::find(begin, end, 1) != end) << round;
    }
}

TEST(InitShadow, what_is_copied_from_outside_is_written) {
    InitShadow shadow(low, bytes);
    shadow.copy(low + 10, 0x1000, 20);
    EXPECT_EQ(shadow.first_unwritten(low + 10, 20), std::nullopt);
    EXPECT_EQ(shadow.first_unwritten(low + 10, 21), low + 30);
    // The last half comes from the window, where nothing was written.
    shadow.copy(low + 100, low - 8, 16);
    EXPECT_EQ(shadow.first_unwritten(low + 100, 16), low + 108);
    EXPECT_FALSE(shadow.any_written(low + 108, 8));
}

TEST(InitShadow, compiled_code_finds_written_and_scratch_behind_the_window) {
    InitShadow shadow(low, bytes);
    const InitWindow& window = shadow.window();
    EXPECT_EQ(window.low, low);
    EXPECT_EQ(window.bytes, bytes);
    for (std::uint64_t i = 0; i < tail_bytes; ++i) ASSERT_EQ(window.shadow[bytes + i], std::byte{0xFF});
    window.shadow[bytes + 2 * tail_bytes - 1] = std::byte{1};
    EXPECT_EQ(shadow.states(low + 5), window.shadow + 5);
}

}  // namespace
}  // namespace cudasim::checks
