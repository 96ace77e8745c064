// Forward progress (E5): spinning threads let others run, within and across blocks; endless spins are
// reported.
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/simulator/execution/engine_fixture.h"

namespace cudasim::execution {
namespace {

using findings::FindingKind;

/// The thread is never in the same state twice, so this is not a livelock. Needs eight bytes of shared memory
/// for each thread.
void count_for_ever(ThreadHandle& thread) {
    for (auto* counter = reinterpret_cast<long*>(thread.shared()) + thread.tid().x;; ++*counter)
        thread.yield();
}

class Progress : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Modes, Progress, all_modes, mode_name);

TEST_P(Progress, a_flag_set_by_another_thread_of_the_block_is_seen) {
    for (unsigned setter : {0U, 31U}) {
        std::atomic<int> flag{0}, passed{0};
        auto result = run({1}, {32}, [&](ThreadHandle& thread) {
            if (thread.tid().x == setter) flag = 1;
            while (flag == 0) thread.yield();
            ++passed;
        });
        EXPECT_EQ(messages(result), "");
        EXPECT_EQ(passed.load(), 32);
    }
}

TEST_P(Progress, a_chain_of_blocks_each_waiting_for_its_neighbour_completes) {
    for (bool upward : {true, false}) {
        constexpr unsigned blocks = 40;
        std::vector<std::atomic<int>> done(blocks);
        auto result = run({blocks}, {2}, [&](ThreadHandle& thread) {
            const unsigned block = thread.ctaid().x;
            const unsigned before = upward ? block - 1 : block + 1;
            if (before < blocks)
                while (done[before] < 2) thread.yield();
            ++done[block];
        });
        EXPECT_EQ(messages(result), "");
        for (auto& count : done) EXPECT_EQ(count.load(), 2);
    }
}

TEST_P(Progress, a_lock_taken_by_every_thread_is_passed_on) {
    std::atomic<int> lock{0};
    int counter = 0;
    auto result = run({4}, {64}, [&](ThreadHandle& thread) {
        int expected = 0;
        while (!lock.compare_exchange_weak(expected, 1)) {
            expected = 0;
            thread.yield();
        }
        const int seen = counter;
        thread.yield();
        counter = seen + 1;
        lock = 0;
    });
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(counter, 256);
}

TEST_P(Progress, threads_spin_while_others_wait_at_a_barrier) {
    std::atomic<int> flag{0};
    auto result = run({2}, {16}, [&](ThreadHandle& thread) {
        if (thread.ctaid().x == 0 && thread.tid().x == 3)
            while (flag == 0) thread.yield();
        thread.barrier(1);
        if (thread.ctaid().x == 1) flag = 1;
    });
    EXPECT_EQ(messages(result), "");
}

TEST_P(Progress, a_spin_that_can_never_end_is_a_livelock_and_names_its_threads) {
    std::atomic<int> flag{0};
    auto result = run({3}, {8}, [&](ThreadHandle& thread) {
        if (thread.tid().x == 5) {
            while (flag == 0) thread.yield();
        }
        thread.barrier(1);
    });
    ASSERT_NE(result.error(), nullptr) << messages(result);
    EXPECT_EQ(result.error()->kind, FindingKind::livelock);
    EXPECT_EQ(findings::coordinates(result.error()->thread), "tid=[5, 0, 0] ctaid=[0, 0, 0]");
    EXPECT_NE(result.error()->message.find("threads 0-4, 6-7 waiting at barrier"), std::string::npos)
        << messages(result);
}

TEST_P(Progress, a_slow_launch_is_not_a_livelock) {
    auto result = run(
        {2}, {4},
        [&](ThreadHandle& thread) {
            auto* steps = reinterpret_cast<long*>(thread.shared()) + thread.tid().x;
            const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(400);
            for (*steps = 0; std::chrono::steady_clock::now() < end; ++*steps) thread.yield();
        },
        64);
    EXPECT_EQ(messages(result), "");
}

TEST_P(Progress, the_time_limit_stops_a_launch_and_says_where_its_threads_were) {
    LaunchOptions limited = options();
    limited.time_limit_seconds = 0.1;
    auto result = launch_function(count_for_ever, {{4}, {8}, 64}, limited);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::time_limit);
    EXPECT_FALSE(result.error()->waiting.empty());
}

TEST_P(Progress, the_host_can_stop_a_launch) {
    LaunchOptions polled = options();
    int polls = 0;
    polled.poll_host = [&](const LaunchProgress&) { return ++polls == 2; };
    auto result = launch_function(count_for_ever, {{4}, {8}, 64}, polled);
    EXPECT_EQ(polls, 2);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::interrupted);
}

TEST_P(Progress, the_host_can_stop_a_launch_of_many_blocks_that_never_wait) {
    LaunchOptions polled = options();
    polled.poll_host = [](const LaunchProgress&) { return true; };
    std::atomic<std::uint64_t> threads{0};
    auto result = launch_function([&](ThreadHandle&) { ++threads; }, {{1U << 30}, {1}}, polled);
    EXPECT_LT(result.blocks_run, 1U << 30);
    EXPECT_GT(threads, 0U);
    LaunchOptions limited = options();
    limited.time_limit_seconds = 0.1;
    result = launch_function([&](ThreadHandle&) { ++threads; }, {{1U << 30}, {1}}, limited);
    EXPECT_LT(result.blocks_run, 1U << 30);
}

TEST_P(Progress, the_host_is_told_how_far_the_launch_is) {
    LaunchOptions polled = options();
    std::vector<LaunchProgress> told;
    polled.poll_host = [&](const LaunchProgress& now) {
        told.push_back(now);
        return false;
    };
    auto wait = [](ThreadHandle&) { std::this_thread::sleep_for(std::chrono::milliseconds(70)); };
    (void)launch_function(wait, {{12}, {1}}, polled);
    ASSERT_GE(told.size(), 2U);
    for (std::size_t i = 0; i < told.size(); ++i) {
        EXPECT_EQ(told[i].blocks, 12U);
        EXPECT_LE(told[i].blocks_done, 12U);
        EXPECT_GE(told[i].seconds, 0.05 * static_cast<double>(i + 1));
        if (i > 0) EXPECT_GE(told[i].blocks_done, told[i - 1].blocks_done);
    }
    EXPECT_GT(told.back().blocks_done, told.front().blocks_done);
    EXPECT_LT(told.back().seconds, 60);
}

TEST_P(Progress, the_host_is_asked_between_the_threads_of_a_block) {
    LaunchOptions polled = options();
    double first = 0;
    polled.poll_host = [&](const LaunchProgress& now) {
        first = now.seconds;
        return true;
    };
    std::atomic<int> threads{0};
    auto result = launch_function(
        [&](ThreadHandle&) {
            ++threads;
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
        },
        {{1}, {40}}, polled);
    EXPECT_GE(first, 0.05);
    EXPECT_LT(first, 0.5);
    EXPECT_LT(threads, 30);
}

TEST_P(Progress, a_launch_that_waits_for_another_one_can_be_stopped_by_its_host) {
    std::atomic<bool> running{false}, over{false};
    LaunchOptions first = options(), second = options();
    first.poll_host = [&](const LaunchProgress&) {
        running = true;
        return over.load();
    };
    double seconds = -1;
    second.poll_host = [&](const LaunchProgress& now) {
        seconds = now.seconds;
        return true;
    };
    std::thread other([&] { (void)launch_function(count_for_ever, {{4}, {8}, 64}, first); });
    while (!running) std::this_thread::yield();
    auto result = launch_function(count_for_ever, {{4}, {8}, 64}, second);
    EXPECT_FALSE(over);
    over = true;
    other.join();
    EXPECT_EQ(result.blocks_run, 0U);
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(seconds, 0);
}

}  // namespace
}  // namespace cudasim::execution
