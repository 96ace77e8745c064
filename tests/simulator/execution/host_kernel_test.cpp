// Kernels that are host code: unwinding, faults that return, guarded stacks, what they are told.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <set>
#include <thread>
#include <vector>

#include "tests/simulator/execution/engine_fixture.h"

namespace cudasim::execution {
namespace {

using findings::FindingKind;

/// A kernel that unwinds, holds something per thread and says where its sites are.
class Unwinding : public HostKernel {
  public:
    explicit Unwinding(std::function<void(ThreadHandle&)> body) : body_(std::move(body)) {}

    void run(ThreadHandle& thread) override {
        struct Held {
            explicit Held(std::atomic<int>& held) : count(held) { ++count; }
            ~Held() { --count; }
            std::atomic<int>& count;
        } const held_here(held);
        body_(thread);
    }
    [[nodiscard]] std::string name() const override { return "unwinding"; }
    [[nodiscard]] bool unwinds() const override { return true; }
    [[nodiscard]] bool guarded_stacks() const override { return true; }
    [[nodiscard]] bool keeps_state_on_device() const override { return false; }
    void begin() override { ++begun; }
    void end() override { ++ended; }
    bool block_over(std::uint64_t block) override {
        blocks.push_back(block);
        return blocks.size() < stop_after;
    }
    void describe_fault(findings::Finding& finding) override {
        if (finding.kind == FindingKind::kernel_exception) finding.message = "described by the kernel";
    }
    [[nodiscard]] findings::CallChain location(std::uint32_t site) const override {
        return {{"kernel.py", "f", site, 0}};
    }

    std::atomic<int> held{0};
    int begun = 0, ended = 0;
    std::vector<std::uint64_t> blocks;
    std::size_t stop_after = 1000;

  private:
    std::function<void(ThreadHandle&)> body_;
};

class HostKernels : public EngineTest {
  protected:
    LaunchResult launch(HostKernel& kernel, Dim3 grid, Dim3 block) {
        LaunchOptions one_worker = options();
        one_worker.workers = 1;
        return device().launch(kernel, {grid, block, 0}, one_worker);
    }
};
INSTANTIATE_TEST_SUITE_P(Modes, HostKernels, all_modes, mode_name);

TEST_P(HostKernels, a_launch_that_ends_early_lets_every_thread_return) {
    std::atomic<int> returned{0};
    Unwinding kernel([&](ThreadHandle& thread) {
        thread.barrier(thread.tid().x < 4 ? 10 : 20);
        EXPECT_TRUE(thread.ending());
        EXPECT_EQ(thread.barrier(30), 0) << "a barrier does not wait in a thread that is to return";
        thread.yield();
        ++returned;
    });
    const auto result = launch(kernel, {1}, {8});
    EXPECT_EQ(returned, 8);
    EXPECT_EQ(kernel.held, 0);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::barrier_divergence);
    EXPECT_NE(messages(result).find("threads 0-3 waiting at barrier at kernel.py:10; threads 4-7"),
              std::string::npos)
        << messages(result);
}

TEST_P(HostKernels, a_thread_that_failed_has_returned_and_the_others_go_on) {
    std::atomic<int> completed{0};
    Unwinding kernel([&](ThreadHandle& thread) {
        if (thread.tid().x == 3) return thread.fail(7);
        thread.barrier(1);
        ++completed;
    });
    const auto result = launch(kernel, {2}, {8});
    EXPECT_EQ(completed, 14);
    EXPECT_EQ(kernel.held, 0);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->message, "described by the kernel");
    EXPECT_EQ(result.error()->kernel, "unwinding");
    EXPECT_EQ(findings::coordinates(result.error()->thread), "tid=[3, 0, 0] ctaid=[0, 0, 0]");
    EXPECT_EQ(result.error()->threads, 2U);
}

TEST_P(HostKernels, it_is_told_of_begin_end_and_every_block) {
    Unwinding kernel([](ThreadHandle& thread) { thread.barrier(1); });
    EXPECT_EQ(messages(launch(kernel, {5}, {3})), "");
    EXPECT_EQ(kernel.begun, 1);
    EXPECT_EQ(kernel.ended, 1);
    EXPECT_EQ(std::set(kernel.blocks.begin(), kernel.blocks.end()), (std::set<std::uint64_t>{0, 1, 2, 3, 4}));
    EXPECT_EQ(kernel.blocks.size(), 5U);
}

TEST_P(HostKernels, it_can_end_the_launch_between_blocks_and_within_one) {
    Unwinding between([](ThreadHandle&) {});
    between.stop_after = 2;
    (void)launch(between, {50}, {4});
    EXPECT_EQ(between.blocks.size(), 2U);

    std::atomic<int> started{0};
    Unwinding within([&](ThreadHandle& thread) {
        ++started;
        if (thread.tid().x == 5) return thread.stop_launch();
        thread.barrier(1);
    });
    const auto result = launch(within, {50}, {8});
    EXPECT_LE(started, 8);
    EXPECT_EQ(within.held, 0);
    EXPECT_EQ(within.ended, 1);
    if (started < 8) {
        ASSERT_NE(result.error(), nullptr);
        EXPECT_EQ(result.error()->kind, FindingKind::interrupted);
    }
}

int recurse(int depth, volatile char* above) {
    volatile char here[512] = {};
    here[0] = static_cast<char>(above[0] + 1);
    return depth == 0 ? 0 : recurse(depth - 1, here) + here[0];
}

TEST_P(HostKernels, running_off_a_guarded_stack_is_a_finding_of_that_thread) {
    std::atomic<int> completed{0};
    Unwinding kernel([&](ThreadHandle& thread) {
        volatile char first[1] = {};
        if (thread.tid().x == 2) (void)recurse(1 << 30, first);
        thread.barrier(1);
        ++completed;
    });
    for (int repeat = 0; repeat < 3; ++repeat) {
        completed = 0;
        const auto result = launch(kernel, {1}, {8});
        EXPECT_EQ(completed, 7);
        ASSERT_NE(result.error(), nullptr);
        EXPECT_EQ(result.error()->kind, FindingKind::stack_overflow);
        EXPECT_EQ(findings::coordinates(result.error()->thread), "tid=[2, 0, 0] ctaid=[0, 0, 0]");
    }
}

TEST_P(HostKernels, a_spin_on_state_that_the_engine_does_not_see_is_no_livelock) {
    std::atomic<bool> released{false};
    Unwinding kernel([&](ThreadHandle& thread) {
        while (!released) thread.yield();
    });
    std::thread host([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(400));
        released = true;
    });
    EXPECT_EQ(messages(launch(kernel, {1}, {4})), "");
    host.join();
}

}  // namespace
}  // namespace cudasim::execution
