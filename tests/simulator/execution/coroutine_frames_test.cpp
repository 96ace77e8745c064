// What a coroutine's thread (E1) keeps in its frame while it waits, and what is computed again behind the
// barrier; what functions that the kernel calls there know of the thread.
#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::execution {
namespace {

class CoroutineFrames : public IrKernelTest {};
INSTANTIATE_TEST_SUITE_P(Modes, CoroutineFrames, all_modes, mode_name);

std::uint64_t frame_bytes(const image::KernelImage& image) {
    const auto compiled = device().compile(*device().load(image), "k", {});
    EXPECT_FALSE(compiled->resume_points.empty());
    return compiled->coroutine_frame_bytes;
}

/// Thread t of block b stores what `value` makes at p, behind a barrier.
image::KernelImage kernel(std::string_view value, std::string_view outside = "") {
    return ir_image(std::string(outside) + R"(
define void @k(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %b, %n
  %i = add i32 %first, %t
  %i64 = zext i32 %i to i64
  %p = getelementptr i32, ptr addrspace(1) %out, i64 %i64
)" + std::string(value) +
                    "  store i32 %v, ptr addrspace(1) %p, align 4\n  ret void\n}\n");
}

const char* const sum = R"(
  %before = load i32, ptr addrspace(1) %p, align 4
  %twice = shl i32 %before, 1
  store i32 -1, ptr addrspace(1) %p, align 4
  call void @llvm.nvvm.barrier0()
  %s = add i32 %before, %twice
  %v = add i32 %s, %i
)";

TEST(CoroutineFrameSizes, have_no_room_for_what_follows_from_the_index) {
    EXPECT_EQ(frame_bytes(kernel("  call void @llvm.nvvm.barrier0()\n  %v = add i32 %i, 1\n")), 0U);
}

TEST(CoroutineFrameSizes, have_one_slot_for_a_value_and_what_follows_from_it) {
    EXPECT_EQ(frame_bytes(kernel(sum)), sizeof(std::int32_t));
}

TEST_P(CoroutineFrames, values_behind_a_barrier_are_each_threads_own) {
    const auto image = kernel(sum);
    DeviceArray<std::int32_t> out(96, 5);
    EXPECT_EQ(messages(run_ir(image, {2}, {48}, out.pointer())), "");
    for (int i = 0; i < 96; ++i) EXPECT_EQ(out.read()[i], 15 + i);
}

TEST_P(CoroutineFrames, a_called_function_knows_the_threads_index_behind_a_barrier) {
    const auto image = kernel(R"(
  %function = alloca ptr, align 8
  store ptr @index, ptr %function, align 8
  %called = load ptr, ptr %function, align 8
  call void @llvm.nvvm.barrier0()
  %v = call i32 %called()
)",
                              R"(
define internal i32 @index() noinline {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  ret i32 %x
}
)");
    (void)frame_bytes(image);
    DeviceArray<std::int32_t> out(96, -1);
    EXPECT_EQ(messages(run_ir(image, {2}, {48}, out.pointer())), "");
    for (int i = 0; i < 96; ++i) EXPECT_EQ(out.read()[i], i % 48);
}

}  // namespace
}  // namespace cudasim::execution
