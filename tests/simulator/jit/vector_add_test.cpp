// The simplest kernel, as the Python front end writes it: index checks, debug info, a loop over threads.
#include <gtest/gtest.h>

#include "kernels.h"
#include "machine.h"

namespace cudasim::jit::testing {
namespace {

const std::string vector_add = module_head() + R"(
define void @add(ptr addrspace(1) %a, i64 %a.size, ptr addrspace(1) %b, i64 %b.size, ptr addrspace(1) %c, i64 %c.size) !dbg !3 {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !6
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !6
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x(), !dbg !6
  %base = mul i32 %ctaid, %ntid, !dbg !6
  %linear = add i32 %base, %tid, !dbg !6
  %i = zext i32 %linear to i64, !dbg !6
  %ia = call i64 @__cudasim_check_index(i64 %i, i64 %a.size, i32 0), !dbg !7
  %pa = getelementptr float, ptr addrspace(1) %a, i64 %ia, !dbg !7
  %x = load float, ptr addrspace(1) %pa, align 4, !dbg !7, !cudasim.in_bounds !9
  %ib = call i64 @__cudasim_check_index(i64 %i, i64 %b.size, i32 0), !dbg !8
  %pb = getelementptr float, ptr addrspace(1) %b, i64 %ib, !dbg !8
  %y = load float, ptr addrspace(1) %pb, align 4, !dbg !8, !cudasim.in_bounds !9
  %z = fadd float %x, %y, !dbg !8
  %ic = call i64 @__cudasim_check_index(i64 %i, i64 %c.size, i32 0), !dbg !7
  %pc = getelementptr float, ptr addrspace(1) %c, i64 %ic, !dbg !7
  store float %z, ptr addrspace(1) %pc, align 4, !dbg !7, !cudasim.in_bounds !9
  ret void, !dbg !7
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!5}
!0 = distinct !DICompileUnit(language: DW_LANG_Python, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "/home/me/add.py", directory: "")
!2 = !DISubroutineType(types: !{})
!3 = distinct !DISubprogram(name: "add", file: !1, line: 4, type: !2, unit: !0, spFlags: DISPFlagDefinition)
!5 = !{i32 2, !"Debug Info Version", i32 3}
!6 = !DILocation(line: 5, column: 9, scope: !3)
!7 = !DILocation(line: 6, column: 5, scope: !3)
!8 = !DILocation(line: 6, column: 19, scope: !3)
!9 = !{}
)" + kernels({"add"});

TEST(VectorAdd, adds_in_every_thread_of_every_block) {
    Buffer<float> a(std::vector<float>(96, 1.5F)), b(std::vector<float>(96, 2.0F)),
        c(std::vector<float>(96, 0.0F));
    a[95] = 40;
    Machine machine(vector_add);
    machine.run("add", {{3, 1, 1}, {32, 1, 1}}, {a.address(), 96, b.address(), 96, c.address(), 96});
    EXPECT_TRUE(machine.events.empty());
    for (int i = 0; i < 95; ++i) EXPECT_EQ(c[i], 3.5F) << i;
    EXPECT_EQ(c[95], 42.0F);
}

TEST(VectorAdd, names_thread_index_and_place_of_an_index_out_of_bounds) {
    Buffer<float> a(std::vector<float>(10, 1)), b(std::vector<float>(9, 1)), c(std::vector<float>(10, 0));
    Machine machine(vector_add);
    machine.run("add", {{1, 1, 1}, {10, 1, 1}}, {a.address(), 10, b.address(), 9, c.address(), 10});
    ASSERT_EQ(machine.events.size(), 1U);
    const Event& event = machine.events.front();
    EXPECT_EQ(event.hook, "index_fault");
    EXPECT_EQ(event.thread, 9U);
    EXPECT_EQ(event.values, (std::vector<std::int64_t>{9, 9, 0, 0}));
    EXPECT_EQ(machine.place(event), "/home/me/add.py:6:19 in add");
    EXPECT_EQ(c[8], 2.0F);
    EXPECT_EQ(c[9], 0.0F);
}

/// Bytes of machine code of a kernel that stores at the index of its thread in the grid.
std::uintptr_t code_bytes(const std::string& check) {
    const std::string ir = module_head() + R"(
define void @store(ptr addrspace(1) %a, i64 %size) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %ctaid = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %ntid = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %t = zext i32 %tid to i64
  %c = zext i32 %ctaid to i64
  %n = zext i32 %ntid to i64
  %base = mul i64 %c, %n
  %i = add i64 %base, %t
  %checked = call i64 @)" + check +
                           R"((i64 %i, i64 %size, i32 0)
  %p = getelementptr i8, ptr addrspace(1) %a, i64 %checked
  store i8 1, ptr addrspace(1) %p, align 1, !cudasim.in_bounds !0
  ret void
}
!0 = !{}
)" + kernels({"store"});
    const auto compiled = Machine(ir).compile("store");
    return compiled->code[0].second - compiled->code[0].first;
}

TEST(VectorAdd, an_index_in_the_grid_is_known_not_to_be_negative) {
    // The cold paths tell the engine of the index's sign, which takes some bytes of either; a comparison
    // takes more.
    EXPECT_LE(code_bytes("__cudasim_check_index"), code_bytes("__cudasim_check_unsigned_index"));
}

TEST(VectorAdd, knows_its_parameters_and_where_its_code_is) {
    const auto compiled = Machine(vector_add).compile("add");
    EXPECT_EQ(compiled->name, "add");
    EXPECT_EQ(compiled->parameter_bytes, 48U);
    EXPECT_FALSE(compiled->waits);
    EXPECT_FALSE(compiled->recursive);
    EXPECT_GT(compiled->frame_bytes, 0U);
    EXPECT_LT(compiled->frame_bytes, 1024U);
    ASSERT_EQ(compiled->code.size(), 1U);
    const auto entry = reinterpret_cast<std::uintptr_t>(compiled->entry);
    EXPECT_LE(compiled->code[0].first, entry);
    EXPECT_GT(compiled->code[0].second, entry);
}

}  // namespace
}  // namespace cudasim::jit::testing
