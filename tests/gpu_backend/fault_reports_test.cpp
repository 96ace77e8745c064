// Kernels whose threads report their faults from a GPU: what is decoded of their memory equals what the
// simulator finds in the same kernel. The PTX runs in the simulator, read back by frontend/ptx, in several
// orders of threads.
#include <fstream>

#include "frontend/ptx/reader.h"
#include "gpu_backend/ptx.h"
#include "gpu_backend/toolkit.h"
#include "tests/simulator/execution/ir_lines.h"

namespace cudasim::gpu_backend {
namespace {

using execution::device;
using execution::Dim3;
using findings::Finding;
using findings::FindingKind;

bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

/// What reports say and compare, but for values of variables.
std::string shown(const std::vector<Finding>& findings) {
    std::string text;
    for (const Finding& finding : findings) {
        if (finding.severity != findings::Severity::error) continue;
        text += std::string(findings::info(finding.kind).name) + " " + finding.exception_type + " " +
                finding.kernel + " " + findings::coordinates(finding.thread) + " " + finding.message + " " +
                std::to_string(finding.count) + "/" + std::to_string(finding.threads) + "\n";
        for (const auto& frame : finding.location)
            text += "    " + frame.file + ":" + std::to_string(frame.line) + ":" +
                    std::to_string(frame.column) + " in " + frame.function + "\n";
    }
    return text;
}

class FaultReports : public execution::IrKernelTest {
  protected:
    /// The kernel `k` runs as it is and by way of PTX; both have the same faults and leave the same memory.
    /// The parameters of each launch are the address of 64 zero words and the given ones.
    void expect_same(const std::string& body, Dim3 grid, Dim3 block,
                     const std::vector<std::uint64_t>& parameters = {}, const PtxOptions& wanted = {},
                     const std::string& metadata = "", const std::string& after = "") {
        const image::KernelImage image = execution::with_lines(execution::ir_image(body + metadata));
        PtxOptions ptx_options = wanted;
        ptx_options.report_faults = true;
        const Ptx ptx = to_ptx_with_sites(image, "k", ptx_options);
        const image::KernelImage again = ptx::read(ptx.text, "k.ptx", ptx::Entries::kernels);

        execution::DeviceArray<std::uint64_t> own(64), reported(64);
        auto own_options = options();
        own_options.raise_float_division = wanted.raise_float_division;
        if (wanted.raise_negative_index) own_options.wrap = execution::Wrap::error;
        auto reporting_options = options();
        reporting_options.policy = policy_.value_or(reporting_options.policy);
        reporting_options.seed = seed_;
        const auto expected = run_image(image, grid, block, own.pointer(), parameters, own_options);
        const auto found = run_image(again, grid, block, reported.pointer(), parameters, reporting_options);

        EXPECT_EQ(found.error(), nullptr) << execution::messages(found) << ptx.text;
        const auto faults = faults_of(slots(ptx), ptx.fault_sites, "k", grid, block);
        EXPECT_EQ(shown(faults), shown(expected.findings)) << ptx.text;
        EXPECT_FALSE(faults.empty());
        EXPECT_EQ(own.read(), reported.read()) << ptx.text;
        faults_ = shown(faults);
    }

    execution::LaunchResult run_image(const image::KernelImage& image, Dim3 grid, Dim3 block,
                                      std::uint64_t memory, std::vector<std::uint64_t> parameters,
                                      const execution::LaunchOptions& launch) {
        parameters.insert(parameters.begin(), memory);
        parameters.resize(8);
        image_ = device().load(image);
        return device().launch(*image_, "k", {grid, block, 0}, std::as_bytes(std::span(parameters)), launch);
    }

    /// The faults' variable of the image that ran last.
    std::vector<std::byte> slots(const Ptx& ptx) {
        std::vector<std::byte> bytes(ptx.fault_sites.size() * sizeof(FaultSlot));
        if (bytes.empty()) return bytes;
        const auto range = device().global_range(*image_, fault_variable);
        EXPECT_EQ(range.bytes, bytes.size());
        device().copy_from_device(bytes.data(), range.base, bytes.size());
        return bytes;
    }

    std::string faults_;
    std::optional<execution::Policy> policy_;  ///< of the PTX; else as of the kernel
    std::uint64_t seed_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Modes, FaultReports, execution::all_modes, execution::mode_name);

const std::string thread_in_grid = R"(
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %first = mul i32 %c, %n
  %i32 = add i32 %first, %t
  %i = zext i32 %i32 to i64
)";

TEST_P(FaultReports, an_index_out_of_range) {
    expect_same("define void @k(ptr %p, i64 %size) {\n" + thread_in_grid + R"(
  %checked = call i64 @__cudasim_check_index(i64 %i, i64 %size, i32 1)
  %e = getelementptr i64, ptr %p, i64 %checked
  store i64 %i, ptr %e, align 8
  ret void
})",
                {7}, {32}, {50});
    EXPECT_TRUE(contains(
        faults_, "tid=[18, 0, 0] ctaid=[1, 0, 0] index 50 is out of bounds for axis 1 with size 50 174/174"))
        << faults_;
}

/// Threads from 5 on fail; each has other bits in each part of the index.
std::string with_large_index(const std::string& check) {
    std::string body = "define void @k(ptr %p, i64 %size) {\n" + thread_in_grid + R"(
  %few = icmp ult i64 %i, 5
  br i1 %few, label %good, label %bad
good:
  ret void
bad:
  %turned = xor i64 %i, -1
  %mixed = mul i64 %turned, 1229782938247303441
  %much = or i64 %mixed, -9223372036854775808
  %large = add i64 %size, %i
  %checked = call i64 @CHECK(i64 %much, i64 %large, i32 2)
  %e = getelementptr i64, ptr %p, i64 %checked
  store i64 %i, ptr %e, align 8
  ret void
}
declare i64 @__cudasim_check_unsigned_index(i64, i64, i32))";
    return body.replace(body.find("CHECK"), 5, check);
}

TEST_P(FaultReports, arguments_of_64_bits_are_of_the_lowest_thread) {
    for (const char* check : {"__cudasim_check_index", "__cudasim_check_unsigned_index"}) {
        expect_same(with_large_index(check), {3}, {64}, {0x0123'4567'89AB});
        EXPECT_TRUE(contains(faults_, "tid=[5, 0, 0] ctaid=[0, 0, 0]")) << faults_;
        EXPECT_TRUE(contains(faults_, "187/187")) << faults_;
    }
}

// Threads come between the words that another one writes.
TEST_P(FaultReports, arguments_are_of_one_thread_whoever_has_its_turn) {
    for (const execution::Policy policy : {execution::Policy::lockstep, execution::Policy::preempt}) {
        for (seed_ = 1; seed_ < 4; ++seed_) {
            policy_ = policy;
            expect_same(with_large_index("__cudasim_check_index"), {2}, {32}, {0x0123'4567'89AB});
        }
    }
}

TEST_P(FaultReports, threads_of_grids_and_blocks_with_three_dimensions) {
    expect_same(R"(
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
define void @k(ptr %p, i64 %size) {
  %bx = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %by = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %bz = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.z()
  %x = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %y = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %z = call i32 @llvm.nvvm.read.ptx.sreg.tid.z()
  %b1 = add i32 %bx, %by
  %b2 = add i32 %b1, %bz
  %t1 = add i32 %x, %y
  %t2 = add i32 %t1, %z
  %b = icmp ugt i32 %b2, 2
  %t = icmp ugt i32 %t2, 4
  %both = and i1 %b, %t
  br i1 %both, label %bad, label %good
good:
  ret void
bad:
  call void @__cudasim_raise(i32 1)
  unreachable
})",
                {2, 3, 4}, {3, 4, 5}, {}, {},
                "\n!cudasim.exceptions = !{!70, !71}\n!70 = !{!\"KeyError\", !\"\"}\n"
                "!71 = !{!\"ValueError\", !\"a 'message', with \\22quotes\\22\"}\n");
    EXPECT_TRUE(contains(faults_, "ValueError k tid=[2, 3, 0] ctaid=[1, 2, 0] a 'message', with \"quotes\""))
        << faults_;
}

TEST_P(FaultReports, integer_divisions_by_zero) {
    for (const char* operation : {"sdiv", "udiv", "srem", "urem"}) {
        expect_same("define void @k(ptr %p, i64 %from) {\n" + thread_in_grid +
                        "  %d = sub i64 %i, %from\n  %q = " + operation + R"( i64 1000, %d
  %j = and i64 %i, 63
  %e = getelementptr i64, ptr %p, i64 %j
  store i64 %q, ptr %e, align 8
  ret void
})",
                    {2}, {32}, {40});
        EXPECT_TRUE(contains(
            faults_,
            "ZeroDivisionError k tid=[8, 0, 0] ctaid=[1, 0, 0] integer division or modulo by zero 1/1"))
            << faults_;
    }
}

TEST_P(FaultReports, float_division_and_negative_indices_where_the_options_ask) {
    const std::string divides = "define void @k(ptr %p, i64 %from) {\n" + thread_in_grid + R"(
  %zero = icmp eq i64 %i, %from
  call void @__cudasim_check_float_division(i1 %zero)
  %e = getelementptr i64, ptr %p, i64 %i
  store i64 %i, ptr %e, align 8
  ret void
})";
    expect_same(divides, {2}, {32}, {33}, {.raise_float_division = true});
    const std::string wraps = "define void @k(ptr %p, i64 %from) {\n" + thread_in_grid + R"(
  %index = sub i64 %i, %from
  %j = call i64 @__cudasim_check_index(i64 %index, i64 40, i32 0)
  %meant = call i64 @__cudasim_check_index(i64 -1, i64 40, i32 0), !cudasim.meant !{}
  %e = getelementptr i64, ptr %p, i64 %j
  store i64 %meant, ptr %e, align 8
  ret void
})";
    expect_same(wraps, {2}, {32}, {9}, {.raise_negative_index = true});
    EXPECT_TRUE(contains(faults_,
                         "negative-index IndexError k tid=[0, 0, 0] ctaid=[0, 0, 0] index -9 wraps "
                         "around to element 31 of axis 0 with size 40 9/9"))
        << faults_;
    expect_same(wraps, {2}, {32}, {9});
    EXPECT_FALSE(contains(faults_, "negative-index")) << faults_;
}

TEST_P(FaultReports, variables_without_a_value) {
    expect_same("define void @k(ptr %p, i64 %from) {\n" + thread_in_grid + R"(
  %assigned = icmp ult i64 %i, %from
  call void @__cudasim_check_assigned(i1 %assigned, i32 0)
  %e = getelementptr i64, ptr %p, i64 %i
  store i64 %i, ptr %e, align 8
  ret void
}
declare void @__cudasim_check_assigned(i1, i32))",
                {2}, {32}, {60}, {},
                "\n!cudasim.exceptions = !{!70}\n!70 = !{!\"UnboundLocalError\", !\"x\"}\n");
}

// Functions that are inlined have the whole chain of calls; those that recurse are called, and the fault ends
// their callers with them. The rest of the grid goes on.
TEST_P(FaultReports, in_called_functions) {
    expect_same(R"(
define internal i64 @element(ptr %p, i64 %i, i64 %size) {
  %checked = call i64 @__cudasim_check_index(i64 %i, i64 %size, i32 0)
  ret i64 %checked
}
define internal i64 @twice(ptr %p, i64 %i, i64 %size) noinline {
  %one = call i64 @element(ptr %p, i64 %i, i64 %size)
  %more = add i64 %i, 3
  %two = call i64 @element(ptr %p, i64 %more, i64 %size)
  %both = add i64 %one, %two
  ret i64 %both
}
define internal i64 @deep(ptr %p, i64 %depth, i64 %size) {
  %end = icmp eq i64 %depth, 0
  br i1 %end, label %bottom, label %further
bottom:
  %checked = call i64 @element(ptr %p, i64 %size, i64 %size)
  ret i64 %checked
further:
  %less = sub i64 %depth, 1
  %below = call i64 @deep(ptr %p, i64 %less, i64 %size)
  %mixed = xor i64 %below, %depth
  ret i64 %mixed
}
define void @k(ptr %p, i64 %size) {)" +
                    thread_in_grid +
                    R"(
  %is_deep = icmp eq i64 %i, 2
  br i1 %is_deep, label %deeply, label %flat
deeply:
  %from_deep = call i64 @deep(ptr %p, i64 20, i64 %size)
  br label %end
flat:
  %from_flat = call i64 @twice(ptr %p, i64 %i, i64 %size)
  br label %end
end:
  %v = phi i64 [ %from_deep, %deeply ], [ %from_flat, %flat ]
  %e = getelementptr i64, ptr %p, i64 %i
  store i64 %v, ptr %e, align 8
  ret void
})",
                {4}, {16}, {50});
    EXPECT_TRUE(contains(faults_, "tid=[2, 0, 0] ctaid=[0, 0, 0] index 50 is out of bounds")) << faults_;
    EXPECT_TRUE(contains(faults_, "tid=[15, 0, 0] ctaid=[2, 0, 0] index 50 is out of bounds")) << faults_;
}

TEST_P(FaultReports, barriers_do_not_wait_for_threads_that_failed) {
    expect_same(
        "@tile = internal addrspace(3) global [64 x i64] undef, align 16\n"
        "define void @k(ptr %p, i64 %size) {\n" +
            thread_in_grid + R"(
  %t64 = zext i32 %t to i64
  %mine = getelementptr [64 x i64], ptr addrspace(3) @tile, i64 0, i64 %t64
  store i64 %i, ptr addrspace(3) %mine, align 8
  %checked = call i64 @__cudasim_check_index(i64 %t64, i64 %size, i32 0)
  call void @llvm.nvvm.barrier0()
  %last = sub i64 %size, 1
  %mirror = sub i64 %last, %checked
  %other = getelementptr [64 x i64], ptr addrspace(3) @tile, i64 0, i64 %mirror
  %v = load i64, ptr addrspace(3) %other, align 8
  call void @llvm.nvvm.barrier0()
  %both = add i64 %v, %i
  %e = getelementptr i64, ptr %p, i64 %t64
  %old = atomicrmw add ptr %e, i64 %both syncscope("device") monotonic, align 8
  ret void
})",
        {3}, {64}, {33});
}

TEST_P(FaultReports, one_thread_in_a_large_grid) {
    expect_same("define void @k(ptr %p, i64 %size) {\n" + thread_in_grid + R"(
  %last = sub i64 %size, 1
  %rest = sub i64 %last, %i
  %is_last = icmp eq i64 %i, %last
  br i1 %is_last, label %bad, label %good
bad:
  %q = udiv i64 %i, %rest
  store i64 %q, ptr %p, align 8
  ret void
good:
  ret void
})",
                {700}, {96}, {67200});
    EXPECT_TRUE(contains(faults_, "tid=[95, 0, 0] ctaid=[699, 0, 0]")) << faults_;
}

TEST(FaultReportsPtx, is_as_before_without_the_option) {
    const auto image = execution::with_lines(execution::ir_image(R"(
define void @k(ptr %p, i64 %i, i64 %size) {
  %j = call i64 @__cudasim_check_index(i64 %i, i64 %size, i32 0)
  %q = udiv i64 %i, %size
  %e = getelementptr i64, ptr %p, i64 %j
  store i64 %q, ptr %e, align 8
  ret void
})"));
    const Ptx plain = to_ptx_with_sites(image, "k", {});
    EXPECT_TRUE(plain.fault_sites.empty());
    EXPECT_FALSE(contains(plain.text, "__cudasim")) << plain.text;
    EXPECT_EQ(plain.text, to_ptx(image, "k", {}));
    const Ptx reporting = to_ptx_with_sites(image, "k", {.report_faults = true});
    EXPECT_EQ(reporting.fault_sites.size(), 2U);
    EXPECT_TRUE(contains(reporting.text, ".visible .global .align 8 .b8 __cudasim_faults[208]"))
        << reporting.text;
}

TEST(FaultReportsPtx, has_no_variable_where_nothing_can_fail) {
    const auto image = execution::ir_image(
        "define void @k(ptr %p) {\nstore i64 1, ptr %p\nret void\n}\n"
        "define void @other(i64 %i) {\n%q = udiv i64 1, %i\nret void\n}");
    const Ptx ptx = to_ptx_with_sites(image, "k", {.report_faults = true});
    EXPECT_TRUE(ptx.fault_sites.empty());
    EXPECT_FALSE(contains(ptx.text, "__cudasim")) << ptx.text;
    EXPECT_TRUE(faults_of({}, ptx.fault_sites, "k", {}, {}).empty());
}

TEST(FaultReportsPtx, a_raise_of_no_exception_is_refused) {
    const auto image =
        execution::ir_image("define void @k() {\ncall void @__cudasim_raise(i32 3)\nunreachable\n}");
    EXPECT_THROW((void)to_ptx_with_sites(image, "k", {.report_faults = true}), PtxError);
}

TEST(FaultReportsPtx, is_accepted_by_ptxas) {
    const auto ptxas = find_in_toolkit("bin/ptxas");
    if (!ptxas) GTEST_SKIP() << "ptxas not found: CUDA toolkit not installed";
    const auto image = execution::with_lines(execution::ir_image(R"(
define internal i64 @deep(i64 %depth, i64 %size) {
  %j = call i64 @__cudasim_check_index(i64 %depth, i64 %size, i32 0)
  %below = call i64 @deep(i64 %j, i64 %size)
  ret i64 %below
}
define void @k(ptr %p, i64 %i, i64 %size) {
  %q = sdiv i64 %i, %size
  %v = call i64 @deep(i64 %q, i64 %size)
  call void @llvm.nvvm.barrier0()
  store i64 %v, ptr %p, align 8
  ret void
})"));
    for (const char* architecture : {"sm_75", "sm_90"}) {
        for (const DebugInfo debug_info : {DebugInfo::none, DebugInfo::full}) {
            const auto folder =
                std::filesystem::temp_directory_path() / ("cudasim_faults_" + std::to_string(getpid()));
            std::filesystem::create_directories(folder);
            std::ofstream(folder / "k.ptx") << to_ptx(
                image, "k", {.architecture = architecture, .debug_info = debug_info, .report_faults = true});
            const std::string command =
                ptxas->string() + " -arch=" + architecture + " -o /dev/null " + (folder / "k.ptx").string();
            EXPECT_EQ(std::system(command.c_str()), 0) << command;
            std::filesystem::remove_all(folder);
        }
    }
}

// The decoder alone -----------------------------------------------------------------------------------------

std::span<const std::byte> bytes_of(const std::vector<FaultSlot>& slots) {
    return std::as_bytes(std::span(slots));
}

FaultSite division_at(std::uint32_t line) {
    FaultSite site{FindingKind::integer_division,
                   "integer_division",
                   "ZeroDivisionError",
                   "by zero",
                   {{"k.py", "k", line, 1}}};
    site.arguments.fill(0);
    return site;
}

std::uint64_t word(std::uint64_t thread, std::uint64_t piece = 0) {
    return (fault_thread_mask - thread) << fault_piece_bits | piece;
}

TEST(FaultSlots, of_one_place_are_one_finding) {
    std::vector<FaultSlot> slots(3);
    slots[0] = {4, {{word(70)}}};
    slots[1] = {2, {{word(65)}}};
    slots[2] = {1, {{word(3)}}};
    const std::vector<FaultSite> sites{division_at(1), division_at(1), division_at(9)};
    const auto found = faults_of(bytes_of(slots), sites, "k", {3}, {32});
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].location[0].line, 9U);
    EXPECT_EQ(findings::coordinates(found[0].thread), "tid=[3, 0, 0] ctaid=[0, 0, 0]");
    EXPECT_EQ(findings::coordinates(found[1].thread), "tid=[1, 0, 0] ctaid=[2, 0, 0]");
    EXPECT_EQ(found[1].count, 6U);
    EXPECT_EQ(found[1].threads, 6U);
}

TEST(FaultSlots, that_were_written_over_are_refused) {
    const std::vector<FaultSite> sites{division_at(1)};
    const auto refused = [&](const FaultSlot& slot) {
        const std::vector<FaultSlot> slots{slot};
        EXPECT_THROW((void)faults_of(bytes_of(slots), sites, "k", {2}, {32}), DamagedFaultSlots);
    };
    refused({1, {{word(64)}}});  // the grid has 64 threads
    refused({0, {{word(1)}}});
    refused({1, {}});
    EXPECT_THROW((void)faults_of(bytes_of(std::vector<FaultSlot>(2)), sites, "k", {2}, {32}),
                 DamagedFaultSlots);
    FaultSite index = division_at(1);
    index.kind = FindingKind::out_of_bounds_index;
    index.arguments = {std::nullopt, 5, 0};
    const std::vector<FaultSlot> mixed{{2, {{word(1, 7), word(1), word(2), word(1)}}}};
    EXPECT_THROW((void)faults_of(bytes_of(mixed), {&index, 1}, "k", {2}, {32}), DamagedFaultSlots);
}

}  // namespace
}  // namespace cudasim::gpu_backend
