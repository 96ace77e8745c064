// What hand-written NVVM IR computes: every address space, calls, atomics, barriers, spins (E1–E5, E2b).
#include <numeric>

#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::execution {
namespace {

class IrResults : public IrKernelTest {};
INSTANTIATE_TEST_SUITE_P(Modes, IrResults, all_modes, mode_name);

TEST_P(IrResults, global_memory_by_generic_pointer_and_three_coordinates) {
    auto image = ir_image(R"(
define void @k(ptr %out) {
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %z = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %z3 = mul i32 %z, 3
  %yz = add i32 %y, %z3
  %yz4 = mul i32 %yz, 4
  %t = add i32 %x, %yz4
  %c24 = mul i32 %c, 24
  %i = add i32 %t, %c24
  %p = getelementptr i32, ptr %out, i32 %i
  %y10 = mul i32 %y, 10
  %z100 = mul i32 %z, 100
  %c1000 = mul i32 %c, 1000
  %s1 = add i32 %x, %y10
  %s2 = add i32 %s1, %z100
  %s3 = add i32 %s2, %c1000
  store i32 %s3, ptr %p, align 4
  ret void
})");
    DeviceArray<int> out(72, -1);
    EXPECT_EQ(messages(run_ir(image, {3}, {4, 3, 2}, out.pointer())), "");
    const auto& values = out.read();
    for (int i = 0; i < 72; ++i)
        EXPECT_EQ(values[i], i % 4 + i / 4 % 3 * 10 + i / 12 % 2 * 100 + i / 24 * 1000);
}

TEST_P(IrResults, static_and_dynamic_shared_memory_with_barriers) {
    auto image = ir_image(R"(
@tile = internal addrspace(3) global [64 x i32] undef, align 16
@dynamic = external addrspace(3) global [0 x i8], align 16
define void @k(ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %t
  %q = getelementptr i32, ptr addrspace(3) @dynamic, i32 %t
  store i32 %t, ptr addrspace(3) %p, align 4
  %t7 = mul i32 %t, 7
  store i32 %t7, ptr addrspace(3) %q, align 4
  call void @llvm.nvvm.barrier0()
  %r = sub i32 63, %t
  %pr = getelementptr [64 x i32], ptr addrspace(3) @tile, i32 0, i32 %r
  %qr = getelementptr i32, ptr addrspace(3) @dynamic, i32 %r
  %a = load i32, ptr addrspace(3) %pr, align 4
  %b = load i32, ptr addrspace(3) %qr, align 4
  %s = add i32 %a, %b
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %c64 = mul i32 %c, 64
  %i = add i32 %c64, %t
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %i
  store i32 %s, ptr addrspace(1) %o, align 4
  ret void
})");
    DeviceArray<int> out(64 * 5);
    EXPECT_EQ(messages(run_ir_shared(image, {5}, {64}, 256, out.pointer())), "");
    const auto& values = out.read();
    for (int i = 0; i < 320; ++i) EXPECT_EQ(values[i], (63 - i % 64) * 8);
}

TEST_P(IrResults, local_constant_and_device_variables) {
    auto image = ir_image(R"(
@table = addrspace(4) constant [4 x i32] [i32 10, i32 20, i32 30, i32 40], align 4
@variable = addrspace(1) global i32 5, align 4
@pointer = addrspace(1) global ptr addrspacecast (ptr addrspace(1) @variable to ptr), align 8
define void @k(ptr %out) {
  %local = alloca [4 x i32], align 4
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = and i32 %t, 3
  br label %loop
loop:
  %n = phi i32 [ 0, %0 ], [ %n1, %loop ]
  %c = getelementptr [4 x i32], ptr addrspace(4) @table, i32 0, i32 %n
  %v = load i32, ptr addrspace(4) %c, align 4
  %l = getelementptr [4 x i32], ptr %local, i32 0, i32 %n
  %w = add i32 %v, %t
  store i32 %w, ptr %l, align 4
  %n1 = add i32 %n, 1
  %more = icmp ult i32 %n1, 4
  br i1 %more, label %loop, label %done
done:
  %m = getelementptr [4 x i32], ptr %local, i32 0, i32 %i
  %x = load i32, ptr %m, align 4
  %g = load ptr, ptr addrspace(1) @pointer, align 8
  %y = load i32, ptr %g, align 4
  %s = add i32 %x, %y
  %o = getelementptr i32, ptr %out, i32 %t
  store i32 %s, ptr %o, align 4
  ret void
})");
    DeviceArray<int> out(40);
    EXPECT_EQ(messages(run_ir(image, {1}, {40}, out.pointer())), "");
    const auto& values = out.read();
    for (int i = 0; i < 40; ++i) EXPECT_EQ(values[i], 10 * (i % 4 + 1) + i + 5);
}

TEST_P(IrResults, fresh_shared_and_local_arrays_hold_poison_and_not_what_was_there_before) {
    auto image = ir_image(R"(
@tile = internal addrspace(3) global [32 x float] undef, align 16
define void @k(ptr addrspace(1) %out) {
  %array = alloca [8 x float], align 4
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %i = and i32 %t, 7
  %l = getelementptr [8 x float], ptr %array, i32 0, i32 %i
  %x = load float, ptr %l, align 4
  store float 1.0, ptr %l, align 4
  %s = getelementptr [32 x float], ptr addrspace(3) @tile, i32 0, i32 %t
  %y = load float, ptr addrspace(3) %s, align 4
  store float 1.0, ptr addrspace(3) %s, align 4
  %both = fcmp uno float %x, 0.0
  %nan = fcmp uno float %y, 0.0
  %ok = and i1 %both, %nan
  %v = zext i1 %ok to i32
  %o = getelementptr i32, ptr addrspace(1) %out, i32 %t
  %old = atomicrmw add ptr addrspace(1) %o, i32 %v monotonic
  ret void
})");
    DeviceArray<int> out(32);
    EXPECT_EQ(messages(run_ir(image, {10}, {32}, out.pointer())), "");
    for (int value : out.read()) EXPECT_EQ(value, 10);
}

TEST_P(IrResults, fused_multiplication_only_where_asked_for_and_the_same_across_a_check) {
    auto image = ir_image(R"(
define void @k(ptr addrspace(1) %out, double %a, double %c) {
  %m = fmul contract double %a, %a
  %i = call i64 @__cudasim_check_index(i64 0, i64 1, i32 0)
  %s = fadd contract double %m, %c
  %plain = fmul double %a, %a
  %t = fadd double %plain, %c
  store double %s, ptr addrspace(1) %out, align 8
  %o = getelementptr double, ptr addrspace(1) %out, i64 1
  store double %t, ptr addrspace(1) %o, align 8
  ret void
})");
    const double a = 1 + 0x1p-30, c = -(a * a), fused = 0x1p-60;
    for (const bool contraction : {false, true}) {
        for (const unsigned optimisation : {0U, 2U}) {
            DeviceArray<double> out(2, -1);
            struct {
                DevicePointer out;
                double a, c;
            } parameters{out.pointer(), a, c};
            LaunchOptions with = options();
            with.compile.fma_contraction = contraction;
            with.compile.optimisation = optimisation;
            auto loaded = device().load(image);
            EXPECT_EQ(messages(device().launch(*loaded, "k", {{1}, {1}},
                                               std::as_bytes(std::span(&parameters, 1)), with)),
                      "");
            EXPECT_EQ(out.read()[0], contraction ? fused : 0.0);
            EXPECT_EQ(out.read()[1], 0.0);
        }
    }
}

TEST_P(IrResults, recursion_and_calls_through_function_pointers) {
    auto image = ir_image(R"(
@functions = addrspace(1) global [2 x ptr] [ptr @fibonacci, ptr @square], align 8
define internal i64 @fibonacci(i64 %n) {
  %small = icmp slt i64 %n, 2
  br i1 %small, label %base, label %more
base:
  ret i64 %n
more:
  %n1 = sub i64 %n, 1
  %n2 = sub i64 %n, 2
  %a = call i64 @fibonacci(i64 %n1)
  %b = call i64 @fibonacci(i64 %n2)
  %s = add i64 %a, %b
  ret i64 %s
}
define internal i64 @square(i64 %n) {
  %s = mul i64 %n, %n
  ret i64 %s
}
define void @k(ptr %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %which = and i32 %t, 1
  %e = getelementptr [2 x ptr], ptr addrspace(1) @functions, i32 0, i32 %which
  %f = load ptr, ptr addrspace(1) %e, align 8
  %n = zext i32 %t to i64
  %v = call i64 %f(i64 %n)
  %o = getelementptr i64, ptr %out, i32 %t
  store i64 %v, ptr %o, align 8
  ret void
})");
    DeviceArray<std::int64_t> out(20);
    EXPECT_EQ(messages(run_ir(image, {1}, {20}, out.pointer())), "");
    const std::int64_t fibonacci[] = {0,  1,  1,   2,   3,   5,   8,   13,   21,  34,
                                      55, 89, 144, 233, 377, 610, 987, 1597, 2584};
    const auto& values = out.read();
    for (int i = 0; i < 20; ++i) EXPECT_EQ(values[i], i % 2 == 0 ? fibonacci[i] : i * i);
}

TEST_P(IrResults, atomics_from_all_blocks_and_barriers_that_count) {
    auto image = ir_image(R"(
define void @k(ptr %out) {
  %old = atomicrmw add ptr %out, i32 1 monotonic
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %odd = and i32 %t, 1
  %n = call i32 @llvm.nvvm.barrier0.popc(i32 %odd)
  %p1 = getelementptr i32, ptr %out, i32 1
  %m = atomicrmw max ptr %p1, i32 %n monotonic
  %p2 = getelementptr float, ptr %out, i32 2
  %f = atomicrmw fadd ptr %p2, float 0.5 monotonic
  ret void
})");
    DeviceArray<int> out(4);
    EXPECT_EQ(messages(run_ir(image, {30}, {77}, out.pointer())), "");
    const auto& values = out.read();
    EXPECT_EQ(values[0], 30 * 77);
    EXPECT_EQ(values[1], 38);
    float sum;
    std::memcpy(&sum, &values[2], 4);
    EXPECT_EQ(sum, 0.5F * 30 * 77);
}

TEST_P(IrResults, spinning_on_a_flag_of_another_block_and_on_a_lock) {
    auto image = ir_image(R"(
define void @k(ptr %out) {
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %first = icmp eq i32 %c, 0
  %last = call i32 @llvm.nvvm.read.ptx.sreg.nctaid.x()
  %l1 = sub i32 %last, 1
  %isl = icmp eq i32 %c, %l1
  br i1 %isl, label %set, label %other
set:
  store volatile i32 1, ptr %out, align 4
  br label %lock
other:
  br i1 %first, label %spin, label %lock
spin:
  %v = load volatile i32, ptr %out, align 4
  %z = icmp eq i32 %v, 0
  br i1 %z, label %spin, label %lock
lock:
  %lk = getelementptr i32, ptr %out, i32 1
  %x = cmpxchg ptr %lk, i32 0, i32 1 monotonic monotonic
  %got = extractvalue { i32, i1 } %x, 1
  br i1 %got, label %critical, label %lock
critical:
  %n = getelementptr i32, ptr %out, i32 2
  %a = load volatile i32, ptr %n, align 4
  %b = add i32 %a, 1
  store volatile i32 %b, ptr %n, align 4
  call void @llvm.nvvm.membar.gl()
  %un = atomicrmw xchg ptr %lk, i32 0 monotonic
  ret void
})");
    DeviceArray<int> out(3);
    EXPECT_EQ(messages(run_ir(image, {8}, {33}, out.pointer())), "");
    EXPECT_EQ(out.read()[2], 8 * 33);
}

TEST_P(IrResults, one_state_of_globals_for_all_launches_of_an_image) {
    auto image = ir_image(R"(
@counter = addrspace(1) global i32 100, align 4
define void @k() {
  %old = atomicrmw add ptr addrspace(1) @counter, i32 1 monotonic
  ret void
})");
    EXPECT_EQ(messages(run_ir(image, {2}, {10})), "");
    auto first = image_;
    EXPECT_EQ(messages(run_ir(image, {2}, {10})), "");
    EXPECT_EQ(first, image_);
    int counter = 0;
    device().copy_from_device(&counter, device().global_range(*image_, "counter").base, 4);
    EXPECT_EQ(counter, 140);
}

/// As C++ has them: variables of different functions, files and templates may have one name.
constexpr const char* variables_of_one_name = R"(
@_ZN1a5countE = addrspace(1) global i32 1, align 4, !dbg !0
@_ZN1b5countE = addrspace(1) global i32 2, align 4, !dbg !5
@other = addrspace(1) global i32 3, align 4, !dbg !8
define void @k() {
  store i32 7, ptr addrspace(1) @_ZN1b5countE
  ret void
}
!llvm.dbg.cu = !{!2}
!llvm.module.flags = !{!11, !12}
!0 = !DIGlobalVariableExpression(var: !1, expr: !DIExpression())
!1 = distinct !DIGlobalVariable(name: "count", linkageName: "_ZN1a5countE", scope: !2, file: !3, line: 1, type: !10)
!2 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus_14, file: !3, emissionKind: FullDebug, globals: !4)
!3 = !DIFile(filename: "a.cu", directory: "/")
!4 = !{!0, !5, !8}
!5 = !DIGlobalVariableExpression(var: !6, expr: !DIExpression())
!6 = distinct !DIGlobalVariable(name: "count", linkageName: "_ZN1b5countE", scope: !2, file: !3, line: 2, type: !10)
!8 = !DIGlobalVariableExpression(var: !9, expr: !DIExpression())
!9 = distinct !DIGlobalVariable(name: "named", linkageName: "other", scope: !2, file: !3, line: 3, type: !10)
!10 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!11 = !{i32 7, !"Dwarf Version", i32 4}
!12 = !{i32 2, !"Debug Info Version", i32 3}
)";

int value_of(const execution::LoadedImage& image, std::string_view name) {
    int value = 0;
    const auto range = device().global_range(image, name);
    EXPECT_EQ(range.bytes, 4U);
    device().copy_from_device(&value, range.base, 4);
    return value;
}

TEST(GlobalVariables, are_found_by_their_symbols_before_a_kernel_is_compiled) {
    const auto loaded = device().load(ir_image(variables_of_one_name));
    EXPECT_EQ(value_of(*loaded, "_ZN1a5countE"), 1);
    EXPECT_EQ(value_of(*loaded, "_ZN1b5countE"), 2);
    EXPECT_EQ(value_of(*loaded, "other"), 3);
    EXPECT_EQ(value_of(*loaded, "named"), 3);
    EXPECT_EQ(device().globals_base(*loaded) % 256, 0U);
}

TEST_P(IrResults, kernels_use_the_variables_that_were_found_before) {
    const auto image = ir_image(variables_of_one_name);
    const auto loaded = device().load(image);
    const auto place = device().global_range(*loaded, "_ZN1b5countE").base;
    EXPECT_EQ(messages(run_ir(image, {1}, {1})), "");
    EXPECT_EQ(device().global_range(*image_, "_ZN1b5countE").base, place);
    EXPECT_EQ(value_of(*image_, "_ZN1b5countE"), 7);
    EXPECT_EQ(value_of(*image_, "_ZN1a5countE"), 1);
}

TEST(GlobalVariables, of_one_name_are_told_with_their_symbols) {
    const auto loaded = device().load(ir_image(variables_of_one_name));
    try {
        (void)device().global_range(*loaded, "count");
        FAIL();
    } catch (const execution::CudaError& error) {
        EXPECT_EQ(error.code, execution::CudaResult::not_found);
        EXPECT_NE(std::string(error.what()).find("_ZN1a5countE, _ZN1b5countE"), std::string::npos)
            << error.what();
    }
    EXPECT_THROW((void)device().global_range(*loaded, "missing"), execution::CudaError);
}

/// A wish to stop is told once. At whatever moment of the compilation it comes, the launch does not begin.
TEST(CompilationInLaunch, that_is_cancelled_at_any_moment_leaves_nothing_to_run) {
    bool asked = true;
    for (unsigned moment = 1; asked; ++moment) {
        std::string body = "define void @k(ptr %out) {\n";
        for (unsigned i = 0; i < 600; ++i) {
            const std::string at = std::to_string(i), next = std::to_string(i % 64);
            body += "%p" + at + " = getelementptr i64, ptr %out, i64 " + next + "\n%v" + at +
                    " = load i64, ptr %p" + at + "\n%w" + at + " = mul i64 %v" + at + ", " +
                    std::to_string(i * 17 + moment) + "\nstore i64 %w" + at + ", ptr %p" + at + "\n";
        }
        const auto image = ir_image(body + "ret void\n}\n");
        DeviceArray<std::int64_t> out(64, 1);
        unsigned polls = 0;
        LaunchOptions options;
        options.poll_host = [&](const LaunchProgress& now) { return now.compiling && ++polls == moment; };
        const std::uint64_t parameters[] = {out.pointer(), 0};
        bool cancelled = false;
        try {
            (void)device().launch(*device().load(image), "k", {{1}, {1}},
                                  std::as_bytes(std::span(parameters)), options);
        } catch (const image::Cancelled&) {
            cancelled = true;
        }
        asked = polls >= moment;
        EXPECT_EQ(cancelled, asked) << "at poll " << moment;
    }
}

}  // namespace
}  // namespace cudasim::execution
