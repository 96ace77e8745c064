// Fibers and their stacks.
#include "simulator/fiber/fiber.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "simulator/fiber/stack_slab.h"

namespace cudasim::fiber {
namespace {

constexpr std::size_t stack_bytes = 32 * 1024;

Stack take(StackSlab& slab) {
    if (!slab.has_stacks()) (void)slab.grow(~std::size_t{0});
    return slab.take();
}

struct Counter {
    Fiber fiber;
    int steps = 0;
    double value = 0;
};

void count_to_three(void* argument) {
    auto* counter = static_cast<Counter*>(argument);
    const double third = 1.0 / 3.0;
    for (int i = 0; i < 3; ++i) {
        ++counter->steps;
        counter->value += third * i;
        counter->fiber.suspend();
    }
}

TEST(Fiber, runs_between_suspensions_and_keeps_its_variables) {
    StackSlab slab(stack_bytes, 4);
    Stack stack = take(slab);
    Counter counter;
    counter.fiber.prepare(stack.low, stack.top, count_to_three, &counter);
    for (int step = 1; step <= 3; ++step) {
        counter.fiber.resume();
        EXPECT_EQ(counter.steps, step);
    }
    EXPECT_DOUBLE_EQ(counter.value, 1.0);
}

TEST(Fiber, starts_over_after_its_entry_returned) {
    StackSlab slab(stack_bytes, 4);
    Stack stack = take(slab);
    Counter counter;
    counter.fiber.prepare(stack.low, stack.top, count_to_three, &counter);
    for (int i = 0; i < 4; ++i) counter.fiber.resume();  // three suspensions and the return
    counter.fiber.resume();
    EXPECT_EQ(counter.steps, 4);
}

TEST(Fiber, abandoned_in_the_middle_can_be_prepared_again) {
    StackSlab slab(stack_bytes, 4);
    Stack stack = take(slab);
    for (int round = 0; round < 1000; ++round) {
        Counter counter;
        counter.fiber.prepare(stack.low, stack.top, count_to_three, &counter);
        counter.fiber.resume();
        ASSERT_EQ(counter.steps, 1);
    }
}

TEST(Fiber, may_be_resumed_by_another_host_thread) {
    StackSlab slab(stack_bytes, 4);
    Stack stack = take(slab);
    Counter counter;
    counter.fiber.prepare(stack.low, stack.top, count_to_three, &counter);
    counter.fiber.resume();
    std::thread([&] { counter.fiber.resume(); }).join();
    counter.fiber.resume();
    EXPECT_EQ(counter.steps, 3);
    EXPECT_DOUBLE_EQ(counter.value, 1.0);
}

TEST(Fiber, entry_finds_an_aligned_stack) {
    StackSlab slab(stack_bytes, 100);
    for (int i = 0; i < 100; ++i) {
        Stack stack = take(slab);
        struct Probe {
            Fiber fiber;
            std::uintptr_t address = 1;
        } probe;
        probe.fiber.prepare(
            stack.low, stack.top,
            [](void* argument) {
                alignas(16) volatile char aligned[16] = {};
                static_cast<Probe*>(argument)->address = reinterpret_cast<std::uintptr_t>(aligned);
            },
            &probe);
        probe.fiber.resume();
        EXPECT_EQ(probe.address % 16, 0U);
    }
}

TEST(StackSlab, hands_out_distinct_staggered_stacks_until_it_is_empty) {
    StackSlab slab(stack_bytes, 64);
    std::set<std::uintptr_t> residues;
    for (int i = 0; i < 64; ++i) {
        Stack stack = take(slab);
        ASSERT_NE(stack.top, nullptr);
        ASSERT_GT(stack.top - stack.low, static_cast<std::ptrdiff_t>(stack_bytes - 4096));
        residues.insert(reinterpret_cast<std::uintptr_t>(stack.top) % stack_bytes);
    }
    EXPECT_GT(residues.size(), 16U);
    EXPECT_EQ(take(slab).top, nullptr);
}

TEST(StackSlab, grows_by_what_it_may_and_says_when_that_is_nothing) {
    StackSlab slab(stack_bytes, 4096);
    EXPECT_FALSE(slab.has_stacks());
    EXPECT_FALSE(slab.grow(stack_bytes - 1));
    EXPECT_EQ(slab.take().top, nullptr);
    ASSERT_TRUE(slab.grow(3 * stack_bytes + 1));
    for (int i = 0; i < 3; ++i) EXPECT_NE(slab.take().top, nullptr);
    EXPECT_EQ(slab.take().top, nullptr);
    ASSERT_TRUE(slab.grow(~std::size_t{0}));
    EXPECT_NE(slab.take().top, nullptr);
    EXPECT_EQ(slab.taken(), 4U);
}

std::size_t resident_bytes() {
    std::ifstream statm("/proc/self/statm");
    std::size_t total = 0, resident = 0;
    statm >> total >> resident;
    return resident * 4096;
}

TEST(StackSlab, a_live_fiber_costs_at_most_16_kib_of_memory) {
#ifdef CUDASIM_ADDRESS_SANITIZER
    GTEST_SKIP() << "AddressSanitizer's own shadow counts in the resident size";
#endif
    constexpr std::size_t fibers = 4096;
    StackSlab slab(stack_bytes, fibers);
    std::vector<Counter> counters(fibers);
    const std::size_t before = resident_bytes();
    for (auto& counter : counters) {
        Stack stack = take(slab);
        counter.fiber.prepare(stack.low, stack.top, count_to_three, &counter);
        counter.fiber.resume();
    }
    EXPECT_LE((resident_bytes() - before) / fibers, 16U * 1024);
}

TEST(StackSlab, pages_that_are_given_back_are_no_longer_resident) {
#ifdef CUDASIM_ADDRESS_SANITIZER
    GTEST_SKIP() << "AddressSanitizer's own shadow counts in the resident size";
#endif
    constexpr std::size_t bytes = 64 << 20;
    StackSlab slab(bytes, 1);
    const Stack stack = take(slab);
    std::memset(stack.low, 1, static_cast<std::size_t>(stack.top - stack.low));
    const std::size_t before = resident_bytes();
    std::byte* kept = stack.top - 10000;
    StackSlab::give_pages_back(stack.low, kept);
    EXPECT_LT(resident_bytes(), before - (60 << 20));
    EXPECT_EQ(*kept, std::byte{1});
}

}  // namespace
}  // namespace cudasim::fiber
