// Modules and functions (CUDA Driver API, "Module Management"), and the occupancy of functions.
#include "simulator/driver/module.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <set>

#include "simulator/driver/memory.h"
#include "simulator/driver/occupancy.h"
#include "tests/simulator/driver/driver_errors.h"
#include "tests/simulator/driver/test_context.h"
#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::driver {
namespace {

using testing::context_on;
using testing::message_of;

const image::KernelImage& counting() {
    static const image::KernelImage image = execution::ir_image(R"(
@counter = addrspace(1) global i64 5
define void @k(ptr %out, i8 %narrow, i32 %summand) {
  ret void
}
define void @nothing() {
  ret void
})",
                                                                "k nothing");
    return image;
}

template <typename T>
std::span<const std::byte> bytes_of(const T& value) {
    return std::as_bytes(std::span(&value, 1));
}

TEST(Module, finds_kernels_and_variables_by_name) {
    const auto context = context_on(0);
    const auto module = Module::load(context, counting());
    EXPECT_EQ(module->context(), context);
    const Function add = module->function("k"), nothing = module->function("nothing");
    EXPECT_EQ(add.name(), "k");
    EXPECT_EQ(add.module(), module);
    EXPECT_EQ(add.parameters().size(), 3U);
    EXPECT_TRUE(nothing.parameters().empty());
    EXPECT_EQ(add.max_threads_per_block(), 1024U);
    EXPECT_EQ(
        message_of([&] { (void)module->function("ad"); }),
        "Call to cuModuleGetFunction results in CUDA_ERROR_NOT_FOUND: no kernel 'ad'; it has k, nothing");
    const auto counter = module->global("counter");
    EXPECT_EQ(counter.bytes, 8U);
    std::int64_t value = 0;
    memcpy_dtoh(context, &value, counter.base, sizeof value);
    EXPECT_EQ(value, 5);
    try {
        (void)module->global("count");
        FAIL();
    } catch (const Error& error) {
        EXPECT_EQ(error.call, "cuModuleGetGlobal");
        EXPECT_EQ(error.code, CudaResult::not_found);
    }
}

TEST(Module, handles_are_all_different) {
    const auto module = Module::load(context_on(0), counting());
    const auto other = Module::load(module->context(), counting());
    const std::set<std::uint64_t> handles{module->handle(), other->handle(), module->function("k").handle(),
                                          module->function("k").handle()};
    EXPECT_EQ(handles.size(), 4U);
    EXPECT_FALSE(handles.contains(0));
}

TEST(Module, is_gone_after_unload) {
    const auto context = context_on(0);
    const auto module = Module::load(context, counting());
    const Function add = module->function("k");
    const auto counter = module->global("counter");
    EXPECT_TRUE(context->engine()->device.contains(counter.base, 8));
    EXPECT_TRUE(module->is_loaded());
    EXPECT_TRUE(module->unload());
    EXPECT_FALSE(module->is_loaded());
    EXPECT_FALSE(module->unload());
    EXPECT_FALSE(context->engine()->device.contains(counter.base, 8));  // the variables' memory is free
    for (const auto& use : {std::function([&] { (void)module->global("counter"); }),
                            std::function([&] { (void)module->on_device(); })}) {
        try {
            use();
            ADD_FAILURE() << "nothing was thrown";
        } catch (const Error& error) {
            EXPECT_EQ(error.code, CudaResult::invalid_handle);
            EXPECT_STREQ(error.what(), "CUDA_ERROR_INVALID_HANDLE: the module was unloaded");
        }
    }
    EXPECT_EQ(module->function("k").name(), "k");  // known by name, and not launchable
}

TEST(Function, packs_values_at_the_parameters_offsets) {
    const auto module = Module::load(context_on(0), counting());
    const Function add = module->function("k");
    const std::uint64_t out = 0x0102030405060708;
    const std::uint8_t narrow = 9;
    const std::int32_t summand = -2;
    const std::array values{bytes_of(out), bytes_of(narrow), bytes_of(summand)};
    const auto buffer = add.pack(values);
    ASSERT_EQ(buffer.size(), 16U);
    EXPECT_EQ(std::memcmp(buffer.data(), &out, 8), 0);
    EXPECT_EQ(buffer[8], std::byte{9});
    EXPECT_EQ(buffer[9], std::byte{0});  // padding
    EXPECT_EQ(std::memcmp(buffer.data() + 12, &summand, 4), 0);
    EXPECT_TRUE(module->function("nothing").pack({}).empty());
    EXPECT_EQ(message_of([&] { (void)add.pack(std::span(values).first(2)); }), "k takes 3 parameters, got 2");
    const std::array wide{bytes_of(out), bytes_of(narrow), bytes_of(out)};
    try {
        (void)add.pack(wide);
        FAIL();
    } catch (const ParameterMismatch& error) {
        EXPECT_EQ(error.index, 2U);
        EXPECT_EQ(error.parameter, "parameter summand of k has 4 bytes");
        EXPECT_STREQ(error.what(), "parameter summand of k has 4 bytes, the value has 8");
    }
}

TEST(Occupancy, of_kernels_keeps_to_their_limits) {
    const auto profile = execution::h100();  // 132 multiprocessors of 2,048 threads
    EXPECT_EQ(active_blocks(profile, 1024, 128, 0), 16U);
    EXPECT_EQ(active_blocks(profile, 1024, 1024, 0), 2U);
    EXPECT_EQ(active_blocks(profile, 512, 513, 0), 0U);
    EXPECT_EQ(active_blocks(profile, 1024, 0, 0), 0U);
    EXPECT_EQ(active_blocks(profile, 1024, 128, 100'000), 2U);
    const auto best = [&](unsigned most, unsigned limit, std::uint64_t shared) {
        const auto [blocks, threads] =
            max_potential_block_size(profile, most, limit, [shared](unsigned) { return shared; });
        return std::pair(blocks, threads);
    };
    EXPECT_EQ(best(1024, 0, 0), std::pair(std::uint64_t{2 * 132}, 1024U));
    EXPECT_EQ(best(1024, 100, 0).second, 64U);
    EXPECT_EQ(best(256, 512, 0), std::pair(std::uint64_t{8 * 132}, 256U));
    EXPECT_EQ(best(1024, 0, 200'000), std::pair(std::uint64_t{132}, 1024U));
}

}  // namespace
}  // namespace cudasim::driver
