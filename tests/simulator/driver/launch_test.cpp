// Launches as a C++ program makes them (CUDA Driver API, "Execution Control"), streams and events by their
// handles, memory in streams, the end of a context, and errors that last.
#include "simulator/driver/launch.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "simulator/driver/memory.h"
#include "simulator/driver/stream_work.h"
#include "tests/simulator/driver/driver_errors.h"
#include "tests/simulator/driver/recording.h"
#include "tests/simulator/driver/stream_host.h"
#include "tests/simulator/driver/test_context.h"
#include "tests/simulator/execution/ir_kernel.h"
#include "tests/simulator/thread_sanitizer.h"

namespace cudasim::driver {
namespace {

using testing::context_on;
using testing::launch_options;
using testing::message_of;
using testing::result_of;

const image::KernelImage& kernels() {
    static const image::KernelImage image = execution::ir_image(R"(
@buffer = internal addrspace(3) global [1024 x i8] undef, align 16
define void @number(ptr addrspace(1) %out) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %index = zext i32 %thread to i64
  %place = getelementptr i32, ptr addrspace(1) %out, i64 %index
  store i32 %thread, ptr addrspace(1) %place
  ret void
}
define void @shares(ptr addrspace(1) %out) {
  store volatile i8 1, ptr addrspace(3) @buffer
  ret void
})",
                                                                "number shares");
    return image;
}

template <typename T>
std::vector<std::byte> packed(const Function& function, const T& value) {
    const std::span<const std::byte> bytes = std::as_bytes(std::span(&value, 1));
    return function.pack(std::span(&bytes, 1));
}

struct Launching : ::testing::Test {
    std::shared_ptr<Context> context = context_on(0);
    std::shared_ptr<Module> module = Module::load(context, kernels());
    Function number = module->function("number");
    DevicePointer out = mem_alloc(*context, 4 * 64, "out");

    [[nodiscard]] std::vector<std::int32_t> result() const {
        std::vector<std::int32_t> values(64);
        memcpy_dtoh(context, values.data(), out, 4 * 64);
        return values;
    }
    [[nodiscard]] CudaResult launched(const KernelLaunch& launch) {
        return result_of(
            [&] { launch_kernel(context, number, launch, packed(number, out), launch_options()); });
    }
};

TEST_F(Launching, a_kernel_of_a_module) {
    EXPECT_EQ(launched({.block = {64, 1, 1}}), CudaResult::success);
    const auto values = result();
    for (int i = 0; i < 64; ++i) EXPECT_EQ(values[static_cast<std::size_t>(i)], i);
    std::uint64_t blocks = 0;
    launch_kernel(context, number, {.grid = {3, 1, 1}}, packed(number, out), launch_options(),
                  [&](const execution::LaunchResult& ended) { blocks = ended.blocks_run; });
    EXPECT_EQ(blocks, 3U);
    EXPECT_EQ(module->function("shares").static_shared_bytes(), 1024U);
    EXPECT_EQ(number.static_shared_bytes(), 0U);
}

TEST_F(Launching, refuses_what_cuda_refuses) {
    EXPECT_EQ(launched({.grid = {0, 1, 1}}), CudaResult::invalid_value);
    EXPECT_EQ(launched({.block = {1, -5, 1}}), CudaResult::invalid_value);
    EXPECT_EQ(launched({.grid = {1, 1, 1LL << 31}}), CudaResult::invalid_value);
    EXPECT_EQ(
        message_of([&] { require_extents({1, 0, 1}, "griddim"); }),
        "Call to cuLaunchKernel results in CUDA_ERROR_INVALID_VALUE: griddim.y is 0; it must be at least 1");
    EXPECT_EQ(launched({.block = {2048, 1, 1}}), CudaResult::invalid_value);  // the device's limit
    EXPECT_EQ(launched({.stream = {1, 7}}), CudaResult::invalid_handle);      // another device's stream
    EXPECT_EQ(result_of([&] { require_launch_bounds(129, 128, "k", "128"); }), CudaResult::invalid_value);
    require_launch_bounds(128, 128, "k", "128");
    // An H100 holds 132 * 2 blocks of 1,024 threads at once.
    EXPECT_EQ(launched({.grid = {265, 1, 1}, .block = {1024, 1, 1}, .cooperative = true}),
              CudaResult::cooperative_launch_too_large);
    const KernelLaunch fitting{.grid = {264, 1, 1}, .block = {1024, 1, 1}, .cooperative = true};
    EXPECT_EQ(checked_configuration(number, fitting).grid.x, 264U);
    module->unload();
    EXPECT_EQ(launched({}), CudaResult::invalid_handle);
}

TEST_F(Launching, runs_in_the_order_of_streams) {
    const Deferred deferred;
    StreamWork& work = StreamWork::of_this_process();
    const auto handle = stream_create(0), other = stream_create(0);
    const auto stream = require_stream(handle, 0, "cuLaunchKernel");
    const auto host = mem_host_alloc(context, 4 * 64, false, "");
    memset_d8_async(context, out, 0xFF, 4 * 64, {stream});
    EXPECT_EQ(launched({.block = {32, 1, 1}, .stream = stream}), CudaResult::success);
    Event done(0, true);
    EXPECT_TRUE(work.is_complete(done));  // as CUDA has it for events that were never recorded
    work.record(done, stream);
    EXPECT_NE(done.pending(), nullptr);
    work.wait_for(stream_key(0, other), done);
    memcpy_dtoh_async(context, reinterpret_cast<void*>(host), out, 4 * 64, {stream_key(0, other)});
    auto* const values = reinterpret_cast<std::int32_t*>(host);
    EXPECT_EQ(values[5], 0);  // nothing has run
    work.synchronize(stream_key(0, other));
    EXPECT_EQ(values[5], 5);
    EXPECT_EQ(values[40], -1);
    EXPECT_TRUE(work.is_complete(done));
    work.synchronize(done);
    EXPECT_TRUE(work.is_complete(stream));
    mem_free_host(host);
    work.destroy_stream(handle);
    EXPECT_EQ(result_of([&] { work.destroy_stream(handle); }), CudaResult::invalid_handle);
    work.destroy_stream(other);
}

TEST_F(Launching, copies_of_pageable_memory_do_not_wait_for_the_host) {
    const Deferred deferred;
    const auto stream = stream_key(0, 0x77);
    std::int32_t value = 3;
    memcpy_htod_async(context, out, &value, sizeof value, {stream});
    value = 4;  // too late for the copy
    memcpy_dtod_async(context, out + 4, out, 4, {stream});
    EXPECT_EQ(result()[1], 3);
}

TEST_F(Launching, a_context_that_ends_takes_everything_with_it) {
    context->activate();
    const auto handle = module->handle(), function = number.handle();
    EXPECT_EQ(Module::with_handle(handle, "cuModuleGetFunction"), module);
    EXPECT_EQ(Function::with_handle(function, "cuLaunchKernel").name(), "number");
    EXPECT_EQ(result_of([&] { (void)Function::with_handle(1, "cuLaunchKernel"); }),
              CudaResult::invalid_handle);
    EXPECT_EQ(result_of([&] { (void)Module::with_handle(function, "cuModuleUnload"); }),
              CudaResult::invalid_handle);
    std::vector<bool> told;  // whether the memory was still there
    context->on_end([&] { told.push_back(context->engine()->device.contains(out, 4)); });
    const auto freed = mem_alloc(*context, 16, "freed");
    mem_free(context, freed);
    const auto free_before = mem_get_info(*context).free;
    {
        const Deferred deferred;
        EXPECT_EQ(launched({.stream = {0, 9}}), CudaResult::success);
        EXPECT_TRUE(context->reset());
        EXPECT_FALSE(StreamWork::of_this_process().busy());
    }
    EXPECT_EQ(told, std::vector{true});
    EXPECT_FALSE(module->is_loaded());
    EXPECT_EQ(result_of([&] { (void)Module::with_handle(handle, "cuModuleUnload"); }),
              CudaResult::invalid_handle);
    EXPECT_EQ(result_of([&] { (void)Function::with_handle(function, "cuLaunchKernel"); }),
              CudaResult::invalid_handle);
    EXPECT_FALSE(context->engine()->device.contains(out, 4));
    EXPECT_GT(mem_get_info(*context).free, free_before);
}

TEST_F(Launching, memory_that_waits_to_be_freed_ends_with_the_context_once) {
    context->activate();
    {
        const Deferred deferred;
        StreamWork::of_this_process().submit({0, 9}, [] {}, {});
        context->reset();
        EXPECT_EQ(result_of([&] { mem_free(context, out); }), CudaResult::invalid_value);
    }
}

TEST_F(Launching, errors_that_last_make_the_context_unusable) {
    CUDASIM_SKIP_UNDER_THREAD_SANITIZER("no memory checks");
    const DevicePointer nowhere = 64;
    EXPECT_EQ(result_of([&] { launch_kernel(context, number, {}, packed(number, nowhere)); }),
              CudaResult::illegal_address);
    EXPECT_EQ(context->failure(), CudaResult::illegal_address);
    std::int32_t value = 0;
    for (const auto& call : {std::function([&] { (void)mem_alloc(*context, 4, ""); }),
                             std::function([&] { memcpy_htod(context, out, &value, 4); }),
                             std::function([&] { launch_kernel(context, number, {}, packed(number, out)); })})
        EXPECT_EQ(result_of(call), CudaResult::illegal_address);
    EXPECT_EQ(
        message_of([&] { (void)mem_alloc(*context, 4, ""); }),
        "Call to cuMemAlloc results in CUDA_ERROR_ILLEGAL_ADDRESS: an earlier launch failed with this error, "
        "which lasts until the device is reset");
    context->reset();
    EXPECT_EQ(context->failure(), CudaResult::success);
    EXPECT_NE(mem_alloc(*context, 4, ""), 0U);
    context->fail(CudaResult::invalid_value);  // which passes
    context->require_usable("cuMemAlloc");
}

TEST(Streams, belong_to_the_device_that_they_were_made_on) {
    const auto handle = stream_create(1);
    EXPECT_EQ(stream_device(handle), 1);
    EXPECT_EQ(stream_device(0), std::nullopt);
    EXPECT_EQ(require_stream(handle, 1, "cuStreamQuery"), (streams::StreamKey{1, handle}));
    EXPECT_EQ(require_stream(legacy_stream, 2, "cuStreamQuery"), (streams::StreamKey{2, 0}));
    EXPECT_EQ(result_of([&] { (void)require_stream(handle, 0, "cuStreamQuery"); }),
              CudaResult::invalid_handle);
    EXPECT_EQ(result_of([&] { (void)require_stream(handle + 1, 1, "cuStreamQuery"); }),
              CudaResult::invalid_handle);
    EXPECT_NE(Event(0, true).handle(), Event(0, true).handle());
    stream_forget(handle);
    EXPECT_EQ(result_of([&] { (void)require_stream(handle, 1, "cuStreamQuery"); }),
              CudaResult::invalid_handle);
}

}  // namespace
}  // namespace cudasim::driver
