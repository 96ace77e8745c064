// Lanes that a warp operation's mask names, and that go on without executing it: a warning. Lanes that have
// ended are no concern of the operation.
#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::execution {
namespace {

using findings::FindingKind;
using findings::Severity;

class SkippedOperations : public IrKernelTest {
  protected:
    /// p = the thread's place in the output, of 64 elements.
    LaunchResult run(const std::string& body, Dim3 grid = {1}, Dim3 block = {64}) {
        DeviceArray<int> out(64, 0);
        return run_ir(ir_image(R"(
define void @k(ptr addrspace(1) %out, ptr addrspace(1) %unused) {
entry:
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %lane = and i32 %t, 31
  %p = getelementptr i32, ptr addrspace(1) %out, i32 %t
)" + body + "}"),
                      grid, block, out.pointer(), 0);
    }
};
INSTANTIATE_TEST_SUITE_P(Modes, SkippedOperations, all_modes, mode_name);

const char* const half_a_warp = R"(
  %low = icmp ult i32 %lane, 16
  br i1 %low, label %meet, label %join
meet:
  %b = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 true)
  br label %join
join:
  %v = phi i32 [%b, %meet], [0, %entry]
  store i32 %v, ptr addrspace(1) %p, align 4
  ret void
)";

TEST_P(SkippedOperations, lanes_that_go_around_one_and_on_are_named) {
    const auto result = run(half_a_warp);
    ASSERT_EQ(result.findings.size(), 1U);
    const auto& finding = result.findings[0];
    EXPECT_EQ(finding.kind, FindingKind::divergent_lanes);
    EXPECT_EQ(finding.severity, Severity::warning);
    EXPECT_EQ(finding.thread.thread % 32, 0U);
    EXPECT_EQ(finding.threads, 16U);
    EXPECT_EQ(
        finding.message,
        "the mask 0xffffffff of this warp operation names lanes 16-31, which go on without executing it: "
        "its result is undefined");
}

TEST_P(SkippedOperations, each_block_counts_once) {
    const auto result = run(half_a_warp, {5}, {32});
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.findings[0].count, 5U);
    EXPECT_EQ(result.findings[0].thread.block, 0U);
}

TEST_P(SkippedOperations, lanes_that_end_at_once_need_not_execute_one) {
    EXPECT_EQ(messages(run(R"(
  %low = icmp ult i32 %lane, 16
  br i1 %low, label %meet, label %end
meet:
  %b = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 true)
  store i32 %b, ptr addrspace(1) %p, align 4
  br label %end
end:
  ret void
)")),
              "");
}

TEST_P(SkippedOperations, masks_of_those_that_come_are_right) {
    std::string body = half_a_warp;
    body.replace(body.find("i32 -1"), 6, "i32 65535");
    EXPECT_EQ(messages(run(body)), "");
}

TEST_P(SkippedOperations, whole_warps_may_leave_one_out) {
    std::string body = half_a_warp;
    body.replace(body.find("icmp ult i32 %lane, 16"), 22, "icmp ult i32 %t, 32");
    EXPECT_EQ(messages(run(body)), "");
}

/// Lane i comes to the operation of a loop i % 2 + 1 times, then does something.
TEST_P(SkippedOperations, lanes_that_leave_a_loop_earlier_are_named) {
    const auto result = run(R"(
  %odd = and i32 %t, 1
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%next, %loop]
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %next = add i32 %i, 1
  %more = icmp ule i32 %next, %odd
  br i1 %more, label %loop, label %join
join:
  store i32 %i, ptr addrspace(1) %p, align 4
  ret void
)");
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.findings[0].kind, FindingKind::divergent_lanes);
    EXPECT_EQ(result.findings[0].threads, 16U);
}

/// In a loop, all lanes execute the operation and the store behind it; then odd ones return, and the others
/// go through the loop once more.
TEST_P(SkippedOperations, lanes_that_return_from_a_loop_need_not_execute_one) {
    EXPECT_EQ(messages(run(R"(
  %odd = and i32 %t, 1
  br label %loop
loop:
  %i = phi i32 [0, %entry], [%next, %join]
  %first = icmp eq i32 %i, 0
  %even = icmp eq i32 %odd, 0
  %goes_on = or i1 %first, %even
  br i1 %goes_on, label %some, label %end
some:
  %always = icmp ult i32 %lane, 64
  br i1 %always, label %meet, label %join
meet:
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  br label %join
join:
  store i32 %i, ptr addrspace(1) %p, align 4
  %next = add i32 %i, 1
  %more = icmp ult i32 %next, 2
  br i1 %more, label %loop, label %end
end:
  ret void
)")),
              "");
}

TEST_P(SkippedOperations, threads_that_never_existed_leave_nothing_out) {
    std::string body = half_a_warp;
    body.replace(body.find("icmp ult i32 %lane, 16"), 22, "icmp ult i32 %lane, 20");
    EXPECT_EQ(messages(run(body, {1}, {20})), "");
}

TEST_P(SkippedOperations, an_assertion_between_does_not_hide_them) {
    const auto result = run(R"(
  %low = icmp ult i32 %lane, 16
  br i1 %low, label %meet, label %join
meet:
  %b = call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 true)
  br label %join
join:
  %v = phi i32 [%b, %meet], [0, %entry]
  %bad = icmp eq i32 %v, 12345
  br i1 %bad, label %trap, label %fine
trap:
  call void @llvm.trap()
  unreachable
fine:
  store i32 %v, ptr addrspace(1) %p, align 4
  ret void
)");
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.findings[0].kind, FindingKind::divergent_lanes);
}

}  // namespace
}  // namespace cudasim::execution
