// Modules on the stand-in driver, contexts, and the calls that need neither.
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <thread>

#include "tests/gpu_backend/libcuda/gpu_fixture.h"

namespace cudasim::libcuda {
namespace {

constexpr const char* counting = R"(
.visible .global .align 4 .u32 counter = 5;
.visible .entry kernel(.param .u64 to)
{
    .reg .b32 %r<3>;
    .reg .b64 %rd<2>;
    ld.param.u64 %rd1, [to];
    atom.global.add.u32 %r1, [counter], 1;
    st.global.u32 [%rd1], %r1;
    ret;
}
.visible .entry other()
{
    .shared .align 4 .b8 tile[400];
    ret;
})";

/// What the driver says of a module, and what is in its error log.
std::pair<Result, std::string> load(const TestGpu& gpu, const std::string& text,
                                    std::size_t log_bytes = 4096) {
    std::string log(log_bytes + 1, '~');
    JitOption names[] = {JitOption::error_log_buffer, JitOption::error_log_buffer_size_bytes,
                         JitOption::generate_line_info};
    void* values[] = {log.data(), reinterpret_cast<void*>(log_bytes), nullptr};
    Module module = nullptr;
    const Result result = gpu->cuModuleLoadDataEx(&module, text.c_str(), 3, names, values);
    EXPECT_EQ(log[log_bytes], '~') << "written beyond the buffer";
    EXPECT_EQ(reinterpret_cast<std::size_t>(values[1]), std::strlen(log.c_str()) + 1);
    return {result, log.c_str()};
}

TEST(StandInModule, has_functions_and_variables) {
    expect_outside("", [](const TestGpu& gpu) {
        gpu.map(some_address);
        const Module module = gpu.module(counting);
        Function kernel = nullptr, other = nullptr, none = nullptr;
        ASSERT_EQ(gpu->cuModuleGetFunction(&kernel, module, "kernel"), Result::success);
        ASSERT_EQ(gpu->cuModuleGetFunction(&other, module, "other"), Result::success);
        EXPECT_EQ(gpu->cuModuleGetFunction(&none, module, "absent"), Result::not_found);
        DevicePointer counter = 0;
        std::size_t bytes = 0;
        ASSERT_EQ(gpu->cuModuleGetGlobal(&counter, &bytes, module, "counter"), Result::success);
        EXPECT_EQ(bytes, 4U);
        EXPECT_EQ(gpu->cuModuleGetGlobal(&counter, &bytes, module, "absent"), Result::not_found);
        EXPECT_EQ(gpu.read<std::uint32_t>(counter), 5U);
        gpu.write(counter, std::uint32_t{40});
        EXPECT_EQ(gpu.run(kernel, {.block = 3}, {some_address}), Result::success);
        EXPECT_EQ(gpu.run(other, {}, {}), Result::success);
        EXPECT_EQ(gpu.read<std::uint32_t>(counter), 43U);
        EXPECT_EQ(gpu->cuModuleUnload(module), Result::success);
        EXPECT_EQ(gpu->cuModuleUnload(module), Result::invalid_handle);
        EXPECT_EQ(gpu.launch(kernel, {}, {some_address}), Result::invalid_handle);
    });
}

TEST(StandInModule, has_variables_of_its_own) {
    expect_outside("", [](const TestGpu& gpu) {
        gpu.map(some_address);
        const auto first_answer = [&](Module module) {
            Function kernel = nullptr;
            EXPECT_EQ(gpu->cuModuleGetFunction(&kernel, module, "kernel"), Result::success);
            EXPECT_EQ(gpu.run(kernel, {}, {some_address}), Result::success);
            return gpu.read<std::uint32_t>(some_address);
        };
        const Module first = gpu.module(counting), second = gpu.module(counting);
        EXPECT_EQ(first_answer(first), 5U);
        EXPECT_EQ(first_answer(first), 6U);
        EXPECT_EQ(first_answer(second), 5U);
        EXPECT_EQ(gpu->cuModuleUnload(first), Result::success);
        EXPECT_EQ(first_answer(gpu.module(counting)), 5U) << "it is fresh";
        EXPECT_EQ(first_answer(second), 6U);
    });
}

TEST(StandInModule, functions_have_attributes) {
    expect_outside("", [](const TestGpu& gpu) {
        const auto function = gpu.kernel(counting, "other");
        const auto value = [&](FunctionAttribute attribute) {
            int found = -1;
            EXPECT_EQ(gpu->cuFuncGetAttribute(&found, attribute, function), Result::success);
            return found;
        };
        EXPECT_EQ(value(FunctionAttribute::max_threads_per_block), 1024);
        EXPECT_GE(value(FunctionAttribute::shared_size_bytes), 0);
        EXPECT_EQ(value(FunctionAttribute::ptx_version), 78);
        EXPECT_EQ(value(FunctionAttribute::binary_version), 90);
        EXPECT_EQ(gpu->cuFuncSetAttribute(function, FunctionAttribute::num_regs, 3), Result::invalid_value);
    });
}

TEST(StandInModule, that_is_wrong_is_refused_with_the_reason) {
    expect_outside("", [](const TestGpu& gpu) {
        const auto expect = [&](const std::string& text, Result expected, const std::string& words) {
            const auto [result, log] = load(gpu, text);
            EXPECT_EQ(result, expected) << text << log;
            EXPECT_NE(log.find(words), std::string::npos) << log;
        };
        expect(ptx(counting), Result::success, "");
        expect(ptx(".visible .entry kernel() {\n    nonsense.u32 %r1;\n}"), Result::invalid_ptx,
               "line 5; error");
        expect("certainly not PTX", Result::invalid_ptx, ".version");
        expect("", Result::invalid_image, "empty");
        expect(
            "\x7f"
            "ELF etc.",
            Result::no_binary_for_gpu, "");
        expect(ptx(counting, "sm_100"), Result::invalid_ptx, "SM version");
        expect(ptx(counting, "sm_90a"), Result::success, "");
        expect(ptx(counting, "sm_80"), Result::success, "");
        expect(ptx(counting, "sm_90", "9.0"), Result::success, "");
        expect(ptx(counting, "sm_90", "9.9"), Result::unsupported_ptx_version, "9.9");
        expect(ptx(".extern .func absent();\n.visible .entry kernel() { call absent; ret; }"),
               Result::invalid_ptx, "absent");
        expect(ptx(".visible .entry kernel() { .shared .b8 much[232449]; st.shared.u8 [much], 1; ret; }"),
               Result::invalid_ptx, "shared");
        const auto [result, log] = load(gpu, "certainly not PTX", 10);
        EXPECT_EQ(result, Result::invalid_ptx);
        EXPECT_EQ(log.size(), 9U);
    });
}

TEST(StandInModule, needs_ptx_that_its_driver_and_device_know) {
    expect_outside("capabilities=8.0;version=12060", [](const TestGpu& gpu) {
        EXPECT_EQ(load(gpu, ptx(counting, "sm_90")).first, Result::invalid_ptx);
        EXPECT_EQ(load(gpu, ptx(counting, "sm_80", "8.5")).first, Result::success);
        EXPECT_EQ(load(gpu, ptx(counting, "sm_80", "8.6")).first, Result::unsupported_ptx_version);
    });
}

TEST(StandInContext, has_to_be_there) {
    const auto done = outside("devices=2", [] {
        auto driver = Driver::open({.named = CUDASIM_STAND_IN_DRIVER});
        const auto& cuda = driver.functions();
        Context first = nullptr, second = nullptr;
        DevicePointer address = 0;
        EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&first, 0), Result::not_initialized);
        EXPECT_EQ(cuda.cuMemAlloc(&address, 4), Result::not_initialized);
        EXPECT_EQ(cuda.cuCtxSynchronize(), Result::not_initialized);
        driver.initialise();
        EXPECT_EQ(cuda.cuMemAlloc(&address, 4), Result::invalid_context);
        EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease(0), Result::invalid_context);
        EXPECT_EQ(cuda.cuDevicePrimaryCtxRetain(&first, 2), Result::invalid_device);
        ASSERT_EQ(cuda.cuDevicePrimaryCtxRetain(&first, 0), Result::success);
        ASSERT_EQ(cuda.cuDevicePrimaryCtxRetain(&second, 1), Result::success);
        EXPECT_NE(first, second);
        EXPECT_EQ(cuda.cuCtxSetCurrent(reinterpret_cast<Context>(&first)), Result::invalid_context);
        EXPECT_EQ(cuda.cuCtxSetCurrent(first), Result::success);
        EXPECT_EQ(cuda.cuMemAlloc(&address, 4), Result::success);
        std::thread([&] { EXPECT_EQ(cuda.cuMemFree(address), Result::invalid_context); }).join();
        EXPECT_EQ(cuda.cuCtxSetCurrent(second), Result::success);
        EXPECT_EQ(cuda.cuMemFree(address), Result::invalid_value) << "of the other device";
        EXPECT_EQ(cuda.cuCtxSetCurrent(first), Result::success);
        EXPECT_EQ(cuda.cuDevicePrimaryCtxRelease(0), Result::success);
        EXPECT_EQ(cuda.cuMemAlloc(&address, 4), Result::context_is_destroyed);
        ASSERT_EQ(cuda.cuDevicePrimaryCtxRetain(&first, 0), Result::success);
        EXPECT_EQ(cuda.cuMemFree(address), Result::invalid_value) << "it went with the context";
        EXPECT_EQ(cuda.cuCtxSetCurrent(nullptr), Result::success);
        EXPECT_EQ(cuda.cuMemAlloc(&address, 4), Result::invalid_context);
    });
    EXPECT_TRUE(done.passed) << done.printed << done.errors;
}

}  // namespace
}  // namespace cudasim::libcuda
