// Stream-ordered allocation (CUDA Driver API, "Stream Ordered Memory Allocator").
#include "simulator/driver/memory_pool.h"

#include <gtest/gtest.h>

#include <cstring>
#include <thread>
#include <vector>

#include "simulator/driver/memory.h"
#include "simulator/driver/stream_work.h"
#include "tests/simulator/driver/driver_errors.h"
#include "tests/simulator/driver/stream_host.h"
#include "tests/simulator/driver/test_context.h"
#include "tests/simulator/execution/ir_kernel.h"
#include "tests/simulator/thread_sanitizer.h"

namespace cudasim::driver {
namespace {

using streams::StreamKey;
using testing::context_on;
using testing::message_of;
using testing::result_of;

const StreamKey first{0, 7}, second{0, 8};

StreamWork& work() {
    return StreamWork::of_this_process();
}

bool is_live(const std::shared_ptr<Context>& context, DevicePointer pointer) {
    return context->engine()->device.contains(pointer, 1);
}

std::uint64_t used(const std::shared_ptr<Context>& context, MemoryPool& pool) {
    return context->pools().attribute(pool, PoolAttribute::used_mem_current);
}

std::uint64_t reserved(const std::shared_ptr<Context>& context, MemoryPool& pool) {
    return context->pools().attribute(pool, PoolAttribute::reserved_mem_current);
}

/// Writes 7 to the pointer; the findings of the launch.
std::vector<findings::Finding> findings_of_store(const std::shared_ptr<Context>& context,
                                                 DevicePointer pointer) {
    static const image::KernelImage image = execution::ir_image(R"(
define void @k(ptr %out) {
  store i32 7, ptr %out
  ret void
})");
    const auto engine = context->engine();
    const auto module = engine->load(image, 0);
    return engine->launch(*module, "k", {{1}, {1}}, std::as_bytes(std::span(&pointer, 1)), {}).findings;
}

TEST(MemoryPool, memory_is_there_at_once_where_calls_are_eager) {
    (void)HostOfTest::in_force();
    const auto context = context_on(0);
    const auto pool = context->pools().current();
    EXPECT_EQ(pool, context->pools().default_pool());
    const auto x = mem_alloc_async(context, 1000, first, "x");
    EXPECT_EQ(x % 256, 0U);
    EXPECT_EQ(mem_get_address_range(context, x + 999).base, x);
    std::uint32_t word = 0;
    memcpy_dtoh(context, &word, x, 4);
    EXPECT_EQ(word, 0xFFFBFFFBU);  // poison
    EXPECT_EQ(used(context, *pool), 1000U);
    mem_free_async(context, x, first);
    EXPECT_FALSE(is_live(context, x));
    EXPECT_EQ(used(context, *pool), 0U);
    EXPECT_EQ(result_of([&] { mem_free_async(context, x, first); }), CudaResult::invalid_value);
    EXPECT_EQ(result_of([&] { (void)mem_alloc_async(context, 0, first, "nothing"); }),
              CudaResult::invalid_value);
    EXPECT_EQ(result_of([&] { (void)mem_alloc_async(context, 1ULL << 50, first, "all"); }),
              CudaResult::out_of_memory);
    EXPECT_EQ(used(context, *pool), 0U);
}

TEST(MemoryPool, memory_is_freed_in_the_order_of_its_stream) {
    const Deferred deferred;
    const auto context = context_on(0);
    const auto x = mem_alloc_async(context, 64, first, "x");
    bool was_live = false;
    work().submit(first, [&] { was_live = is_live(context, x); }, {});
    mem_free_async(context, x, first);
    EXPECT_TRUE(is_live(context, x));
    EXPECT_EQ(used(context, *context->pools().current()), 64U);
    EXPECT_EQ(message_of([&] { mem_free_async(context, x, second); }),
              error_text("cuMemFreeAsync", CudaResult::invalid_value,
                         "double free: a stream frees this memory already"));
    EXPECT_EQ(result_of([&] { mem_free(context, x); }), CudaResult::invalid_value);
    work().synchronize(second);
    EXPECT_TRUE(is_live(context, x));
    work().synchronize(first);
    EXPECT_TRUE(was_live);
    EXPECT_FALSE(is_live(context, x));
    EXPECT_EQ(used(context, *context->pools().current()), 0U);
}

TEST(MemoryPool, kernels_may_use_memory_between_its_allocation_and_its_free_only) {
    CUDASIM_SKIP_UNDER_THREAD_SANITIZER("there are no memory checks");
    const Deferred deferred;
    const auto context = context_on(0);
    std::vector<findings::Finding> early, between, late;
    work().submit(second, [] {}, {});
    const auto x = mem_alloc_async(context, 64, first, "x");
    work().submit(second, [&] { early = findings_of_store(context, x); }, {});
    work().submit(first, [&] { between = findings_of_store(context, x); }, {});
    mem_free_async(context, x, first);
    work().synchronize(second);
    work().submit(first, [&] { late = findings_of_store(context, x); }, {});
    work().synchronize(first);
    ASSERT_EQ(early.size(), 1U);
    EXPECT_EQ(early.front().kind, findings::FindingKind::use_before_alloc);
    EXPECT_EQ(
        early.front().message,
        "write of 4 bytes at offset 0 of global memory 'x' of 64 bytes, which its stream has not allocated "
        "yet: nothing orders this access after cuMemAllocAsync");
    EXPECT_TRUE(between.empty());
    ASSERT_EQ(late.size(), 1U);
    EXPECT_EQ(late.front().kind, findings::FindingKind::use_after_free);
}

TEST(MemoryPool, an_error_before_them_loses_neither_the_allocation_nor_the_free) {
    const Deferred deferred;
    const auto context = context_on(0);
    const auto fail = [] { throw Error("cuLaunchKernel", CudaResult::illegal_address, "a thread"); };
    const auto y = mem_alloc_async(context, 64, first, "y");
    work().submit(first, fail, {});
    const auto x = mem_alloc_async(context, 64, first, "x");
    mem_free_async(context, y, first);
    EXPECT_EQ(result_of([] { work().synchronize(first); }), CudaResult::illegal_address);
    EXPECT_FALSE(is_live(context, y));
    CUDASIM_SKIP_UNDER_THREAD_SANITIZER("there are no memory checks");
    EXPECT_TRUE(findings_of_store(context, x).empty());
}

TEST(MemoryPool, an_allocation_that_throws_what_earlier_work_threw_leaves_nothing_behind) {
    const Deferred deferred;
    const auto context = context_on(0);
    const auto fail = [] { throw Error("cuLaunchKernel", CudaResult::illegal_address, "a thread"); };
    work().submit(first, fail, {});
    HostOfTest::in_force().is_deferred = false;
    EXPECT_EQ(result_of([&] { (void)mem_alloc_async(context, 64, first, "x"); }),
              CudaResult::illegal_address);
    EXPECT_EQ(used(context, *context->pools().current()), 0U);
    const auto memory = context->engine()->device.memory_info();
    EXPECT_EQ(memory.free, memory.total);
}

TEST(MemoryPool, what_was_allocated_with_either_call_is_freed_with_either) {
    (void)HostOfTest::in_force();
    const auto context = context_on(0);
    const auto of_pool = mem_alloc_async(context, 64, first, "of_pool");
    const auto other = mem_alloc(*context, 64, "other");
    mem_free(context, of_pool);
    EXPECT_EQ(used(context, *context->pools().current()), 0U);
    EXPECT_EQ(result_of([&] { mem_free_async(context, other + 8, first); }), CudaResult::invalid_value);
    mem_free_async(context, other, first);
    EXPECT_FALSE(is_live(context, other));
    for (const auto host :
         {mem_alloc_managed(context, 64, "managed"), mem_host_alloc(context, 64, true, "mapped")}) {
        EXPECT_EQ(result_of([&] { mem_free_async(context, host, first); }), CudaResult::invalid_value);
        EXPECT_TRUE(is_live(context, host));
    }
}

TEST(MemoryPool, pools_count_what_is_allocated_from_them) {
    (void)HostOfTest::in_force();
    const auto context = context_on(0);
    auto& pools = context->pools();
    const auto pool = pools.create(4096);
    EXPECT_NE(pool, pools.default_pool());
    const auto a = mem_alloc_from_pool_async(context, pool, 1000, first, "a");
    const auto b = mem_alloc_from_pool_async(context, pool, 3000, first, "b");
    EXPECT_EQ(message_of([&] { (void)mem_alloc_from_pool_async(context, pool, 97, first, "c"); }),
              error_text("cuMemAllocFromPoolAsync", CudaResult::out_of_memory,
                         "97 bytes asked for, and 4000 of the memory pool's 4096 are used"));
    EXPECT_EQ(used(context, *pools.default_pool()), 0U);
    mem_free_async(context, b, first);
    EXPECT_EQ(used(context, *pool), 1000U);
    EXPECT_EQ(reserved(context, *pool), 1000U);
    EXPECT_EQ(pools.attribute(*pool, PoolAttribute::used_mem_high), 4000U);
    pools.set_attribute(*pool, PoolAttribute::used_mem_high, 0);
    EXPECT_EQ(pools.attribute(*pool, PoolAttribute::used_mem_high), 1000U);
    pools.set_attribute(*pool, PoolAttribute::release_threshold, 800);
    mem_free_async(context, a, first);
    EXPECT_EQ(used(context, *pool), 0U);
    EXPECT_EQ(reserved(context, *pool), 800U);
    pools.trim(*pool, 300);
    EXPECT_EQ(reserved(context, *pool), 300U);
    EXPECT_EQ(pools.attribute(*pool, PoolAttribute::reserved_mem_high), 4000U);
    EXPECT_EQ(pools.attribute(*pool, PoolAttribute::reuse_allow_opportunistic), 1U);
    pools.set_attribute(*pool, PoolAttribute::reuse_allow_opportunistic, 0);
    EXPECT_EQ(pools.attribute(*pool, PoolAttribute::reuse_allow_opportunistic), 0U);
    for (const auto& [attribute, value] : {std::pair{PoolAttribute::used_mem_current, 0},
                                           {PoolAttribute::reserved_mem_current, 0},
                                           {PoolAttribute::used_mem_high, 1},
                                           {PoolAttribute::reuse_allow_opportunistic, 2},
                                           {static_cast<PoolAttribute>(9), 0}})
        EXPECT_EQ(result_of([&] { pools.set_attribute(*pool, attribute, value); }), CudaResult::invalid_value)
            << static_cast<int>(attribute);
    EXPECT_EQ(result_of([&] { (void)pools.attribute(*pool, static_cast<PoolAttribute>(0)); }),
              CudaResult::invalid_value);
    EXPECT_EQ(message_of([&] { (void)pools.attribute(*pool, static_cast<PoolAttribute>(9)); }),
              error_text("cuMemPoolGetAttribute", CudaResult::invalid_value,
                         "memory pools have no attribute 9 (1 to 8)"));
}

TEST(MemoryPool, a_destroyed_pool_keeps_what_is_allocated_and_gives_nothing_more) {
    (void)HostOfTest::in_force();
    const auto context = context_on(0), other = context_on(1);
    auto& pools = context->pools();
    const auto pool = pools.create();
    pools.set_current(pool);
    EXPECT_EQ(pools.current(), pool);
    const auto x = mem_alloc_async(context, 64, first, "x");
    EXPECT_EQ(used(context, *pool), 64U);
    EXPECT_EQ(result_of([&] { other->pools().set_current(pool); }), CudaResult::invalid_value);
    pools.destroy(pool);
    EXPECT_EQ(pools.current(), pools.default_pool());
    EXPECT_TRUE(is_live(context, x));
    EXPECT_EQ(result_of([&] { (void)mem_alloc_from_pool_async(context, pool, 64, first, "y"); }),
              CudaResult::invalid_value);
    EXPECT_EQ(result_of([&] { pools.set_current(pool); }), CudaResult::invalid_value);
    EXPECT_EQ(result_of([&] { pools.destroy(pool); }), CudaResult::invalid_value);
    EXPECT_EQ(result_of([&] { pools.destroy(pools.default_pool()); }), CudaResult::invalid_value);
    mem_free_async(context, x, first);
    EXPECT_FALSE(is_live(context, x));
    EXPECT_EQ(used(context, *pool), 0U);
    const auto free = context->engine()->device.memory_info().free;
    EXPECT_EQ(free, context->engine()->device.memory_info().total);  // what was refused left nothing behind
}

TEST(MemoryPool, the_end_of_a_context_frees_everything) {
    const Deferred deferred;
    const auto context = context_on(0);
    (void)context->activate();
    const auto x = mem_alloc_async(context, 64, first, "x"), y = mem_alloc_async(context, 64, first, "y");
    const auto old_default = context->pools().default_pool();
    mem_free_async(context, x, first);
    EXPECT_TRUE(context->reset());
    EXPECT_FALSE(is_live(context, x) || is_live(context, y));
    EXPECT_NE(context->pools().default_pool(), old_default);
    EXPECT_EQ(result_of([&] { context->pools().set_current(old_default); }), CudaResult::invalid_value);
    const auto free = context->engine()->device.memory_info().free;
    work().synchronize(first);  // the free of x finds nothing to do
    EXPECT_EQ(context->engine()->device.memory_info().free, free);
}

TEST(MemoryPool, threads_allocate_and_free_at_the_same_time) {
    (void)HostOfTest::in_force();
    const auto context = context_on(0);
    std::vector<std::thread> threads;
    for (std::uint64_t number = 1; number <= 4; ++number)
        threads.emplace_back([&, number] {
            const StreamKey stream{0, 100 + number};
            for (int i = 0; i < 200; ++i) {
                const auto x = mem_alloc_async(context, 64 * number, stream, "x");
                mem_free_async(context, x, stream);
            }
        });
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(used(context, *context->pools().current()), 0U);
    EXPECT_EQ(context->engine()->device.memory_info().free, context->engine()->device.memory_info().total);
}

}  // namespace
}  // namespace cudasim::driver
