// Kernels on the stand-in driver.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <string>

#include "tests/gpu_backend/libcuda/gpu_fixture.h"

namespace cudasim::libcuda {
namespace {

using Clock = std::chrono::steady_clock;

/// kernel(to, from): to[i] = from[i], i of the grid
constexpr const char* copying = R"(
.visible .entry kernel(.param .u64 to, .param .u64 from)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<8>;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd2, [from];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd3, %r4, 4;
    add.s64 %rd4, %rd1, %rd3;
    add.s64 %rd5, %rd2, %rd3;
    ld.global.u32 %r5, [%rd5];
    st.global.u32 [%rd4], %r5;
    ret;
})";

/// kernel(to, value): *to = value, 32 bits
constexpr const char* storing = R"(
.visible .entry kernel(.param .u64 to, .param .u64 value)
{
    .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [to];
    ld.param.u64 %rd2, [value];
    st.global.u32 [%rd1], %rd2;
    ret;
})";

/// A kernel with these instructions, and registers %r0 to %r9, %rd0 to %rd9, %p0 to %p9; %rd0 is its
/// parameter.
std::string kernel_that(const std::string& instructions, const std::string& variables = "") {
    return variables + R"(
.visible .entry kernel(.param .u64 parameter)
{
    .reg .pred %p<10>;
    .reg .b32 %r<10>;
    .reg .b64 %rd<10>;
    ld.param.u64 %rd0, [parameter];
)" + instructions +
           "\n    ret;\n}";
}

TEST(StandInLaunch, copies_at_given_addresses) {
    expect_outside("", [](const TestGpu& gpu) {
        constexpr DevicePointer far_away = 0x5000'0000'0000;
        gpu.map(some_address);
        gpu.map(far_away);
        for (std::uint32_t i = 0; i < 64; ++i) gpu.write(some_address + 4 * i, i * i);
        const auto kernel = gpu.kernel(copying);
        EXPECT_EQ(gpu.run(kernel, {.grid = 2, .block = 32}, {far_away, some_address}), Result::success);
        for (std::uint32_t i = 0; i < 64; ++i) EXPECT_EQ(gpu.read<std::uint32_t>(far_away + 4 * i), i * i);
        EXPECT_EQ(gpu.read<std::uint32_t>(far_away + 4 * 64), 0U);
    });
}

TEST(StandInLaunch, follows_pointers_in_memory) {
    expect_outside("", [](const TestGpu& gpu) {
        gpu.map(some_address, 2 * unit);
        constexpr DevicePointer last = some_address + 2 * unit - 16;
        for (DevicePointer at = some_address; at < last; at += 4096)
            gpu.write(at, at + 4096 < last ? at + 4096 : last);
        gpu.write(last, DevicePointer{0});
        gpu.write(last + 8, std::uint32_t{0});
        const auto kernel = gpu.kernel(kernel_that(R"(
            mov.u64 %rd1, %rd0;
        next:
            ld.global.u64 %rd2, [%rd1];
            setp.eq.u64 %p1, %rd2, 0;
            @%p1 bra over;
            mov.u64 %rd1, %rd2;
            bra next;
        over:
            st.global.u32 [%rd1+8], 7;)"));
        EXPECT_EQ(gpu.run(kernel, {}, {some_address}), Result::success);
        EXPECT_EQ(gpu.read<std::uint32_t>(last + 8), 7U);
    });
}

TEST(StandInLaunch, accesses_all_of_a_mapping_and_allocation_and_nothing_else) {
    expect_outside("", [](const TestGpu& gpu) {
        gpu.map(some_address);
        const auto kernel = gpu.kernel(storing);
        EXPECT_EQ(gpu.run(kernel, {}, {some_address + unit - 4, 5}), Result::success);
        EXPECT_EQ(gpu.read<std::uint32_t>(some_address + unit - 4), 5U);
        DevicePointer small = 0;
        ASSERT_EQ(gpu->cuMemAlloc(&small, 4), Result::success);
        EXPECT_EQ(gpu.run(kernel, {}, {small + 4096, 5}), Result::success);
        EXPECT_EQ(gpu.run(kernel, {}, {some_address + unit, 5}), Result::illegal_address);
    });
}

/// What lasts after `instructions`.
void expect_fault(const std::string& instructions, Result fault, std::uint64_t parameter = some_address,
                  const std::string& variables = "") {
    const auto done = expect_outside("", [&](const TestGpu& gpu) {
        gpu.map(some_address);
        const auto kernel = gpu.kernel(kernel_that(instructions, variables));
        Event event = nullptr;
        ASSERT_EQ(gpu->cuEventCreate(&event, 0), Result::success);
        ASSERT_EQ(gpu.run(kernel, {.block = 32}, {parameter}), fault);
        std::uint32_t value = 0;
        DevicePointer address = 0;
        Context context = nullptr;
        EXPECT_EQ(gpu->cuCtxSynchronize(), fault);
        EXPECT_EQ(gpu->cuMemcpyDtoH(&value, some_address, 4), fault);
        EXPECT_EQ(gpu->cuMemAlloc(&address, 4), fault);
        EXPECT_EQ(gpu->cuEventQuery(event), fault);
        EXPECT_EQ(gpu->cuDevicePrimaryCtxRetain(&context, 0), fault);
        EXPECT_EQ(gpu.launch(kernel, {}, {parameter}), fault);
    });
    EXPECT_EQ(done.errors, "");
}

TEST(StandInLaunch, faults_last) {
    expect_fault("trap;", Result::launch_failed);
    expect_fault("st.global.u32 [%rd0], 1;", Result::illegal_address, 16);
    expect_fault("ld.global.u32 %r1, [%rd0]; st.global.u32 [%rd0], %r1;", Result::illegal_address,
                 0x6000'0000'0000);
    expect_fault("st.global.u32 [%rd0], 1;", Result::misaligned_address, some_address + 2);
    expect_fault("cvt.u32.u64 %r1, %rd0; st.shared.u32 [%r1], 1;", Result::illegal_address, 64 * 1024);
}

TEST(StandInLaunch, faults_are_explained_on_request) {
    const auto done = outside("explain=1", [] {
        const TestGpu gpu;
        EXPECT_EQ(gpu.run(gpu.kernel(storing), {}, {16, 0}), Result::illegal_address);
    });
    EXPECT_TRUE(done.passed);
    EXPECT_NE(done.errors.find("null-pointer"), std::string::npos) << done.errors;
}

TEST(StandInLaunch, what_a_gpu_does_not_notice_is_no_fault) {
    const auto expect_value = [](const std::string& instructions, unsigned block, std::uint32_t expected,
                                 const std::string& variables = "") {
        expect_outside("", [&](const TestGpu& gpu) {
            gpu.map(some_address);
            const auto kernel = gpu.kernel(kernel_that(instructions, variables));
            EXPECT_EQ(gpu.run(kernel, {.block = block}, {some_address}), Result::success);
            EXPECT_EQ(gpu.read<std::uint32_t>(some_address), expected) << instructions;
        });
    };
    const std::string divisor = "ld.global.u32 %r1, [%rd0]; mov.u32 %r3, 17; setp.ne.u32 %p1, %r1, 0; ";
    for (const char* operation : {"div.s32", "div.u32", "rem.s32", "rem.u32"})
        expect_value(divisor + operation + " %r2, %r3, %r1; st.global.u32 [%rd0], %r2;", 1, 0xffff'ffff);
    expect_value(divisor + "add.u32 %r1, %r1, 5; div.u32 %r1, %r3, %r1; st.global.u32 [%rd0], %r1;", 1, 3);
    expect_value(divisor + "mov.u32 %r2, 4; @%p1 div.u32 %r2, %r3, %r1; st.global.u32 [%rd0], %r2;", 1, 4);
    // All threads write: a race.
    expect_value("mov.u32 %r1, %tid.x; st.global.u32 [%rd0], %r1;", 64, 63);
    // Shared memory that was never written.
    expect_value("ld.shared.u32 %r1, [tile]; add.u32 %r1, %r1, 3; st.global.u32 [%rd0], %r1;", 1, 3,
                 ".shared .align 4 .b8 tile[64];");
    // Half of a warp ends, the others wait.
    expect_value(
        "mov.u32 %r1, %tid.x; setp.lt.u32 %p1, %r1, 16; @%p1 ret; bar.sync 0; "
        "st.global.u32 [%rd0], 9;",
        32, 9);
    // Constant memory through a generic address.
    expect_value("mov.u64 %rd1, table; cvta.const.u64 %rd1, %rd1; st.u32 [%rd1], 5; st.global.u32 [%rd0], 2;",
                 1, 2, ".const .align 4 .u32 table[2] = {3, 4};");
    // Beyond the end of variables.
    expect_value(
        "st.global.u32 [counter+4000], 5; ld.global.u32 %r1, [counter+4000]; "
        "st.global.u32 [%rd0], %r1;",
        1, 5, ".visible .global .align 4 .u32 counter;");
    expect_value(
        "st.shared.u32 [first+4], 5; ld.shared.u32 %r1, [second]; ld.shared.u32 %r2, [first]; "
        "st.shared.u32 [second], 8; st.global.u32 [%rd0], 2;",
        1, 2, ".shared .align 4 .b8 first[4]; .shared .align 4 .b8 second[4];");
    // The lowest number by -1.
    expect_value(
        "ld.global.u32 %r1, [%rd0]; sub.s32 %r1, %r1, 1; mov.u32 %r2, 0x80000000; "
        "div.s32 %r3, %r2, %r1; rem.s32 %r4, %r2, %r1; add.u32 %r3, %r3, %r4; "
        "st.global.u32 [%rd0], %r3;",
        1, 0x8000'0000);
    // A mask that lacks the calling lanes.
    expect_value("mov.u32 %r1, 8; shfl.sync.idx.b32 %r2, %r1, 0, 31, 1; st.global.u32 [%rd0+4], 2;", 32, 0);
}

TEST(StandInLaunch, shared_memory_is_poison_on_request) {
    expect_outside("shared=poison", [](const TestGpu& gpu) {
        gpu.map(some_address);
        const auto kernel = gpu.kernel(kernel_that("ld.shared.u32 %r1, [tile]; st.global.u32 [%rd0], %r1;",
                                                   ".shared .align 4 .b8 tile[64];"));
        EXPECT_EQ(gpu.run(kernel, {}, {some_address}), Result::success);
        EXPECT_EQ(gpu.read<std::uint32_t>(some_address), 0xfffb'fffbU);
    });
}

TEST(StandInLaunch, prints_when_the_host_synchronises) {
    const std::string variables = R"(
.extern .func (.param .b32 result) vprintf (.param .b64 format, .param .b64 arguments);
.const .align 1 .b8 text[10] = {108, 105, 110, 101, 32, 37, 100, 10, 0, 0};)";
    const std::string printing = R"(
        .local .align 8 .b8 values[8];
        mov.u32 %r1, %tid.x;
        st.local.u32 [values], %r1;
        mov.u64 %rd1, text;
        cvta.const.u64 %rd1, %rd1;
        mov.u64 %rd2, values;
        cvta.local.u64 %rd2, %rd2;
        { .param .b64 format; .param .b64 arguments; .param .b32 result;
        st.param.b64 [format], %rd1;
        st.param.b64 [arguments], %rd2;
        call.uni (result), vprintf, (format, arguments); })";
    const auto done = expect_outside("", [&](const TestGpu& gpu) {
        const auto kernel = gpu.kernel(kernel_that(printing, variables));
        Event event = nullptr;
        ASSERT_EQ(gpu->cuEventCreate(&event, 0), Result::success);
        ASSERT_EQ(gpu.launch(kernel, {.block = 3}, {0}), Result::success);
        ASSERT_EQ(gpu->cuEventRecord(event, nullptr), Result::success);
        while (gpu->cuEventQuery(event) == Result::not_ready) usleep(100);
        ASSERT_EQ(write(STDOUT_FILENO, "before\n", 7), 7);
        ASSERT_EQ(gpu->cuCtxSynchronize(), Result::success);
        ASSERT_EQ(write(STDOUT_FILENO, "after\n", 6), 6);
    });
    EXPECT_EQ(done.printed, "before\nline 0\nline 1\nline 2\nafter\n");
    const auto limited = expect_outside("", [&](const TestGpu& gpu) {
        std::size_t bytes = 0;
        EXPECT_EQ(gpu->cuCtxSetLimit(Limit::printf_fifo_size, 15), Result::success);
        EXPECT_EQ(gpu->cuCtxGetLimit(&bytes, Limit::printf_fifo_size), Result::success);
        EXPECT_EQ(bytes, 15U);
        EXPECT_EQ(gpu.run(gpu.kernel(kernel_that(printing, variables)), {.block = 9}, {0}), Result::success);
    });
    EXPECT_EQ(limited.printed, "line 7\nline 8\n") << "the buffer is circular";
}

/// Each block counts itself, and waits until all have: a grid barrier.
const std::string grid_barrier = kernel_that(R"(
        atom.global.add.u32 %r1, [arrived], 1;
        mov.u32 %r2, %nctaid.x;
    wait:
        ld.volatile.global.u32 %r1, [arrived];
        setp.lt.u32 %p1, %r1, %r2;
        @%p1 bra wait;
        atom.global.add.u32 %r1, [%rd0], 1;)",
                                             ".visible .global .align 4 .u32 arrived;");

TEST(StandInLaunch, cooperative_blocks_meet) {
    expect_outside("", [](const TestGpu& gpu) {
        gpu.map(some_address);
        const auto kernel = gpu.kernel(grid_barrier);
        int multiprocessors = 0;
        ASSERT_EQ(gpu->cuDeviceGetAttribute(&multiprocessors, Attribute::multiprocessor_count, 0),
                  Result::success);
        const auto most = static_cast<unsigned>(2 * multiprocessors);
        EXPECT_EQ(gpu.launch(kernel, {.grid = most + 1, .block = 1024, .cooperative = true}, {some_address}),
                  Result::cooperative_launch_too_large);
        EXPECT_EQ(gpu.run(kernel, {.grid = most, .cooperative = true}, {some_address}), Result::success);
        EXPECT_EQ(gpu.read<std::uint32_t>(some_address), most);
    });
}

/// Writes the last word of 64 KiB of shared memory.
const std::string at_64_kib = kernel_that(R"(
        mov.u32 %r1, 65532;
        st.shared.u32 [%r1], 6;
        ld.shared.u32 %r2, [%r1];
        mov.u32 %r3, %dynamic_smem_size;
        add.u32 %r2, %r2, %r3;
        st.global.u32 [%rd0], %r2;)",
                                          ".extern .shared .align 16 .b8 dynamic[];");

TEST(StandInLaunch, much_dynamic_shared_memory_has_to_be_allowed) {
    expect_outside("", [](const TestGpu& gpu) {
        gpu.map(some_address);
        const auto kernel = gpu.kernel(at_64_kib);
        EXPECT_EQ(gpu.run(kernel, {.shared_bytes = 48 << 10}, {some_address}), Result::illegal_address);
    });
    expect_outside("", [](const TestGpu& gpu) {
        gpu.map(some_address);
        constexpr int bytes = 64 << 10;
        const auto kernel = gpu.kernel(at_64_kib);
        const auto attribute = FunctionAttribute::max_dynamic_shared_size_bytes;
        int allowed = 0;
        EXPECT_EQ(gpu->cuFuncGetAttribute(&allowed, attribute, kernel), Result::success);
        EXPECT_EQ(allowed, 48 << 10);
        EXPECT_EQ(gpu.launch(kernel, {.shared_bytes = bytes}, {some_address}), Result::invalid_value);
        EXPECT_EQ(gpu->cuFuncSetAttribute(kernel, attribute, 232449), Result::invalid_value);
        EXPECT_EQ(gpu->cuFuncSetAttribute(kernel, attribute, 232448), Result::success);
        EXPECT_EQ(gpu.run(kernel, {.shared_bytes = bytes}, {some_address}), Result::success);
        EXPECT_EQ(gpu.read<int>(some_address), bytes + 6);
        EXPECT_EQ(gpu.launch(kernel, {.shared_bytes = 232449}, {some_address}), Result::invalid_value);
    });
}

TEST(StandInLaunch, limits_of_grids_and_blocks_are_the_devices) {
    expect_outside("", [](const TestGpu& gpu) {
        const auto kernel = gpu.kernel(kernel_that(""));
        const auto launch = [&](LaunchConfig config) {
            std::uint64_t parameter = 0;
            void* parameters[] = {&parameter};
            return gpu->cuLaunchKernelEx(&config, kernel, parameters, nullptr);
        };
        EXPECT_EQ(launch({1, 1, 1, 1, 1, 1}), Result::success);
        EXPECT_EQ(launch({1, 1, 1, 1025, 1, 1}), Result::invalid_value);
        EXPECT_EQ(launch({1, 1, 1, 1, 1, 65}), Result::invalid_value);
        EXPECT_EQ(launch({1, 65536, 1, 1, 1, 1}), Result::invalid_value);
        EXPECT_EQ(launch({0, 1, 1, 1, 1, 1}), Result::invalid_value);
        EXPECT_EQ(launch({1U << 31, 1, 1, 1, 1, 1}), Result::invalid_value);
        EXPECT_EQ(launch({1, 1, 1, 1, 1, 1, 300000}), Result::invalid_value);
        EXPECT_EQ(gpu->cuCtxSynchronize(), Result::success);
    });
}

TEST(StandInLaunch, takes_parameters_from_a_buffer_as_well) {
    expect_outside("", [](const TestGpu& gpu) {
        gpu.map(some_address);
        const auto kernel = gpu.kernel(storing);
        std::uint64_t buffer[] = {some_address, 77};
        std::size_t bytes = sizeof buffer;
        void* extra[] = {reinterpret_cast<void*>(1), buffer, reinterpret_cast<void*>(2), &bytes, nullptr};
        const LaunchConfig config{1, 1, 1, 1, 1, 1};
        EXPECT_EQ(gpu->cuLaunchKernelEx(&config, kernel, nullptr, extra), Result::success);
        EXPECT_EQ(gpu.read<std::uint32_t>(some_address), 77U);
        bytes = 8;
        EXPECT_EQ(gpu->cuLaunchKernelEx(&config, kernel, nullptr, extra), Result::invalid_value);
    });
}

TEST(StandInLaunch, runs_beside_the_program) {
    const auto done = expect_outside("", [](const TestGpu& gpu) {
        gpu.map(some_address);
        const auto kernel =
            gpu.kernel(kernel_that("forever: ld.volatile.global.u32 %r1, [%rd0]; "
                                   "setp.eq.u32 %p1, %r1, 0; @%p1 bra forever;"));
        Event start = nullptr, end = nullptr;
        ASSERT_EQ(gpu->cuEventCreate(&start, 0), Result::success);
        ASSERT_EQ(gpu->cuEventCreate(&end, 0), Result::success);
        ASSERT_EQ(gpu->cuEventRecord(start, nullptr), Result::success);
        ASSERT_EQ(gpu->cuEventSynchronize(start), Result::success);
        ASSERT_EQ(gpu.launch(kernel, {}, {some_address}), Result::success);
        ASSERT_EQ(gpu->cuEventRecord(end, nullptr), Result::success);
        float milliseconds = 0;
        for (int i = 0; i < 20; ++i) {
            EXPECT_EQ(gpu->cuEventQuery(end), Result::not_ready);
            EXPECT_EQ(gpu->cuEventElapsedTime(&milliseconds, start, end), Result::not_ready);
            usleep(5000);
        }
        // The program can end all the same.
    });
    EXPECT_TRUE(done.passed);
}

TEST(StandInLaunch, events_have_times) {
    expect_outside("", [](const TestGpu& gpu) {
        Event start = nullptr, end = nullptr, without = nullptr;
        ASSERT_EQ(gpu->cuEventCreate(&start, 0), Result::success);
        ASSERT_EQ(gpu->cuEventCreate(&end, 1), Result::success);
        ASSERT_EQ(gpu->cuEventCreate(&without, 2), Result::success);
        float milliseconds = -1;
        EXPECT_EQ(gpu->cuEventElapsedTime(&milliseconds, start, end), Result::invalid_handle);
        EXPECT_EQ(gpu->cuEventQuery(start), Result::success);
        for (Event each : {start, without}) ASSERT_EQ(gpu->cuEventRecord(each, nullptr), Result::success);
        ASSERT_EQ(gpu->cuEventSynchronize(start), Result::success);
        usleep(3000);
        ASSERT_EQ(gpu->cuEventRecord(end, nullptr), Result::success);
        ASSERT_EQ(gpu->cuEventSynchronize(end), Result::success);
        EXPECT_EQ(gpu->cuEventElapsedTime(&milliseconds, start, end), Result::success);
        EXPECT_GE(milliseconds, 3.0F);
        EXPECT_LT(milliseconds, 3000.0F);
        EXPECT_EQ(gpu->cuEventElapsedTime(&milliseconds, without, end), Result::invalid_handle);
        EXPECT_EQ(gpu->cuEventDestroy(end), Result::success);
        EXPECT_EQ(gpu->cuEventDestroy(end), Result::invalid_handle);
    });
}

/// Which thread's number stays in the word that all write.
std::uint32_t last_to_write(const std::string& settings) {
    const auto done = outside(settings, [] {
        const TestGpu gpu;
        gpu.map(some_address);
        const auto kernel = gpu.kernel(kernel_that("mov.u32 %r1, %tid.x; st.global.u32 [%rd0], %r1;"));
        EXPECT_EQ(gpu.run(kernel, {.block = 256}, {some_address}), Result::success);
        std::printf("%u", gpu.read<std::uint32_t>(some_address));
    });
    EXPECT_TRUE(done.passed) << done.printed << done.errors;
    return static_cast<std::uint32_t>(std::stoul(done.printed));
}

TEST(StandInLaunch, threads_run_in_the_order_that_was_asked_for) {
    EXPECT_EQ(last_to_write(""), 255U);
    EXPECT_EQ(last_to_write("order=reverse"), 0U);
    const auto one = last_to_write("order=random:1"), other = last_to_write("order=random:2");
    EXPECT_EQ(last_to_write("order=random:1"), one);
    EXPECT_NE(one, other);
}

TEST(StandInLaunch, starts_at_once) {
    expect_outside("", [](const TestGpu& gpu) {
        gpu.map(some_address);
        const auto kernel = gpu.kernel(storing);
        EXPECT_EQ(gpu.run(kernel, {}, {some_address, 1}), Result::success);
        constexpr int launches = 200;
        const auto start = Clock::now();
        for (int i = 0; i < launches; ++i) EXPECT_EQ(gpu.run(kernel, {}, {some_address, 1}), Result::success);
        const double each =
            std::chrono::duration<double, std::milli>(Clock::now() - start).count() / launches;
        EXPECT_LT(each, 5.0) << "milliseconds, on a machine that is busy";
        std::printf("%.3f ms for a launch\n", each);
    });
}

}  // namespace
}  // namespace cudasim::libcuda
