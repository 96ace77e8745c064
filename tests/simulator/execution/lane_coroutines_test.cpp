// Kernels with warp operations as coroutines (E1, E4): warps advance by themselves, lanes wait for lanes that
// spin, fault, end, or stand elsewhere, as on fibers.
#include <algorithm>

#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::execution {
namespace {

using findings::FindingKind;

class LaneCoroutines : public IrKernelTest {};
INSTANTIATE_TEST_SUITE_P(Modes, LaneCoroutines, all_modes, mode_name);

/// Thread t of one block: p = its place in @out. What `body` does with them follows.
image::KernelImage kernel(std::string_view body) {
    return ir_image(R"(
@tile = internal addrspace(3) global [128 x i32] undef, align 16
declare i32 @llvm.nvvm.activemask()
define void @k(ptr addrspace(1) %out, ptr addrspace(1) %flag) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %t
)" + std::string(body) +
                    "}");
}

const char* const butterfly = R"(
  %a = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t, i32 16, i32 31)
  %s = add i32 %t, %a
  %b = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %s, i32 1, i32 31)
  %r = add i32 %s, %b
  store i32 %r, ptr addrspace(1) %p, align 4
  ret void
)";

std::shared_ptr<const jit::CompiledKernel> compiled(const image::KernelImage& image,
                                                    jit::CompileOptions options = {}) {
    return device().compile(*device().load(image), "k", options);
}

TEST(LaneCoroutineKernels, are_chosen_unless_they_ask_who_is_active) {
    EXPECT_EQ(compiled(kernel(butterfly))->resume_points.size(), 2U);
    EXPECT_TRUE(compiled(kernel(butterfly))->resume_points[0].in_warp);
    EXPECT_TRUE(compiled(kernel(butterfly), {.lane_coroutines = false})->resume_points.empty());
    EXPECT_TRUE(compiled(kernel(R"(
  %m = call i32 @llvm.nvvm.activemask()
  store i32 %m, ptr addrspace(1) %p, align 4
  ret void
)"))
                    ->resume_points.empty());
}

/// One of two local variables is read, or what lies so many bytes behind it.
std::string reading_one_of_two(const std::string& distance) {
    return R"(
  %x = alloca i32, align 4
  %y = alloca i32, align 4
  store i32 %t, ptr %x, align 4
  store i32 7, ptr %y, align 4
  %a = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %t, i32 16, i32 31)
  %odd = trunc i32 %t to i1
  %wide = zext i32 %t to i64
  %behind = and i64 %wide, 4
  %one = select i1 %odd, ptr %x, ptr %y
  %place = getelementptr i8, ptr %one, i64 )" +
           distance + R"(
  %v = load i32, ptr %place, align 4
  %s = add i32 %v, %a
  store i32 %s, ptr addrspace(1) %p, align 4
  ret void
)";
}

TEST(LaneCoroutineKernels, may_choose_between_local_variables_by_their_addresses) {
    EXPECT_EQ(compiled(kernel(reading_one_of_two("0")))->resume_points.size(), 1U);
    EXPECT_TRUE(compiled(kernel(reading_one_of_two("%behind")))->resume_points.empty());
}

TEST_P(LaneCoroutines, read_local_variables_that_are_chosen_by_their_addresses) {
    DeviceArray<int> out(64, -1);
    const auto right = run_ir(kernel(reading_one_of_two("0")), {1}, {64}, out.pointer(), 0);
    EXPECT_EQ(messages(right), "");
    for (int i = 0; i < 64; ++i)
        ASSERT_EQ(out.read()[static_cast<std::size_t>(i)], (i % 2 != 0 ? i : 7) + (i ^ 16)) << i;
    const auto wrong = run_ir(kernel(reading_one_of_two("%behind")), {1}, {64}, out.pointer(), 0);
    ASSERT_FALSE(wrong.findings.empty());
    EXPECT_EQ(wrong.findings[0].kind, FindingKind::out_of_bounds_local);
    EXPECT_EQ(wrong.findings[0].thread.thread, 4U);
}

TEST_P(LaneCoroutines, every_warp_gets_its_own_values_also_one_that_is_not_full) {
    DeviceArray<int> out(100, -1);
    auto result = run_ir(kernel(R"(
  %v = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %t, i32 3, i32 31)
  %odd = and i32 %t, 1
  %bit = icmp eq i32 %odd, 0
  %w = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %bit)
  call void @llvm.nvvm.barrier0()
  %low = and i32 %w, 255
  %high = shl i32 %v, 8
  %r = or i32 %low, %high
  store i32 %r, ptr addrspace(1) %p, align 4
  ret void
)"),
                         {1}, {100}, out.pointer(), 0);
    EXPECT_EQ(messages(result), "");
    for (int i = 0; i < 100; ++i) {
        const int lanes = i < 96 ? 0x55 : 0x5;
        ASSERT_EQ(out.read()[static_cast<std::size_t>(i)], (i / 32 * 32 + 3) << 8 | lanes) << i;
    }
}

// Lane 5 of warp 0 spins until thread 40 has passed its own warp's operation.
TEST_P(LaneCoroutines, lanes_wait_for_one_that_spins_while_other_warps_go_on) {
    DeviceArray<int> out(64, -1), flag(2, 0);
    auto result = run_ir(kernel(R"(
  %spins = icmp eq i32 %t, 5
  br i1 %spins, label %spin, label %meet
spin:
  %seen = load volatile i32, ptr addrspace(1) %flag, align 4
  %go = icmp ne i32 %seen, 0
  br i1 %go, label %meet, label %spin
meet:
  %v = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %t, i32 5, i32 31)
  store i32 %v, ptr addrspace(1) %p, align 4
  %is40 = icmp eq i32 %t, 40
  br i1 %is40, label %wake, label %end
wake:
  store volatile i32 1, ptr addrspace(1) %flag, align 4
  br label %end
end:
  %w = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %v, i32 1, i32 31)
  call void @llvm.nvvm.barrier0()
  ret void
)"),
                         {1}, {64}, out.pointer(), flag.pointer());
    EXPECT_EQ(messages(result), "");
    for (int i = 0; i < 64; ++i) ASSERT_EQ(out.read()[static_cast<std::size_t>(i)], i < 32 ? 5 : 37) << i;
}

TEST_P(LaneCoroutines, nanosleep_gives_up_the_turn) {
    DeviceArray<int> out(64, -1), flag(2, 0);
    auto result = run_ir(kernel(R"(
  %first = icmp eq i32 %t, 0
  br i1 %first, label %spin, label %set
spin:
  call void @llvm.nvvm.nanosleep(i32 100)
  %seen = load volatile i32, ptr addrspace(1) %flag, align 4
  %go = icmp ne i32 %seen, 0
  br i1 %go, label %end, label %spin
set:
  store volatile i32 1, ptr addrspace(1) %flag, align 4
  br label %end
end:
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  store i32 %t, ptr addrspace(1) %p, align 4
  ret void
)"),
                         {1}, {64}, out.pointer(), flag.pointer());
    EXPECT_EQ(messages(result), "");
    for (int i = 0; i < 64; ++i) ASSERT_EQ(out.read()[static_cast<std::size_t>(i)], i);
}

TEST_P(LaneCoroutines, masks_of_several_groups_and_lanes_that_end) {
    DeviceArray<int> out(32, -1);
    auto result = run_ir(kernel(R"(
  %half = icmp ult i32 %t, 16
  br i1 %half, label %low, label %high
low:
  %a = call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 65535, i32 %t, i32 15, i32 31)
  store i32 %a, ptr addrspace(1) %p, align 4
  ret void
high:
  %gone = icmp uge i32 %t, 30
  br i1 %gone, label %end, label %vote
vote:
  %even = and i32 %t, 1
  %bit = icmp eq i32 %even, 0
  %b = call i32 @llvm.nvvm.vote.ballot.sync(i32 -65536, i1 %bit)
  store i32 %b, ptr addrspace(1) %p, align 4
  %c = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %t, i32 20, i32 31)
  store i32 %c, ptr addrspace(1) %p, align 4
  ret void
end:
  ret void
)"),
                         {1}, {32}, out.pointer(), 0);
    EXPECT_EQ(messages(result), "");
    for (int i = 0; i < 16; ++i) EXPECT_EQ(out.read()[static_cast<std::size_t>(i)], 15 - i);
    for (int i = 16; i < 30; ++i) EXPECT_EQ(out.read()[static_cast<std::size_t>(i)], 20);
    EXPECT_EQ(out.read()[31], -1);
}

TEST_P(LaneCoroutines, a_lane_that_never_comes_is_named_with_who_waits_where) {
    auto result = run_ir(kernel(R"(
  %low = icmp ult i32 %t, 40
  br i1 %low, label %meet, label %block
meet:
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  ret void
block:
  call void @llvm.nvvm.barrier0()
  ret void
)"),
                         {1}, {64}, 0, 0);
    ASSERT_NE(result.error(), nullptr);
    const auto& finding = *result.error();
    EXPECT_EQ(finding.kind, FindingKind::missing_lane);
    EXPECT_EQ(finding.thread.thread, 32U);
    EXPECT_NE(finding.message.find("waits for lanes 8-31, which never come"), std::string::npos)
        << finding.message;
    EXPECT_EQ(finding.count, 8U);
    ASSERT_EQ(finding.waiting.size(), 2U);
    const std::vector<std::pair<std::uint32_t, std::uint32_t>> at_barrier{{40, 63}}, in_warp{{32, 39}};
    EXPECT_EQ(finding.waiting[0].threads, at_barrier);
    EXPECT_EQ(finding.waiting[1].threads, in_warp);
}

TEST_P(LaneCoroutines, a_mask_that_does_not_name_its_own_lane_ends_that_lane) {
    DeviceArray<int> out(32, -1);
    auto result = run_ir(kernel(R"(
  call void @llvm.nvvm.bar.warp.sync(i32 255)
  store i32 %t, ptr addrspace(1) %p, align 4
  ret void
)"),
                         {1}, {32}, out.pointer(), 0);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::missing_lane);
    EXPECT_EQ(result.error()->thread.thread, 8U);
    EXPECT_EQ(result.error()->count, 24U);
    EXPECT_EQ(std::ranges::count(out.read(), -1), 24);
}

TEST_P(LaneCoroutines, a_lane_that_faults_is_not_waited_for) {
    DeviceArray<int> out(32, -1);
    auto result = run_ir(kernel(R"(
  %bad = icmp eq i32 %t, 3
  br i1 %bad, label %fault, label %meet
fault:
  call void @llvm.trap()
  unreachable
meet:
  %b = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 true)
  store i32 %b, ptr addrspace(1) %p, align 4
  ret void
)"),
                         {1}, {32}, out.pointer(), 0);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->thread.thread, 3U);
    EXPECT_EQ(out.read()[0], ~8);
    EXPECT_EQ(out.read()[3], -1);
}

TEST_P(LaneCoroutines, lanes_that_wait_for_an_endless_spin_are_a_livelock) {
    DeviceArray<int> flag(2, 0);
    auto result = run_ir(kernel(R"(
  %spins = icmp eq i32 %t, 7
  br i1 %spins, label %spin, label %meet
spin:
  %seen = load volatile i32, ptr addrspace(1) %flag, align 4
  %go = icmp ne i32 %seen, 0
  br i1 %go, label %meet, label %spin
meet:
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  ret void
)"),
                         {1}, {32}, 0, flag.pointer());
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::livelock);
    EXPECT_NE(result.error()->message.find("waiting in a warp operation"), std::string::npos)
        << result.error()->message;
}

}  // namespace
}  // namespace cudasim::execution
