// What late instrumentation is told of orders, scopes, volatile accesses, fences,
// barriers and warp operations.
#include "simulator/jit/synchronisation.h"

#include <gtest/gtest.h>

#include "collected_orders.h"
#include "kernels.h"
#include "machine.h"

namespace cudasim::jit::testing {
namespace {

using Lines = std::vector<std::string>;

const std::string declarations = R"(
declare void @llvm.nvvm.membar.cta()
declare void @llvm.nvvm.membar.sys()
declare void @llvm.nvvm.bar.sync(i32)
declare void @llvm.nvvm.barrier.sync(i32)
declare void @llvm.nvvm.barrier.sync.cnt(i32, i32)
declare void @llvm.nvvm.bar.warp.sync(i32)
declare i32 @llvm.nvvm.activemask()
declare i64 @cudaCGGetIntrinsicHandle(i32)
declare i32 @cudaCGSynchronize(i64, i32)
declare i32 @llvm.nvvm.atomic.load.inc.32.p1(ptr addrspace(1), i32)
declare i32 @llvm.nvvm.atomic.add.gen.i.cta.i32.p0(ptr, i32)
declare i64 @llvm.nvvm.atomic.max.gen.i.sys.i64.p0(ptr, i64)
declare float @llvm.nvvm.atomic.add.gen.f.sys.f32.p0(ptr, float)
declare i32 @llvm.nvvm.atomic.cas.gen.i.cta.i32.p0(ptr, i32, i32)
)";

std::string kernel(const std::string& body) {
    return module_head() + declarations + "define void @f(ptr addrspace(1) %p, ptr %g, i32 %i) {\n" + body +
           "  ret void\n}\n" + kernels({"f"});
}

/// The body behind a call of a device function too: inlining keeps everything.
Lines lines_of(const std::string& body) {
    const Lines direct = orders_in(image::KernelImage::from_ir_text(kernel(body)), "f");
    const std::string inlined = module_head() + declarations +
                                "define internal void @inner(ptr addrspace(1) %p, ptr %g, i32 %i) {\n" +
                                body + "  ret void\n}\n" +
                                "define void @f(ptr addrspace(1) %p, ptr %g, i32 %i) {\n"
                                "  call void @inner(ptr addrspace(1) %p, ptr %g, i32 %i)\n  ret void\n}\n" +
                                kernels({"f"});
    EXPECT_EQ(orders_in(image::KernelImage::from_ir_text(inlined), "f"), direct);
    return direct;
}

TEST(Orders, of_loads_and_stores_are_kept_with_their_scope) {
    EXPECT_EQ(lines_of(R"(
  %a = load i32, ptr addrspace(1) %p, align 4
  %b = load volatile i32, ptr addrspace(1) %p, align 4
  %c = load atomic i32, ptr addrspace(1) %p monotonic, align 4
  %d = load atomic i32, ptr addrspace(1) %p syncscope("block") acquire, align 4
  %e = load atomic volatile i32, ptr addrspace(1) %p syncscope("device") seq_cst, align 4
  store i32 %a, ptr addrspace(1) %p, align 4
  store volatile i32 %b, ptr addrspace(1) %p, align 4
  store atomic i32 %c, ptr addrspace(1) %p syncscope("cluster") release, align 4
  store atomic i32 %d, ptr addrspace(1) %p syncscope("singlethread") monotonic, align 4
)"),
              (Lines{"read plain", "read plain volatile", "read relaxed system", "read acquire block",
                     "read sequential device volatile", "write plain", "write plain volatile",
                     "write release cluster", "write relaxed thread"}));
}

TEST(Orders, of_updates_are_kept_with_their_scope) {
    EXPECT_EQ(lines_of(R"(
  %a = atomicrmw add ptr addrspace(1) %p, i32 %i syncscope("device") monotonic
  %b = atomicrmw volatile xchg ptr addrspace(1) %p, i32 %i syncscope("block") acq_rel
  %c = cmpxchg ptr addrspace(1) %p, i32 %i, i32 0 syncscope("block") release monotonic
  %d = cmpxchg ptr addrspace(1) %p, i32 %i, i32 0 seq_cst acquire
)"),
              (Lines{"update relaxed device", "update acquire_release block volatile",
                     "compare release relaxed block", "compare sequential acquire system"}));
}

TEST(Orders, of_nvvms_atomic_intrinsics_are_those_of_ptx) {
    EXPECT_EQ(lines_of(R"(
  %a = call i32 @llvm.nvvm.atomic.load.inc.32.p1(ptr addrspace(1) %p, i32 %i)
  %b = call i32 @llvm.nvvm.atomic.add.gen.i.cta.i32.p0(ptr %g, i32 %i)
  %c = call i64 @llvm.nvvm.atomic.max.gen.i.sys.i64.p0(ptr %g, i64 1)
  %d = call float @llvm.nvvm.atomic.add.gen.f.sys.f32.p0(ptr %g, float 1.0)
  %e = call i32 @llvm.nvvm.atomic.cas.gen.i.cta.i32.p0(ptr %g, i32 %i, i32 1)
)"),
              (Lines{"update relaxed device", "update relaxed block", "update relaxed system",
                     "update relaxed system", "compare relaxed relaxed block"}));
}

TEST(Orders, fences_have_kind_and_scope) {
    EXPECT_EQ(lines_of(R"(
  call void @llvm.nvvm.membar.cta()
  call void @llvm.nvvm.membar.gl()
  call void @llvm.nvvm.membar.sys()
  fence syncscope("block") acq_rel
  fence syncscope("device") acquire
  fence release
  fence syncscope("singlethread") seq_cst
)"),
              (Lines{"fence sequential block", "fence sequential device", "fence sequential system",
                     "fence acquire_release block", "fence acquire device", "fence release system",
                     "fence sequential thread"}));
}

TEST(Orders, barriers_have_their_number_and_warps_their_operation) {
    EXPECT_EQ(
        lines_of(R"(
  call void @llvm.nvvm.barrier0()
  %n = call i32 @llvm.nvvm.barrier0.popc(i32 %i)
  call void @llvm.nvvm.bar.sync(i32 3)
  call void @llvm.nvvm.barrier.sync(i32 15)
  call void @llvm.nvvm.bar.warp.sync(i32 -1)
  %lanes = call i32 @llvm.nvvm.activemask()
  %grid = call i64 @cudaCGGetIntrinsicHandle(i32 1)
  %ok = call i32 @cudaCGSynchronize(i64 %grid, i32 0)
)"),
        (Lines{"barrier 0", "barrier 0", "barrier 3", "barrier 15", "warp 0", "warp 11", "grid barrier"}));
}

TEST(Orders, names_of_other_producers_are_known_and_a_strangers_is_the_system) {
    EXPECT_EQ(lines_of(R"(
  fence syncscope("cta") acq_rel
  fence syncscope("workgroup") acq_rel
  fence syncscope("agent") acq_rel
  fence syncscope("unheard-of") acq_rel
)"),
              (Lines{"fence acquire_release block", "fence acquire_release block",
                     "fence acquire_release device", "fence acquire_release system"}));
}

TEST(Orders, atomic_intrinsics_compute_what_their_names_say) {
    Buffer<std::int64_t> wide({5});
    Buffer<std::int32_t> narrow({7});
    Machine machine(module_head() + declarations + R"(
define void @f(ptr %wide, ptr %narrow) {
  %a = call i64 @llvm.nvvm.atomic.max.gen.i.sys.i64.p0(ptr %wide, i64 9)
  %b = call i32 @llvm.nvvm.atomic.add.gen.i.cta.i32.p0(ptr %narrow, i32 3)
  %c = call i32 @llvm.nvvm.atomic.cas.gen.i.cta.i32.p0(ptr %narrow, i32 10, i32 %b)
  ret void
}
)" + kernels({"f"}));
    machine.run("f", {}, {wide.address(), narrow.address()});
    EXPECT_EQ(wide[0], 9);
    EXPECT_EQ(narrow[0], 7);
}

TEST(Orders, barriers_whose_constants_cannot_be_are_refused) {
    const auto refusal = [](const std::string& body) -> std::string {
        try {
            (void)orders_in(image::KernelImage::from_ir_text(kernel(body)), "f");
        } catch (const CompileError& error) {
            return error.what();
        }
        return "none";
    };
    EXPECT_EQ(refusal("  call void @llvm.nvvm.bar.sync(i32 %i)\n"), "none");
    EXPECT_EQ(refusal("  call void @llvm.nvvm.barrier.sync.cnt(i32 1, i32 64)\n"), "none");
    EXPECT_NE(refusal("  call void @llvm.nvvm.bar.sync(i32 16)\n").find("barriers 0 to 15"),
              std::string::npos);
    EXPECT_NE(refusal("  call void @llvm.nvvm.barrier.sync.cnt(i32 1, i32 48)\n").find("multiple of 32"),
              std::string::npos);
}

}  // namespace
}  // namespace cudasim::jit::testing
