// PTX from an image: the entry, the declared checks, libdevice, refusals; and, wherever a CUDA toolkit is,
// ptxas has the last word.

#include "gpu_backend/ptx.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "gpu_backend/approximating_functions.h"
#include "gpu_backend/recorded_code.h"
#include "gpu_backend/toolkit.h"
#include "tests/gpu_backend/ptx_texts.h"

namespace cudasim::gpu_backend {
namespace {

// Every declared check, shared memory, a barrier, atomics of all scopes, a maths
// function, debug info with a variable.
const std::string everything = header + R"(
@tile = internal addrspace(3) global [32 x double] undef, align 16
@dynamic = external addrspace(3) global [0 x i8], align 16
define void @scale(ptr addrspace(1) %data, i64 %size, i64 %i, double %f) !dbg !5 {
entry:
  %local = alloca double, align 8
  call void @llvm.dbg.declare(metadata ptr %local, metadata !9, metadata !DIExpression()), !dbg !10
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !10
  %index = call i64 @__cudasim_check_index(i64 %i, i64 %size, i32 0), !dbg !10
  %other = call i64 @__cudasim_check_unsigned_index(i64 %index, i64 %size, i32 0), !dbg !10
  %zero = fcmp oeq double %f, 0.0, !dbg !10
  call void @__cudasim_check_float_division(i1 %zero), !dbg !10
  br i1 %zero, label %bad, label %good, !dbg !10
bad:
  call void @__cudasim_raise(i32 0), !dbg !11
  unreachable, !dbg !11
good:
  %s = call double @__nv_sin(double %f), !dbg !11
  store double %s, ptr %local, align 8, !dbg !11
  %slot = getelementptr [32 x double], ptr addrspace(3) @tile, i64 0, i32 %tid, !dbg !11
  store double %s, ptr addrspace(3) %slot, align 8, !cudasim.in_bounds !8, !dbg !11
  call void @llvm.nvvm.barrier0(), !dbg !11
  %v = load double, ptr addrspace(3) @tile, align 16, !dbg !11
  %d = load double, ptr addrspace(3) @dynamic, align 16, !dbg !11
  %product = fmul contract double %v, %d, !dbg !11
  %sum = fadd contract double %product, %f, !dbg !11
  %place = getelementptr double, ptr addrspace(1) %data, i64 %other, !dbg !11
  %old = atomicrmw fadd ptr addrspace(1) %place, double %sum monotonic, align 8, !dbg !11
  %less = atomicrmw fsub ptr addrspace(3) @tile, double %old syncscope("block") acq_rel, align 8, !dbg !11
  %bits = bitcast double %less to i64, !dbg !11
  %most = atomicrmw umax ptr addrspace(1) %place, i64 %bits syncscope("device") monotonic, align 8, !dbg !11
  %word = trunc i64 %most to i32, !dbg !11
  %next = atomicrmw uinc_wrap ptr %local, i32 %word syncscope("block") monotonic, align 4, !dbg !11
  %pair = cmpxchg ptr addrspace(1) %place, i32 %next, i32 7 seq_cst acquire, align 4, !dbg !11
  fence syncscope("cluster") acq_rel, !dbg !11
  ret void, !dbg !11
}
define void @unused_kernel() {
  ret void
}
declare i64 @__cudasim_check_index(i64, i64, i32)
declare i64 @__cudasim_check_unsigned_index(i64, i64, i32)
declare void @__cudasim_check_float_division(i1)
declare void @__cudasim_raise(i32)
declare double @__nv_sin(double)
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier0()
declare void @llvm.dbg.declare(metadata, metadata, metadata)
!nvvm.annotations = !{!0, !1}
!cudasim.exceptions = !{!2}
!llvm.dbg.cu = !{!3}
!llvm.module.flags = !{!12}
!0 = !{ptr @scale, !"kernel", i32 1}
!1 = !{ptr @unused_kernel, !"kernel", i32 1}
!2 = !{!"ValueError", !"message"}
!3 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !4, isOptimized: false, emissionKind: FullDebug)
!4 = !DIFile(filename: "scale.py", directory: "/somewhere")
!5 = distinct !DISubprogram(name: "scale", file: !4, line: 3, type: !6, unit: !3, spFlags: DISPFlagDefinition)
!6 = !DISubroutineType(types: !7)
!7 = !{null}
!8 = !{}
!9 = !DILocalVariable(name: "local", scope: !5, file: !4, line: 4, type: !13)
!10 = !DILocation(line: 4, column: 5, scope: !5)
!11 = !DILocation(line: 5, column: 5, scope: !5)
!12 = !{i32 2, !"Debug Info Version", i32 3}
!13 = !DIBasicType(name: "double", size: 64, encoding: DW_ATE_float)
)";

PtxError refusal(const std::string& text, const std::string& kernel, const PtxOptions& options = {}) {
    try {
        (void)ptx_of(text, kernel, options);
    } catch (const PtxError& error) {
        return error;
    }
    ADD_FAILURE() << "no PtxError";
    return {PtxError::Code::libdevice, ""};
}

TEST(Ptx, has_the_kernel_as_its_only_entry) {
    const auto ptx = ptx_of(everything, "scale");
    EXPECT_TRUE(contains(ptx, ".target sm_75")) << ptx;
    EXPECT_TRUE(contains(ptx, ".entry scale(")) << ptx;
    EXPECT_FALSE(contains(ptx, "unused_kernel")) << ptx;
}

TEST(Ptx, declared_checks_are_replaced_as_their_table_says) {
    const auto ptx = ptx_of(everything, "scale");
    EXPECT_FALSE(contains(ptx, "__cudasim")) << ptx;
    EXPECT_TRUE(contains(ptx, "trap;")) << ptx;
    EXPECT_TRUE(contains(ptx, "setp.lt.s64") || contains(ptx, "setp.gt.s64") || contains(ptx, "shr.s64"))
        << ptx;
}

TEST(Ptx, an_unsigned_index_is_not_wrapped) {
    const auto ptx = ptx_of(header + R"(
define void @k(ptr addrspace(1) %data, i64 %i) {
  %index = call i64 @__cudasim_check_unsigned_index(i64 %i, i64 9, i32 0)
  store i64 %index, ptr addrspace(1) %data
  ret void
}
declare i64 @__cudasim_check_unsigned_index(i64, i64, i32)
!nvvm.annotations = !{!0}
!0 = !{ptr @k, !"kernel", i32 1}
)",
                            "k");
    EXPECT_FALSE(contains(ptx, "add.s64")) << ptx;
    EXPECT_TRUE(contains(ptx, "st.global.u64")) << ptx;
}

TEST(Ptx, names_source_lines) {
    EXPECT_TRUE(contains(ptx_of(everything, "scale"), "scale.py"));
}

TEST(Ptx, debug_information_is_kept_as_far_as_asked) {
    const auto full = ptx_of(everything, "scale", {.debug_info = DebugInfo::full});
    EXPECT_TRUE(contains(full, ".loc\t") && contains(full, ".debug_info") && contains(full, ", debug"))
        << full;
    const auto lines = ptx_of(everything, "scale", {.debug_info = DebugInfo::lines});
    EXPECT_TRUE(contains(lines, ".loc\t") && contains(lines, "scale.py")) << lines;
    EXPECT_FALSE(contains(lines, ".section") || contains(lines, ", debug")) << lines;
    const auto none = ptx_of(everything, "scale", {.debug_info = DebugInfo::none});
    EXPECT_FALSE(contains(none, ".loc\t") || contains(none, "scale.py")) << none;
    EXPECT_FALSE(
        contains(nvvm_ir(image::KernelImage::from_ir_text(everything), DebugInfo::none), "DILocation"));
    EXPECT_TRUE(contains(nvvm_ir(image::KernelImage::from_ir_text(everything), DebugInfo::lines),
                         "DebugDirectivesOnly"));
}

TEST(Ptx, a_kernel_without_debug_information_does_not_say_that_it_has_some) {
    const auto ptx = ptx_of(everything, "unused_kernel", {.debug_info = DebugInfo::full});
    EXPECT_TRUE(contains(ptx, ".target sm_") && !contains(ptx, "debug")) << ptx;
}

TEST(Ptx, launch_bounds_are_directives) {
    const PtxOptions bounded{
        .architecture = "sm_90",
        .bounds = {.max_threads = 128, .min_blocks = 2, .max_cluster_blocks = 4, .max_registers = 40}};
    const auto ptx = ptx_of(everything, "scale", bounded);
    for (const char* directive : {".maxntid 128", ".minnctapersm 2", ".maxclusterrank 4", ".maxnreg 40"})
        EXPECT_TRUE(contains(ptx, directive)) << directive << "\n" << ptx;
    EXPECT_FALSE(contains(ptx_of(everything, "scale"), ".maxn"));
}

TEST(Ptx, a_visible_device_function_can_be_the_entry) {
    const std::string text = header + R"(
define float @half(float %x) {
  %y = fmul float %x, 5.000000e-01
  ret float %y
}
define internal float @hidden(float %x) {
  ret float %x
}
)";
    const auto ptx = ptx_of(text, "half");
    EXPECT_TRUE(contains(ptx, ".visible .func") && contains(ptx, "half(") && !contains(ptx, ".entry")) << ptx;
    EXPECT_EQ(refusal(text, "hidden").code, PtxError::Code::unknown_kernel);
}

TEST(Ptx, functions_that_may_be_approximated_become_the_processors) {
    const std::string text = header + R"(
define float @f(float %x) {
  %fast = call afn float @__nv_sinf(float %x)
  %exact = call float @__nv_cosf(float %x)
  %y = fadd float %fast, %exact
  ret float %y
}
declare float @__nv_sinf(float)
declare float @__nv_cosf(float)
)";
    const auto ptx = ptx_of(text, "f");
    EXPECT_TRUE(contains(ptx, "sin.approx.ftz.f32")) << ptx;
    EXPECT_FALSE(contains(ptx, "cos.approx")) << ptx;
}

TEST(Ptx, file_names_have_no_characters_that_ptx_cannot_quote) {
    std::string odd = everything;
    odd.replace(odd.find("scale.py"), 8, "<exec \\22a\\5C\\0Ab'>");
    EXPECT_TRUE(contains(ptx_of(odd, "scale"), "<exec 'a/ b'>")) << ptx_of(odd, "scale");
}

TEST(Ptx, fuses_multiply_add_only_when_asked) {
    EXPECT_FALSE(contains(ptx_of(everything, "scale", {.link_libdevice = false}), "fma.rn.f64"));
    EXPECT_TRUE(contains(ptx_of(everything, "scale", {.fma_contraction = true, .link_libdevice = false}),
                         "fma.rn.f64"));
}

TEST(Ptx, updates_that_wrap_are_single_instructions) {
    const std::string text = header + R"(
define void @f(ptr addrspace(1) %p, ptr addrspace(1) %q) {
  %old = atomicrmw uinc_wrap ptr addrspace(1) %p, i32 7 monotonic
  %older = atomicrmw udec_wrap ptr addrspace(1) %p, i32 %old monotonic
  %wide = atomicrmw uinc_wrap ptr addrspace(1) %q, i64 7 monotonic
  ret void
}
)";
    const auto ptx = ptx_of(text, "f");
    EXPECT_TRUE(contains(ptx, "atom.sys.global.inc.u32")) << ptx;
    EXPECT_TRUE(contains(ptx, "atom.sys.global.dec.u32")) << ptx;
    EXPECT_FALSE(contains(ptx, "cas.b32")) << ptx;
    EXPECT_TRUE(contains(ptx, "cas.b64")) << ptx;  // PTX has none of 64 bits
}

TEST(Ptx, libdevice_is_linked_where_a_toolkit_is) {
    EXPECT_TRUE(contains(ptx_of(everything, "scale", {.link_libdevice = false}), ".extern .func"));
    if (!find_libdevice()) GTEST_SKIP() << "no libdevice.10.bc found: CUDA toolkit not installed";
    const auto ptx = ptx_of(everything, "scale");
    EXPECT_FALSE(contains(ptx, ".extern .func")) << ptx;
}

TEST(Ptx, square_roots_of_libdevice_are_rounded) {
    if (!find_libdevice()) GTEST_SKIP() << "no libdevice.10.bc found: CUDA toolkit not installed";
    for (const std::string name : {"__nv_sqrtf", "__nv_hypotf"}) {
        const bool two = name == "__nv_hypotf";
        const auto ptx = ptx_of(header + "declare float @" + name + (two ? "(float, float)" : "(float)") +
                                    "\ndefine void @k(ptr addrspace(1) %p) {\n"
                                    "  %x = load float, ptr addrspace(1) %p\n  %y = call float @" +
                                    name + (two ? "(float %x, float %x)" : "(float %x)") +
                                    "\n  store float %y, ptr addrspace(1) %p\n  ret void\n}\n"
                                    "!nvvm.annotations = !{!0}\n!0 = !{ptr @k, !\"kernel\", i32 1}\n",
                                "k");
        EXPECT_TRUE(contains(ptx, "sqrt.rn.f32")) << ptx;
        EXPECT_FALSE(contains(ptx, "sqrt.approx")) << ptx;
    }
}

std::string kernel_calling(const std::string& function) {
    return header + "declare float @" + function +
           "(float)\n"
           "define void @k(ptr addrspace(1) %p) {\n"
           "  %x = load float, ptr addrspace(1) %p\n"
           "  %y = call float @" +
           function +
           "(float %x)\n"
           "  store float %y, ptr addrspace(1) %p\n  ret void\n}\n"
           "!nvvm.annotations = !{!0}\n!0 = !{ptr @k, !\"kernel\", i32 1}\n";
}

TEST(Ptx, libdevices_approximate_hyperbolic_tangent_is_the_processors) {
    if (!find_libdevice()) GTEST_SKIP() << "no libdevice.10.bc found: CUDA toolkit not installed";
    const auto ptx = ptx_of(kernel_calling("__nv_fast_tanhf"), "k");
    EXPECT_TRUE(contains(ptx, "tanh.approx.f32")) << ptx;
}

TEST(Ptx, functions_that_libdevice_has_not_are_refused_where_it_is_required) {
    const std::string text = kernel_calling("__nv_no_such_function");
    EXPECT_TRUE(contains(ptx_of(text, "k"), "__nv_no_such_function"));
    const auto error = refusal(text, "k", {.require_libdevice = true});
    EXPECT_EQ(error.code, PtxError::Code::libdevice);
    EXPECT_TRUE(contains(error.what(), "'k' calls __nv_no_such_function")) << error.what();
}

TEST(Ptx, a_library_that_is_none_is_refused_by_its_path) {
    const auto error = refusal(everything, "scale", {.libdevice = "/nowhere/libdevice.10.bc"});
    EXPECT_EQ(error.code, PtxError::Code::libdevice);
    EXPECT_TRUE(contains(error.what(), "/nowhere/libdevice.10.bc")) << error.what();
}

TEST(Ptx, functions_that_the_processor_approximates_are_known_by_their_instructions) {
    EXPECT_EQ(approximate_instructions("__nv_expf"), "ex2");
    EXPECT_EQ(approximate_instructions("expf"), "ex2");
    EXPECT_EQ(approximate_instructions("__nv_sin"), "");
}

TEST(Ptx, variables_that_the_host_can_reach_stay_and_keep_their_stores) {
    const auto ptx = ptx_of(header + R"(
@counter = addrspace(1) externally_initialized global i32 5
@"table.of the host" = addrspace(4) externally_initialized global [2 x i32] [i32 1, i32 2]
@unused = addrspace(1) global i32 0
@own = internal addrspace(1) global i32 0
define void @k() {
  %x = load i32, ptr addrspace(4) getelementptr ([2 x i32], ptr addrspace(4) @"table.of the host", i64 0, i64 1)
  store i32 %x, ptr addrspace(1) @counter
  store i32 7, ptr addrspace(1) @own
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{ptr @k, !"kernel", i32 1}
)",
                            "k");
    EXPECT_TRUE(contains(ptx, ".visible .global .align 4 .u32 counter = 5;")) << ptx;
    EXPECT_TRUE(contains(ptx, "st.global.u32 \t[counter]")) << ptx;
    EXPECT_TRUE(contains(ptx, ".visible .const .align 4 .b8 table_of_the_host[8]")) << ptx;
    EXPECT_TRUE(contains(ptx, "ld.const.u32")) << ptx;
    EXPECT_FALSE(contains(ptx, "unused")) << ptx;
    EXPECT_FALSE(contains(ptx, "own")) << ptx;
}

// Undefined in LLVM IR and defined in PTX: LLVM must not drop the stores, nor take 16 bits for 8.
TEST(Ptx, values_that_llvm_leaves_open_are_those_of_the_simulator) {
    const std::string ptx = ptx_of(header + R"(
define void @k(ptr addrspace(1) %out, i64 %n, double %x, float %f) {
entry:
  %left = shl i64 1, 64
  %right = ashr i64 -1, 70
  %low = sdiv i64 -9223372036854775808, -1
  %rest = srem i64 -9223372036854775808, -1
  %wide = shl i64 %n, %n
  %byte = fptosi float %f to i8
  %extended = sext i8 %byte to i64
  %whole = fptosi double 1.0e300 to i64
  store volatile i64 %left, ptr addrspace(1) %out, align 8
  store volatile i64 %right, ptr addrspace(1) %out, align 8
  store volatile i64 %low, ptr addrspace(1) %out, align 8
  store volatile i64 %rest, ptr addrspace(1) %out, align 8
  store volatile i64 %wide, ptr addrspace(1) %out, align 8
  store volatile i64 %extended, ptr addrspace(1) %out, align 8
  store volatile i64 %whole, ptr addrspace(1) %out, align 8
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{ptr @k, !"kernel", i32 1}
)",
                                   "k");
    std::size_t stores = 0;
    for (std::size_t at = 0; (at = ptx.find("st.volatile.global", at)) != std::string::npos; ++at) ++stores;
    EXPECT_EQ(stores, 7U) << ptx;
    EXPECT_TRUE(contains(ptx, ", -9223372036854775808;")) << ptx;  // INT_MIN / -1
    EXPECT_TRUE(contains(ptx, ", -1;")) << ptx;                    // -1 >> 70
    EXPECT_TRUE(contains(ptx, "setp.lt.u64") || contains(ptx, "setp.gt.u64"))
        << "the register of an amount has 32 bits\n"
        << ptx;
    EXPECT_TRUE(contains(ptx, "cvt.rzi.s16.f32")) << ptx;
    EXPECT_TRUE(contains(ptx, "cvt.s64.s8") || contains(ptx, "bfe.s64")) << ptx;
    EXPECT_TRUE(contains(ptx, "cvt.rzi.s64.f64")) << ptx;
}

TEST(Ptx, libdevices_roundings_of_integers_stay) {
    if (!find_libdevice()) GTEST_SKIP() << "no libdevice.10.bc found: CUDA toolkit not installed";
    const std::string ptx = ptx_of(header + R"(
define void @k(ptr addrspace(1) %out, i32 %i, i64 %n) {
  %a = call float @__nv_int2float_rz(i32 %i)
  %b = call double @__nv_ull2double_rz(i64 %n)
  %c = call i32 @__nv_float2uint_rz(float %a)
  store volatile float %a, ptr addrspace(1) %out, align 4
  store volatile double %b, ptr addrspace(1) %out, align 8
  store volatile i32 %c, ptr addrspace(1) %out, align 4
  ret void
}
declare float @__nv_int2float_rz(i32)
declare double @__nv_ull2double_rz(i64)
declare i32 @__nv_float2uint_rz(float)
!nvvm.annotations = !{!0}
!0 = !{ptr @k, !"kernel", i32 1}
)",
                                   "k");
    EXPECT_TRUE(contains(ptx, "cvt.rz.f32.s32")) << ptx;
    EXPECT_TRUE(contains(ptx, "cvt.rz.f64.u64")) << ptx;
    EXPECT_TRUE(contains(ptx, "cvt.rzi.u32.f32")) << ptx;
}

TEST(Ptx, asynchronous_copies_are_copies_before_sm_80) {
    const std::string text = header + R"(
@tile = internal addrspace(3) global [64 x i32] undef, align 16
define void @k(ptr addrspace(1) %p, i32 %n) {
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) @tile, ptr addrspace(1) %p)
  call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) @tile, ptr addrspace(1) %p, i32 %n)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  call void @llvm.nvvm.cp.async.wait.all()
  %x = load volatile i32, ptr addrspace(3) @tile
  store i32 %x, ptr addrspace(1) %p
  ret void
}
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3), ptr addrspace(1), i32)
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32 immarg)
declare void @llvm.nvvm.cp.async.wait.all()
!nvvm.annotations = !{!0}
!0 = !{ptr @k, !"kernel", i32 1}
)";
    const std::string old = ptx_of(text, "k"), present = ptx_of(text, "k", {.architecture = "sm_80"});
    EXPECT_FALSE(contains(old, "cp.async")) << old;
    EXPECT_TRUE(contains(old, "st.shared")) << old;
    EXPECT_TRUE(contains(present, "cp.async.ca.shared.global")) << present;
    EXPECT_TRUE(contains(present, "cp.async.cg.shared.global")) << present;
    EXPECT_TRUE(contains(present, "cp.async.wait_group")) << present;
}

TEST(Ptx, without_a_toolkit_maths_functions_stay_external) {
    if (find_libdevice()) GTEST_SKIP() << "a CUDA toolkit is installed: " << *find_libdevice();
    EXPECT_TRUE(contains(ptx_of(everything, "scale"), "__nv_sin"));
}

TEST(Ptx, names_that_ptx_does_not_allow_are_changed) {
    EXPECT_EQ(ptx_name("outer.<locals>.k"), "outer__locals__k");
    EXPECT_EQ(ptx_name("1k"), "_$1k");
    const auto ptx = ptx_of(header + R"(
define void @"f.<locals>.k"() {
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{ptr @"f.<locals>.k", !"kernel", i32 1}
)",
                            "f.<locals>.k");
    EXPECT_TRUE(contains(ptx, ".entry f__locals__k(")) << ptx;
}

constexpr char sum_of_a_warp[] = R"(
declare i32 @llvm.nvvm.redux.sync.add(i32, i32)
define void @k(ptr addrspace(1) %p) {
  %x = load i32, ptr addrspace(1) %p
  %sum = call i32 @llvm.nvvm.redux.sync.add(i32 %x, i32 -1)
  store i32 %sum, ptr addrspace(1) %p
  ret void
}
!nvvm.annotations = !{!0}
!0 = !{ptr @k, !"kernel", i32 1}
)";

TEST(Ptx, an_instruction_that_the_architecture_lacks_is_named) {
    const auto error = refusal(header + sum_of_a_warp, "k");
    EXPECT_EQ(error.code, PtxError::Code::no_such_instruction);
    EXPECT_TRUE(contains(error.what(), "llvm.nvvm.redux.sync.add")) << error.what();
    EXPECT_TRUE(contains(error.what(), "sm_75")) << error.what();
}

TEST(Ptx, code_for_a_record_is_for_the_oldest_architecture_that_has_the_instructions) {
    const auto image = image::KernelImage::from_ir_text(header + sum_of_a_warp);
    const records::GpuCode code = gpu_code_of(image, "k", {});
    EXPECT_EQ(code.refusal, "");
    EXPECT_EQ(code.architecture, "sm_80");
    EXPECT_TRUE(contains(code.ptx, ".target sm_80")) << code.ptx;
    EXPECT_TRUE(contains(code.ptx, "redux.sync.add")) << code.ptx;
    EXPECT_EQ(gpu_code_of(image, "k", {.architecture = "sm_90"}).architecture, "sm_90");
}

TEST(Ptx, a_declared_check_used_in_another_way_is_refused) {
    const std::string end = "  ret void\n}\n!nvvm.annotations = !{!0}\n!0 = !{ptr @k, !\"kernel\", i32 1}\n";
    for (const std::string use :
         {"declare void @__cudasim_check_index()\ndefine void @k(ptr %p) {\n"
          "  call void @__cudasim_check_index()\n",
          "declare i64 @__cudasim_check_index(i64, i64, i32)\ndefine void @k(ptr %p) {\n"
          "  store ptr @__cudasim_check_index, ptr %p\n"}) {
        const auto error = refusal(header + use + end, "k");
        EXPECT_EQ(error.code, PtxError::Code::unsupported_code);
        EXPECT_TRUE(contains(error.what(), "i64 (i64, i64, i32)")) << error.what();
    }
}

TEST(Ptx, a_read_of_a_variable_is_of_what_was_stored) {
    const std::string end = "  ret void\n}\n!nvvm.annotations = !{!0}\n!0 = !{ptr @k, !\"kernel\", i32 1}\n";
    const auto ptx =
        ptx_of(header +
                   "declare i32 @__cudasim_variable.i32(i32, i32) memory(none) nounwind willreturn\n"
                   "define void @k(ptr addrspace(1) %p) {\n  %x = load i32, ptr addrspace(1) %p\n"
                   "  %y = call i32 @__cudasim_variable.i32(i32 77, i32 %x)\n"
                   "  store i32 %y, ptr addrspace(1) %p\n" +
                   end,
               "k");
    EXPECT_TRUE(contains(ptx, "77")) << ptx;
    EXPECT_FALSE(contains(ptx, "ld.global")) << ptx;
    const auto error = refusal(header +
                                   "declare i32 @__cudasim_variable.i32()\ndefine void @k(ptr %p) {\n"
                                   "  %x = call i32 @__cudasim_variable.i32()\n" +
                                   end,
                               "k");
    EXPECT_EQ(error.code, PtxError::Code::unsupported_code);
    EXPECT_TRUE(contains(error.what(), "variable_reads.h")) << error.what();
}

TEST(Ptx, what_llvm_cannot_select_is_refused_not_fatal) {
    const auto error =
        refusal(header +
                    "define void @k(ptr %p) {\n  %x = load fp128, ptr %p\n  %y = fadd fp128 %x, %x\n"
                    "  store fp128 %y, ptr %p\n  ret void\n}\n" +
                    k_is_a_kernel,
                "k");
    EXPECT_EQ(error.code, PtxError::Code::no_such_instruction);
    EXPECT_TRUE(contains(error.what(), "kernel 'k'")) << error.what();
}

TEST(Ptx, an_unknown_kernel_is_refused_with_those_there_are) {
    const auto error = refusal(everything, "skale");
    EXPECT_EQ(error.code, PtxError::Code::unknown_kernel);
    EXPECT_STREQ(error.what(), "the image has no kernel 'skale'; it has: scale, unused_kernel");
}

TEST(Ptx, an_unknown_architecture_is_refused) {
    EXPECT_EQ(refusal(everything, "scale", {.architecture = "sm_1"}).code,
              PtxError::Code::unknown_architecture);
    EXPECT_EQ(refusal(everything, "scale", {.architecture = "pentium"}).code,
              PtxError::Code::unknown_architecture);
}

TEST(Ptx, intrinsics_of_another_processor_are_refused_not_fatal) {
    const auto error = refusal(header + R"(
define void @k() {
  call void @llvm.x86.sse2.pause()
  ret void
}
declare void @llvm.x86.sse2.pause()
!nvvm.annotations = !{!0}
!0 = !{ptr @k, !"kernel", i32 1}
)",
                               "k");
    EXPECT_EQ(error.code, PtxError::Code::unsupported_code);
    EXPECT_TRUE(contains(error.what(), "llvm.x86.sse2.pause")) << error.what();
}

class PtxasTest : public testing::TestWithParam<const char*> {};

TEST_P(PtxasTest, accepts_the_ptx) {
    const auto ptxas = find_ptxas();
    if (!ptxas) GTEST_SKIP() << "ptxas not found: CUDA toolkit not installed";
    const std::string stem = "cudasim_ptx_test_" + std::string(GetParam());
    const auto path = std::filesystem::temp_directory_path() / (stem + ".ptx");
    std::ofstream(path) << ptx_of(everything, "scale", {.architecture = GetParam()});
    const std::string command = ptxas->string() + " -arch=" + GetParam() + " -o /dev/null " + path.string();
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
    std::filesystem::remove(path);
}

INSTANTIATE_TEST_SUITE_P(Architectures, PtxasTest, testing::Values("sm_75", "sm_80", "sm_90"));

}  // namespace
}  // namespace cudasim::gpu_backend
