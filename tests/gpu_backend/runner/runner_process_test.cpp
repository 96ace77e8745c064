// The process that uses the GPU, from the side that starts it: what ends it, and that the next launch does
// not notice.
#include "gpu_backend/runner/runner_process.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <thread>

#include "gpu_backend/libcuda/outcomes.h"
#include "gpu_backend/runner/messages.h"
#include "tests/gpu_backend/runner/test_launch.h"

namespace cudasim::runner {
namespace {

using records::GpuResult;
using records::GpuStatus;
using Clock = std::chrono::steady_clock;

double milliseconds_since(Clock::time_point begin) {
    return std::chrono::duration<double, std::milli>(Clock::now() - begin).count();
}

void expect_in(const std::string& part, const std::string& whole) {
    EXPECT_NE(whole.find(part), std::string::npos) << whole;
}

void expect_ran(const GpuResult& result) {
    EXPECT_EQ(name_of(result.status), "ran") << result.message;
}

/// A launch that leaves what it is to leave.
void expect_works(RunnerProcess& gpu) {
    auto test = adding_one();
    expect_ran(test.run(gpu));
    EXPECT_EQ(test.at<std::uint32_t>(0, 4 * 63), 64U);
}

/// Whether a process is there, and no zombie.
bool is_alive(int process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/stat");
    std::string text;
    if (!std::getline(file, text)) return false;
    const char state = text.at(text.rfind(')') + 2);
    return state != 'Z' && state != 'X';
}

bool ends_within(int process, double milliseconds) {
    for (const auto begin = Clock::now(); milliseconds_since(begin) < milliseconds;) {
        if (!is_alive(process)) return true;
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    return !is_alive(process);
}

std::size_t entries_of(const std::string& folder) {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

/// Resident memory, KiB.
std::uint64_t memory_of(int process) {
    std::ifstream file("/proc/" + std::to_string(process) + "/statm");
    std::uint64_t size = 0, resident = 0, shared = 0;
    file >> size >> resident >> shared;
    return (resident - shared) * 4;
}

TEST(Runner, starts_with_the_first_launch_and_stays) {
    RunnerProcess gpu(with_stand_in());
    EXPECT_EQ(gpu.process(), 0);
    expect_works(gpu);
    const int process = gpu.process();
    EXPECT_GT(process, 0);
    expect_works(gpu);
    EXPECT_EQ(gpu.process(), process);
    const RunningGpu running = gpu.start();
    EXPECT_TRUE(running.name.starts_with("Stand-in GPU")) << running.name;
    EXPECT_EQ(running.capability_major, 9);
    EXPECT_EQ(running.capability_minor, 0);
    EXPECT_EQ(gpu.process(), process);
}

TEST(Runner, ends_with_the_object) {
    int process = 0;
    {
        RunnerProcess gpu(with_stand_in());
        gpu.start();
        process = gpu.process();
        EXPECT_TRUE(is_alive(process));
    }
    EXPECT_FALSE(is_alive(process));
}

TEST(Runner, gives_back_all_of_the_result) {
    const Planted planted("print=hello");
    RunnerProcess gpu(with_stand_in());
    auto test = kernel_that("st.global.u32 [%rd0+256], 7;");
    test.launch.number = 41;
    const auto result = test.run(gpu);
    expect_ran(result);
    EXPECT_EQ(result.number, 41U);
    EXPECT_EQ(result.kernel, "test");
    EXPECT_EQ(result.printed, "hello\n");
    EXPECT_EQ(result.stray_bytes, 4U);
    EXPECT_TRUE(result.same_addresses);
    EXPECT_EQ(result.driver_major, 13U);
}

TEST(Runner, refuses_malformed_launches_and_lives) {
    RunnerProcess gpu(with_stand_in());
    auto test = adding_one();
    test.launch.grid[1] = 0;
    auto result = test.run(gpu);
    const int process = gpu.process();
    EXPECT_EQ(name_of(result.status), "refused");
    expect_in("an extent of its grid or block is 0", result.message);
    EXPECT_EQ(result.number, 3U);
    EXPECT_EQ(result.kernel, "test");
    test = adding_one();
    test.code.parameters[0].offset = 8;
    result = test.run(gpu);
    expect_in("lies outside of the parameters' bytes", result.message);
    expect_works(gpu);
    EXPECT_EQ(gpu.process(), process);
}

TEST(Runner, after_a_fault_of_a_kernel_is_another_process) {
    RunnerProcess gpu(with_stand_in());
    expect_works(gpu);
    const int process = gpu.process();
    auto test = kernel_that("st.global.u32 [%rd1], 1;", 16);
    const auto before = test.memory[0];
    const auto result = test.run(gpu);
    EXPECT_EQ(name_of(result.status), "faulted");
    EXPECT_EQ(result.code, 700);
    EXPECT_EQ(test.memory[0], before);
    EXPECT_FALSE(is_alive(process));
    expect_works(gpu);
    EXPECT_NE(gpu.process(), process);
}

TEST(Runner, after_a_kernel_that_hangs_is_another_process) {
    const Planted planted("hang_kernel=1");
    RunnerProcess gpu(with_stand_in());
    gpu.start();
    const int process = gpu.process();
    const auto begin = Clock::now();
    const auto result = adding_one().run(gpu, {.seconds = 0.2});
    EXPECT_EQ(name_of(result.status), "timed-out");
    EXPECT_LT(milliseconds_since(begin), 5000);
    EXPECT_FALSE(is_alive(process));
    planted.change("");
    expect_works(gpu);
}

TEST(Runner, that_does_not_answer_in_time_is_killed) {
    for (const char* call : {"hang=cuModuleLoadDataEx", "hang=cuMemCreate", "hang=cuCtxSynchronize"}) {
        const Planted planted(call);
        RunnerProcess gpu(with_stand_in());
        gpu.start();
        const int process = gpu.process();
        const auto result = adding_one().run(gpu, {.seconds = 0.2, .spare_seconds = 0.3});
        EXPECT_EQ(name_of(result.status), "timed-out") << call;
        expect_in("did not come back from a call within", result.message);
        EXPECT_FALSE(is_alive(process)) << call;
        planted.change("");
        expect_works(gpu);
    }
}

TEST(Runner, that_crashes_is_told_by_its_signal) {
    for (const char* call : {"cuLaunchKernelEx", "cuMemcpyDtoH_v2", "cuModuleLoadDataEx"}) {
        const Planted planted(std::string("crash=") + call);
        RunnerProcess gpu(with_stand_in());
        const auto result = adding_one().run(gpu);
        EXPECT_EQ(name_of(result.status), "lost");
        expect_in("was ended by signal 11", result.message);
        EXPECT_EQ(result.number, 3U);
        EXPECT_TRUE(result.gpu.starts_with("Stand-in"));
        planted.change("");
        expect_works(gpu);
    }
}

TEST(Runner, that_somebody_kills_during_a_launch_is_told_by_the_signal) {
    const Planted planted("hang_kernel=1");
    RunnerProcess gpu(with_stand_in());
    gpu.start();
    std::thread killer([process = gpu.process()] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        kill(process, SIGKILL);
    });
    const auto result = adding_one().run(gpu);
    killer.join();
    EXPECT_EQ(name_of(result.status), "lost");
    expect_in("was ended by signal 9 (Killed)", result.message);
    planted.change("");
    expect_works(gpu);
}

TEST(Runner, that_somebody_killed_between_launches_is_told_once) {
    RunnerProcess gpu(with_stand_in());
    expect_works(gpu);
    kill(gpu.process(), SIGKILL);
    ASSERT_TRUE(ends_within(gpu.process(), 5000));
    EXPECT_EQ(name_of(adding_one().run(gpu).status), "lost");
    expect_works(gpu);
}

TEST(Runner, fails_with_the_call_that_failed_wherever_it_is) {
    const Planted planted("");
    RunnerProcess gpu(with_stand_in());
    int failures = 0;
    for (int call = 1; call < 100; ++call) {
        gpu.start();
        planted.change("call@" + std::to_string(call) + "=999");
        const auto result = adding_one().run(gpu);
        planted.change("");
        if (result.status != GpuStatus::ran) {
            EXPECT_EQ(name_of(result.status), "failed") << call << ": " << result.message;
            EXPECT_EQ(result.code, 999);
            EXPECT_TRUE(result.function.starts_with("cu")) << call;
            ++failures;
        } else if (failures > 10 && call > 2 * failures) {
            break;
        }
        expect_works(gpu);
    }
    EXPECT_GE(failures, 12);
}

TEST(Runner, can_be_stopped) {
    const Planted planted("hang_kernel=1");
    RunnerProcess gpu(with_stand_in());
    gpu.start();
    const int process = gpu.process();
    int asked = 0;
    const auto begin = Clock::now();
    const auto result = adding_one().run(gpu, {.stop = [&] { return ++asked == 3; }});
    EXPECT_EQ(name_of(result.status), "timed-out");
    EXPECT_EQ(asked, 3);
    EXPECT_LT(milliseconds_since(begin), 3000);
    EXPECT_FALSE(is_alive(process));
    struct Interrupted {};
    EXPECT_THROW((void)adding_one().run(gpu, {.stop = []() -> bool { throw Interrupted{}; }}), Interrupted);
    EXPECT_EQ(gpu.process(), 0);
    planted.change("");
    expect_works(gpu);
}

TEST(Runner, can_be_stopped_while_it_starts) {
    const Planted planted("hang=cuInit");
    RunnerProcess gpu(with_stand_in());
    struct Interrupted {};
    EXPECT_THROW((void)gpu.start({.stop = []() -> bool { throw Interrupted{}; }}), Interrupted);
    EXPECT_THROW((void)adding_one().run(gpu, {.stop = [] { return true; }}), NoRunner);
    EXPECT_EQ(gpu.process(), 0);
}

TEST(Runner, lives_on_after_exceptions_of_whoever_uses_it) {
    RunnerProcess gpu(with_stand_in());
    struct Wrong {};
    auto test = adding_one();
    EXPECT_THROW((void)gpu.run(
                     test.launch, test.code, [](std::size_t) -> std::span<const std::byte> { throw Wrong{}; },
                     [](std::size_t, std::span<const std::byte>) {}, {}),
                 Wrong);
    expect_works(gpu);
    const int process = gpu.process();
    EXPECT_THROW(
        (void)gpu.run(
            test.launch, test.code, [&](std::size_t i) { return std::span<const std::byte>(test.memory[i]); },
            [](std::size_t, std::span<const std::byte>) { throw Wrong{}; }, {}),
        Wrong);
    expect_works(gpu);
    EXPECT_EQ(gpu.process(), process);
}

int status_without_gpu(RunnerSettings settings, const std::string& expected) {
    RunnerProcess gpu(std::move(settings));
    try {
        gpu.start();
    } catch (const NoRunner& none) {
        expect_in(expected, none.what());
        EXPECT_EQ(gpu.process(), 0);
        return none.exit_status;
    }
    return 0;
}

TEST(Runner, without_a_gpu_says_which_kind_of_none) {
    using libcuda::exit_code;
    using libcuda::Outcome;
    const auto status_of = [](const std::string& settings, const std::string& expected) {
        const Planted planted(settings);
        return status_without_gpu(with_stand_in(), expected);
    };
    EXPECT_EQ(
        status_without_gpu({.program = CUDASIM_GPU_RUN, .libcuda = "/nowhere/libcuda.so.1"}, "/nowhere"),
        exit_code(Outcome::no_driver));
    EXPECT_EQ(status_without_gpu({.program = CUDASIM_GPU_RUN, .libcuda = "/etc/passwd"}, "does not load"),
              exit_code(Outcome::broken_driver));
    EXPECT_EQ(status_of("devices=0", "finds no GPU"), exit_code(Outcome::no_device));
    EXPECT_EQ(status_of("version=10020", "too old: it has CUDA 10.2"), exit_code(Outcome::too_old));
    EXPECT_EQ(status_of("cuInit=999", "CUDA_ERROR_UNKNOWN"), exit_code(Outcome::broken_driver));
    EXPECT_EQ(status_of("missing=cuMemMap", "lacks cuMemMap"), exit_code(Outcome::broken_driver));
    EXPECT_EQ(status_of("crash=cuInit", "was ended by signal 11"), exit_code(Outcome::broken_driver));
    EXPECT_EQ(status_of("cuCtxSetCurrent=2", "cuCtxSetCurrent"), exit_code(Outcome::broken_driver));
}

TEST(Runner, that_is_another_program_or_none_is_told) {
    EXPECT_EQ(status_without_gpu({.program = "/nowhere/cudasim-gpu-run"}, "cannot be started: No such file"),
              1);
    EXPECT_EQ(status_without_gpu({}, "not installed beside cudasim's library"), 1);
    EXPECT_EQ(status_without_gpu({.program = "/bin/true"}, "ended with status 0"), 11);
    EXPECT_EQ(status_without_gpu({.program = "/etc/passwd"}, "cannot be started: Permission denied"), 1);
}

TEST(Runner, is_used_by_several_threads_in_turn) {
    RunnerProcess gpu(with_stand_in());
    std::vector<std::thread> threads;
    for (unsigned number = 0; number < 4; ++number)
        threads.emplace_back([&gpu, number] {
            for (int round = 0; round < 20; ++round) {
                auto test = adding_one(some_address + number * (1ULL << 32), 64 + number);
                (void)gpu.start();
                expect_ran(test.run(gpu));
                for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(test.at<std::uint32_t>(0, 4 * i), i + 1);
            }
        });
    for (auto& thread : threads) thread.join();
}

TEST(Runner, is_not_shared_with_a_forked_process) {
    for (const bool runs : {true, false}) {
        RunnerProcess gpu(with_stand_in());
        expect_works(gpu);
        // Where the parent's has ended, its memory is there yet.
        if (!runs) (void)kernel_that("st.global.u32 [%rd1], 1;", 16).run(gpu);
        const int process = gpu.process();
        const auto done = libcuda::outside("", [&] {
            for (int i = 0; i < 20; ++i) expect_works(gpu);
            EXPECT_NE(gpu.process(), process);
        });
        for (int i = 0; i < 20; ++i) expect_works(gpu);
        EXPECT_TRUE(done.passed) << done.printed << done.errors;
        if (runs) {
            EXPECT_EQ(gpu.process(), process);
        }
    }
}

TEST(Runner, of_a_forked_process_does_not_write_to_the_parents_memory) {
    RunnerProcess gpu(with_stand_in());
    (void)kernel_that("st.global.u32 [%rd1], 1;", 16).run(gpu);
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        close(ready[0]);
        for (int i = 0; i < 200; ++i)
            if (adding_one(some_address, 8192).run(gpu).status != GpuStatus::ran) _exit(1);
        _exit(0);
    }
    close(ready[1]);
    for (int i = 0; i < 200; ++i) {
        auto test = kernel_that("st.global.u32 [%rd0], 5;");
        expect_ran(test.run(gpu));
        ASSERT_EQ(test.at<std::uint32_t>(0, 0), 5U);
        ASSERT_EQ(test.at<std::uint32_t>(0, 4 * 63), 63U);
    }
    int status = 0;
    waitpid(child, &status, 0);
    close(ready[0]);
    EXPECT_EQ(status, 0);
}

/// Ends by SIGKILL when its runner is in the state that `body` has made; returns the runner.
int runner_of_killed_process(const std::function<void(RunnerProcess& gpu, int report)>& body) {
    int report[2];
    EXPECT_EQ(pipe2(report, O_CLOEXEC), 0);
    const pid_t child = fork();
    if (child == 0) {
        RunnerProcess gpu(with_stand_in());
        body(gpu, report[1]);
        _exit(3);
    }
    close(report[1]);
    int process = 0;
    EXPECT_EQ(read(report[0], &process, sizeof process), static_cast<ssize_t>(sizeof process));
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(report[0]);
    return process;
}

void tell_process(RunnerProcess& gpu, int report) {
    gpu.start();
    const int process = gpu.process();
    if (write(report, &process, sizeof process) < 0) _exit(4);
}

TEST(Runner, ends_when_the_process_that_started_it_does) {
    const int idle = runner_of_killed_process([](RunnerProcess& gpu, int report) {
        tell_process(gpu, report);
        pause();
    });
    EXPECT_TRUE(ends_within(idle, 5000));
    for (const char* settings : {"hang_kernel=1", "hang=cuModuleLoadDataEx"}) {
        const Planted planted(settings);
        const int busy = runner_of_killed_process([](RunnerProcess& gpu, int report) {
            tell_process(gpu, report);
            (void)adding_one().run(gpu);
        });
        EXPECT_TRUE(ends_within(busy, 5000)) << settings;
    }
}

TEST(Runner, ends_when_a_fork_holds_the_socket_of_the_process_that_started_it) {
    pid_t fork_of_it = 0;
    int pids[2];
    ASSERT_EQ(pipe2(pids, O_CLOEXEC), 0);
    const int runner = runner_of_killed_process([&](RunnerProcess& gpu, int report) {
        gpu.start();
        const pid_t grandchild = fork();
        if (grandchild == 0) {
            pause();
            _exit(0);
        }
        if (write(pids[1], &grandchild, sizeof grandchild) < 0) _exit(4);
        tell_process(gpu, report);
        pause();
    });
    ASSERT_EQ(read(pids[0], &fork_of_it, sizeof fork_of_it), static_cast<ssize_t>(sizeof fork_of_it));
    EXPECT_TRUE(is_alive(fork_of_it));
    EXPECT_TRUE(ends_within(runner, 6000));
    kill(fork_of_it, SIGKILL);
    close(pids[0]);
    close(pids[1]);
}

TEST(Runner, works_where_standard_streams_are_closed) {
    const auto done = libcuda::outside("print=line", [] {
        for (const int stream : {STDIN_FILENO, STDOUT_FILENO}) close(stream);
        RunnerProcess gpu(with_stand_in());
        const auto result = adding_one().run(gpu);
        expect_ran(result);
        EXPECT_EQ(result.printed, "line\n");
    });
    EXPECT_TRUE(done.passed) << done.errors;
}

TEST(Runner, works_where_children_are_not_waited_for) {
    const auto done = libcuda::outside("", [] {
        std::signal(SIGCHLD, SIG_IGN);
        RunnerProcess gpu(with_stand_in());
        expect_works(gpu);
        EXPECT_EQ(name_of(kernel_that("st.global.u32 [%rd1], 1;", 16).run(gpu).status), "faulted");
        expect_works(gpu);
        kill(gpu.process(), SIGKILL);
        EXPECT_EQ(name_of(adding_one().run(gpu).status), "lost");
        expect_works(gpu);
    });
    EXPECT_TRUE(done.passed) << done.printed << done.errors;
}

TEST(Runner, takes_300_MiB_in_one_piece) {
    RunnerProcess gpu(with_stand_in());
    TestLaunch test = adding_one();
    test.range(0x3000'0000'0000, Bytes(300 * mebibyte, std::byte{3}), "large");
    test.launch.memory[1].label = "large";
    test.code.ptx.insert(test.code.ptx.find("    ret;"),
                         "mov.u64 %rd3, 0x300012BFFFFC; st.global.u32 [%rd3], %r4;\n");
    expect_ran(test.run(gpu));
    EXPECT_EQ(test.at<std::uint32_t>(1, 0), 0x0303'0303U);
    EXPECT_LT(test.at<std::uint32_t>(1, 300 * mebibyte - 4), 64U);
    EXPECT_EQ(test.at<std::uint32_t>(0, 0), 1U);
}

TEST(Runner, refuses_more_memory_than_the_host_has) {
    RunnerProcess gpu(with_stand_in());
    gpu.start();
    const int process = gpu.process();
    TestLaunch test = adding_one();
    test.launch.memory[0].bytes = std::uint64_t{1} << 50;
    const auto result = test.run(gpu);
    EXPECT_EQ(name_of(result.status), "failed");
    expect_in("is more than this host can give", result.message);
    expect_works(gpu);
    EXPECT_EQ(gpu.process(), process);
}

TEST(Runner, takes_hundreds_of_launches_without_growing) {
    RunnerProcess gpu(with_stand_in());
    const auto launch = [&](int i) {
        auto test = adding_one(some_address + (i % 7) * 3 * mebibyte, 64 + i % 100);
        expect_ran(test.run(gpu));
    };
    for (int i = 0; i < 100; ++i) launch(i);
    const std::string mine = "/proc/self/fd", its = "/proc/" + std::to_string(gpu.process()) + "/fd";
    const std::size_t files = entries_of(mine), its_files = entries_of(its);
    const std::uint64_t memory = memory_of(getpid()), its_memory = memory_of(gpu.process());
    for (int i = 0; i < 400; ++i) launch(i);
    EXPECT_EQ(entries_of(mine), files);
    EXPECT_EQ(entries_of(its), its_files);
    EXPECT_LE(memory_of(getpid()), memory + 2048);
    EXPECT_LE(memory_of(gpu.process()), its_memory + 8192);
}

TEST(Runner, and_what_it_leaves_open_do_not_grow_with_faults) {
    RunnerProcess gpu(with_stand_in());
    std::size_t files = 0;
    for (int i = 0; i < 6; ++i) {
        EXPECT_EQ(name_of(kernel_that("st.global.u32 [%rd1], 1;", 16).run(gpu).status), "faulted");
        if (i == 1) files = entries_of("/proc/self/fd");
    }
    EXPECT_EQ(entries_of("/proc/self/fd"), files);
}

/// The shortest of several times, milliseconds: what the machine does meanwhile only adds.
template <typename Work>
double shortest(int times, Work work) {
    double best = 1e9;
    for (int i = 0; i < times; ++i) {
        const auto begin = Clock::now();
        work();
        best = std::min(best, milliseconds_since(begin));
    }
    return best;
}

TEST(Runner, costs_less_than_a_millisecond_for_each_launch) {
    RunnerProcess gpu(with_stand_in());
    TestLaunch refused = adding_one();
    refused.code.refusal = "it is not to run";
    (void)refused.run(gpu);
    const double asked = shortest(200, [&] { (void)refused.run(gpu); });
    EXPECT_LT(asked, 1) << "to ask the process";
    RecordProperty("microseconds_to_ask", static_cast<int>(asked * 1000));
}

TEST(Runner, is_there_in_a_moment) {
    const double time = shortest(5, [] {
        RunnerProcess gpu(with_stand_in());
        gpu.start();
    });
    EXPECT_LT(time, 250);  // 50 ms on a machine that does nothing else
    RecordProperty("milliseconds_to_start", static_cast<int>(time));
}

}  // namespace
}  // namespace cudasim::runner
