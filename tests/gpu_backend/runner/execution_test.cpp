// Recorded launches on the stand-in driver, in the process that uses it.
#include "gpu_backend/runner/execution.h"

#include <unistd.h>

#include <chrono>
#include <cstdlib>

#include "gpu_backend/runner/failures.h"
#include "tests/gpu_backend/runner/test_launch.h"

namespace cudasim::runner {
namespace {

using records::GpuResult;
using records::GpuStatus;

constexpr std::uint64_t second_address = 0x5000'0000'1000;

void expect_ran(const GpuResult& result) {
    EXPECT_EQ(name_of(result.status), "ran") << result.message;
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.function, "");
    EXPECT_EQ(result.message, "");
}

void expect_in(const std::string& part, const std::string& whole) {
    EXPECT_NE(whole.find(part), std::string::npos) << whole;
}

TEST(Gpu, leaves_what_the_kernel_did_in_the_contents) {
    with_gpu("", [](Gpu& gpu) {
        auto test = adding_one();
        test.range(second_address, counting(16), "y");
        const auto result = test.run(gpu);
        expect_ran(result);
        EXPECT_EQ(result.number, 3U);
        EXPECT_EQ(result.kernel, "test");
        EXPECT_EQ(result.gpu, gpu.properties().name);
        EXPECT_EQ(result.capability_major, 9U);
        EXPECT_EQ(result.driver_major, 13U);
        EXPECT_TRUE(result.same_addresses);
        EXPECT_GE(result.milliseconds, 0);
        EXPECT_LT(result.milliseconds, 60'000);
        EXPECT_EQ(result.stray_bytes, 0U);
        EXPECT_EQ(result.printed, "");
        for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(test.at<std::uint32_t>(0, 4 * i), i + 1);
        EXPECT_EQ(test.memory[1], counting(16));
        expect_ran(test.run(gpu));  // of what it left
        EXPECT_EQ(test.at<std::uint32_t>(0, 0), 2U);
        EXPECT_FALSE(gpu.is_lost());
    });
}

TEST(Gpu, runs_kernels_without_parameters_and_memory) {
    with_gpu("", [](Gpu& gpu) {
        TestLaunch test;
        test.code.ptx = libcuda::ptx(".visible .entry kernel() { ret; }");
        expect_ran(test.run(gpu));
        expect_ran(test.run(gpu));
    });
}

TEST(Gpu, finds_stray_writes) {
    with_gpu("", [](Gpu& gpu) {
        auto test = kernel_that("st.global.u32 [%rd0+256], 7; st.global.u8 [%rd0+1000], 7;");
        const auto result = test.run(gpu);
        expect_ran(result);
        EXPECT_EQ(result.stray_bytes, 5U);
        ASSERT_EQ(result.stray.size(), 2U);
        EXPECT_EQ(result.stray[0].address, some_address + 256);
        EXPECT_EQ(result.stray[0].bytes, 4U);
        EXPECT_EQ(result.stray[1].address, some_address + 1000);
        EXPECT_EQ(test.memory[0], counting(64));
        // The next launch begins with clean gaps.
        EXPECT_EQ(adding_one().run(gpu).stray_bytes, 0U);
    });
}

TEST(Gpu, gives_kernels_more_than_48_KiB_of_dynamic_shared_memory) {
    with_gpu("", [](Gpu& gpu) {
        auto test = kernel_that(
            "mov.u64 %rd2, tile; st.shared.u32 [tile+65532], 5; "
            "ld.shared.u32 %r1, [tile+65532]; st.global.u32 [%rd0], %r1;");
        test.code.ptx.insert(test.code.ptx.find(".visible"), ".extern .shared .align 16 .b8 tile[];\n");
        test.launch.dynamic_shared_bytes = 64 << 10;
        expect_ran(test.run(gpu));
        EXPECT_EQ(test.at<std::uint32_t>(0, 0), 5U);
        test.launch.dynamic_shared_bytes = 1 << 20;
        const auto result = test.run(gpu);
        EXPECT_EQ(name_of(result.status), "failed");
        EXPECT_EQ(result.function, "cuFuncSetAttribute");
        EXPECT_FALSE(gpu.is_lost());
        test.launch.dynamic_shared_bytes = 64 << 10;
        expect_ran(test.run(gpu));
    });
}

TEST(Gpu, launches_cooperatively_where_the_code_asks_for_it) {
    with_gpu("", [](Gpu& gpu) {
        auto test = adding_one(some_address, 64 * 4);
        test.code.cooperative = true;
        expect_ran(test.run(gpu));
        EXPECT_EQ(test.at<std::uint32_t>(0, 4 * 255), 256U);
        // More blocks than can be resident at once.
        test.launch.grid[0] = 100'000;
        const auto result = test.run(gpu);
        EXPECT_EQ(name_of(result.status), "failed") << result.message;
        EXPECT_EQ(result.code, 720);
        EXPECT_EQ(result.function, "cuLaunchKernelEx");
        expect_in("CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE", result.message);
    });
}

TEST(Gpu, uses_grids_and_blocks_of_three_dimensions) {
    with_gpu("", [](Gpu& gpu) {
        auto test = kernel_that(
            "mov.u32 %r1, %nctaid.z; mov.u32 %r2, %ntid.y; mad.lo.u32 %r3, %r1, 100, %r2; "
            "st.global.u32 [%rd0], %r3;");
        test.launch.grid = {2, 3, 4};
        test.launch.block = {8, 5, 2};
        expect_ran(test.run(gpu));
        EXPECT_EQ(test.at<std::uint32_t>(0, 0), 405U);
    });
}

TEST(Gpu, brings_the_variable_of_checks_back_where_the_code_has_checks) {
    with_gpu("", [](Gpu& gpu) {
        auto test = kernel_that("st.global.u32 [__cudasim_faults+4], 9;");
        test.code.ptx.insert(test.code.ptx.find(".visible"),
                             ".visible .global .align 4 .b8 __cudasim_faults[8];\n");
        auto result = test.run(gpu);
        expect_ran(result);
        EXPECT_TRUE(result.faults.empty());
        test.code.fault_sites = "sites";
        result = test.run(gpu);
        expect_ran(result);
        ASSERT_EQ(result.faults.size(), 8U);
        EXPECT_EQ(result.faults[4], std::byte{9});
        auto without = adding_one();
        without.code.fault_sites = "sites";
        result = without.run(gpu);
        expect_ran(result);
        EXPECT_TRUE(result.faults.empty());
    });
}

TEST(Gpu, refuses_what_it_cannot_run_and_says_why) {
    const auto refusal = [](const std::string& settings, const std::function<void(TestLaunch&)>& change,
                            const std::string& expected) {
        with_gpu(settings, [&](Gpu& gpu) {
            auto test = adding_one();
            change(test);
            const auto before = test.memory[0];
            const auto result = test.run(gpu);
            EXPECT_EQ(name_of(result.status), "refused");
            expect_in(expected, result.message);
            EXPECT_EQ(result.code, 0);
            EXPECT_EQ(test.memory[0], before);
            EXPECT_FALSE(gpu.is_lost());
        });
    };
    refusal("", [](auto& test) { test.code.refusal = "it calls printf"; }, "it calls printf");
    refusal("", [](auto& test) { test.launch.refusal = "it uses lent memory"; }, "it uses lent memory");
    refusal(
        "", [](auto& test) { test.code.architecture = "sm_100a"; },
        "was compiled for sm_100a, and Stand-in GPU");
    refusal("capabilities=7.0", [](auto&) {}, "has compute capability 7.0");
    refusal("virtual_memory=0", [](auto&) {}, "no virtual memory management");
    refusal(
        "refuse_hints=1", [](auto& test) { test.code.has_addresses = true; },
        "the kernel uses global or constant variables at the recorded addresses");
    refusal(
        "refuse_hints=1", [](auto& test) { test.launch.memory[0].holds_addresses = true; },
        "'x' of 256 bytes may hold addresses, which would be wrong");
    refusal(
        "refuse_hints=1",
        [](auto& test) {
            test.launch.memory[0].holds_addresses = true;
            test.launch.memory[0].label.clear();
        },
        "an allocation of 256 bytes may hold addresses");
}

TEST(Gpu, moves_parameters_that_are_addresses_with_their_memory) {
    with_gpu("refuse_hints=1", [](Gpu& gpu) {
        // The number is the same as the address, but no address by its type.
        auto test = kernel_that("st.global.u64 [%rd0], %rd1; st.global.u64 [%rd0+8], %rd0;", some_address);
        test.range(second_address, Bytes(8), "y").address(second_address + 8).address(0);
        test.code.ptx.replace(test.code.ptx.find(".param .u64 number"), 18,
                              ".param .u64 number, .param .u64 end, .param .u64 null");
        test.code.ptx.insert(
            test.code.ptx.find("    ret;"),
            "ld.param.u64 %rd3, [end]; st.global.u64 [%rd3+-8], %rd3; ld.param.u64 %rd4, [null]; "
            "st.global.u64 [%rd0+16], %rd4;\n");
        const auto result = test.run(gpu);
        expect_ran(result);
        EXPECT_FALSE(result.same_addresses);
        EXPECT_EQ(test.at<std::uint64_t>(0, 0), some_address);
        EXPECT_NE(test.at<std::uint64_t>(0, 8), some_address);
        EXPECT_EQ(test.at<std::uint64_t>(0, 16), 0U);
        EXPECT_NE(test.at<std::uint64_t>(1, 0), second_address + 8);
    });
}

TEST(Gpu, tells_what_the_drivers_compiler_says) {
    with_gpu("", [](Gpu& gpu) {
        auto test = kernel_that("this is no instruction;");
        auto result = test.run(gpu);
        EXPECT_EQ(name_of(result.status), "failed");
        EXPECT_EQ(result.function, "cuModuleLoadDataEx");
        EXPECT_EQ(result.code, 218);
        expect_in("CUDA_ERROR_INVALID_PTX (218)", result.message);
        expect_in(":\n", result.message);
        test = adding_one();
        test.code.entry = "another";
        result = test.run(gpu);
        EXPECT_EQ(result.function, "cuModuleGetFunction");
        expect_in("CUDA_ERROR_NOT_FOUND (500)", result.message);
        expect_ran(adding_one().run(gpu));
    });
}

TEST(Gpu, needs_memory_and_says_so) {
    with_gpu("memory=8388608", [](Gpu& gpu) {
        auto test = adding_one(some_address, 4 << 20);
        const auto result = test.run(gpu);
        EXPECT_EQ(name_of(result.status), "failed");
        EXPECT_EQ(result.function, "cuMemCreate");
        EXPECT_EQ(result.code, 2);
        expect_ran(adding_one().run(gpu));
    });
}

TEST(Gpu, is_lost_after_a_fault_of_a_kernel) {
    with_gpu("", [](Gpu& gpu) {
        auto test = kernel_that("st.global.u32 [%rd1], 1;", 16);
        const auto result = test.run(gpu);
        EXPECT_EQ(name_of(result.status), "faulted");
        EXPECT_EQ(result.code, 700);
        expect_in("CUDA_ERROR_ILLEGAL_ADDRESS (700)", result.message);
        EXPECT_TRUE(gpu.is_lost());
    });
}

TEST(Gpu, is_lost_after_a_kernel_that_does_not_end_in_time) {
    with_gpu("hang_kernel=1", [](Gpu& gpu) {
        const auto begin = std::chrono::steady_clock::now();
        const auto result = adding_one().run(gpu, {.seconds = 0.2});
        EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(10));
        EXPECT_EQ(name_of(result.status), "timed-out");
        expect_in("the kernel was not over after 0.2 seconds", result.message);
        EXPECT_TRUE(gpu.is_lost());
    });
    with_gpu("hang_kernel=1", [](Gpu& gpu) {
        const auto result = adding_one().run(gpu, {.nobody_waits = [] { return true; }});
        EXPECT_EQ(name_of(result.status), "timed-out");
        EXPECT_TRUE(gpu.is_lost());
    });
}

TEST(Gpu, is_lost_where_nobody_knows_whether_the_kernel_ends) {
    for (const char* planted : {"cuEventRecord@2=999", "cuEventQuery@1=1"})
        with_gpu(planted, [&](Gpu& gpu) {
            const auto result = adding_one().run(gpu);
            EXPECT_EQ(name_of(result.status), "failed");
            EXPECT_TRUE(gpu.is_lost()) << planted;
        });
    with_gpu("cuEventElapsedTime@1=999", [&](Gpu& gpu) {
        EXPECT_EQ(name_of(adding_one().run(gpu).status), "failed");
        EXPECT_FALSE(gpu.is_lost());
        expect_ran(adding_one().run(gpu));
    });
}

/// The calls of the driver that a launch makes, one after another, fail with this code.
void fail_everywhere(int code, bool is_sticky) {
    // How often the launch asks whether it has ended depends on the machine's load, so that any call may be
    // an optional one; behind the last call there are none but such.
    int failures = 0, passed_in_a_row = 0;
    for (int call = 1; call < 100 && passed_in_a_row < 5; ++call) {
        const auto done = libcuda::outside("", [&] {
            Gpu gpu({.named = CUDASIM_STAND_IN_DRIVER});
            setenv("CUDASIM_TEST_LIBCUDA",
                   ("call@" + std::to_string(call) + "=" + std::to_string(code)).c_str(), 1);
            auto test = adding_one();
            const auto result = test.run(gpu);
            if (result.status == GpuStatus::ran) {
                EXPECT_EQ(test.at<std::uint32_t>(0, 0), 1U);
                _exit(77);  // the call was an optional one, or there was none
            }
            EXPECT_EQ(name_of(result.status), is_sticky ? "faulted" : "failed") << call;
            EXPECT_EQ(result.code, code) << call;
            EXPECT_TRUE(result.function.starts_with("cu")) << call;
            expect_in("(" + std::to_string(code) + ")", result.message);
            if (is_sticky) {
                EXPECT_TRUE(gpu.is_lost()) << call;
            }
            if (gpu.is_lost()) {
                std::fflush(nullptr);
                _exit(::testing::Test::HasFailure() ? 1 : 0);
            }
            setenv("CUDASIM_TEST_LIBCUDA", "", 1);
            auto again = adding_one();
            expect_ran(again.run(gpu));
            EXPECT_EQ(again.at<std::uint32_t>(0, 4 * 63), 64U);
        });
        EXPECT_EQ(done.signal, 0) << "call " << call << "\n" << done.errors;
        if (!done.passed && done.printed.empty() && done.errors.empty()) {
            ++passed_in_a_row;
        } else {
            passed_in_a_row = 0;
            EXPECT_TRUE(done.passed) << "call " << call << "\n" << done.printed << done.errors;
            ++failures;
        }
    }
    // A launch whose kernel has ended before it asks for the first time makes 19 calls that must succeed.
    EXPECT_GE(failures, 15);
}

TEST(Gpu, tells_which_call_failed_wherever_it_is) {
    fail_everywhere(999, false);
    fail_everywhere(2, false);
}

TEST(Gpu, is_lost_after_an_error_that_lasts_wherever_it_is) {
    fail_everywhere(719, true);
}

TEST(Gpu, brings_printed_text_back) {
    with_gpu("print=first line;print=second", [](Gpu& gpu) {
        const auto result = adding_one().run(gpu);
        expect_ran(result);
        EXPECT_EQ(result.printed, "first line\nsecond\n");
        EXPECT_EQ(adding_one().run(gpu).printed, "first line\nsecond\n");
    });
    // Where standard output is closed.
    with_gpu("print=line", [](Gpu& gpu) {
        const int before = dup(STDOUT_FILENO);
        close(STDOUT_FILENO);
        const auto result = adding_one().run(gpu);
        dup2(before, STDOUT_FILENO);
        expect_ran(result);
        EXPECT_EQ(result.printed, "line\n");
    });
}

TEST(Gpu, keeps_the_last_lines_where_more_is_printed_than_the_buffer_holds) {
    std::string planted;
    for (int line = 0; line < 100; ++line) planted += "print=" + std::string(100, 'a' + line % 26) + ";";
    with_gpu(planted, [](Gpu& gpu) {
        EXPECT_EQ(adding_one().run(gpu).printed.size(), 101U * 100);
        const auto result = adding_one().run(gpu, {.printf_bytes = 4096});
        expect_ran(result);
        EXPECT_LE(result.printed.size(), 4096U);
        EXPECT_GT(result.printed.size(), 3900U);
        EXPECT_TRUE(result.printed.ends_with(std::string(100, 'a' + 99 % 26) + "\n"));
    });
}

TEST(Gpu, survives_ptx_that_reads_more_parameters_than_the_record_has) {
    with_gpu("", [](Gpu& gpu) {
        auto test = kernel_that("st.global.u64 [%rd0], %rd1;", 5);
        test.code.parameters.pop_back();
        expect_ran(test.run(gpu));
        EXPECT_EQ(test.at<std::uint64_t>(0, 0), 0U);
        test.code.parameters.clear();
        test.launch.parameters.clear();
        EXPECT_EQ(name_of(test.run(gpu).status), "faulted");  // its address is 0
    });
    with_gpu("", [](Gpu& gpu) {
        auto test = adding_one();
        test.code.ptx.replace(test.code.ptx.find(".param .u64 to"), 14,
                              ".param .u64 to, .param .b8 more[4000]");
        expect_ran(test.run(gpu));
    });
}

}  // namespace
}  // namespace cudasim::runner
