// Loops that poll memory and meet other threads in each iteration, at a barrier or in a warp operation: the
// threads that they wait for have their turn all the same, in the warp, the block and the grid.
#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::execution {
namespace {

class Polling : public IrKernelTest {
  protected:
    /// The label %set leads to a store of 7 to flag[0], %seen to one of 1 to flag[1], %end to none.
    void expect_end(const std::string& poll, Dim3 grid, Dim3 block) {
        DeviceArray<int> flag(2, 0);
        const auto image = ir_image(R"(
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare void @llvm.nvvm.barrier(i32, i32)
define void @k(ptr addrspace(1) %flag, ptr addrspace(1) %unused) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
)" + poll + R"(
set:
  store volatile i32 7, ptr addrspace(1) %flag, align 4
  ret void
seen:
  %result = getelementptr i32, ptr addrspace(1) %flag, i32 1
  store i32 1, ptr addrspace(1) %result, align 4
  ret void
end:
  ret void
})");
        const auto result = run_ir(image, grid, block, flag.pointer(), 0);
        EXPECT_EQ(messages(result), "");
        EXPECT_EQ(flag.read()[1], 1);
    }
};
INSTANTIATE_TEST_SUITE_P(Modes, Polling, all_modes, mode_name);

/// Threads below this one poll; thread 40 sets the flag.
std::string below(const std::string& end) {
    return "\n  %polls = icmp ult i32 %t, " + end + R"(
  br i1 %polls, label %poll, label %other
other:
  %sets = icmp eq i32 %t, 40
  br i1 %sets, label %set, label %end
)";
}

const char* const any_lane = R"(
poll:
  %v = load volatile i32, ptr addrspace(1) %flag, align 4
  %unset = icmp eq i32 %v, 0
  %again = call i1 @llvm.nvvm.vote.any.sync(i32 -1, i1 %unset)
  br i1 %again, label %poll, label %seen
)";

TEST_P(Polling, of_a_warp_for_another_one_of_its_block) {
    expect_end(below("32") + any_lane, {1}, {64});
}

TEST_P(Polling, of_a_warp_for_another_block) {
    expect_end(std::string(R"(
  %polls = icmp eq i32 %b, 0
  br i1 %polls, label %poll, label %set
)") + any_lane,
               {2}, {32});
}

TEST_P(Polling, of_one_lane_that_waits_for_nobody) {
    expect_end(below("1") + R"(
poll:
  call void @llvm.nvvm.bar.warp.sync(i32 1)
  %v = load volatile i32, ptr addrspace(1) %flag, align 4
  %unset = icmp eq i32 %v, 0
  br i1 %unset, label %poll, label %seen
)",
               {1}, {64});
}

TEST_P(Polling, at_a_barrier_for_some_threads) {
    expect_end(below("32") + R"(
poll:
  call void @llvm.nvvm.barrier(i32 1, i32 32)
  %v = load volatile i32, ptr addrspace(1) %flag, align 4
  %unset = icmp eq i32 %v, 0
  br i1 %unset, label %poll, label %seen
)",
               {1}, {64});
}

TEST_P(Polling, at_a_barrier_for_another_block) {
    expect_end(R"(
  %polls = icmp eq i32 %b, 0
  br i1 %polls, label %poll, label %set
poll:
  call void @llvm.nvvm.barrier0()
  %v = load volatile i32, ptr addrspace(1) %flag, align 4
  %set_now = icmp ne i32 %v, 0
  %is_set = zext i1 %set_now to i32
  %count = call i32 @llvm.nvvm.barrier0.popc(i32 %is_set)
  %unset = icmp eq i32 %count, 0
  br i1 %unset, label %poll, label %seen
)",
               {2}, {64});
}

/// The same of the lanes of one warp, and of one lane.
TEST_P(Polling, of_some_lanes_for_what_nobody_does_is_a_livelock) {
    if (GetParam().policy == Policy::random) return;
    for (const char* lanes : {"32", "1"}) {
        DeviceArray<int> flag(2, 0);
        const auto result = run_ir(ir_image(R"(
define void @k(ptr addrspace(1) %flag, ptr addrspace(1) %unused) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %polls = icmp ult i32 %t, )" + std::string(lanes) +
                                            R"(
  br i1 %polls, label %poll, label %end
poll:
  call void @llvm.nvvm.bar.warp.sync(i32 )" +
                                            (lanes == std::string("1") ? "1" : "-1") + R"()
  %v = load volatile i32, ptr addrspace(1) %flag, align 4
  %unset = icmp eq i32 %v, 0
  br i1 %unset, label %poll, label %end
end:
  ret void
})"),
                                   {1}, {64}, flag.pointer(), 0);
        ASSERT_NE(result.error(), nullptr);
        EXPECT_EQ(result.error()->kind, findings::FindingKind::livelock);
    }
}

/// Nothing sets the flag.
TEST_P(Polling, for_what_nobody_does_is_a_livelock) {
    if (GetParam().policy == Policy::random) return;
    DeviceArray<int> flag(2, 0);
    const auto result = run_ir(ir_image(R"(
define void @k(ptr addrspace(1) %flag, ptr addrspace(1) %unused) {
entry:
  br label %poll
poll:
  call void @llvm.nvvm.barrier0()
  %v = load volatile i32, ptr addrspace(1) %flag, align 4
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %unset = icmp eq i32 %v, 0
  br i1 %unset, label %poll, label %end
end:
  ret void
})"),
                               {3}, {64}, flag.pointer(), 0);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, findings::FindingKind::livelock);
    EXPECT_EQ(result.error()->thread.block, 0U);
    EXPECT_EQ(result.error()->thread.thread, 0U);
}

}  // namespace
}  // namespace cudasim::execution
