// One order of threads for each policy (E6), whatever carries them (E1): kernels whose
// results depend on nothing else.
//
// Every thread mixes its number into one word, with a plain load and a plain store:
// another order gives another word.
#include "simulator/execution/thread_order.h"

#include <algorithm>
#include <map>

#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::execution {
namespace {

constexpr std::uint32_t factor = 0x01000193;

/// The same kernel as IR and as host code. The IR ends with `ret void` of @k; @mix(word, number) is there.
struct RacyKernel {
    const char* name;
    const char* body;
    /// mix(number) as in the IR, block-local thread t; null: has no equal on the host
    void (*host)(ThreadHandle& thread, std::uint32_t t, std::uint32_t* word, std::int32_t* flag);
};

void mix(std::uint32_t* word, std::uint32_t number) {
    *word = *word * factor + number;
}

constexpr jit::WarpKind sync = jit::WarpKind::sync;

const RacyKernel racy_kernels[] = {
    {"without_waits", R"(
  call void @mix(ptr %word, i32 %t)
  ret void)",
     [](ThreadHandle&, std::uint32_t t, std::uint32_t* word, std::int32_t*) { mix(word, t); }},
    {"last_writer_wins", R"(
  store i32 %t, ptr %word, align 4
  ret void)",
     [](ThreadHandle&, std::uint32_t t, std::uint32_t* word, std::int32_t*) { *word = t; }},
    {"barriers", R"(
  call void @mix(ptr %word, i32 %t)
  call void @llvm.nvvm.barrier0()
  call void @mix(ptr %word, i32 %t)
  call void @llvm.nvvm.barrier0()
  call void @mix(ptr %word, i32 %t)
  ret void)",
     [](ThreadHandle& thread, std::uint32_t t, std::uint32_t* word, std::int32_t*) {
         mix(word, t);
         thread.barrier();
         mix(word, t);
         thread.barrier();
         mix(word, t);
     }},
    {"whole_warps_and_barriers", R"(
  call void @mix(ptr %word, i32 %t)
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  call void @mix(ptr %word, i32 %t)
  %a = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t, i32 1, i32 31)
  call void @mix(ptr %word, i32 %t)
  call void @llvm.nvvm.barrier0()
  call void @mix(ptr %word, i32 %t)
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  call void @mix(ptr %word, i32 %t)
  ret void)",
     [](ThreadHandle& thread, std::uint32_t t, std::uint32_t* word, std::int32_t*) {
         mix(word, t);
         thread.warp(sync, ~0U, 0, 0);
         mix(word, t);
         thread.warp(sync, ~0U, 0, 0);
         mix(word, t);
         thread.barrier();
         mix(word, t);
         thread.warp(sync, ~0U, 0, 0);
         mix(word, t);
     }},
    // The low half of each warp meets twice by itself, the high half once; then all wait for each other.
    {"halves_of_warps", R"(
  %lane = and i32 %t, 31
  %low = icmp ult i32 %lane, 16
  call void @mix(ptr %word, i32 %t)
  br i1 %low, label %twice, label %once
twice:
  call void @llvm.nvvm.bar.warp.sync(i32 65535)
  call void @mix(ptr %word, i32 %t)
  call void @llvm.nvvm.bar.warp.sync(i32 65535)
  call void @mix(ptr %word, i32 %t)
  br label %join
once:
  call void @llvm.nvvm.bar.warp.sync(i32 -65536)
  call void @mix(ptr %word, i32 %t)
  br label %join
join:
  call void @llvm.nvvm.barrier0()
  call void @mix(ptr %word, i32 %t)
  ret void)",
     [](ThreadHandle& thread, std::uint32_t t, std::uint32_t* word, std::int32_t*) {
         mix(word, t);
         if (t % 32 < 16) {
             thread.warp(sync, 0xFFFF, 0, 0);
             mix(word, t);
             thread.warp(sync, 0xFFFF, 0, 0);
             mix(word, t);
         } else {
             thread.warp(sync, 0xFFFF0000, 0, 0, 1);
             mix(word, t);
         }
         thread.barrier();
         mix(word, t);
     }},
    {"lanes_that_end_early", R"(
  call void @mix(ptr %word, i32 %t)
  %third = urem i32 %t, 3
  %ends = icmp eq i32 %third, 1
  br i1 %ends, label %end, label %meet
meet:
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  call void @mix(ptr %word, i32 %t)
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  call void @mix(ptr %word, i32 %t)
  br label %end
end:
  ret void)",
     [](ThreadHandle& thread, std::uint32_t t, std::uint32_t* word, std::int32_t*) {
         mix(word, t);
         if (t % 3 == 1) return;
         thread.warp(sync, ~0U, 0, 0);
         mix(word, t);
         thread.warp(sync, ~0U, 0, 0);
         mix(word, t);
     }},
    // Every fourth thread spins until the thread that comes last in forward order has been there.
    {"spinning", R"(
  call void @mix(ptr %word, i32 %t)
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %last = sub i32 %n, 1
  %sets = icmp eq i32 %t, %last
  %rest = and i32 %t, 3
  %spins = icmp eq i32 %rest, 1
  br i1 %sets, label %set, label %other
set:
  store volatile i32 1, ptr %flag, align 4
  br label %join
other:
  br i1 %spins, label %again, label %join
again:
  call void @llvm.nvvm.nanosleep(i32 1)
  %seen = load volatile i32, ptr %flag, align 4
  %wait = icmp eq i32 %seen, 0
  br i1 %wait, label %again, label %join
join:
  call void @mix(ptr %word, i32 %t)
  call void @llvm.nvvm.barrier0()
  call void @mix(ptr %word, i32 %t)
  ret void)",
     [](ThreadHandle& thread, std::uint32_t t, std::uint32_t* word, std::int32_t* flag) {
         mix(word, t);
         if (t == thread.ntid().x - 1)
             *flag = 1;
         else if (t % 4 == 1)
             do thread.yield();
             while (*static_cast<volatile std::int32_t*>(flag) == 0);
         mix(word, t);
         thread.barrier();
         mix(word, t);
     }},
    {"spinning_lanes_for_which_others_wait", R"(
  call void @mix(ptr %word, i32 %t)
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %last = sub i32 %n, 1
  %sets = icmp eq i32 %t, %last
  %rest = and i32 %t, 7
  %spins = icmp eq i32 %rest, 5
  br i1 %sets, label %set, label %other
set:
  store volatile i32 1, ptr %flag, align 4
  br label %join
other:
  br i1 %spins, label %again, label %join
again:
  call void @llvm.nvvm.nanosleep(i32 1)
  %seen = load volatile i32, ptr %flag, align 4
  %wait = icmp eq i32 %seen, 0
  br i1 %wait, label %again, label %join
join:
  call void @mix(ptr %word, i32 %t)
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  call void @mix(ptr %word, i32 %t)
  call void @llvm.nvvm.barrier0()
  call void @mix(ptr %word, i32 %t)
  ret void)",
     [](ThreadHandle& thread, std::uint32_t t, std::uint32_t* word, std::int32_t* flag) {
         mix(word, t);
         if (t == thread.ntid().x - 1)
             *flag = 1;
         else if (t % 8 == 5)
             do thread.yield();
             while (*static_cast<volatile std::int32_t*>(flag) == 0);
         mix(word, t);
         thread.warp(sync, ~0U, 0, 0);
         mix(word, t);
         thread.barrier();
         mix(word, t);
     }},
    // Longer than a turn in which a thread spins on memory (about 500 iterations).
    {"turns_that_are_used_up", R"(
  br label %again
again:
  %i = phi i32 [0, %begin], [%next, %again]
  %old = load volatile i32, ptr %word, align 4
  %scaled = mul i32 %old, 16777619
  %new = add i32 %scaled, %t
  store volatile i32 %new, ptr %word, align 4
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 300
  br i1 %more, label %again, label %rest
rest:
  %long = icmp ult i32 %t, 5
  br i1 %long, label %further, label %end
further:
  %j = phi i32 [0, %rest], [%after, %further]
  %was = load volatile i32, ptr %word, align 4
  %twice = mul i32 %was, 16777619
  %sum = add i32 %twice, %t
  store volatile i32 %sum, ptr %word, align 4
  %after = add i32 %j, 1
  %yet = icmp ult i32 %after, 1000
  br i1 %yet, label %further, label %end
end:
  ret void)",
     nullptr},
    {"a_lane_that_faults", R"(
  call void @mix(ptr %word, i32 %t)
  %bad = icmp eq i32 %t, 5
  br i1 %bad, label %fault, label %go
fault:
  call void @llvm.trap()
  unreachable
go:
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  call void @mix(ptr %word, i32 %t)
  call void @llvm.nvvm.barrier0()
  call void @mix(ptr %word, i32 %t)
  ret void)",
     nullptr},
};

/// Compiled once for each carrier and policy.
std::shared_ptr<LoadedImage> loaded(const RacyKernel& kernel) {
    static std::map<std::string, std::shared_ptr<LoadedImage>> known;
    std::shared_ptr<LoadedImage>& image = known[kernel.name];
    if (!image)
        image = device().load(ir_image(std::string(R"(
define internal void @mix(ptr %word, i32 %number) {
  %old = load i32, ptr %word, align 4
  %scaled = mul i32 %old, 16777619
  %new = add i32 %scaled, %number
  store i32 %new, ptr %word, align 4
  ret void
}
define void @k(ptr %word, ptr %flag) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  br label %begin
begin:
)") + kernel.body + "\n}"));
    return image;
}

struct Schedule {
    Policy policy;
    std::uint64_t seed;
};
constexpr Schedule schedules[] = {{Policy::forward, 0},
                                  {Policy::reverse, 0},
                                  {Policy::random, 1},
                                  {Policy::random, 2},
                                  {Policy::random, 3}};

enum class On { automatic, coroutines_without_lanes, looping_runner, fibers, host_code };

std::uint32_t result_of(const RacyKernel& kernel, const Schedule& schedule, On carrier, std::uint32_t blocks,
                        std::uint32_t threads) {
    DeviceArray<std::uint32_t> word(1, 1);
    DeviceArray<std::int32_t> flag(1, 0);
    LaunchOptions options;
    options.policy = schedule.policy;
    options.seed = schedule.seed;
    options.workers = 1;
    options.carrier = carrier == On::fibers ? Carrier::fiber : Carrier::automatic;
    options.compile.coroutines = carrier != On::looping_runner;
    options.compile.lane_coroutines = carrier == On::automatic;
    const LaunchConfiguration configuration{{blocks}, {threads}, 0};
    LaunchResult result;
    if (carrier == On::host_code) {
        auto* words = reinterpret_cast<std::uint32_t*>(word.pointer());
        auto* flags = reinterpret_cast<std::int32_t*>(flag.pointer());
        result =
            launch_function([&](ThreadHandle& thread) { kernel.host(thread, thread.tid().x, words, flags); },
                            configuration, options);
    } else {
        const std::uint64_t parameters[2] = {word.pointer(), flag.pointer()};
        result = device().launch(*loaded(kernel), "k", configuration, std::as_bytes(std::span(parameters)),
                                 options);
    }
    const auto* error = result.error();
    EXPECT_TRUE(!error || error->thread.thread == 5) << messages(result);
    return word.read()[0];
}

class RacyKernels : public ::testing::TestWithParam<RacyKernel> {};
INSTANTIATE_TEST_SUITE_P(Kernels, RacyKernels, ::testing::ValuesIn(racy_kernels),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(RacyKernels, give_the_same_results_on_every_carrier) {
    for (const std::uint32_t threads : {1U, 20U, 32U, 33U, 64U, 70U, 100U, 150U}) {
        for (const Schedule& schedule : schedules) {
            const std::uint32_t expected = result_of(GetParam(), schedule, On::automatic, 3, threads);
            for (const On carrier :
                 {On::coroutines_without_lanes, On::looping_runner, On::fibers, On::host_code}) {
                if (carrier == On::host_code && !GetParam().host) continue;
                EXPECT_EQ(result_of(GetParam(), schedule, carrier, 3, threads), expected)
                    << threads << " threads, policy " << static_cast<int>(schedule.policy) << ", seed "
                    << schedule.seed << ", carrier " << static_cast<int>(carrier);
            }
        }
    }
}

TEST_P(RacyKernels, give_other_results_under_other_policies) {
    std::vector<std::uint32_t> results;
    for (const Schedule& schedule : schedules)
        results.push_back(result_of(GetParam(), schedule, On::automatic, 2, 70));
    std::ranges::sort(results);
    EXPECT_EQ(std::ranges::adjacent_find(results), results.end());
}

/// What docs/execution_model.md says, for `whole_warps_and_barriers`.
std::uint32_t by_the_book(std::vector<std::uint32_t> threads) {
    std::uint32_t word = 1;
    for (const int passes : {3, 2}) {
        for (auto first = threads.begin(); first != threads.end();) {
            const auto last = std::find_if(first, threads.end(),
                                           [&](std::uint32_t thread) { return thread / 32 != *first / 32; });
            for (int pass = 0; pass < passes; ++pass)
                for (auto thread = first; thread != last; ++thread) mix(&word, *thread);
            first = last;
        }
    }
    return word;
}

TEST(ThreadOrderOfPolicies, is_warp_by_warp) {
    std::vector<std::uint32_t> threads(70);
    for (std::uint32_t i = 0; i < 70; ++i) threads[i] = i;
    const RacyKernel& kernel = racy_kernels[3];
    ASSERT_STREQ(kernel.name, "whole_warps_and_barriers");
    EXPECT_EQ(result_of(kernel, {Policy::forward, 0}, On::automatic, 1, 70), by_the_book(threads));
    std::ranges::reverse(threads);
    EXPECT_EQ(result_of(kernel, {Policy::reverse, 0}, On::automatic, 1, 70), by_the_book(threads));
}

TEST(ThreadOrderOfPolicies, gives_each_thread_one_turn_and_finishes_a_warp_before_the_next) {
    for (const Policy policy : {Policy::forward, Policy::reverse, Policy::random}) {
        for (const std::uint32_t count : {1U, 5U, 32U, 33U, 64U, 100U, 1000U, 1024U}) {
            for (const std::uint64_t seed : {1U, 2U, 3U}) {
                const ThreadOrder order(policy, count, seed);
                std::vector<std::uint32_t> threads, warps;
                for (std::uint32_t turn = 0; turn < count; ++turn) {
                    threads.push_back(order.thread(turn));
                    ASSERT_LT(threads.back(), count);
                    const std::uint32_t warp = threads.back() / 32;
                    if (warps.empty() || warps.back() != warp) warps.push_back(warp);
                }
                for (std::uint32_t i = 0, lane = 0; i < count; ++i, ++lane) {
                    if (i != 0 && threads[i] / 32 != threads[i - 1] / 32) lane = 0;
                    EXPECT_EQ(order.lane(threads[i] / 32, lane), threads[i] % 32);
                }
                EXPECT_EQ(warps.size(), (count + 31) / 32);
                std::ranges::sort(threads);
                EXPECT_EQ(std::ranges::adjacent_find(threads), threads.end());
            }
        }
    }
}

}  // namespace
}  // namespace cudasim::execution
