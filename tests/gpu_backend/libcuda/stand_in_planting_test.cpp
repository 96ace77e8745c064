// Failures and wrong results that the stand-in driver can be told to have (stand_in/settings.h).
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "tests/gpu_backend/libcuda/gpu_fixture.h"

namespace cudasim::libcuda {
namespace {

/// kernel(n, to): to[i] = i
constexpr const char* numbering = R"(
.visible .entry kernel(.param .u32 n, .param .u64 to)
{
    .reg .b32 %r<2>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %tid.x;
    mul.wide.u32 %rd2, %r1, 4;
    add.s64 %rd3, %rd1, %rd2;
    st.global.u32 [%rd3], %r1;
    ret;
})";

std::size_t free_memory(const TestGpu& gpu) {
    std::size_t free = 0, total = 0;
    EXPECT_EQ(gpu->cuMemGetInfo(&free, &total), Result::success);
    return free;
}

TEST(StandInPlanting, the_nth_call_of_a_function_fails_without_doing_anything) {
    expect_outside("cuMemAlloc_v2@2=2", [](const TestGpu& gpu) {
        DevicePointer address = 0;
        EXPECT_EQ(gpu->cuMemAlloc(&address, 1), Result::success);
        const std::size_t before = free_memory(gpu);
        EXPECT_EQ(gpu->cuMemAlloc(&address, 1), Result::out_of_memory);
        EXPECT_EQ(free_memory(gpu), before);
        EXPECT_EQ(gpu->cuMemAlloc(&address, 1), Result::success);
        // Another text, and the calls are counted anew.
        setenv("CUDASIM_TEST_LIBCUDA", "cuMemAlloc_v2@1=801", 1);
        EXPECT_EQ(gpu->cuMemAlloc(&address, 1), Result::not_supported);
        EXPECT_EQ(gpu->cuMemAlloc(&address, 1), Result::success);
        setenv("CUDASIM_TEST_LIBCUDA", "cuMemAlloc_v2=801", 1);
        for (int i = 0; i < 3; ++i) EXPECT_EQ(gpu->cuMemAlloc(&address, 1), Result::not_supported);
    });
}

TEST(StandInPlanting, the_nth_call_of_all_fails) {
    expect_outside("", [](const TestGpu& gpu) {
        setenv("CUDASIM_TEST_LIBCUDA", "call@3=999", 1);
        int version = 0;
        DevicePointer address = 0;
        EXPECT_EQ(gpu->cuMemAlloc(&address, 1), Result::success);
        EXPECT_EQ(gpu->cuCtxSynchronize(), Result::success);
        EXPECT_EQ(gpu->cuDriverGetVersion(&version), Result::unknown);
        EXPECT_EQ(gpu->cuDriverGetVersion(&version), Result::success);
    });
}

TEST(StandInPlanting, a_failure_can_last) {
    expect_outside("", [](const TestGpu& gpu) {
        setenv("CUDASIM_TEST_LIBCUDA", "cuMemAlloc_v2@2=700!", 1);
        DevicePointer address = 0;
        EXPECT_EQ(gpu->cuMemAlloc(&address, 1), Result::success);
        EXPECT_EQ(gpu->cuMemAlloc(&address, 1), Result::illegal_address);
        EXPECT_EQ(gpu->cuCtxSynchronize(), Result::illegal_address);
        EXPECT_EQ(gpu->cuMemAlloc(&address, 1), Result::illegal_address);
    });
}

TEST(StandInPlanting, a_call_crashes_or_does_not_return) {
    const auto crashing = outside("crash=cuMemAlloc_v2@2", [] {
        const TestGpu gpu;
        DevicePointer address = 0;
        EXPECT_EQ(gpu->cuMemAlloc(&address, 1), Result::success);
        std::printf("once\n");
        std::fflush(stdout);
        (void)gpu->cuMemAlloc(&address, 1);
        std::printf("twice\n");
    });
    EXPECT_EQ(crashing.signal, SIGSEGV);
    EXPECT_EQ(crashing.printed, "once\n");
    const auto hanging = outside("hang=cuCtxSynchronize", [] {
        const TestGpu gpu;
        alarm(1);
        (void)gpu->cuCtxSynchronize();
    });
    EXPECT_EQ(hanging.signal, SIGALRM);
}

TEST(StandInPlanting, a_kernel_never_ends) {
    expect_outside("hang_kernel@2=1", [](const TestGpu& gpu) {
        gpu.map(some_address);
        const auto kernel = gpu.kernel(numbering);
        Event event = nullptr;
        ASSERT_EQ(gpu->cuEventCreate(&event, 0), Result::success);
        EXPECT_EQ(gpu.run(kernel, {.block = 4}, {4, some_address}), Result::success);
        EXPECT_EQ(gpu.launch(kernel, {.block = 4}, {4, some_address}), Result::success);
        EXPECT_EQ(gpu->cuEventRecord(event, nullptr), Result::success);
        for (int i = 0; i < 10; ++i, usleep(5000)) EXPECT_EQ(gpu->cuEventQuery(event), Result::not_ready);
        // The process can end.
    });
    const auto waiting = outside("hang_kernel=1", [] {
        const TestGpu gpu;
        gpu.map(some_address);
        alarm(1);
        (void)gpu.run(gpu.kernel(numbering), {}, {4, some_address});
    });
    EXPECT_EQ(waiting.signal, SIGALRM);
}

TEST(StandInPlanting, a_watchdog_ends_kernels) {
    expect_outside("watchdog=100", [](const TestGpu& gpu) {
        gpu.map(some_address);
        const auto kernel = gpu.kernel(R"(
.visible .entry kernel(.param .u64 flag)
{
    .reg .pred %p<2>;
    .reg .b32 %r<2>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [flag];
forever:
    ld.volatile.global.u32 %r1, [%rd1];
    setp.eq.u32 %p1, %r1, 0;
    @%p1 bra forever;
    ret;
})");
        EXPECT_EQ(gpu.run(kernel, {}, {some_address}), Result::launch_timeout);
        EXPECT_EQ(gpu->cuCtxSynchronize(), Result::launch_timeout);
    });
    expect_outside("watchdog=100;hang_kernel=1", [](const TestGpu& gpu) {
        gpu.map(some_address);
        EXPECT_EQ(gpu.run(gpu.kernel(numbering), {.block = 8}, {8, some_address}), Result::launch_timeout);
    });
    expect_outside("watchdog=10000", [](const TestGpu& gpu) {
        gpu.map(some_address);
        EXPECT_EQ(gpu.run(gpu.kernel(numbering), {.block = 8}, {8, some_address}), Result::success);
    });
}

TEST(StandInPlanting, hints_are_refused) {
    expect_outside("refuse_hints=1", [](const TestGpu& gpu) {
        DevicePointer address = 0;
        EXPECT_EQ(gpu->cuMemAddressReserve(&address, 16 * unit, 0, some_address, 0), Result::success);
        EXPECT_NE(address, some_address);
    });
}

/// The first eight numbers, and the last byte of the mapping, after two launches.
void expect_numbers(const std::string& settings, const std::vector<std::uint32_t>& after_one,
                    const std::vector<std::uint32_t>& after_two, unsigned last = 0) {
    expect_outside(settings, [&](const TestGpu& gpu) {
        gpu.map(some_address);
        gpu.map(some_address + 4 * unit);
        const auto kernel = gpu.kernel(numbering);
        for (const auto& expected : {after_one, after_two}) {
            EXPECT_EQ(gpu.run(kernel, {.block = 8}, {8, some_address + 64}), Result::success);
            for (std::uint32_t i = 0; i < 8; ++i)
                EXPECT_EQ(gpu.read<std::uint32_t>(some_address + 64 + 4 * i), expected[i]) << settings << i;
        }
        EXPECT_EQ(gpu.read<std::uint8_t>(some_address + unit - 1), last);
        EXPECT_EQ(gpu.read<std::uint8_t>(some_address + 5 * unit - 1), 0U);
    });
}

TEST(StandInPlanting, results_are_wrong_where_they_are_told_to_be) {
    const std::vector<std::uint32_t> right{0, 1, 2, 3, 4, 5, 6, 7};
    expect_numbers("", right, right);
    for (const std::string place : {"0x200000000050", "p1+16", "m0+80"}) {
        expect_numbers("flip=" + place, {0, 1, 2, 3, 5, 5, 6, 7}, {0, 1, 2, 3, 5, 5, 6, 7});
        expect_numbers("flip@2=" + place + ".3", right, {0, 1, 2, 3, 12, 5, 6, 7});
        expect_numbers("put@1=" + place + ":0102030405", {0, 1, 2, 3, 0x04030201, 5, 6, 7}, right);
    }
    expect_numbers("flip@1=m0-1.7", right, right, 128);
}

TEST(StandInPlanting, lines_are_printed) {
    const auto done = expect_outside("print@1=one more line", [](const TestGpu& gpu) {
        gpu.map(some_address);
        for (int i = 0; i < 2; ++i)
            EXPECT_EQ(gpu.run(gpu.kernel(numbering), {}, {8, some_address}), Result::success);
    });
    EXPECT_EQ(done.printed, "one more line\n");
}

TEST(StandInPlanting, settings_come_from_a_file_that_may_change) {
    std::string file = (std::filesystem::temp_directory_path() / "stand_in_XXXXXX").string();
    ASSERT_GE(mkstemp(file.data()), 0);
    std::ofstream(file) << "version=12000\n";
    expect_outside("@" + file, [&](const TestGpu& gpu) {
        int version = 0;
        EXPECT_EQ(gpu->cuDriverGetVersion(&version), Result::success);
        EXPECT_EQ(version, 12000);
        std::ofstream(file) << "version=12010; devices=1\ncall@2=999\n";
        EXPECT_EQ(gpu->cuDriverGetVersion(&version), Result::success);
        EXPECT_EQ(version, 12010);
        EXPECT_EQ(gpu->cuDriverGetVersion(&version), Result::unknown);
    });
    std::filesystem::remove(file);
}

TEST(StandInPlanting, what_is_misspelt_ends_the_process) {
    for (const char* wrong : {"cuMemMop=2", "cuMemMap@0=2", "cuMemMap=many", "flip=q4", "flip=p1+1.8",
                              "put=p1:123", "order=sideways", "hang_kernel=yes", "crash=cuMemMop",
                              "version@2=3", "nonsense", "@/absent/file"}) {
        const auto done = outside(wrong, [] { const TestGpu gpu; });
        EXPECT_EQ(done.signal, SIGABRT) << wrong;
        EXPECT_NE(done.errors.find("CUDASIM_TEST_LIBCUDA"), std::string::npos) << done.errors;
    }
    for (const char* elsewhere : {"flip=0x10", "flip=p0", "flip=p7", "flip=m1", "put=m0-1:0102"}) {
        const auto done = outside(elsewhere, [] {
            const TestGpu gpu;
            gpu.map(some_address);
            (void)gpu.run(gpu.kernel(numbering), {}, {8, some_address});
        });
        EXPECT_EQ(done.signal, SIGABRT) << elsewhere;
        EXPECT_NE(done.errors.find(elsewhere), std::string::npos) << done.errors;
    }
}

}  // namespace
}  // namespace cudasim::libcuda
