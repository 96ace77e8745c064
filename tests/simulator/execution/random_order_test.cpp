// The random policy (E6): every thread and block once, another order for another seed, the same for the same.
#include "simulator/execution/random_order.h"

#include <algorithm>
#include <mutex>
#include <numeric>

#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::execution {
namespace {

TEST(RandomOrderOfIndices, is_a_permutation_for_any_count) {
    for (const std::uint64_t count : {1, 2, 3, 4, 5, 16, 17, 100, 1000, 1024, 5000}) {
        std::vector<std::uint64_t> seen(count);
        for (std::uint64_t i = 0; i < count; ++i) {
            const std::uint64_t at = RandomOrder(count, count)(i);
            ASSERT_LT(at, count);
            ASSERT_EQ(RandomOrder(count, count).index_of(at), i);
            ++seen[at];
        }
        EXPECT_EQ(seen, std::vector<std::uint64_t>(count, 1)) << count;
    }
}

/// The order in which threads add themselves to a list, before and after a barrier.
std::vector<std::uint64_t> order(const LaunchOptions& options) {
    std::vector<std::uint64_t> turns;
    auto kernel = [&](ThreadHandle& thread) {
        const std::uint64_t me = thread.ctaid().x * 1000 + thread.tid().x;
        turns.push_back(me);
        thread.barrier();
        turns.push_back(me);
    };
    EXPECT_EQ(messages(launch_function(kernel, {{5}, {64}, 0}, options)), "");
    return turns;
}

/// What a coroutine kernel's threads find when they take a ticket, after a barrier.
std::vector<int> tickets(const LaunchOptions& options) {
    const auto image = ir_image(R"(
define void @k(ptr %out, ptr %counter) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  call void @llvm.nvvm.barrier0()
  %ticket = atomicrmw add ptr %counter, i32 1 monotonic
  %p = getelementptr i32, ptr %out, i32 %t
  store i32 %ticket, ptr %p, align 4
  ret void
})");
    DeviceArray<int> out(64), counter(1);
    const std::uint64_t parameters[2] = {out.pointer(), counter.pointer()};
    auto loaded = device().load(image);
    EXPECT_EQ(messages(device().launch(*loaded, "k", {{1}, {64}, 0}, std::as_bytes(std::span(parameters)),
                                       options)),
              "");
    return out.read();
}

TEST(RandomPolicy, gives_every_thread_its_turns_in_an_order_that_the_seed_decides) {
    LaunchOptions options;
    options.policy = Policy::random;
    options.workers = 1;
    options.seed = 1;
    const auto first = order(options);
    EXPECT_EQ(order(options), first);
    auto sorted = first;
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], i / 128 * 1000 + i % 128 / 2);
    EXPECT_NE(std::vector(first.begin(), first.begin() + 64),
              std::vector(first.begin() + 64, first.begin() + 128));
    options.seed = 2;
    EXPECT_NE(order(options), first);
}

TEST(RandomPolicy, holds_for_coroutines_too) {
    LaunchOptions options;
    options.policy = Policy::random;
    options.workers = 1;
    auto values = tickets(options);
    EXPECT_EQ(tickets(options), values);
    options.seed = 7;
    EXPECT_NE(tickets(options), values);
    std::vector<int> all(64);
    std::iota(all.begin(), all.end(), 0);
    EXPECT_NE(values, all);
    std::sort(values.begin(), values.end());
    EXPECT_EQ(values, all);
}

}  // namespace
}  // namespace cudasim::execution
