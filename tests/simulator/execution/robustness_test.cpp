// Nothing a kernel does harms the host process (E10, E11): many faults, forks, several host threads.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "tests/simulator/execution/engine_fixture.h"

namespace cudasim::execution {
namespace {

using findings::FindingKind;

std::size_t resident_pages() {
    std::ifstream statm("/proc/self/statm");
    std::size_t total = 0, resident = 0;
    statm >> total >> resident;
    return resident;
}

LaunchResult faulting_launch() {
    return launch_function(
        [](ThreadHandle& thread) {
            thread.barrier(1);
            if (thread.tid().x % 2 == 1) thread.fault(FindingKind::trap);
            thread.barrier(2);
            if (thread.tid().x == 0) thread.fault(FindingKind::unreachable_code);
        },
        {{2}, {32}}, {});
}

TEST(Robustness, ten_thousand_faulting_launches_leak_nothing) {
    for (int i = 0; i < 500; ++i) ASSERT_EQ(faulting_launch().findings.size(), 2U);
    const std::size_t before = resident_pages();
    for (int i = 0; i < 10000; ++i) ASSERT_EQ(faulting_launch().findings.size(), 2U);
#if !defined(__SANITIZE_ADDRESS__)
    EXPECT_LT(resident_pages() - before, 256U) << "pages of 4 KiB";
#endif
}

TEST(Robustness, a_launch_in_which_every_thread_faults_ends_at_the_limit) {
    auto result =
        launch_function([](ThreadHandle& thread) { thread.fault(FindingKind::trap); }, {{100000}, {256}}, {});
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(findings::coordinates(result.error()->thread), "tid=[0, 0, 0] ctaid=[0, 0, 0]");
    EXPECT_LT(result.blocks_run, 1000U);
}

TEST(Robustness, the_lowest_fault_is_raised_whatever_the_number_of_workers) {
    for (unsigned workers : {1U, 2U, 4U}) {
        LaunchOptions options;
        options.workers = workers;
        options.max_faults = 10;
        auto result = launch_function(
            [](ThreadHandle& thread) {
                for (int i = 0; thread.ctaid().x == 3 && i < 200; ++i) thread.yield();
                if (thread.ctaid().x >= 3) thread.fault(FindingKind::trap);
            },
            {{2000}, {32}}, options);
        ASSERT_NE(result.error(), nullptr);
        EXPECT_EQ(findings::coordinates(result.error()->thread), "tid=[0, 0, 0] ctaid=[3, 0, 0]");
    }
}

TEST(Robustness, launching_after_fork_works_in_parent_and_child) {
    const auto launch = [] {
        std::atomic<int> count{0};
        auto result = launch_function(
            [&](ThreadHandle& thread) {
                for (int i = 0; i < 10; ++i) thread.barrier(1);
                ++count;
            },
            {{500}, {64}}, {});
        return result.findings.empty() && count == 500 * 64;
    };
    ASSERT_TRUE(launch());
    const pid_t child = fork();
    if (child == 0) _exit(launch() && launch() ? 0 : 1);
    int status = -1;
    waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    EXPECT_TRUE(launch());
}

TEST(Robustness, launches_from_several_host_threads_all_complete) {
    std::atomic<int> good{0};
    std::vector<std::thread> hosts;
    for (int host = 0; host < 4; ++host)
        hosts.emplace_back([&] {
            for (int i = 0; i < 50; ++i) {
                std::atomic<int> count{0};
                auto result = launch_function(
                    [&](ThreadHandle& thread) {
                        thread.barrier(1);
                        ++count;
                    },
                    {{8}, {33}}, {});
                if (result.findings.empty() && count == 8 * 33) ++good;
            }
        });
    for (auto& host : hosts) host.join();
    EXPECT_EQ(good.load(), 200);
}

}  // namespace
}  // namespace cudasim::execution
