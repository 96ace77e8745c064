// Grid barriers: all blocks of a launch meet, or the launch says who never came. C++ kernels on all carriers,
// NVVM IR as numba-cuda writes it for coroutines.
#include <atomic>
#include <vector>

#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::execution {
namespace {

using findings::FindingKind;
using jit::BarrierKind;

class GridBarriers : public IrKernelTest {
  protected:
    template <typename... Arguments>
    LaunchResult run_ir_with(const LaunchOptions& options, const image::KernelImage& image, Dim3 grid,
                             Dim3 block, Arguments... arguments) {
        const std::uint64_t parameters[] = {static_cast<std::uint64_t>(arguments)...};
        image_ = device().load(image);
        return device().launch(*image_, "k", {grid, block, 0}, std::as_bytes(std::span(parameters)), options);
    }
};
INSTANTIATE_TEST_SUITE_P(Modes, GridBarriers, all_modes, mode_name);

std::int32_t meet(ThreadHandle& thread, std::uint32_t site = 1) {
    return thread.barrier(site, BarrierKind::grid);
}

TEST_P(GridBarriers, no_block_passes_before_all_threads_of_all_have_come) {
    constexpr unsigned threads = 33, blocks = 100, rounds = 12;
    std::atomic<unsigned> arrived{0};
    auto result = run({blocks}, {threads}, [&](ThreadHandle& thread) {
        for (unsigned round = 0; round < rounds; ++round) {
            ++arrived;
            EXPECT_EQ(meet(thread, 1), 0);
            EXPECT_EQ(arrived.load(), (round + 1) * threads * blocks);
            meet(thread, 2);
        }
    });
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(result.blocks_run, blocks);
}

TEST_P(GridBarriers, shared_memory_lives_across_them_and_block_barriers_lie_between) {
    constexpr unsigned threads = 64, blocks = 9;
    std::vector<unsigned> sums(blocks);
    auto result = run(
        {blocks}, {threads},
        [&](ThreadHandle& thread) {
            auto* shared = reinterpret_cast<unsigned*>(thread.shared());
            const unsigned i = thread.tid().x;
            shared[i] = thread.ctaid().x + i;
            meet(thread, 1);
            for (unsigned stride = threads / 2; stride > 0; stride /= 2) {
                if (i < stride) shared[i] += shared[i + stride];
                thread.barrier(2);
            }
            if (i == 0) sums[thread.ctaid().x] = shared[0];
            meet(thread, 3);
            EXPECT_EQ(sums[(thread.ctaid().x + 1) % blocks], 64 * ((thread.ctaid().x + 1) % blocks) + 2016);
        },
        threads * sizeof(unsigned));
    EXPECT_EQ(messages(result), "");
}

TEST_P(GridBarriers, blocks_may_meet_from_different_places) {
    std::atomic<int> passed{0};
    auto result = run({6}, {8}, [&](ThreadHandle& thread) {
        meet(thread, thread.ctaid().x == 0 ? 1 : 2);
        ++passed;
    });
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(passed.load(), 48);
}

TEST_P(GridBarriers, a_block_that_ends_without_coming_is_a_deadlock_that_names_it) {
    auto result = run({5}, {32}, [](ThreadHandle& thread) {
        if (thread.ctaid().x != 3) meet(thread);
    });
    ASSERT_NE(result.error(), nullptr);
    const auto& finding = *result.error();
    EXPECT_EQ(finding.kind, FindingKind::deadlock);
    EXPECT_EQ(findings::coordinates(finding.thread), "tid=[0, 0, 0] ctaid=[0, 0, 0]");
    EXPECT_NE(finding.message.find("block 3 of 5 blocks ended without reaching the grid barrier"),
              std::string::npos)
        << finding.message;
    EXPECT_NE(finding.message.find("threads 0-31 waiting at grid barrier"), std::string::npos)
        << finding.message;
    EXPECT_EQ(finding.count, 4U * 32);
    EXPECT_EQ(finding.waiting.size(), 4U);
    EXPECT_EQ(result.findings.size(), 1U);
}

TEST(GridBarrierOrder, random_schedules_shuffle_the_blocks_again) {
    bool differed = false;
    for (std::uint64_t seed = 1; seed <= 5; ++seed) {
        std::vector<unsigned> before, after;
        LaunchOptions options;
        options.policy = Policy::random;
        options.workers = 1;
        options.seed = seed;
        const auto result = launch_function(
            [&](ThreadHandle& thread) {
                before.push_back(thread.ctaid().x);
                meet(thread);
                after.push_back(thread.ctaid().x);
            },
            {{16}, {1}, 0}, options);
        EXPECT_EQ(messages(result), "");
        differed |= before != after;
    }
    EXPECT_TRUE(differed);
}

/// Some threads of a block, or all; blocks that start before the others, or last.
TEST_P(GridBarriers, a_spin_for_which_others_wait_at_the_grid_is_a_livelock) {
    for (const unsigned spinner : {0U, 39U}) {
        for (const unsigned first : {0U, 5U}) {
            std::atomic<int> flag{0};
            auto result = run({40}, {8}, [&](ThreadHandle& thread) {
                while (thread.ctaid().x == spinner && thread.tid().x >= first && flag == 0) thread.yield(7);
                meet(thread);
            });
            ASSERT_NE(result.error(), nullptr);
            const auto& finding = *result.error();
            EXPECT_EQ(finding.kind, FindingKind::livelock) << finding.message;
            EXPECT_EQ(finding.thread.block, spinner);
            EXPECT_EQ(finding.thread.thread, first);
            EXPECT_NE(finding.message.find("threads 0-7 waiting at grid barrier"), std::string::npos)
                << finding.message;
            EXPECT_NE(finding.message.find(first == 0 ? "threads 0-7 running" : "threads 5-7 running"),
                      std::string::npos)
                << finding.message;
        }
    }
}

TEST_P(GridBarriers, rounds_that_not_every_block_makes_are_a_deadlock) {
    auto result = run({4}, {16}, [](ThreadHandle& thread) {
        for (unsigned round = 0; round < 3 + thread.ctaid().x % 2; ++round) meet(thread);
    });
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::deadlock);
    EXPECT_NE(result.error()->message.find("blocks 0, 2 of 4 blocks ended"), std::string::npos)
        << result.error()->message;
}

TEST_P(GridBarriers, threads_that_ended_early_are_a_warning_unless_it_is_thread_0) {
    std::atomic<int> passed{0};
    auto result = run({3}, {40}, [&](ThreadHandle& thread) {
        if (thread.tid().x >= 30) return;
        meet(thread);
        ++passed;
    });
    EXPECT_EQ(passed.load(), 90);
    EXPECT_EQ(result.error(), nullptr);
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.findings[0].kind, FindingKind::barrier_early_exit);
    EXPECT_NE(result.findings[0].message.find("grid barrier"), std::string::npos);

    result = run({3}, {40}, [](ThreadHandle& thread) {
        if (thread.ctaid().x != 1 || thread.tid().x != 0) meet(thread);
    });
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::deadlock);
    EXPECT_EQ(findings::coordinates(result.error()->thread), "tid=[1, 0, 0] ctaid=[1, 0, 0]");
}

TEST_P(GridBarriers, a_grid_barrier_and_a_block_barrier_in_one_block_diverge) {
    auto result = run({2}, {32}, [](ThreadHandle& thread) {
        if (thread.tid().x < 16)
            thread.barrier(1);
        else
            meet(thread, 1);
    });
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::barrier_divergence);
    EXPECT_NE(result.error()->message.find("threads 0-15 waiting at barrier"), std::string::npos)
        << result.error()->message;
    EXPECT_NE(result.error()->message.find("threads 16-31 waiting at grid barrier"), std::string::npos);
}

TEST_P(GridBarriers, threads_and_blocks_that_a_fault_ended_are_not_waited_for) {
    std::atomic<int> passed{0};
    auto result = run({6}, {10}, [&](ThreadHandle& thread) {
        if (thread.ctaid().x == 2 || (thread.ctaid().x == 4 && thread.tid().x == 0))
            thread.fault(FindingKind::trap);
        meet(thread);
        ++passed;
    });
    EXPECT_EQ(passed.load(), 4 * 10 + 9);
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.findings[0].kind, FindingKind::trap);
    EXPECT_EQ(result.findings[0].count, 11U);
}

TEST_P(GridBarriers, at_the_limit_of_faults_the_others_do_not_wait_for_blocks_that_never_start) {
    LaunchOptions limited = options();
    limited.max_faults = 1;
    auto result = launch_function(
        [](ThreadHandle& thread) {
            if (thread.ctaid().x == 1) thread.fault(FindingKind::trap);
            meet(thread);
        },
        {{50}, {4}}, limited);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::trap);
}

TEST_P(GridBarriers, the_time_limit_holds_while_blocks_go_round) {
    LaunchOptions limited = options();
    limited.time_limit_seconds = 0.05;
    auto result = launch_function(
        [](ThreadHandle& thread) {
            for (;;) meet(thread);
        },
        {{6}, {8}}, limited);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::time_limit);
}

TEST_P(GridBarriers, a_host_kernel_with_more_blocks_than_fit_is_a_deadlock_or_refused_before) {
    const auto body = [](ThreadHandle& thread) { meet(thread); };
    const LaunchConfiguration configuration{{132 * 2 + 1}, {1024}, 0};
    auto result = launch_function(body, configuration, options());
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::deadlock);
    EXPECT_NE(result.error()->message.find("can be resident at once"), std::string::npos);
    LaunchOptions known = options();
    known.cooperative = true;
    try {
        (void)launch_function(body, configuration, known);
        FAIL() << "was launched";
    } catch (const CudaError& error) {
        EXPECT_EQ(error.code, CudaResult::cooperative_launch_too_large);
    }
}

// Compiled: each thread adds its neighbour's value of the round before, in the next block for the last
// thread.
constexpr const char* rotate = R"(
declare i64 @cudaCGGetIntrinsicHandle(i32)
declare i32 @cudaCGSynchronize(i64, i32)
define void @k(ptr addrspace(1) %values, ptr addrspace(1) %next, i64 %rounds) {
entry:
  %grid = call i64 @cudaCGGetIntrinsicHandle(i32 1)
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %m = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %first = mul i32 %b, %n
  %i = add i32 %first, %t
  %count = mul i32 %m, %n
  %i1 = add i32 %i, 1
  %j = urem i32 %i1, %count
  %mine = getelementptr i64, ptr addrspace(1) %values, i32 %i
  %other = getelementptr i64, ptr addrspace(1) %values, i32 %j
  %slot = getelementptr i64, ptr addrspace(1) %next, i32 %i
  br label %loop
loop:
  %round = phi i64 [ 0, %entry ], [ %round1, %loop ]
  %a = load i64, ptr addrspace(1) %mine
  %o = load i64, ptr addrspace(1) %other
  %sum = add i64 %a, %o
  store i64 %sum, ptr addrspace(1) %slot
  %s1 = call i32 @cudaCGSynchronize(i64 %grid, i32 0)
  %new = load i64, ptr addrspace(1) %slot
  store i64 %new, ptr addrspace(1) %mine
  %s2 = call i32 @cudaCGSynchronize(i64 %grid, i32 0)
  %round1 = add i64 %round, 1
  %more = icmp ult i64 %round1, %rounds
  br i1 %more, label %loop, label %end
end:
  ret void
}
)";

TEST_P(GridBarriers, compiled_kernels_meet_whatever_carries_them) {
    constexpr unsigned blocks = 40, threads = 48, rounds = 17;
    DeviceArray<std::uint64_t> values(blocks * threads, 1), next(blocks * threads, 0);
    auto result = run_ir(ir_image(rotate), {blocks}, {threads}, values.pointer(), next.pointer(), rounds);
    EXPECT_EQ(messages(result), "");
    for (const std::uint64_t value : values.read()) ASSERT_EQ(value, std::uint64_t{1} << rounds);
}

TEST_P(GridBarriers, a_compiled_kernels_barrier_in_a_launch_that_is_not_cooperative_is_an_error) {
    constexpr unsigned blocks = 3, threads = 48;
    DeviceArray<std::uint64_t> values(blocks * threads, 1), next(blocks * threads, 0);
    LaunchOptions ordinary = options();
    ordinary.cooperative_by_kernel = false;
    auto result =
        run_ir_with(ordinary, ir_image(rotate), {blocks}, {threads}, values.pointer(), next.pointer(), 1);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::not_cooperative);
    EXPECT_EQ(findings::info(result.error()->kind).cuda_error_code, 719);
    EXPECT_EQ(result.error()->thread.block, 0U);
    ordinary.cooperative = true;
    result =
        run_ir_with(ordinary, ir_image(rotate), {blocks}, {threads}, values.pointer(), next.pointer(), 1);
    EXPECT_EQ(messages(result), "");
}

TEST_P(GridBarriers, an_ordinary_launch_may_ask_for_the_grids_group_with_any_number_of_blocks) {
    constexpr const char* asks = R"(
declare i64 @cudaCGGetIntrinsicHandle(i32)
define void @k(ptr addrspace(1) %out) {
  %grid = call i64 @cudaCGGetIntrinsicHandle(i32 1)
  store i64 %grid, ptr addrspace(1) %out
  ret void
}
)";
    DeviceArray<std::uint64_t> handle(1, 7);
    LaunchOptions ordinary = options();
    ordinary.cooperative_by_kernel = false;
    const auto result = run_ir_with(ordinary, ir_image(asks), {132 * 2 + 1}, {1024}, handle.pointer());
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(handle.read()[0], 0U);  // is_valid() of cooperative groups
    ordinary.cooperative = true;
    (void)run_ir_with(ordinary, ir_image(asks), {2}, {32}, handle.pointer());
    EXPECT_EQ(handle.read()[0], 1U);
}

TEST_P(GridBarriers, a_compiled_kernel_of_more_blocks_than_fit_is_refused) {
    DeviceArray<std::uint64_t> values(1, 1);
    try {
        (void)run_ir(ir_image(rotate), {132 * 2 + 1}, {1024}, values.pointer(), values.pointer(), 1);
        FAIL() << "was launched";
    } catch (const CudaError& error) {
        EXPECT_EQ(error.code, CudaResult::cooperative_launch_too_large);
        EXPECT_NE(std::string(error.what()).find("265 blocks of 1024 threads"), std::string::npos)
            << error.what();
    }
}

}  // namespace
}  // namespace cudasim::execution
