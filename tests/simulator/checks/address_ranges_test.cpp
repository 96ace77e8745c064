// AddressRanges beside a set of single addresses.
#include "simulator/checks/address_ranges.h"

#include <gtest/gtest.h>

#include <random>
#include <set>
#include <vector>

namespace cudasim::checks {
namespace {

std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges_in(const AddressRanges& ranges,
                                                               std::uint64_t first, std::uint64_t end) {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> all;
    ranges.for_each_in(first, end, [&](std::uint64_t from, std::uint64_t to) { all.emplace_back(from, to); });
    return all;
}

TEST(AddressRanges, join_where_they_touch_and_are_cut_where_others_are_removed) {
    using Ranges = std::vector<std::pair<std::uint64_t, std::uint64_t>>;
    AddressRanges ranges;
    ranges.add(10, 20);
    ranges.add(30, 40);
    EXPECT_EQ(ranges_in(ranges, 0, 100), (Ranges{{10, 20}, {30, 40}}));
    ranges.add(20, 30);
    EXPECT_EQ(ranges.size(), 1U);
    ranges.remove(15, 18);
    EXPECT_EQ(ranges_in(ranges, 12, 35), (Ranges{{12, 15}, {18, 35}}));
    ranges.add(5, 5);
    EXPECT_EQ(ranges.size(), 2U);
    ranges.remove(0, 100);
    EXPECT_TRUE(ranges.empty());
}

TEST(AddressRanges, are_the_set_of_their_addresses) {
    std::mt19937 random(7);
    for (int round = 0; round < 200; ++round) {
        AddressRanges ranges;
        std::set<std::uint64_t> addresses;
        for (int step = 0; step < 60; ++step) {
            const std::uint64_t first = random() % 100, end = first + random() % 20;
            const bool adds = random() % 3 != 0;
            if (adds)
                ranges.add(first, end);
            else
                ranges.remove(first, end);
            for (std::uint64_t each = first; each < end; ++each) {
                if (adds)
                    addresses.insert(each);
                else
                    addresses.erase(each);
            }
            const std::uint64_t low = random() % 60, high = low + random() % 60;
            std::set<std::uint64_t> found;
            std::uint64_t last_end = 0;
            for (const auto& [from, to] : ranges_in(ranges, low, high)) {
                ASSERT_LT(from, to);
                ASSERT_TRUE(found.empty() || last_end < from);
                last_end = to;
                for (std::uint64_t each = from; each < to; ++each) found.insert(each);
            }
            const std::set<std::uint64_t> expected(addresses.lower_bound(low), addresses.lower_bound(high));
            ASSERT_EQ(found, low < high ? expected : std::set<std::uint64_t>{});
        }
    }
}

}  // namespace
}  // namespace cudasim::checks
