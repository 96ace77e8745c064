// States of arrays of host kernels: within one array only, until it ends or another one takes its memory.
#include "simulator/checks/host_memory_states.h"

#include <gtest/gtest.h>

namespace cudasim::checks {
namespace {

using execution::MemorySpace;

constexpr std::byte unwritten{0}, written{0xFF};

TEST(HostMemoryStates, begin_unwritten_and_are_written_by_ranges) {
    HostMemoryStates states;
    states.begins({1000, 16, MemorySpace::shared});
    ASSERT_NE(states.states(1000, 16), nullptr);
    states.set_written(1004, 4);
    EXPECT_EQ(*states.states(1003, 1), unwritten);
    EXPECT_EQ(*states.states(1004, 1), written);
    EXPECT_EQ(*states.states(1007, 1), written);
    EXPECT_EQ(*states.states(1008, 1), unwritten);
}

TEST(HostMemoryStates, are_known_within_one_array) {
    HostMemoryStates states;
    states.begins({1000, 16, MemorySpace::shared});
    states.begins({1016, 8, MemorySpace::local});
    EXPECT_EQ(states.states(999, 1), nullptr);
    EXPECT_EQ(states.states(1012, 8), nullptr);
    EXPECT_EQ(states.states(1024, 1), nullptr);
    EXPECT_NE(states.states(1016, 8), nullptr);
    states.set_written(1012, 8);  // nothing happens
    EXPECT_EQ(*states.states(1012, 1), unwritten);
    EXPECT_FALSE(states.is_local(1015));
    EXPECT_TRUE(states.is_local(1016));
    EXPECT_FALSE(states.is_local(1024));
}

TEST(HostMemoryStates, end_and_give_way_to_others) {
    HostMemoryStates states;
    states.begins({1000, 16, MemorySpace::shared});
    states.begins({1016, 16, MemorySpace::shared});
    states.set_written(1016, 16);
    states.begins({1008, 16, MemorySpace::local});
    EXPECT_EQ(states.states(1000, 8), nullptr);
    EXPECT_EQ(states.states(1024, 8), nullptr);
    EXPECT_EQ(*states.states(1016, 8), unwritten);
    states.ends({1008, 16, MemorySpace::local});
    EXPECT_EQ(states.states(1008, 16), nullptr);
    states.begins({1000, 0, MemorySpace::local});
    EXPECT_EQ(states.states(1000, 1), nullptr);
}

}  // namespace
}  // namespace cudasim::checks
