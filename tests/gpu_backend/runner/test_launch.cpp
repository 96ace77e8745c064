#include "tests/gpu_backend/runner/test_launch.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <utility>

namespace cudasim::runner {

TestLaunch& TestLaunch::range(std::uint64_t address, Bytes content, const std::string& label) {
    launch.memory.push_back({.address = address, .bytes = content.size(), .label = label, .before = {}});
    memory.push_back(std::move(content));
    return *this;
}

TestLaunch& TestLaunch::parameter(std::uint64_t value, bool is_address) {
    const auto offset = static_cast<std::uint32_t>(launch.parameters.size());
    launch.parameters.resize(offset + sizeof value);
    std::memcpy(launch.parameters.data() + offset, &value, sizeof value);
    code.parameters.push_back({.offset = offset, .size = 8, .is_address = is_address});
    return *this;
}

TestLaunch& TestLaunch::address(std::uint64_t value) {
    return parameter(value, true);
}

TestLaunch& TestLaunch::number(std::uint64_t value) {
    return parameter(value, false);
}

Contents TestLaunch::contents() {
    return [this](std::size_t i) { return std::span(memory[i]); };
}

records::GpuResult TestLaunch::run(Gpu& gpu, const Limits& limits) {
    return gpu.run(launch, code, contents(), limits);
}

records::GpuResult TestLaunch::run(RunnerProcess& gpu, const RunOptions& options) {
    return gpu.run(
        launch, code, [this](std::size_t i) { return std::span<const std::byte>(memory[i]); },
        [this](std::size_t i, std::span<const std::byte> bytes) {
            std::ranges::copy(bytes, memory[i].begin());
        },
        options);
}

Bytes counting(std::uint32_t words) {
    Bytes bytes(words * sizeof(std::uint32_t));
    for (std::uint32_t i = 0; i < words; ++i) std::memcpy(bytes.data() + 4 * i, &i, 4);
    return bytes;
}

TestLaunch adding_one(std::uint64_t address, std::uint32_t words) {
    TestLaunch test;
    test.code.ptx = libcuda::ptx(R"(
.visible .entry kernel(.param .u64 to)
{
    .reg .b32 %r<6>;
    .reg .b64 %rd<4>;
    ld.param.u64 %rd1, [to];
    mov.u32 %r1, %ctaid.x;
    mov.u32 %r2, %ntid.x;
    mov.u32 %r3, %tid.x;
    mad.lo.u32 %r4, %r1, %r2, %r3;
    mul.wide.u32 %rd2, %r4, 4;
    add.s64 %rd3, %rd1, %rd2;
    ld.global.u32 %r5, [%rd3];
    add.u32 %r5, %r5, 1;
    st.global.u32 [%rd3], %r5;
    ret;
})");
    test.launch.grid[0] = (words + 63) / 64;
    test.launch.block[0] = std::min(words, 64U);
    test.range(address, counting(words)).address(address);
    return test;
}

TestLaunch kernel_that(const std::string& instructions, std::uint64_t number) {
    TestLaunch test;
    test.code.ptx = libcuda::ptx(R"(
.visible .entry kernel(.param .u64 to, .param .u64 number)
{
    .reg .pred %p<10>;
    .reg .b32 %r<10>;
    .reg .b64 %rd<10>;
    ld.param.u64 %rd0, [to];
    ld.param.u64 %rd1, [number];
    )" + instructions + R"(
    ret;
})");
    test.range(some_address, counting(64)).address(some_address).number(number);
    return test;
}

void with_gpu(const std::string& settings, const std::function<void(Gpu& gpu)>& body) {
    const auto done = libcuda::outside(settings, [&] {
        Gpu gpu({.named = CUDASIM_STAND_IN_DRIVER});
        body(gpu);
        std::fflush(nullptr);
        if (gpu.is_lost()) _exit(::testing::Test::HasFailure() ? 1 : 0);  // as cudasim-gpu-run does
    });
    EXPECT_TRUE(done.passed) << settings << ": signal " << done.signal << "\n" << done.printed << done.errors;
}

RunnerSettings with_stand_in() {
    return {.program = CUDASIM_GPU_RUN, .libcuda = CUDASIM_STAND_IN_DRIVER};
}

Planted::Planted(const std::string& settings)
    : file_(std::filesystem::temp_directory_path() / ("planted." + std::to_string(getpid()))) {
    change(settings);
    setenv("CUDASIM_TEST_LIBCUDA", ("@" + file_.string()).c_str(), 1);
}

Planted::~Planted() {
    unsetenv("CUDASIM_TEST_LIBCUDA");
    std::error_code ignored;
    std::filesystem::remove(file_, ignored);
}

void Planted::change(const std::string& settings) const {
    const auto other = file_.string() + ".new";
    std::ofstream(other) << settings;
    std::filesystem::rename(other, file_);
}

}  // namespace cudasim::runner
