// Device memory and its shadow.
#include "simulator/memory/arena.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "simulator/memory/shadow.h"

namespace cudasim::memory {
namespace {

constexpr std::uint64_t mebibyte = 1 << 20;

TEST(Arena, memory_of_the_host_has_pages_for_itself) {
    Arena arena(64 << 20);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> host, others;
    for (std::uint64_t i = 1; i < 60; ++i) {
        const bool counted = i % 3 != 0;
        const std::uint64_t bytes = i * 331 % 9000 + 1;
        const auto address = arena.allocate(bytes, "", false, false, counted);
        ASSERT_TRUE(address);
        (counted ? others : host).emplace_back(*address, *address + bytes);
        if (i % 5 == 0) {
            EXPECT_TRUE(arena.free(others[i / 5 - 1].first));
        }
    }
    for (const auto& [first, last] : host) {
        EXPECT_EQ(first % 4096, 0U);
        const std::uint64_t pages_end = (last + 4095) / 4096 * 4096;
        for (const auto& [from, to] : others) EXPECT_TRUE(to <= first || from >= pages_end);
    }
    for (const auto& [first, last] : host) EXPECT_TRUE(arena.free(first));
}

TEST(Arena, allocations_are_aligned_apart_and_accounted) {
    Arena arena(64 * mebibyte);
    auto a = arena.allocate(10, "a", true), b = arena.allocate(1000, "b", true);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(*a % Arena::alignment, 0U);
    EXPECT_GE(*b - (*a + 10), Arena::alignment);
    EXPECT_EQ(arena.in_use(), 1010U);
    EXPECT_TRUE(arena.free(*a));
    EXPECT_EQ(arena.in_use(), 1000U);
}

TEST(Arena, refuses_what_does_not_fit_and_recovers) {
    Arena arena(64 * mebibyte);
    auto most = arena.allocate(60 * mebibyte, "most", false);
    ASSERT_TRUE(most);
    EXPECT_FALSE(arena.allocate(5 * mebibyte, "too much", false));
    EXPECT_FALSE(arena.allocate(~std::uint64_t{0}, "absurd", false));
    EXPECT_TRUE(arena.free(*most));
    EXPECT_TRUE(arena.allocate(64 * mebibyte, "all", false));
}

TEST(Arena, free_of_anything_but_a_live_start_is_refused) {
    Arena arena(64 * mebibyte);
    auto a = arena.allocate(64, "a", true);
    EXPECT_FALSE(arena.free(*a + 8));
    EXPECT_TRUE(arena.free(*a));
    EXPECT_FALSE(arena.free(*a));
    EXPECT_FALSE(arena.free(12345));
}

TEST(Arena, freed_memory_is_recognised_and_not_handed_out_at_once) {
    Arena arena(64 * mebibyte);
    auto a = arena.allocate(100, "gone", true);
    EXPECT_TRUE(arena.free(*a));
    ASSERT_NE(arena.freed_at(*a + 99), nullptr);
    EXPECT_EQ(arena.freed_at(*a + 99)->label, "gone");
    EXPECT_EQ(arena.freed_at(*a + 100), nullptr);
    EXPECT_NE(arena.allocate(100, "new", true), a);
}

TEST(Arena, many_small_allocations_one_after_another_stay_in_little_space) {
    Arena arena(64 * mebibyte);
    std::uint64_t lowest = ~std::uint64_t{0}, highest = 0;
    for (int i = 0; i < 20000; ++i) {
        const std::uint64_t address = *arena.allocate(100, "", true);
        lowest = std::min(lowest, address);
        highest = std::max(highest, address);
        ASSERT_TRUE(arena.free(address));
    }
    EXPECT_LT(highest - lowest, mebibyte);
}

TEST(Arena, fresh_memory_is_nan_and_never_zero) {
    Arena arena(64 * mebibyte);
    auto a = arena.allocate(4099, "a", true);
    const auto* bytes = reinterpret_cast<const std::byte*>(*a);
    float single;
    double number;
    std::memcpy(&single, bytes + 400, sizeof single);
    std::memcpy(&number, bytes + 800, sizeof number);
    EXPECT_TRUE(std::isnan(single));
    EXPECT_TRUE(std::isnan(number));
    for (int i = 0; i < 4099; ++i) EXPECT_NE(static_cast<int>(bytes[i]), 0) << i;
}

TEST(Arena, survives_a_random_life_without_overlap_or_loss) {
    Arena arena(64 * mebibyte);
    std::mt19937 random(7);
    struct Block {
        std::uint64_t address, bytes;
        std::uint8_t mark;
    };
    std::vector<Block> blocks;
    for (int step = 0; step < 20000; ++step) {
        if (blocks.empty() || random() % 3 != 0) {
            const std::uint64_t bytes = 1 + random() % 20000;
            auto address = arena.allocate(bytes, "", false);
            if (!address) continue;
            const auto mark = static_cast<std::uint8_t>(step);
            std::memset(reinterpret_cast<void*>(*address), mark, bytes);
            blocks.push_back({*address, bytes, mark});
        } else {
            const std::size_t i = random() % blocks.size();
            const auto* first = reinterpret_cast<const std::uint8_t*>(blocks[i].address);
            ASSERT_EQ(first[0], blocks[i].mark);
            ASSERT_EQ(first[blocks[i].bytes - 1], blocks[i].mark);
            ASSERT_TRUE(arena.free(blocks[i].address));
            blocks[i] = blocks.back();
            blocks.pop_back();
        }
    }
    for (const Block& block : blocks) ASSERT_TRUE(arena.free(block.address));
    EXPECT_EQ(arena.in_use(), 0U);
    EXPECT_TRUE(arena.allocate(63 * mebibyte, "all of it again", false));
}

TEST(Shadow, says_exactly_which_bytes_may_be_accessed) {
    Shadow& shadow = Shadow::instance();
    ASSERT_NE(shadow.base(), nullptr) << shadow.reservation_error();
    Arena arena(64 * mebibyte);
    const std::uint64_t a = *arena.allocate(21, "a", true);
    for (std::uint64_t offset = 0; offset < 32; ++offset)
        for (std::uint64_t bytes : {1, 2, 4, 8, 16})
            EXPECT_EQ(shadow.allows(a + offset, bytes, true), offset + bytes <= 21) << offset << ' ' << bytes;
    EXPECT_FALSE(shadow.allows(a - 1, 1, false));
    EXPECT_TRUE(arena.free(a));
    EXPECT_FALSE(shadow.allows(a, 1, false));
}

TEST(Shadow, read_only_memory_may_be_read_only) {
    Shadow& shadow = Shadow::instance();
    Arena arena(64 * mebibyte);
    const std::uint64_t a = *arena.allocate(12, "constant", true, true);
    EXPECT_TRUE(shadow.allows(a + 4, 8, false));
    EXPECT_FALSE(shadow.allows(a + 4, 8, true));
    EXPECT_FALSE(shadow.allows(a + 8, 8, false));
}

TEST(Shadow, host_memory_and_absurd_addresses_are_refused) {
    Shadow& shadow = Shadow::instance();
    int on_the_stack = 0;
    EXPECT_FALSE(shadow.allows(reinterpret_cast<std::uint64_t>(&on_the_stack), 4, false));
    EXPECT_FALSE(shadow.allows(0, 1, false));
    EXPECT_FALSE(shadow.allows(~std::uint64_t{0}, 1, false));
    EXPECT_FALSE(shadow.allows(~std::uint64_t{0} - 3, 8, false));
}

TEST(Shadow, large_ranges_are_cleared_completely) {
    Shadow& shadow = Shadow::instance();
    Arena arena(64 * mebibyte);
    const std::uint64_t a = *arena.allocate(40 * mebibyte + 3, "large", false);
    EXPECT_TRUE(shadow.allows(a, 40 * mebibyte + 3, true));
    EXPECT_TRUE(arena.free(a));
    for (std::uint64_t offset = 0; offset < 40 * mebibyte; offset += 1000)
        ASSERT_FALSE(shadow.allows(a + offset, 1, false));
}

}  // namespace
}  // namespace cudasim::memory
