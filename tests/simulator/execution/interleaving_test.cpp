// Who gives up its turn at accesses, and who goes on, under each policy.
#include "simulator/execution/interleaving.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>

namespace cudasim::execution {
namespace {

/// A block in which threads only access memory.
class Threads {
  public:
    Threads(Policy policy, std::uint64_t seed, std::uint32_t count, std::uint64_t blocks = 1) {
        options_.policy = policy;
        options_.seed = seed;
        interleaving.start(options_, 0, blocks, count);
        for (std::uint32_t thread = 0; thread < count; ++thread) runners_.emplace_back().thread = thread;
    }

    [[nodiscard]] std::vector<Runner*> all() {
        std::vector<Runner*> list;
        for (Runner& each : runners_) list.push_back(&each);
        return list;
    }
    [[nodiscard]] std::set<std::uint32_t> chosen(bool others_can = false, std::uint32_t idle_rounds = 0) {
        std::vector<Runner*> ready = all(), later;
        interleaving.choose(ready, later, others_can, idle_rounds);
        EXPECT_EQ(ready.size() + later.size(), runners_.size());
        std::set<std::uint32_t> threads;
        for (const Runner* each : ready) threads.insert(each->thread);
        return threads;
    }

    Interleaving interleaving;

  private:
    LaunchOptions options_;
    std::deque<Runner> runners_;
};

TEST(Interleaving, is_off_under_the_other_policies_and_where_threads_can_be_stopped) {
    for (const Policy policy : {Policy::forward, Policy::reverse, Policy::random})
        EXPECT_FALSE(Threads(policy, 1, 4).interleaving.active());
    EXPECT_TRUE(Threads(Policy::preempt, 1, 4).interleaving.active());
    LaunchOptions options;
    options.policy = Policy::pct;
    EXPECT_EQ(options.order(), Policy::random);
    EXPECT_FALSE(options.compile_options().coroutines);
    options.policy = Policy::lockstep;
    EXPECT_EQ(options.order(), Policy::forward);
}

TEST(Interleaving, lockstep_lets_the_lanes_at_the_first_place_go_on) {
    Threads threads(Policy::lockstep, 0, 40);
    for (std::uint32_t thread = 0; thread < 40; ++thread)
        EXPECT_TRUE(threads.interleaving.gives_turn(thread, thread % 2 == 0 ? 7 : 3));
    EXPECT_TRUE(threads.interleaving.has_moved());
    EXPECT_FALSE(threads.interleaving.has_moved());
    std::set<std::uint32_t> odd, even;
    for (std::uint32_t thread = 0; thread < 40; ++thread) (thread % 2 == 0 ? even : odd).insert(thread);
    EXPECT_EQ(threads.chosen(), odd);
    for (const std::uint32_t thread : odd) EXPECT_TRUE(threads.interleaving.gives_turn(thread, 7));
    EXPECT_EQ(threads.chosen().size(), 40U);  // they have met
}

TEST(Interleaving, lockstep_lets_lanes_that_were_left_out_go_on_in_the_end) {
    Threads threads(Policy::lockstep, 0, 2);
    EXPECT_TRUE(threads.interleaving.gives_turn(1, 9));
    int rounds = 0;
    for (; rounds < 1000; ++rounds) {
        EXPECT_TRUE(threads.interleaving.gives_turn(0, 3));
        if (threads.chosen().contains(1)) break;
    }
    EXPECT_GT(rounds, 10);
    EXPECT_LT(rounds, 100);
}

TEST(Interleaving, a_thread_that_only_accesses_memory_keeps_its_turn_in_the_end) {
    Threads threads(Policy::lockstep, 0, 1);
    int given = 0;
    while (threads.interleaving.gives_turn(0, 1)) ++given;
    EXPECT_GT(given, 1000);
    threads.interleaving.phase_begins();
    EXPECT_TRUE(threads.interleaving.gives_turn(0, 1));
}

TEST(Interleaving, the_seed_decides) {
    const auto turns = [](Policy policy, std::uint64_t seed) {
        Threads threads(policy, seed, 8);
        std::vector<bool> given;
        for (int i = 0; i < 400; ++i) given.push_back(threads.interleaving.gives_turn(i % 8, i));
        return given;
    };
    for (const Policy policy : {Policy::preempt, Policy::pct, Policy::starve}) {
        std::set<std::vector<bool>> different;
        for (std::uint64_t seed = 0; seed < 20; ++seed) {
            EXPECT_EQ(turns(policy, seed), turns(policy, seed));
            different.insert(turns(policy, seed));
        }
        EXPECT_GT(different.size(), 8U);
    }
}

TEST(Interleaving, a_delayed_thread_waits_for_the_others_as_long_as_they_can_go_on) {
    int seen = 0;
    for (std::uint64_t seed = 0; seed < 200; ++seed) {
        Threads threads(Policy::starve, seed, 1, 4);
        bool given = false;
        for (int i = 0; i < 5000 && !given; ++i) given = threads.interleaving.gives_turn(0, 1);
        if (!given) continue;
        ++seen;
        EXPECT_TRUE(threads.chosen(true).empty());
        EXPECT_TRUE(threads.interleaving.has_moved());
        EXPECT_EQ(threads.chosen(true, 100).size(), 1U);  // the others spin
        EXPECT_EQ(threads.chosen(true).size(), 1U);
    }
    EXPECT_GT(seen, 20);
}

}  // namespace
}  // namespace cudasim::execution
