// What an image carries besides code: variables with initialisers and addresses, function values, parameters
// of every shape, debug info; and what is refused.
#include <gtest/gtest.h>

#include "kernels.h"
#include "machine.h"
#include "simulator/image/function_handles.h"

namespace cudasim::jit::testing {
namespace {

class Image : public ::testing::TestWithParam<unsigned> {
  protected:
    Machine machine(const std::string& body) {
        return Machine(module_head() + body, {.optimisation = GetParam()});
    }
};
INSTANTIATE_TEST_SUITE_P(Optimisation, Image, ::testing::Values(0U, 2U));

const std::string variables = R"(
@counter = addrspace(1) externally_initialized global i32 5, align 4
@table = internal addrspace(4) constant [3 x i16] [i16 10, i16 20, i16 30], align 2
@second = addrspace(1) global ptr getelementptr (i8, ptr addrspacecast (ptr addrspace(4) @table to ptr), i64 2), align 8
@pair = addrspace(1) global { i8, double, ptr addrspace(1) } { i8 1, double 2.5, ptr addrspace(1) @counter }, align 8
@fresh = internal addrspace(1) global [100 x float] undef, align 4
define void @f(ptr addrspace(1) %out, i64 %i) {
  %old = atomicrmw add ptr addrspace(1) @counter, i32 1 monotonic
  %p = load ptr, ptr addrspace(1) @second, align 8
  %x = load i16, ptr %p, align 2
  %q = getelementptr i16, ptr addrspace(4) @table, i64 %i
  %y = load i16, ptr addrspace(4) %q, align 2
  %c = load ptr addrspace(1), ptr addrspace(1) getelementptr inbounds ({ i8, double, ptr addrspace(1) }, ptr addrspace(1) @pair, i32 0, i32 2), align 8
  %now = load i32, ptr addrspace(1) %c, align 4
  %x32 = zext i16 %x to i32
  %y32 = zext i16 %y to i32
  %xy = add i32 %x32, %y32
  %all = add i32 %xy, %now
  store i32 %all, ptr addrspace(1) %out, align 4
  ret void
}
define void @g() {
  store float 1.0, ptr addrspace(1) @fresh, align 4
  ret void
}
define void @w(i64 %i) {
  %q = getelementptr i16, ptr addrspace(4) @table, i64 %i
  %g = addrspacecast ptr addrspace(4) %q to ptr
  store i16 1, ptr %g, align 2
  ret void
}
)" + kernels({"f", "g", "w"});

TEST_P(Image, variables_hold_their_initialisers_and_addresses_of_each_other) {
    Buffer<std::int32_t> out({0});
    auto m = machine(variables);
    m.run("f", {}, {out.address(), 2});
    EXPECT_TRUE(m.events.empty()) << "reading constants costs no call";
    EXPECT_EQ(out[0], 20 + 30 + 6);
    m.run("f", {}, {out.address(), 0});
    EXPECT_EQ(out[0], 20 + 10 + 7) << "one state for all launches";
    m.run("f", {}, {out.address(), 3});
    EXPECT_EQ(m.of("access_check").size(), 1U);
}

TEST_P(Image, constants_cannot_be_written) {
    auto m = machine(variables);
    m.run("w", {}, {1});
    ASSERT_EQ(m.of("access_check").size(), 1U);
    EXPECT_EQ(m.of("access_check")[0].values[2], access_write);
}

TEST_P(Image, every_kernel_sees_the_same_layout) {
    auto m = machine(variables);
    const auto f = m.compile("f")->globals, g = m.compile("g")->globals;
    ASSERT_EQ(f->variables.size(), 5U);
    ASSERT_EQ(g->variables.size(), 5U);
    EXPECT_EQ(f->initial, g->initial);
    std::uint64_t end = 0;
    for (std::size_t i = 0; i < 5; ++i) {
        EXPECT_EQ(f->variables[i].offset, g->variables[i].offset);
        EXPECT_EQ(f->variables[i].name, g->variables[i].name);
        EXPECT_GE(f->variables[i].offset, end + 32);
        EXPECT_EQ(f->variables[i].offset % 16, 0U);
        end = f->variables[i].offset + f->variables[i].bytes;
    }
    EXPECT_GE(f->bytes, end + 32);
    ASSERT_EQ(f->relocations.size(), 2U);
    EXPECT_TRUE(f->variables[1].constant);
    EXPECT_FALSE(f->variables[0].constant);
    EXPECT_FALSE(f->variables[4].initialised);
    EXPECT_TRUE(f->variables[0].initialised);
}

const std::string calls = R"(
@functions = internal addrspace(4) constant [2 x ptr] [ptr @twice, ptr @square], align 8
@other = addrspace(1) global ptr @wide, align 8
define internal i32 @twice(i32 %x) {
  %r = add i32 %x, %x
  ret i32 %r
}
define internal i32 @square(i32 %x) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %r = mul i32 %x, %x
  %s = add i32 %r, %tid
  ret i32 %s
}
define internal i64 @wide(i64 %x) {
  ret i64 %x
}
define void @f(ptr addrspace(1) %out, i64 %which) {
  %p = getelementptr ptr, ptr addrspace(4) @functions, i64 %which
  %f = load ptr, ptr addrspace(4) %p, align 8
  %r = call i32 %f(i32 7)
  store i32 %r, ptr addrspace(1) %out, align 4
  ret void
}
define void @any(ptr addrspace(1) %out, ptr %f) {
  %r = call i32 %f(i32 7)
  store i32 %r, ptr addrspace(1) %out, align 4
  ret void
}
define void @mention(ptr addrspace(1) %out) {
  store ptr @square, ptr addrspace(1) %out, align 8
  ret void
}
)" + kernels({"f", "any", "mention"});

TEST_P(Image, function_values_in_memory_can_be_called) {
    Buffer<std::int32_t> out({0});
    auto m = machine(calls);
    m.run("f", {}, {out.address(), 0});
    EXPECT_TRUE(m.events.empty());
    EXPECT_EQ(out[0], 14);
    m.run("f", {{1, 1, 1}, {3, 1, 1}}, {out.address(), 1});
    EXPECT_TRUE(m.events.empty());
    EXPECT_EQ(out[0], 51) << "special registers reach through the call";
}

TEST_P(Image, function_values_are_the_same_in_every_kernel) {
    Buffer<std::uint64_t> handle({0});
    Buffer<std::int32_t> out({0});
    auto m = machine(calls);
    m.run("mention", {}, {handle.address()});
    EXPECT_EQ(handle[0], image::function_handle_base + 16);
    m.run("any", {}, {out.address(), handle[0]});
    EXPECT_TRUE(m.events.empty());
    EXPECT_EQ(out[0], 49);
}

TEST_P(Image, calls_through_anything_else_are_refused) {
    Buffer<std::int32_t> out({0});
    auto m = machine(calls);
    for (std::uint64_t bad :
         {std::uint64_t{0}, image::function_handle_base + 3 * 16, image::function_handle_base + 4,
          image::function_handle_base - 16, out.address(), image::function_handle_base + 2 * 16}) {
        m.run("any", {}, {out.address(), bad});
        ASSERT_EQ(m.events.size(), 1U) << std::hex << bad;
        EXPECT_EQ(m.events[0].hook, "bad_call");
        EXPECT_EQ(m.events[0].values[0], static_cast<std::int64_t>(bad));
    }
    EXPECT_EQ(out[0], 0);
}

const std::string parameters = R"(
%struct.Big = type { i32, [3 x i64], i8 }
define internal i64 @second(ptr byval(%struct.Big) align 8 %b, i64 %n) {
  %zero = icmp eq i64 %n, 0
  %p = getelementptr %struct.Big, ptr %b, i32 0, i32 1, i64 1
  br i1 %zero, label %end, label %more
more:
  store i64 1, ptr %p, align 8
  %less = sub i64 %n, 1
  %r = call i64 @second(ptr byval(%struct.Big) align 8 %b, i64 %less)
  ret i64 %r
end:
  %v = load i64, ptr %p, align 8
  ret i64 %v
}
define void @f(i8 %flag, ptr addrspace(1) %out, ptr byval(%struct.Big) align 8 %big, float %x, i16 %h) {
  %index = getelementptr %struct.Big, ptr %big, i32 0, i32 1, i64 1
  %old = load i64, ptr %index, align 8
  %new = add i64 %old, 1
  store i64 %new, ptr %index, align 8
  %again = load i64, ptr %index, align 8
  %deep = call i64 @second(ptr byval(%struct.Big) align 8 %big, i64 2)
  %xi = fptosi float %x to i64
  %hi = zext i16 %h to i64
  %fi = zext i8 %flag to i64
  %s1 = add i64 %again, %xi
  %s2 = add i64 %s1, %hi
  %s3 = add i64 %s2, %fi
  %s4 = add i64 %s3, %deep
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %q = getelementptr i64, ptr addrspace(1) %out, i32 %tid
  store i64 %s4, ptr addrspace(1) %q, align 8
  ret void
}
)" + kernels({"f"});

TEST_P(Image, each_thread_has_its_own_copy_of_parameters_passed_by_value) {
    struct alignas(8) Big {
        std::int32_t a;
        std::int64_t b[3];
        std::int8_t c;
    };
    struct Buffered {
        std::int8_t flag;
        std::uint64_t out;
        Big big;
        float x;
        std::int16_t h;
    };
    Buffer<std::int64_t> out({0, 0, 0});
    Buffered arguments{1, out.address(), {3, {5, 1000, 7}, 9}, 200.5F, 30};
    std::vector<std::byte> bytes(sizeof arguments);
    std::memcpy(bytes.data(), &arguments, sizeof arguments);
    auto m = machine(parameters);
    m.run_bytes("f", {{1, 1, 1}, {3, 1, 1}}, bytes);
    EXPECT_TRUE(m.of("access_check").empty());
    EXPECT_EQ(out.values(), (std::vector<std::int64_t>(3, 1001 + 200 + 30 + 1 + 1)));
}

const std::string inlined = R"(
define internal float @inner(ptr %p) !dbg !4 {
  %q = getelementptr float, ptr %p, i64 1, !dbg !8
  %x = load float, ptr %q, align 4, !dbg !8
  ret float %x, !dbg !8
}
define internal float @outer(ptr %p) !dbg !5 {
  %x = call float @inner(ptr %p), !dbg !9
  ret float %x, !dbg !9
}
define void @f(ptr %p) !dbg !3 {
  %x = call float @outer(ptr %p), !dbg !10
  store float %x, ptr %p, align 4, !dbg !11
  ret void, !dbg !11
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!7}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "<ipython-input-3>", directory: "/home/me")
!2 = !DISubroutineType(types: !{})
!3 = distinct !DISubprogram(name: "kernel", linkageName: "f", file: !1, line: 20, type: !2, unit: !0, spFlags: DISPFlagDefinition)
!4 = distinct !DISubprogram(name: "inner", file: !1, line: 1, type: !2, unit: !0, spFlags: DISPFlagDefinition)
!5 = distinct !DISubprogram(name: "outer", file: !1, line: 10, type: !2, unit: !0, spFlags: DISPFlagDefinition)
!7 = !{i32 2, !"Debug Info Version", i32 3}
!8 = !DILocation(line: 2, column: 3, scope: !4)
!9 = !DILocation(line: 11, column: 4, scope: !5)
!10 = !DILocation(line: 21, column: 5, scope: !3)
!11 = !DILocation(line: 22, column: 6, scope: !3)
)" + kernels({"f"});

TEST_P(Image, places_tell_the_whole_chain_of_calls) {
    Buffer<float> p({1.0F});
    auto m = machine(inlined);
    m.run("f", {}, {p.address()});
    ASSERT_EQ(m.events.size(), 1U);
    EXPECT_EQ(
        m.place(m.events[0]),
        "<ipython-input-3>:2:3 in inner; <ipython-input-3>:11:4 in outer; <ipython-input-3>:21:5 in kernel");
}

TEST_P(Image, a_program_counter_leads_to_its_line) {
    const auto compiled = machine(inlined).compile("f");
    const auto [first, last] = compiled->code.front();
    EXPECT_TRUE(compiled->locate(first - 1).empty());
    EXPECT_TRUE(compiled->locate(last).empty());
    bool inner = false, store = false;
    for (auto at = first; at < last; ++at) {
        const auto chain = compiled->locate(at);
        if (chain.size() == 3 && chain[0].line == 2 && chain[0].function == "inner" && chain[2].line == 21)
            inner = true;
        if (chain.size() == 1 && chain[0].line == 22 && chain[0].function == "kernel") store = true;
    }
    EXPECT_TRUE(inner);
    EXPECT_TRUE(store);
}

// Refusals
// ----------------------------------------------------------------------------------------------------

std::string refusal(const std::string& body, std::string_view kernel = "f") {
    try {
        (void)Machine(module_head() + body).compile(kernel);
    } catch (const CompileError& error) {
        return error.what();
    }
    return "compiled";
}

TEST(Refusals, name_the_function_and_the_place) {
    const std::string text = refusal(R"(
declare i32 @llvm.nvvm.mbarrier.pending.count(i64)
define void @f(i64 %x) !dbg !3 {
  %y = call i32 @llvm.nvvm.mbarrier.pending.count(i64 %x), !dbg !6
  ret void, !dbg !6
}
!llvm.dbg.cu = !{!0}
!llvm.module.flags = !{!5}
!0 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !1, emissionKind: FullDebug)
!1 = !DIFile(filename: "a.cu", directory: "/src")
!2 = !DISubroutineType(types: !{})
!3 = distinct !DISubprogram(name: "f", file: !1, line: 4, type: !2, unit: !0, spFlags: DISPFlagDefinition)
!5 = !{i32 2, !"Debug Info Version", i32 3}
!6 = !DILocation(line: 5, column: 9, scope: !3)
)" + kernels({"f"}));
    EXPECT_EQ(text,
              "/src/a.cu:5: in f: the intrinsic 'llvm.nvvm.mbarrier.pending.count' is not supported by the "
              "simulator");
}

TEST(Refusals, never_resolve_symbols_of_the_process) {
    EXPECT_NE(
        refusal("declare void @exit(i32)\ndefine void @f() {\n  call void @exit(i32 1)\n  ret void\n}\n" +
                kernels({"f"}))
            .find("the function 'exit' is called but not defined in this image"),
        std::string::npos);
    EXPECT_NE(
        refusal("declare double @__nv_nonsense(double)\ndefine void @f(double %x) {\n  %y = call double "
                "@__nv_nonsense(double %x)\n  ret void\n}\n" +
                kernels({"f"}))
            .find("the libdevice function '__nv_nonsense'"),
        std::string::npos);
}

TEST(Refusals, inline_assembly_does_not_kill_the_process) {
    EXPECT_NE(
        refusal("define void @f() {\n  call void asm sideeffect \"bar.sync 0;\", \"\"()\n  ret void\n}\n" +
                kernels({"f"}))
            .find("inline PTX assembly"),
        std::string::npos);
}

TEST(Refusals, undefined_variables_and_unknown_kernels) {
    EXPECT_NE(
        refusal("@x = external addrspace(1) global i32\ndefine void @f() {\n  store i32 1, ptr addrspace(1) "
                "@x\n  ret void\n}\n" +
                kernels({"f"}))
            .find("'x' is declared but not defined"),
        std::string::npos);
    EXPECT_NE(
        refusal("define void @f() {\n  ret void\n}\n" + kernels({"f"}), "g").find("no kernel named 'g'"),
        std::string::npos);
}

TEST(Refusals, leave_the_compiler_working) {
    EXPECT_NE(
        refusal("declare void @exit(i32)\ndefine void @f() {\n  call void @exit(i32 1)\n  ret void\n}\n" +
                kernels({"f"})),
        "compiled");
    EXPECT_EQ(refusal("define void @f() {\n  ret void\n}\n" + kernels({"f"})), "compiled");
}

TEST(Refusals, functions_of_other_kernels_do_not_matter) {
    EXPECT_EQ(refusal("declare void @exit(i32)\ndefine void @g() {\n  call void @exit(i32 1)\n  ret void\n}\n"
                      "define void @f() {\n  ret void\n}\n" +
                      kernels({"f", "g"})),
              "compiled");
}

TEST(InstrumentedIr, shows_checks_and_the_thread_loop_before_optimisation) {
    const std::string text = Machine(module_head() + inlined).instrumented("f");
    EXPECT_NE(text.find("define void @cudasim_entry(ptr"), std::string::npos);
    EXPECT_NE(text.find("call void @cudasim_hook_access_check("), std::string::npos);
    EXPECT_EQ(text.find("addrspace("), std::string::npos);
}

TEST(InstrumentedIr, checks_what_lies_beyond_a_variable_of_more_than_2_gib) {
    const auto check_of_store_at = [](const std::string& offset) {
        const std::string text = Machine(module_head() + R"(
@big = internal addrspace(3) global [2147483652 x i8] undef, align 16
define void @f() {
  %p = getelementptr i8, ptr addrspace(3) @big, i64 )" +
                                         offset +
                                         R"(
  store i32 1, ptr addrspace(3) %p, align 4
  ret void
}
)" + kernels({"f"}))
                                     .instrumented("f");
        return text.find("call void @cudasim_hook_access_check(") != std::string::npos;
    };
    EXPECT_FALSE(check_of_store_at("2147483648"));
    EXPECT_TRUE(check_of_store_at("2147483652"));
}

TEST(DeclaredChecks, used_in_another_way_are_refused) {
    const std::string head = "target datalayout = \"" + std::string(image::data_layout) +
                             "\"\ntarget triple = \"" + std::string(image::target_triple) + "\"\n";
    for (const std::string use : {"declare void @__cudasim_check_index()\ndefine void @k() {\n"
                                  "  call void @__cudasim_check_index()\n  ret void\n}\n",
                                  "declare i64 @__cudasim_raise(i64)\ndefine void @k() {\n"
                                  "  %x = call i64 @__cudasim_raise(i64 0)\n  ret void\n}\n"}) {
        try {
            (void)Machine(head + use + kernels({"k"})).compile("k");
            ADD_FAILURE() << "compiled: " << use;
        } catch (const CompileError& error) {
            EXPECT_NE(std::string(error.what()).find("checks.def"), std::string::npos) << error.what();
        }
    }
}

TEST(VariableReads, used_in_another_way_are_refused) {
    const std::string head = "target datalayout = \"" + std::string(image::data_layout) +
                             "\"\ntarget triple = \"" + std::string(image::target_triple) + "\"\n";
    try {
        (void)Machine(head +
                      "declare i64 @__cudasim_variable.i64(i64)\ndefine void @k() {\n"
                      "  %x = call i64 @__cudasim_variable.i64(i64 0)\n  ret void\n}\n" +
                      kernels({"k"}))
            .compile("k");
        ADD_FAILURE() << "compiled";
    } catch (const CompileError& error) {
        EXPECT_NE(std::string(error.what()).find("variable_reads.h"), std::string::npos) << error.what();
    }
}

}  // namespace
}  // namespace cudasim::jit::testing
