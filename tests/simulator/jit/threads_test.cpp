// The thread loop, special registers, polls, recursion, barriers: how compiled code meets the engine.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "kernels.h"
#include "machine.h"

namespace cudasim::jit::testing {
namespace {

using findings::FindingKind;

class Threads : public ::testing::TestWithParam<unsigned> {
  protected:
    Machine machine(const std::string& body) {
        return Machine(module_head() + body, {.optimisation = GetParam()});
    }
};
INSTANTIATE_TEST_SUITE_P(Optimisation, Threads, ::testing::Values(0U, 2U));

const std::string coordinates = R"(
define internal i32 @packed() noinline {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %z = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  %y8 = shl i32 %y, 8
  %z16 = shl i32 %z, 16
  %xy = or i32 %x, %y8
  %xyz = or i32 %xy, %z16
  ret i32 %xyz
}
define void @f(ptr addrspace(1) %out, ptr addrspace(1) %counter) {
  %slot = atomicrmw add ptr addrspace(1) %counter, i32 1 monotonic
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %slot
  %function = alloca ptr, align 8
  store ptr @packed, ptr %function, align 8
  %called = load ptr, ptr %function, align 8
  %v = call i32 %called()
  store i32 %v, ptr addrspace(1) %p, align 4
  ret void
}
)" + kernels({"f"});

TEST_P(Threads, run_in_linear_order_with_x_fastest) {
    Buffer<std::int32_t> out(std::vector<std::int32_t>(24, -5)), counter({0});
    auto m = machine(coordinates);
    m.run("f", {{1, 1, 1}, {4, 3, 2}}, {out.address(), counter.address()});
    ASSERT_TRUE(m.events.empty());
    for (int i = 0; i < 24; ++i) EXPECT_EQ(out[i], (i % 4) | (i / 4 % 3) << 8 | (i / 12) << 16) << i;
}

TEST_P(Threads, a_runner_starts_and_stops_where_the_engine_says) {
    auto m = machine(coordinates);
    const auto compiled = m.compile("f");
    Buffer<std::int32_t> out(std::vector<std::int32_t>(24, -5)), counter({0});
    const std::uint64_t parameters[] = {out.address(), counter.address()};
    BlockContext block{};
    std::fill_n(block.ntid, 3, 0);
    block.ntid[0] = 4, block.ntid[1] = 3, block.ntid[2] = 2;
    block.parameters = reinterpret_cast<const std::byte*>(parameters);
    block.shadow_base = Shadow::instance().base();
    ThreadContext context{};
    context.thread = 13;
    context.end = 15;
    context.block = &block;
    compiled->entry(&context);
    EXPECT_EQ(counter[0], 2);
    EXPECT_EQ(out[0], 1 | 0 << 8 | 1 << 16);
    EXPECT_EQ(out[1], 2 | 0 << 8 | 1 << 16);
    EXPECT_EQ(context.thread, 14U);
    context.thread = context.end = 5;
    compiled->entry(&context);
    EXPECT_EQ(counter[0], 2) << "an empty range runs nothing";
}

const std::string waiting = R"(
define void @f(ptr addrspace(1) %out) !dbg !3 {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !6
  call void @llvm.nvvm.barrier0(), !dbg !6
  %odd = and i32 %tid, 1, !dbg !6
  %n = call i32 @llvm.nvvm.barrier0.popc(i32 %tid), !dbg !7
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %tid, !dbg !7
  store i32 %n, ptr addrspace(1) %p, align 4, !dbg !7
  ret void, !dbg !7
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!5}
!0 = distinct !DICompileUnit(language: DW_LANG_Python, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "wait.py", directory: "/home/me")
!2 = !DISubroutineType(types: !{})
!3 = distinct !DISubprogram(name: "wait", file: !1, line: 4, type: !2, unit: !0, spFlags: DISPFlagDefinition)
!5 = !{i32 2, !"Debug Info Version", i32 3}
!6 = !DILocation(line: 5, column: 9, scope: !3)
!7 = !DILocation(line: 6, column: 5, scope: !3)
)" + kernels({"f"});

TEST_P(Threads, barriers_are_calls_with_kind_predicate_and_site) {
    Buffer<std::int32_t> out({0, 0, 0});
    auto m = machine(waiting);
    m.run("f", {{1, 1, 1}, {3, 1, 1}}, {out.address()});
    EXPECT_TRUE(m.compiled->waits);
    const auto barriers = m.of("barrier");
    ASSERT_EQ(barriers.size(), 6U);
    EXPECT_EQ(barriers[0].values, (std::vector<std::int64_t>{0, 0}));
    EXPECT_EQ(barriers[5].values, (std::vector<std::int64_t>{1, 1})) << "any true value counts as 1";
    EXPECT_NE(barriers[0].site, barriers[1].site);
    EXPECT_EQ(barriers[0].site, barriers[2].site);
    EXPECT_EQ(m.place(barriers[1]), "/home/me/wait.py:6:5 in wait");
    EXPECT_EQ(out.values(), (std::vector<std::int32_t>{40, 41, 41}));
}

TEST_P(Threads, copies_of_one_barrier_stay_one_site) {
    auto m = machine(R"(
define void @f(i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  call void @llvm.nvvm.barrier0(), !dbg !6
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, 4
  br i1 %more, label %loop, label %tail
tail:
  %flag = icmp eq i64 %n, 0
  br i1 %flag, label %one, label %two
one:
  call void @llvm.nvvm.barrier0()
  br label %end
two:
  call void @llvm.nvvm.barrier0()
  br label %end
end:
  ret void
}
!llvm.module.flags = !{!5}
!llvm.dbg.cu = !{!0}
!0 = distinct !DICompileUnit(language: DW_LANG_Python, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "wait.py", directory: "/home/me")
!2 = !DISubroutineType(types: !{})
!3 = distinct !DISubprogram(name: "wait", file: !1, line: 4, type: !2, unit: !0, spFlags: DISPFlagDefinition)
!5 = !{i32 2, !"Debug Info Version", i32 3}
!6 = !DILocation(line: 5, column: 9, scope: !3)
)" + kernels({"f"}));
    m.run("f", {}, {0});
    const auto first = m.of("barrier");
    m.run("f", {}, {1});
    const auto second = m.of("barrier");
    ASSERT_EQ(first.size(), 5U);
    ASSERT_EQ(second.size(), 5U);
    for (int i = 1; i < 4; ++i) EXPECT_EQ(first[i].site, first[0].site) << "an unrolled loop";
    EXPECT_NE(first[4].site, second[4].site) << "two barriers, never merged into one";
}

const std::string endless = R"(
define void @empty() {
  br label %loop
loop:
  br label %loop
}
define void @flag(ptr addrspace(1) %p) {
  br label %loop
loop:
  %x = load volatile i32, ptr addrspace(1) %p, align 4
  %wait = icmp eq i32 %x, 0
  br i1 %wait, label %loop, label %end, !llvm.loop !1
end:
  ret void
}
define void @irreducible(i64 %n) {
  %c = icmp eq i64 %n, 0
  br i1 %c, label %a, label %b
a:
  br label %b
b:
  br label %a
}
define void @counted(ptr addrspace(1) %p, i64 %n) {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %end
end:
  store i64 %i, ptr addrspace(1) %p, align 8
  ret void
}
!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.mustprogress"}
)" + kernels({"empty", "flag", "irreducible", "counted"});

TEST_P(Threads, endless_loops_keep_polling) {
    Buffer<std::int32_t> p({0});
    auto m = machine(endless);
    m.yields_before_stopping = 5;
    m.run("empty", {});
    EXPECT_EQ(m.of("yield").size(), 5U);
    m.run("flag", {}, {p.address()});
    EXPECT_EQ(m.of("yield").size(), 5U);
    m.run("irreducible", {}, {0});
    EXPECT_EQ(m.of("yield").size(), 5U);
}

TEST_P(Threads, a_long_loop_yields_once_a_slice) {
    Buffer<std::int64_t> p({0});
    auto m = machine(endless);
    m.run("counted", {}, {p.address(), 100});
    EXPECT_TRUE(m.events.empty());
    EXPECT_EQ(p[0], 99);
    m.run("counted", {}, {p.address(), 10 * fuel_per_slice + 5});
    EXPECT_EQ(m.of("yield").size(), 10U);
    EXPECT_EQ(p[0], 10 * fuel_per_slice + 4);
}

TEST_P(Threads, a_spinning_loop_yields_soon) {
    Buffer<std::int32_t> flag({0});
    auto m = machine(R"(
define void @spin(ptr addrspace(1) %flag) {
  br label %loop
loop:
  %tries = atomicrmw add ptr addrspace(1) %flag, i32 1 monotonic
  %wait = icmp sge i32 %tries, 0
  br i1 %wait, label %loop, label %end
end:
  ret void
}
)" + kernels({"spin"}));
    m.yields_before_stopping = 1;
    m.run("spin", {}, {flag.address()});
    ASSERT_EQ(m.of("yield").size(), 1U);
    EXPECT_EQ(flag[0], fuel_per_slice / fuel_per_spin);
}

TEST_P(Threads, runaway_recursion_is_a_finding_and_ordinary_recursion_works) {
    Buffer<std::int64_t> out({0});
    auto m = machine(R"(
define internal i64 @sum(i64 %n) {
  %zero = icmp eq i64 %n, 0
  br i1 %zero, label %end, label %more
more:
  %less = sub i64 %n, 1
  %rest = call i64 @sum(i64 %less)
  %all = add i64 %rest, %n
  ret i64 %all
end:
  ret i64 0
}
define void @f(ptr addrspace(1) %out, i64 %n) {
  %s = call i64 @sum(i64 %n)
  store i64 %s, ptr addrspace(1) %out, align 8
  ret void
}
define void @g(ptr addrspace(1) %out) {
  store i64 1, ptr addrspace(1) %out, align 8
  ret void
}
)" + kernels({"f", "g"}));
    m.run("f", {}, {out.address(), 100});
    EXPECT_TRUE(m.compiled->recursive);
    EXPECT_TRUE(m.events.empty());
    EXPECT_EQ(out[0], 5050);
    EXPECT_FALSE(m.compile("g")->recursive);
}

const std::string mutual = R"(
define internal i64 @even(i64 %n) {
  %big = alloca [64 x i64], align 8
  %slot = getelementptr i64, ptr %big, i64 3
  store volatile i64 %n, ptr %slot, align 8
  %r = call i64 @odd(i64 %n)
  %x = load volatile i64, ptr %slot, align 8
  %y = add i64 %x, %r
  ret i64 %y
}
define internal i64 @odd(i64 %n) {
  %m = add i64 %n, 1
  %r = call i64 @even(i64 %m)
  %s = add i64 %r, 1
  ret i64 %s
}
define void @f(ptr addrspace(1) %out) {
  %s = call i64 @even(i64 0)
  store i64 %s, ptr addrspace(1) %out, align 8
  ret void
}
)" + kernels({"f"});

TEST_P(Threads, recursion_through_several_functions_stops_at_the_stack_limit) {
    Buffer<std::int64_t> out({0});
    auto m = machine(mutual);
    m.run("f", {}, {out.address()});
    EXPECT_EQ(m.of("stack_overflow").size(), 1U);
    EXPECT_EQ(out[0], 0);
}

TEST_P(Threads, a_recursive_function_needs_no_more_stack_than_its_frame) {
    Buffer<std::int64_t> out({0});
    auto m = machine(R"(
define internal i64 @deep(i64 %n) {
  %a = alloca [4 x i64], align 8
  %b = alloca [4 x i64], align 8
  %pa = getelementptr i64, ptr %a, i64 %n
  %pb = getelementptr i64, ptr %b, i64 %n
  %x = load i64, ptr %pa, align 8
  store i64 %x, ptr %pb, align 8
  %r = call i64 @deep(i64 %n)
  %s = load i64, ptr %pb, align 8
  %t = add i64 %r, %s
  ret i64 %t
}
define void @f(ptr addrspace(1) %out, i64 %n) {
  %s = call i64 @deep(i64 %n)
  store i64 %s, ptr addrspace(1) %out, align 8
  ret void
}
)" + kernels({"f"}));
    m.run("f", {}, {out.address(), 1});
    ASSERT_EQ(m.of("stack_overflow").size(), 1U);
    const std::uint64_t depth = m.of("local_begin").size() / 2;
    EXPECT_GE(depth, 256 * 1024 / m.compiled->frame_bytes - 2) << "frame_bytes bounds every frame";
    EXPECT_LE(m.compiled->frame_bytes, 1024U);
}

TEST_P(Threads, recursion_burns_fuel) {
    Buffer<std::int64_t> out({0});
    auto m = machine(R"(
define internal void @tree(i64 %n) {
  %zero = icmp eq i64 %n, 0
  br i1 %zero, label %end, label %more
more:
  %less = sub i64 %n, 1
  call void @tree(i64 %less)
  call void @tree(i64 %less)
  br label %end
end:
  ret void
}
define void @f() {
  call void @tree(i64 15)
  ret void
}
)" + kernels({"f"}));
    m.run("f", {});
    const std::uint64_t calls = (1U << 16) - 1;
    EXPECT_EQ(m.of("yield").size(), calls / (fuel_per_slice + 1));
}

TEST_P(Threads, traps_and_unreachable_code_are_faults_of_their_thread) {
    auto m = machine(R"(
declare void @llvm.trap()
define void @trap() {
  call void @llvm.trap()
  unreachable
}
define void @nowhere(i64 %n) {
  %c = icmp eq i64 %n, 0
  br i1 %c, label %end, label %bad
bad:
  unreachable
end:
  ret void
}
define void @raise() {
  call void @__cudasim_raise(i32 1)
  unreachable
}
!cudasim.exceptions = !{!0, !1}
!0 = !{!"ValueError", !"no"}
!1 = !{!"RuntimeError", !"out of patience"}
)" + kernels({"trap", "nowhere", "raise"}));
    m.run("trap", {{1, 1, 1}, {2, 1, 1}});
    ASSERT_EQ(m.events.size(), 2U);
    EXPECT_EQ(m.events[1].values[0], static_cast<int>(FindingKind::trap));
    EXPECT_EQ(m.events[1].thread, 1U);
    m.run("nowhere", {}, {0});
    EXPECT_TRUE(m.events.empty());
    m.run("nowhere", {}, {1});
    ASSERT_EQ(m.events.size(), 1U);
    EXPECT_EQ(m.events[0].values[0], static_cast<int>(FindingKind::unreachable_code));
    m.run("raise", {});
    ASSERT_EQ(m.events.size(), 1U);
    EXPECT_EQ(m.events[0].hook, "raise");
    EXPECT_EQ(m.compiled->exceptions.at(static_cast<std::size_t>(m.events[0].values[0])).message,
              "out of patience");
}

TEST_P(Threads, atomics_and_fences_work_between_host_threads) {
    Buffer<std::int32_t> counter({0});
    auto m = machine(R"(
define void @f(ptr addrspace(1) %counter) {
  %old = atomicrmw add ptr addrspace(1) %counter, i32 1 syncscope("device") monotonic
  fence syncscope("block") seq_cst
  call void @llvm.nvvm.membar.gl()
  %pair = cmpxchg ptr addrspace(1) %counter, i32 -1, i32 0 syncscope("block") monotonic monotonic
  ret void
}
)" + kernels({"f"}));
    const auto compiled = m.compile("f");
    const std::uint64_t parameters[] = {counter.address()};
    auto run = [&] {
        BlockContext block{};
        block.ntid[0] = 1024, block.ntid[1] = block.ntid[2] = 1;
        block.parameters = reinterpret_cast<const std::byte*>(parameters);
        block.shadow_base = Shadow::instance().base();
        for (int i = 0; i < 100; ++i) {
            ThreadContext context{};
            context.end = 1024;
            context.block = &block;
            compiled->entry(&context);
        }
    };
    std::thread other(run);
    run();
    other.join();
    EXPECT_EQ(counter[0], 2 * 100 * 1024);
}

TEST(Compiler, may_be_used_from_several_host_threads) {
    std::atomic<int> good = 0;
    auto work = [&] {
        for (int i = 0; i < 5; ++i)
            good += Machine(module_head() + coordinates).compile("f")->entry != nullptr;
    };
    std::thread other(work);
    work();
    other.join();
    EXPECT_EQ(good, 10);
}

}  // namespace
}  // namespace cudasim::jit::testing
