// Which arithmetic of a kernel may differ on a GPU, and where it stands in the source.
#include "gpu_backend/approximations.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>

namespace cudasim::gpu_backend {
namespace {

/// Functions `k`, `helper` and `other` on lines 10 to 12 of /work/kernel.py; an instruction at !dbg !2N is on
/// line N of k, !30 on line 31 of helper.
image::KernelImage image_of(const std::string& body) {
    return image::KernelImage::from_ir_text(R"(target datalayout = "e-i64:64-i128:128-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
declare float @__nv_sinf(float)
declare float @__nv_fast_sinf(float)
declare float @__nv_fabsf(float)
declare float @llvm.nvvm.ex2.approx.ftz.f(float)
declare float @llvm.sqrt.f32(float)
)" + body + R"(
!nvvm.annotations = !{!0}
!llvm.dbg.cu = !{!1}
!llvm.module.flags = !{!2}
!0 = !{ptr @k, !"kernel", i32 1}
!1 = distinct !DICompileUnit(language: DW_LANG_C, file: !3, emissionKind: LineTablesOnly)
!2 = !{i32 2, !"Debug Info Version", i32 3}
!3 = !DIFile(filename: "kernel.py", directory: "/work")
!4 = !DISubroutineType(types: !{})
!5 = distinct !DISubprogram(name: "k", scope: !3, file: !3, line: 10, type: !4, unit: !1, spFlags: DISPFlagDefinition)
!6 = distinct !DISubprogram(name: "helper", scope: !3, file: !3, line: 11, type: !4, unit: !1, spFlags: DISPFlagDefinition)
!21 = !DILocation(line: 1, column: 5, scope: !5)
!22 = !DILocation(line: 2, column: 5, scope: !5)
!23 = !DILocation(line: 3, column: 5, scope: !5)
!24 = !DILocation(line: 4, column: 5, scope: !5)
!25 = !DILocation(line: 5, column: 5, scope: !5)
!30 = !DILocation(line: 31, column: 5, scope: !6)
!31 = !DILocation(line: 32, column: 5, scope: !6, inlinedAt: !22)
)");
}

/// "function __nv_sinf k:3", with "helper:32<k:2" for a chain and "*2" for a count.
std::vector<std::string> places_in(const std::string& body,
                                   const std::vector<std::string_view>& functions = {}) {
    std::vector<std::string> texts;
    for (const DifferencePlace& each : difference_places(image_of(body), "k", functions)) {
        std::string text = std::string(name_of(each.cause)) + " " + each.what;
        for (std::size_t i = 0; i < each.location.size(); ++i) {
            EXPECT_EQ(each.location[i].file, "/work/kernel.py");
            text += (i == 0 ? " " : "<") + each.location[i].function + ":" +
                    std::to_string(each.location[i].line);
        }
        texts.push_back(each.count == 1 ? text : text + "*" + std::to_string(each.count));
    }
    return texts;
}
using Texts = std::vector<std::string>;

TEST(Approximations, functions_intrinsics_and_inline_assembly_are_named_with_their_lines) {
    const std::string body = R"(
define void @k(ptr %p, float %x) !dbg !5 {
  %a = call float @__nv_sinf(float %x), !dbg !21
  %b = call float @__nv_fast_sinf(float %a), !dbg !22
  %c = call float @llvm.nvvm.ex2.approx.ftz.f(float %b), !dbg !23
  %d = call float @llvm.nvvm.ex2.approx.ftz.f(float %c), !dbg !23
  %e = call float asm "{tanh.approx.f32 $0, $1; }", "=f,f"(float %d), !dbg !24
  %f = call float @__nv_fabsf(float %e), !dbg !25
  store float %f, ptr %p, !dbg !25
  ret void
})";
    const Texts without = {"function __nv_fast_sinf k:2", "instruction llvm.nvvm.ex2.approx.ftz.f k:3*2",
                           "instruction tanh.approx.f32 k:4"};
    EXPECT_EQ(places_in(body), without);
    Texts with = without;
    with.insert(with.begin(), "function __nv_sinf k:1");
    EXPECT_EQ(places_in(body, {"__nv_cosf", "__nv_sinf"}), with);
}

TEST(Approximations, clocks_and_allocations_are_named) {
    EXPECT_EQ(places_in(R"(
declare i64 @llvm.nvvm.read.ptx.sreg.clock64()
declare ptr @malloc(i64)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
define void @k(ptr %p) !dbg !5 {
  %t = call i64 @llvm.nvvm.read.ptx.sreg.clock64(), !dbg !21
  %c = call i32 asm sideeffect "mov.u32 $0, %clock;", "=r"(), !dbg !22
  %g = call i64 asm sideeffect "mov.u64 $0,%globaltimer;", "=l"(), !dbg !23
  %m = call ptr @malloc(i64 %t), !dbg !24
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !25
  store ptr %m, ptr %p
  ret void
})"),
              (Texts{"clock llvm.nvvm.read.ptx.sreg.clock64 k:1", "clock %clock k:2",
                     "clock %globaltimer k:3", "allocation malloc k:4"}));
}

TEST(Approximations, code_without_debug_information_is_named_where_it_is_called) {
    EXPECT_EQ(
        places_in(R"(
declare i64 @llvm.nvvm.read.ptx.sreg.clock64()
define i64 @clock64() {
  %t = call i64 @llvm.nvvm.read.ptx.sreg.clock64()
  ret i64 %t
}
define i64 @unused() {
  %t = call i64 @clock64()
  ret i64 %t
}
define void @k(ptr %p) !dbg !5 {
  %a = call i64 @clock64(), !dbg !21
  %b = call i64 @clock64(), !dbg !23
  store i64 %b, ptr %p
  ret void
})"),
        (Texts{"clock llvm.nvvm.read.ptx.sreg.clock64 k:1", "clock llvm.nvvm.read.ptx.sreg.clock64 k:3"}));
}

TEST(Approximations, fast_math_flags_are_named_but_for_contraction) {
    EXPECT_EQ(places_in(R"(
define void @k(ptr %p, float %x, i1 %which) !dbg !5 {
  %a = fdiv arcp afn float 1.0, %x, !dbg !21
  %b = fadd contract float %a, %x, !dbg !22
  %c = call afn float @llvm.sqrt.f32(float %b), !dbg !23
  %d = select nnan i1 %which, float %c, float %a, !dbg !24
  store float %d, ptr %p
  ret void
})"),
              (Texts{"fast_math fdiv arcp afn k:1", "fast_math llvm.sqrt.f32 afn k:3"}));
}

TEST(Approximations, sums_of_floats_in_memory_are_atomic_ones_whose_order_matters) {
    EXPECT_EQ(places_in(R"(
define void @k(ptr %p, float %x, i32 %n) !dbg !5 {
  %a = atomicrmw fadd ptr %p, float %x monotonic, !dbg !21
  %b = atomicrmw fmax ptr %p, float %x monotonic, !dbg !22
  %c = atomicrmw add ptr %p, i32 %n monotonic, !dbg !23
  call void asm sideeffect "@%p red.global.add.f32 [$0], $1;", "l,f"(ptr %p, float %x), !dbg !24
  call void asm sideeffect "red.global.add.u32 [$0], $1;", "l,r"(ptr %p, i32 %n), !dbg !24
  ret void
})"),
              (Texts{"atomic fadd float k:1", "atomic red.global.add.f32 k:4"}));
}

TEST(Approximations, multiply_adds_are_those_that_contraction_fuses) {
    const std::string body = R"(
define void @k(ptr %p, float %x, float %y) !dbg !5 {
  %slot = alloca float
  %a = fmul contract float %x, %y, !dbg !21
  store float %a, ptr %slot
  %again = load float, ptr %slot
  %b = fadd contract float %again, %x, !dbg !21
  %c = fmul contract float %b, %b, !dbg !22
  %d = fsub contract float %x, %c, !dbg !22
  %e = fmul float %d, %d, !dbg !23
  %f = fadd contract float %e, %x, !dbg !23
  %g = fmul contract float %f, %f, !dbg !24
  %h = fadd contract float %g, %g, !dbg !24
  store float %h, ptr %p
  ret void
})";
    EXPECT_EQ(places_in(body),
              (Texts{"multiply_add fadd of fmul float k:1", "multiply_add fsub of fmul float k:2"}));
}

TEST(Approximations, only_what_the_kernel_reaches_counts) {
    EXPECT_EQ(places_in(R"(
@table = internal addrspace(4) constant [1 x ptr] [ptr @by_address]
define internal float @helper(float %x) !dbg !6 {
  %a = call float @__nv_fast_sinf(float %x), !dbg !30
  ret float %a
}
define internal float @by_address(float %x) {
  %a = fadd nnan float %x, %x
  ret float %a
}
define float @other(float %x) {
  %a = call float @__nv_fast_sinf(float %x)
  ret float %a
}
define void @k(ptr %p, float %x) !dbg !5 {
  %a = call float @helper(float %x), !dbg !21
  %b = call float @llvm.nvvm.ex2.approx.ftz.f(float %a), !dbg !31
  %f = load ptr, ptr addrspace(4) @table
  %c = call float %f(float %b), !dbg !24
  store float %c, ptr %p
  ret void
})"),
              (Texts{"function __nv_fast_sinf helper:31", "fast_math fadd nnan",
                     "instruction llvm.nvvm.ex2.approx.ftz.f helper:32<k:2"}));
}

TEST(Approximations, an_unknown_kernel_is_an_error) {
    const auto image = image_of("define void @k() !dbg !5 { ret void }\n");
    EXPECT_TRUE(difference_places(image, "k", {}).empty());
    EXPECT_THROW((void)difference_places(image, "missing", {}), image::ImageError);
}

}  // namespace
}  // namespace cudasim::gpu_backend
