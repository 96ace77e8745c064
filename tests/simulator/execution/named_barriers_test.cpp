// Barriers for some of a block's threads (named_barriers.h): who waits for whom, in every mode, and what is
// said of those who wait in vain.
#include <algorithm>

#include "simulator/execution/loaded_image.h"
#include "simulator/execution/observer.h"
#include "simulator/execution/stop.h"
#include "simulator/jit/compiler.h"
#include "tests/simulator/execution/ir_kernel.h"
#include "tests/simulator/execution/ir_lines.h"

namespace cudasim::execution {
namespace {

using findings::FindingKind;

const std::string declarations = R"(
declare void @llvm.nvvm.barrier(i32, i32)
declare void @llvm.nvvm.barrier.sync.cnt(i32, i32)
declare void @llvm.nvvm.bar.sync(i32)
declare void @llvm.nvvm.barrier.cta.arrive.count(i32, i32)
declare void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32, i32)
declare i32 @llvm.nvvm.barrier.cta.red.popc.aligned.count(i32, i32, i1)
declare i1 @llvm.nvvm.barrier.cta.red.and.aligned.count(i32, i32, i1)
declare i1 @llvm.nvvm.barrier.cta.red.or.count(i32, i32, i1)
declare i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32, i1)
)";

class NamedBarrierTest : public IrKernelTest {
  protected:
    static image::KernelImage image_of(const std::string& body) { return ir_image(declarations + body); }
    /// The warp, from 0 on, and what it does, one basic block for each: "w0", "w1", ...; all end at "end".
    static std::string by_warp(const std::vector<std::string>& warps, const std::string& end = "") {
        std::string text = R"(
define void @k(ptr addrspace(1) %out, i64 %given) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %t, 31
  %warp = lshr i32 %t, 5
  %g = trunc i64 %given to i32
  %place = getelementptr i32, ptr addrspace(1) %out, i32 %t
  switch i32 %warp, label %end [
)";
        for (std::size_t i = 0; i < warps.size(); ++i)
            text += "    i32 " + std::to_string(i) + ", label %w" + std::to_string(i) + "\n";
        text += "  ]\n";
        for (std::size_t i = 0; i < warps.size(); ++i)
            text += "w" + std::to_string(i) + ":\n" + warps[i] +
                    (warps[i].ends_with("ret void\n") ? "" : "  br label %end\n");
        return text + "end:\n" + end + "  ret void\n}\n";
    }
};
class NamedBarriersOf : public NamedBarrierTest {};
INSTANTIATE_TEST_SUITE_P(Modes, NamedBarriersOf, all_modes, mode_name);

std::string sync(int number, int threads) {
    return "  call void @llvm.nvvm.barrier(i32 " + std::to_string(number) + ", i32 " +
           std::to_string(threads) + ")\n";
}
std::string arrive(int number, int threads) {
    return "  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 " + std::to_string(number) +
           ", i32 " + std::to_string(threads) + ")\n";
}

/// Pairs of warps hand 32 words to each other through two buffers: for each buffer a barrier says that it is
/// full, another that it is empty. Each pair has barriers of its own.
const std::string pipeline = R"(
@buffers = internal addrspace(3) global [2 x [3 x [32 x i32]]] undef
define void @k(ptr addrspace(1) %out, i64 %given) {
entry:
  %rounds = trunc i64 %given to i32
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %t, 31
  %warp = lshr i32 %t, 5
  %pair = lshr i32 %warp, 1
  %role = and i32 %warp, 1
  %first = mul i32 %pair, 4
  %full = add i32 %first, 1
  %empty = add i32 %first, 3
  %empty1 = add i32 %first, 4
  %consumes = icmp eq i32 %role, 1
  br i1 %consumes, label %begin, label %produce
begin:
  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 %empty, i32 64)
  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 %empty1, i32 64)
  br label %consume
produce:
  %r = phi i32 [ 0, %entry ], [ %r1, %produce ]
  %s = and i32 %r, 1
  %e = add i32 %empty, %s
  %f = add i32 %full, %s
  call void @llvm.nvvm.barrier(i32 %e, i32 64)
  %place = getelementptr [2 x [3 x [32 x i32]]], ptr addrspace(3) @buffers, i32 0, i32 %s, i32 %pair, i32 %lane
  %thousand = mul i32 %r, 1000
  %made = add i32 %thousand, %t
  store i32 %made, ptr addrspace(3) %place, align 4
  call void @llvm.nvvm.barrier.cta.arrive.aligned.count(i32 %f, i32 64)
  %r1 = add i32 %r, 1
  %more = icmp ult i32 %r1, %rounds
  br i1 %more, label %produce, label %end
consume:
  %q = phi i32 [ 0, %begin ], [ %q1, %consume ]
  %sum = phi i32 [ 0, %begin ], [ %sum1, %consume ]
  %qs = and i32 %q, 1
  %qe = add i32 %empty, %qs
  %qf = add i32 %full, %qs
  call void @llvm.nvvm.barrier.sync.cnt(i32 %qf, i32 64)
  %other = sub i32 31, %lane
  %from = getelementptr [2 x [3 x [32 x i32]]], ptr addrspace(3) @buffers, i32 0, i32 %qs, i32 %pair, i32 %other
  %got = load i32, ptr addrspace(3) %from, align 4
  %sum1 = add i32 %sum, %got
  call void @llvm.nvvm.barrier.cta.arrive.count(i32 %qe, i32 64)
  %q1 = add i32 %q, 1
  %again = icmp ult i32 %q1, %rounds
  br i1 %again, label %consume, label %done
done:
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %start = mul i32 %b, %n
  %index = add i32 %start, %t
  %target = getelementptr i32, ptr addrspace(1) %out, i32 %index
  store i32 %sum1, ptr addrspace(1) %target, align 4
  br label %end
end:
  ret void
}
)";

TEST_P(NamedBarriersOf, producers_and_consumers_hand_buffers_to_each_other) {
    constexpr unsigned blocks = 20, threads = 192, rounds = 9;
    DeviceArray<std::uint32_t> out(blocks * threads, 7);
    const auto result = run_ir(image_of(pipeline), {blocks}, {threads}, out.pointer(), rounds);
    EXPECT_EQ(messages(result), "");
    const auto& got = out.read();
    for (unsigned i = 0; i < blocks * threads; ++i) {
        const unsigned t = i % threads, sender = t / 64 * 64 + 31 - t % 32;
        const unsigned sum = 1000 * (rounds * (rounds - 1) / 2) + rounds * sender;
        ASSERT_EQ(got[i], t / 32 % 2 == 1 ? sum : 7) << i;
    }
}

TEST_P(NamedBarriersOf, arrivals_do_not_wait_and_those_who_wait_see_what_was_written) {
    // Warp 0 writes and ends, lane by lane; warp 2 has nothing to do with it and meets warp 3 elsewhere.
    const auto image = image_of(
        by_warp({"  store i32 5, ptr addrspace(1) %place, align 4\n" + arrive(1, 64), sync(1, 64) + R"(
  %before = sub i32 %t, 32
  %from = getelementptr i32, ptr addrspace(1) %out, i32 %before
  %seen = load i32, ptr addrspace(1) %from, align 4
  %more = add i32 %seen, %t
  store i32 %more, ptr addrspace(1) %place, align 4
)",
                 sync(15, 64) + "  store i32 1, ptr addrspace(1) %place, align 4\n",
                 sync(15, 64) + "  store i32 2, ptr addrspace(1) %place, align 4\n"}));
    DeviceArray<std::uint32_t> out(128);
    EXPECT_EQ(messages(run_ir(image, {1}, {128}, out.pointer(), 0)), "");
    const auto& got = out.read();
    for (unsigned t = 0; t < 128; ++t)
        EXPECT_EQ(got[t], t < 32 ? 5U : t < 64 ? 5 + t : t < 96 ? 1U : 2U) << t;
}

TEST_P(NamedBarriersOf, the_last_warp_counts_whole_though_it_has_few_lanes) {
    for (const unsigned threads : {33U, 40U, 64U}) {
        const auto image =
            image_of(by_warp({sync(2, 64) + "  store i32 1, ptr addrspace(1) %place, align 4\n",
                              sync(2, 64) + "  store i32 1, ptr addrspace(1) %place, align 4\n"}));
        DeviceArray<std::uint32_t> out(64);
        EXPECT_EQ(messages(run_ir(image, {1}, {threads}, out.pointer(), 0)), "");
        EXPECT_EQ(std::ranges::count(out.read(), 1U), threads);
        // Its lanes arrive and end, one after another.
        const auto ending = image_of(
            by_warp({sync(2, 64) + "  store i32 1, ptr addrspace(1) %place, align 4\n", arrive(2, 64)}));
        DeviceArray<std::uint32_t> again(64);
        EXPECT_EQ(messages(run_ir(ending, {1}, {threads}, again.pointer(), 0)), "");
        EXPECT_EQ(std::ranges::count(again.read(), 1U), 32);
    }
}

TEST_P(NamedBarriersOf, lanes_that_have_ended_come_with_their_warp) {
    const auto image = image_of(by_warp({R"(  %low = icmp ult i32 %lane, 5
  br i1 %low, label %end, label %others
others:
)" + sync(1, 64) + "  store i32 1, ptr addrspace(1) %place, align 4\n",
                                         sync(1, 64) + "  store i32 1, ptr addrspace(1) %place, align 4\n"}));
    DeviceArray<std::uint32_t> out(64);
    EXPECT_EQ(messages(run_ir(image, {1}, {64}, out.pointer(), 0)), "");
    EXPECT_EQ(std::ranges::count(out.read(), 1U), 59);
}

TEST_P(NamedBarriersOf, votes_are_those_of_the_threads_that_come) {
    const std::string votes = R"(
  %odd = trunc i32 %t to i1
  %count = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.count(i32 NUMBER, i32 64, i1 %odd)
  %small = icmp ult i32 %t, LIMIT
  %all = call i1 @llvm.nvvm.barrier.cta.red.and.aligned.count(i32 NUMBER, i32 64, i1 %small)
  %is = icmp eq i32 %t, 70
  %any = call i1 @llvm.nvvm.barrier.cta.red.or.count(i32 NUMBER, i32 64, i1 %is)
  %a = select i1 %all, i32 1000, i32 0
  %b = select i1 %any, i32 2000, i32 0
  %ab = add i32 %a, %b
  %sum = add i32 %ab, %count
  store i32 %sum, ptr addrspace(1) %place, align 4
)";
    const auto group = [&](const char* number, const char* limit, const char* suffix) {
        std::string text = votes;
        for (const auto& [from, to] : {std::pair{std::string("NUMBER"), std::string(number)},
                                       std::pair{std::string("LIMIT"), std::string(limit)}})
            for (std::size_t at; (at = text.find(from)) != std::string::npos;)
                text.replace(at, from.size(), to);
        for (const char* name : {"%odd", "%count", "%small", "%all", "%is", "%any", "%ab", "%sum"}) {
            const std::string whole(name);
            for (std::size_t at = 0; (at = text.find(whole, at)) != std::string::npos; at += whole.size() + 1)
                text.insert(at + whole.size(), suffix);
        }
        for (const char* name : {"%a ", "%b ", "%a,", "%b\n"}) {
            const std::string whole(name);
            for (std::size_t at = 0; (at = text.find(whole, at)) != std::string::npos; at += whole.size() + 1)
                text.insert(at + 2, suffix);
        }
        return text;
    };
    const auto image = image_of(by_warp(
        {group("3", "64", "x"), group("3", "64", "y"), group("4", "100", "z"), group("4", "100", "v")}));
    DeviceArray<std::uint32_t> out(128);
    EXPECT_EQ(messages(run_ir(image, {1}, {128}, out.pointer(), 0)), "");
    const auto& got = out.read();
    for (unsigned t = 0; t < 128; ++t) EXPECT_EQ(got[t], t < 64 ? 1032U : 2032U) << t;
}

TEST_P(NamedBarriersOf, the_whole_block_meets_arrivals_at_a_barrier_without_a_number_of_threads) {
    const std::string rest =
        "  call void @llvm.nvvm.bar.sync(i32 3)\n  store i32 1, ptr addrspace(1) %place, align 4\n";
    const auto image = image_of(by_warp({rest, rest, rest, arrive(3, 128)}));
    DeviceArray<std::uint32_t> out(128);
    EXPECT_EQ(messages(run_ir(image, {1}, {128}, out.pointer(), 0)), "");
    EXPECT_EQ(std::ranges::count(out.read(), 1U), 96);
    // Barrier 0 too, where some threads come to barrier 0 alone, and the answer counts those who come.
    const std::string vote = R"(
  %n = call i32 @llvm.nvvm.barrier0.popc(i32 1)
  call void @llvm.nvvm.barrier0()
  store i32 %n, ptr addrspace(1) %place, align 4
)";
    const auto both = image_of(by_warp({sync(0, 32) + sync(1, 64), sync(1, 64)}, vote));
    DeviceArray<std::uint32_t> counts(64);
    const auto result = run_ir(both, {1}, {64}, counts.pointer(), 0);
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(std::ranges::count(counts.read(), 64U), 64);
}

TEST_P(NamedBarriersOf, threads_that_ended_do_not_block_a_barrier_of_the_whole_block_but_are_warned_of) {
    const std::string rest =
        "  call void @llvm.nvvm.bar.sync(i32 3)\n  store i32 1, ptr addrspace(1) %place, align 4\n";
    const auto image = image_of(by_warp({rest, rest, arrive(3, 96) + "  ret void\n"}));
    DeviceArray<std::uint32_t> out(128);
    auto result = run_ir(image, {3}, {96}, out.pointer(), 0);
    EXPECT_EQ(messages(result), "");  // the third warp has arrived
    result = run_ir(image, {3}, {128}, out.pointer(), 0);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::invalid_barrier);  // for 96 threads, and for all 128

    const auto without = image_of(by_warp({rest, rest, R"(  %others = icmp eq i32 %g, 99
  br i1 %others, label %never, label %end
never:
)" + arrive(3, 96)}));
    DeviceArray<std::uint32_t> again(96);
    result = run_ir(without, {3}, {96}, again.pointer(), 0);
    EXPECT_EQ(result.error(), nullptr) << messages(result);
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.findings[0].kind, FindingKind::barrier_early_exit);
    EXPECT_EQ(result.findings[0].thread.block, 0U);
    EXPECT_EQ(result.findings[0].message,
              "32 threads of 96 ended without reaching the barrier at which 64 threads wait");
    EXPECT_EQ(std::ranges::count(again.read(), 1U), 64);
}

TEST_P(NamedBarriersOf, a_fault_ends_its_thread_and_the_rest_of_its_warp_goes_on) {
    const auto image = image_of(by_warp({R"(  %one = icmp eq i32 %lane, 3
  br i1 %one, label %trap, label %others
trap:
  call void @llvm.trap()
  unreachable
others:
)" + sync(1, 64) + "  store i32 1, ptr addrspace(1) %place, align 4\n",
                                         sync(1, 64) + "  store i32 1, ptr addrspace(1) %place, align 4\n"}));
    DeviceArray<std::uint32_t> out(64);
    const auto result = run_ir(image, {1}, {64}, out.pointer(), 0);
    ASSERT_EQ(result.findings.size(), 1U) << messages(result);
    EXPECT_EQ(result.findings[0].kind, FindingKind::trap);
    EXPECT_EQ(result.findings[0].thread.thread, 3U);
    EXPECT_EQ(std::ranges::count(out.read(), 1U), 63);
}

TEST_P(NamedBarriersOf, too_few_threads_are_a_deadlock_that_says_who_waits_where_for_how_many) {
    const auto image = image_of(by_warp({sync(5, 96), sync(5, 96), sync(6, 64), "  ret void\n"}));
    const auto result = run_ir(image, {2}, {128}, 0, 0);
    ASSERT_NE(result.error(), nullptr);
    const auto& finding = *result.error();
    EXPECT_EQ(finding.kind, FindingKind::deadlock);
    EXPECT_EQ(findings::coordinates(finding.thread), "tid=[0, 0, 0] ctaid=[0, 0, 0]");
    EXPECT_EQ(finding.message,
              "barrier 5 waits for 96 threads, of which only 64 come, as some have ended: "
              "threads 0-31 waiting at barrier 5 (64 of 96 threads have come) at an unknown line; "
              "threads 32-63 waiting at barrier 5 (64 of 96 threads have come) at an unknown line; "
              "threads 64-95 waiting at barrier 6 (32 of 64 threads have come) at an unknown line");
    ASSERT_GE(finding.waiting.size(), 3U);
    EXPECT_EQ(finding.waiting[2].threads, (std::vector<std::pair<std::uint32_t, std::uint32_t>>{{64, 95}}));
}

TEST_P(NamedBarriersOf, a_barrier_of_the_block_does_not_pass_while_some_wait_for_others) {
    const auto image = image_of(by_warp({sync(1, 64), "  call void @llvm.nvvm.barrier0()\n"}));
    const auto result = run_ir(image, {1}, {64}, 0, 0);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::deadlock);
    EXPECT_NE(result.error()->message.find("threads 32-63 waiting at barrier at"), std::string::npos)
        << result.error()->message;
    EXPECT_NE(result.error()->message.find("threads 0-31 waiting at barrier 1 (32 of 64 threads"),
              std::string::npos);
}

TEST_P(NamedBarriersOf, that_cannot_be_are_faults_of_the_thread_that_comes) {
    const auto message_of = [&](const std::string& first, const std::string& second, std::uint64_t given) {
        const auto result = run_ir(image_of(by_warp({first, second})), {1}, {64}, 0, given);
        EXPECT_NE(result.error(), nullptr);
        if (!result.error()) return std::string();
        EXPECT_EQ(result.error()->kind, FindingKind::invalid_barrier) << result.error()->message;
        return result.error()->message;
    };
    const std::string number = "  call void @llvm.nvvm.barrier(i32 %g, i32 32)\n";
    const std::string threads = "  call void @llvm.nvvm.barrier(i32 1, i32 %g)\n";
    EXPECT_EQ(message_of(number, "", 16), "barrier 16 for 32 threads: a block has barriers 0 to 15");
    for (const std::uint64_t wrong : {0, 31, 48})
        EXPECT_EQ(message_of("", threads, wrong),
                  "barrier 1 for " + std::to_string(wrong) +
                      " threads: the number of threads has to be a positive multiple of 32");
    EXPECT_NE(message_of(sync(1, 64), arrive(1, 96), 0).find("for another number of threads"),
              std::string::npos);
    const std::string vote =
        "  %n = call i32 @llvm.nvvm.barrier.cta.red.popc.aligned.count(i32 1, i32 64, i1 true)\n";
    EXPECT_NE(message_of(vote, arrive(1, 64), 0).find("bar.red must not be mixed"), std::string::npos);
    EXPECT_EQ(messages(run_ir(image_of(by_warp({number, threads})), {1}, {64}, 0, 32)).find("barrier 32"),
              std::string("tid=[0, 0, 0] ctaid=[0, 0, 0]: ").size());
}

TEST_P(NamedBarriersOf, that_cannot_be_are_refused_where_they_are_constants) {
    for (const std::string& wrong : {sync(16, 32), sync(1, 48), arrive(1, 0),
                                     std::string("  call void @llvm.nvvm.bar.sync(i32 16)\n")}) {
        try {
            (void)run_ir(image_of(by_warp({wrong})), {1}, {32}, 0, 0);
            ADD_FAILURE() << "compiled:" << wrong;
        } catch (const jit::CompileError& error) {
            const std::string text = error.what();
            EXPECT_TRUE(text.find("barriers 0 to 15") != std::string::npos ||
                        text.find("positive multiple of 32") != std::string::npos)
                << text;
        }
    }
}

TEST_P(NamedBarriersOf, work_beside_barriers_of_the_block_and_warp_operations) {
    const std::string body = R"(
@values = internal addrspace(3) global [128 x i32] undef
define void @k(ptr addrspace(1) %out, i64 %given) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %warp = lshr i32 %t, 5
  %group = lshr i32 %warp, 1
  %number = add i32 %group, 1
  %own = getelementptr [128 x i32], ptr addrspace(3) @values, i32 0, i32 %t
  br label %loop
loop:
  %r = phi i32 [ 0, %entry ], [ %r1, %loop ]
  %sum = phi i32 [ 0, %entry ], [ %sum2, %loop ]
  %v = add i32 %t, %r
  store i32 %v, ptr addrspace(3) %own, align 4
  call void @llvm.nvvm.barrier(i32 %number, i32 64)
  %x = xor i32 %t, 63
  %other = getelementptr [128 x i32], ptr addrspace(3) @values, i32 0, i32 %x
  %got = load i32, ptr addrspace(3) %other, align 4
  %low = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %got, i32 0, i32 31)
  %sum1 = add i32 %sum, %got
  %sum2 = add i32 %sum1, %low
  call void @llvm.nvvm.barrier0()
  %r1 = add i32 %r, 1
  %more = icmp ult i32 %r1, 5
  br i1 %more, label %loop, label %done
done:
  %place = getelementptr i32, ptr addrspace(1) %out, i32 %t
  store i32 %sum2, ptr addrspace(1) %place, align 4
  ret void
}
)";
    DeviceArray<std::uint32_t> out(128);
    EXPECT_EQ(messages(run_ir(image_of(body), {1}, {128}, out.pointer(), 0)), "");
    const auto& got = out.read();
    for (unsigned t = 0; t < 128; ++t) EXPECT_EQ(got[t], 5 * ((t ^ 63) + ((t & ~31U) ^ 63)) + 2 * 10) << t;
}

TEST_P(NamedBarriersOf, that_wait_for_a_thread_that_spins_are_part_of_a_livelock) {
    const auto image = image_of(by_warp({sync(1, 64), R"(  br label %spin
spin:
  %seen = load volatile i32, ptr addrspace(1) %out, align 4
  %still = icmp eq i32 %seen, 0
  br i1 %still, label %spin, label %passed
passed:
)" + sync(1, 64)}));
    DeviceArray<std::uint32_t> flag(1);
    const auto result = run_ir(image, {1}, {64}, flag.pointer(), 0);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::livelock);
    EXPECT_NE(result.error()->message.find("threads 0-31 waiting at barrier 1 (32 of 64 threads have come)"),
              std::string::npos)
        << result.error()->message;
}

class SeesBarriers final : public LaunchObserver {
  public:
    std::vector<std::string> seen;
    void barrier(const ObservedBlock&, jit::BarrierKind) override { seen.push_back("block"); }
    void named_barrier(const ObservedBlock& block, const CompletedBarrier& barrier) override {
        std::uint32_t came = 0;
        for (const std::uint16_t count : barrier.arrivals) came += count;
        EXPECT_EQ(barrier.arrivals.size(), block.threads);
        seen.push_back(std::to_string(barrier.number) + ": " + std::to_string(barrier.threads) + ", " +
                       std::to_string(came) + " came, " + std::to_string(barrier.waiting.size()) + " wait");
    }
};

TEST_P(NamedBarriersOf, are_told_to_observers) {
    SeesBarriers observer;
    LaunchOptions watched = options();
    watched.observers.add(observer);
    const auto image = image_of(by_warp({arrive(7, 64), sync(7, 64)}, "  call void @llvm.nvvm.barrier0()\n"));
    image_ = device().load(image);
    const std::uint64_t parameters[2] = {};
    const auto result =
        device().launch(*image_, "k", {{1}, {40}, 0}, std::as_bytes(std::span(parameters)), watched);
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(observer.seen, (std::vector<std::string>{"7: 64, 40 came, 8 wait", "block"}));
}

/// Holds one thread, moves all others to the barrier, then the one, and one that can go on.
class MovesThreads final : public StopHandler {
  public:
    std::vector<ThreadState> states;
    void launch_begins(StoppedLaunch& launch) override { launch.stop_at(kernel_file, 101); }
    void stopped(StoppedLaunch& launch) override {
        launch.stop_at(kernel_file, 101, false);
        const std::uint32_t held = launch.stopped_thread().thread;
        for (std::uint32_t thread = 0; thread < 64; ++thread)
            if (thread != held) states.push_back(launch.run({0, thread}));
        const ThreadRef other{0, (held + 40) % 64};
        states.push_back(launch.state(other));
        states.push_back(launch.run({0, held}));
        states.push_back(launch.state(other));
        states.push_back(launch.run(other));
    }
};

TEST_P(NamedBarriersOf, hold_threads_that_a_handler_moves) {
    MovesThreads handler;
    LaunchOptions stopped = options();
    stopped.stop_handler = &handler;
    const auto image =
        image_of(by_warp({sync(1, 64), sync(1, 64)}, "  store i32 1, ptr addrspace(1) %place, align 4\n"));
    DeviceArray<std::uint32_t> out(64);
    image_ = device().load(with_lines(image));
    const std::uint64_t parameters[2] = {out.pointer(), 0};
    const auto result =
        device().launch(*image_, "k", {{1}, {64}, 0}, std::as_bytes(std::span(parameters)), stopped);
    EXPECT_EQ(messages(result), "");
    EXPECT_EQ(std::ranges::count(out.read(), 1U), 64);
    ASSERT_EQ(handler.states.size(), 67U);
    for (std::size_t i = 0; i < 64; ++i) EXPECT_EQ(handler.states[i], ThreadState::at_barrier) << i;
    EXPECT_EQ(handler.states[64], ThreadState::can_run);
    EXPECT_EQ(handler.states[65], ThreadState::can_run);
    EXPECT_EQ(handler.states[66], ThreadState::over);
}

}  // namespace
}  // namespace cudasim::execution
