// Barriers (E3, C4) with C++ kernels, the same bodies on both carriers.
#include <algorithm>
#include <atomic>
#include <numeric>
#include <vector>

#include "tests/simulator/execution/engine_fixture.h"

namespace cudasim::execution {
namespace {

using findings::FindingKind;
using findings::Severity;

class Barriers : public EngineTest {};
INSTANTIATE_TEST_SUITE_P(Modes, Barriers, all_modes, mode_name);

TEST_P(Barriers, every_thread_of_a_3d_launch_runs_once_with_its_coordinates) {
    const Dim3 grid{3, 2, 2}, block{4, 3, 2};
    std::vector<std::atomic<int>> seen(grid.volume() * block.volume());
    auto result = run(grid, block, [&](ThreadHandle& thread) {
        EXPECT_EQ(thread.ntid(), block);
        EXPECT_EQ(thread.nctaid(), grid);
        const auto linear = [](Dim3 at, Dim3 extent) {
            return at.x + extent.x * (at.y + std::size_t{extent.y} * at.z);
        };
        ++seen[linear(thread.ctaid(), grid) * block.volume() + linear(thread.tid(), block)];
    });
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(result.blocks_run, grid.volume());
    for (auto& count : seen) EXPECT_EQ(count.load(), 1);
}

TEST_P(Barriers, nobody_passes_before_all_have_arrived) {
    constexpr unsigned threads = 97, blocks = 5, rounds = 20;
    std::vector<std::atomic<unsigned>> arrived(blocks);
    auto result = run({blocks}, {threads}, [&](ThreadHandle& thread) {
        auto& count = arrived[thread.ctaid().x];
        for (unsigned round = 0; round < rounds; ++round) {
            ++count;
            thread.barrier(1);
            EXPECT_EQ(count.load(), (round + 1) * threads);
            thread.barrier(2);
        }
    });
    EXPECT_EQ(messages(result), "");
}

TEST_P(Barriers, tree_reduction_in_shared_memory) {
    constexpr unsigned threads = 256;
    std::vector<float> sums(7);
    auto result = run(
        {7}, {threads},
        [&](ThreadHandle& thread) {
            auto* shared = reinterpret_cast<float*>(thread.shared());
            const unsigned i = thread.tid().x;
            shared[i] = static_cast<float>(i + thread.ctaid().x);
            thread.barrier(0);
            for (unsigned stride = threads / 2; stride > 0; stride /= 2) {
                if (i < stride) shared[i] += shared[i + stride];
                thread.barrier(1);
            }
            if (i == 0) sums[thread.ctaid().x] = shared[0];
        },
        threads * sizeof(float));
    EXPECT_EQ(messages(result), "");
    for (unsigned block = 0; block < 7; ++block)
        EXPECT_EQ(sums[block], 32640.0F + 256.0F * static_cast<float>(block));
}

TEST_P(Barriers, count_all_and_any_see_every_predicate) {
    auto result = run({2}, {70}, [](ThreadHandle& thread) {
        const unsigned i = thread.tid().x;
        EXPECT_EQ(thread.barrier(1, jit::BarrierKind::count, i % 3 == 0), 24);
        EXPECT_EQ(thread.barrier(2, jit::BarrierKind::all, i < 70), 1);
        EXPECT_EQ(thread.barrier(3, jit::BarrierKind::all, i != 69), 0);
        EXPECT_EQ(thread.barrier(4, jit::BarrierKind::any, i == 69), 1);
        EXPECT_EQ(thread.barrier(5, jit::BarrierKind::any, 0), 0);
    });
    EXPECT_EQ(messages(result), "");
}

TEST_P(Barriers, waiting_at_different_barriers_ends_the_block_and_says_who_waits) {
    auto result = run({2}, {32}, [](ThreadHandle& thread) {
        if (thread.tid().x < 5)
            thread.barrier(1);
        else
            thread.barrier(2);
    });
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::barrier_divergence);
    EXPECT_EQ(result.error()->thread.block, 0U);
    EXPECT_EQ(result.error()->thread.thread, 0U);
    const auto& groups = result.error()->waiting;
    ASSERT_GE(groups.size(), 2U);
    const std::vector<std::pair<std::uint32_t, std::uint32_t>> low{{0, 4}}, high{{5, 31}};
    EXPECT_EQ(groups[0].threads, low);
    EXPECT_EQ(groups[1].threads, high);
}

TEST_P(Barriers, ended_threads_do_not_block_the_others_but_are_warned_of) {
    std::atomic<int> passed{0};
    auto result = run({3}, {40}, [&](ThreadHandle& thread) {
        if (thread.tid().x >= 30) return;
        thread.barrier(1);
        ++passed;
    });
    EXPECT_EQ(passed.load(), 90);
    EXPECT_EQ(result.error(), nullptr);
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.findings[0].kind, FindingKind::barrier_early_exit);
    EXPECT_EQ(result.findings[0].severity, Severity::warning);
    EXPECT_EQ(result.findings[0].thread.block, 0U);
}

TEST_P(Barriers, whole_warps_that_ended_are_a_note) {
    const auto leave = [this](std::uint32_t in_block_0, std::uint32_t in_block_1) {
        LaunchOptions strict = options();
        strict.strict = true;
        return launch_function(
            [=](ThreadHandle& thread) {
                if (thread.tid().x < (thread.ctaid().x == 0 ? in_block_0 : in_block_1)) return;
                thread.barrier(1);
            },
            {{2}, {80}}, strict);
    };
    for (const auto& [first, second] : {std::pair{32U, 0U}, {64U, 32U}, {0U, 64U}}) {
        const auto result = leave(first, second);
        ASSERT_EQ(result.findings.size(), 1U);
        EXPECT_EQ(result.findings[0].kind, FindingKind::barrier_early_exit);
        EXPECT_EQ(result.findings[0].severity, Severity::note);
        EXPECT_EQ(result.error(), nullptr);
    }
    // A part of a warp in any block is the one that is told.
    for (const auto& [first, second] : {std::pair{31U, 0U}, {65U, 32U}, {32U, 79U}}) {
        const auto result = leave(first, second);
        ASSERT_NE(result.error(), nullptr);
        EXPECT_EQ(result.error()->kind, FindingKind::barrier_early_exit);
    }
}

TEST_P(Barriers, early_exit_is_an_error_when_strict) {
    LaunchOptions strict = options();
    strict.strict = true;
    auto result = launch_function(
        [](ThreadHandle& thread) {
            if (thread.tid().x != 0) thread.barrier(1);
        },
        {{1}, {4}}, strict);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::barrier_early_exit);
}

TEST_P(Barriers, a_fault_ends_its_thread_only_and_the_lowest_is_raised) {
    std::atomic<int> finished{0};
    auto result = run({4}, {64}, [&](ThreadHandle& thread) {
        thread.barrier(1);
        if (thread.ctaid().x >= 2 && thread.tid().x % 10 == 7) thread.fault(FindingKind::trap);
        thread.barrier(2);
        ++finished;
    });
    EXPECT_EQ(finished.load(), 4 * 64 - 2 * 6);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::trap);
    EXPECT_EQ(findings::coordinates(result.error()->thread), "tid=[7, 0, 0] ctaid=[2, 0, 0]");
    EXPECT_EQ(result.error()->count, 12U);
}

}  // namespace
}  // namespace cudasim::execution
