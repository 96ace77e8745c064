// Faults of every kind in hand-written NVVM IR: what is found, where, and that the process lives (E10, E11,
// C1–C3).
#include "tests/simulator/execution/ir_kernel.h"

namespace cudasim::execution {
namespace {

using findings::FindingKind;

class IrFaults : public IrKernelTest {
  protected:
    /// Thread 3 of block 1 does `code` (with %p the pointer argument), all others nothing.
    template <typename... Arguments>
    void expect_fault(FindingKind kind, const std::string& message, const std::string& code,
                      const std::string& globals, Arguments... arguments) {
        auto image = ir_image(globals + R"(
define void @k(ptr %p) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %t1 = mul i32 %c, 100
  %u = add i32 %t, %t1
  %chosen = icmp eq i32 %u, 103
  br i1 %chosen, label %bad, label %good
good:
  ret void
bad:
)" + code + "\n}");
        auto result = run_ir_shared(image, {3}, {8}, 64, arguments...);
        ASSERT_NE(result.error(), nullptr);
        EXPECT_EQ(findings::info(result.error()->kind).name, findings::info(kind).name) << messages(result);
        EXPECT_EQ(findings::coordinates(result.error()->thread), "tid=[3, 0, 0] ctaid=[1, 0, 0]");
        EXPECT_NE(result.error()->message.find(message), std::string::npos) << messages(result);
        EXPECT_EQ(result.error()->count, 1U);
        EXPECT_EQ(result.blocks_run, 3U);
    }
};
INSTANTIATE_TEST_SUITE_P(Modes, IrFaults, all_modes, mode_name);

TEST_P(IrFaults, global_memory_behind_before_and_after_free) {
    DeviceArray<int> array(10);
    const std::string read =
        "%e = getelementptr i32, ptr %p, i64 OFFSET\n%v = load i32, ptr %e, align 4\nret void";
    const auto at = [&](const char* offset) {
        return std::string(read).replace(read.find("OFFSET"), 6, offset);
    };
    expect_fault(FindingKind::out_of_bounds_global,
                 "read of 4 bytes starting 0 bytes behind the end of global memory 'array' of 40 bytes",
                 at("10"), "", array.pointer());
    expect_fault(FindingKind::out_of_bounds_global, "4 bytes before the start of", at("-1"), "",
                 array.pointer());
    const DevicePointer freed = device().allocate(40, {.label = "gone"});
    device().free(freed);
    expect_fault(FindingKind::use_after_free, "'gone'", at("1"), "", freed);
}

TEST_P(IrFaults, a_dead_load_out_of_bounds_is_still_found) {
    DeviceArray<int> array(10);
    expect_fault(FindingKind::out_of_bounds_global, "write of 4 bytes",
                 "%e = getelementptr i32, ptr %p, i64 12\nstore i32 1, ptr %e, align 4\nret void", "",
                 array.pointer());
}

TEST_P(IrFaults, misaligned_null_host_and_wild_pointers) {
    DeviceArray<int> array(10);
    const std::string read = "%v = load i32, ptr %p, align 4\nret void";
    expect_fault(FindingKind::misaligned_access, "needs a multiple of 4", read, "", array.pointer() + 2);
    expect_fault(FindingKind::null_pointer, "null pointer", read, "", 0);
    int host = 0;
    expect_fault(FindingKind::host_pointer, "host memory", read, "", reinterpret_cast<std::uint64_t>(&host));
    expect_fault(FindingKind::out_of_bounds_global, "no memory of the device", read, "", 0x7000'0000ULL);
    expect_fault(FindingKind::out_of_bounds_global, "", read, "", 0xDEAD'BEEF'DEAD'BEEFULL);
}

TEST_P(IrFaults, shared_local_and_constant_memory_out_of_bounds) {
    const std::string index = "%i = ptrtoint ptr %p to i64\n";
    expect_fault(FindingKind::out_of_bounds_shared, "'tile' of 32 bytes",
                 index +
                     "%e = getelementptr i32, ptr addrspace(3) @tile, i64 %i\nstore i32 1, ptr addrspace(3) "
                     "%e, align 4\nret void",
                 "@tile = internal addrspace(3) global [8 x i32] undef, align 16\n", 8);
    expect_fault(FindingKind::out_of_bounds_shared, "dynamic",
                 index +
                     "%e = getelementptr i32, ptr addrspace(3) @dyn, i64 %i\nstore i32 1, ptr addrspace(3) "
                     "%e, align 4\nret void",
                 "@dyn = external addrspace(3) global [0 x i8], align 16\n", 16);
    expect_fault(FindingKind::out_of_bounds_local, "local memory",
                 index + "call void @local(i64 %i)\nret void",
                 "define internal void @local(i64 %i) {\n%a = alloca [4 x i32], align 4\n%e = getelementptr "
                 "i32, ptr %a, i64 %i\n"
                 "store volatile i32 1, ptr %e, align 4\nret void\n}\n",
                 4);
    expect_fault(FindingKind::out_of_bounds_constant, "'table' of 16 bytes",
                 index +
                     "%e = getelementptr i32, ptr addrspace(4) @table, i64 %i\n%v = load volatile i32, ptr "
                     "addrspace(4) %e, align 4\nret void",
                 "@table = addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 4\n", 4);
    expect_fault(
        FindingKind::write_to_constant, "'table'",
        "%e = addrspacecast ptr addrspace(4) @table to ptr\nstore volatile i32 9, ptr %e, align 4\nret void",
        "@table = addrspace(4) constant [4 x i32] [i32 1, i32 2, i32 3, i32 4], align 4\n", 4);
}

TEST_P(IrFaults, divisions_by_zero_even_when_nobody_uses_the_result) {
    const std::string zero = "%z = ptrtoint ptr %p to i64\n";
    for (const char* operation : {"sdiv", "udiv", "srem", "urem"})
        expect_fault(FindingKind::integer_division, "division",
                     zero + "%v = " + operation + " i64 7, %z\nret void", "", 0);
}

TEST_P(IrFaults, traps_unreachable_code_and_bad_calls) {
    expect_fault(FindingKind::trap, "trap", "call void @llvm.trap()\nunreachable", "", 0);
    expect_fault(FindingKind::unreachable_code, "unreachable", "unreachable", "", 0);
    expect_fault(FindingKind::invalid_call, "null function pointer", "call void %p()\nret void", "", 0);
    expect_fault(FindingKind::invalid_call, "not a function of this type", "call void %p()\nret void", "",
                 0x1234);
}

TEST_P(IrFaults, an_index_check_and_a_raise_carry_their_messages) {
    expect_fault(FindingKind::out_of_bounds_index, "index -11 is out of bounds for axis 1 with size 10",
                 "%i = call i64 @__cudasim_check_index(i64 -11, i64 10, i32 1)\nret void", "", 0);
    expect_fault(FindingKind::kernel_exception, "too small", "call void @__cudasim_raise(i32 0)\nunreachable",
                 "!cudasim.exceptions = !{!77}\n!77 = !{!\"ValueError\", !\"too small\"}\n", 0);
}

TEST_P(IrFaults, runaway_recursion_is_a_stack_overflow) {
    expect_fault(FindingKind::stack_overflow, "nested too deeply",
                 "%v = call i64 @deeper(i64 1)\nstore volatile i64 %v, ptr %p\nret void",
                 "define internal i64 @deeper(i64 %n) {\n  %m = add i64 %n, 1\n  %a = call i64 @deeper(i64 "
                 "%m)\n  %b = mul i64 %a, %m\n  ret i64 %b\n}\n",
                 0);
}

TEST_P(IrFaults, float_division_by_zero_is_counted_or_raised) {
    auto image = ir_image(R"(
define void @k() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %zero = icmp ult i32 %t, 10
  call void @__cudasim_check_float_division(i1 %zero)
  ret void
})");
    auto result = run_ir(image, {2}, {32});
    ASSERT_EQ(result.findings.size(), 1U);
    EXPECT_EQ(result.error(), nullptr);
    EXPECT_EQ(result.findings[0].kind, FindingKind::float_division);
    EXPECT_EQ(result.findings[0].count, 20U);
    EXPECT_EQ(result.findings[0].thread.block, 0U);
    LaunchOptions raising = options();
    raising.raise_float_division = true;
    auto raised = device().launch(*image_, "k", {{2}, {32}}, {}, raising);
    ASSERT_NE(raised.error(), nullptr);
    EXPECT_EQ(raised.error()->exception_type, "ZeroDivisionError");
    EXPECT_EQ(findings::coordinates(raised.error()->thread), "tid=[0, 0, 0] ctaid=[0, 0, 0]");
}

TEST_P(IrFaults, negative_indices_are_wrapped_counted_or_raised) {
    auto image = ir_image(R"(
define void @k() {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %wide = zext i32 %t to i64
  %before = sub i64 %wide, 2
  %i = call i64 @__cudasim_check_index(i64 %before, i64 40, i32 1)
  %meant = call i64 @__cudasim_check_index(i64 -1, i64 40, i32 0), !cudasim.meant !{}
  ret void
})");
    EXPECT_TRUE(run_ir(image, {2}, {32}).findings.empty());
    LaunchOptions chosen = options();
    chosen.wrap = Wrap::warn;
    auto counted = device().launch(*image_, "k", {{2}, {32}}, {}, chosen);
    ASSERT_EQ(counted.findings.size(), 1U);
    EXPECT_EQ(counted.error(), nullptr);
    EXPECT_EQ(counted.findings[0].kind, FindingKind::negative_index);
    EXPECT_EQ(counted.findings[0].count, 4U);
    EXPECT_EQ(counted.findings[0].threads, 4U);
    EXPECT_EQ(counted.findings[0].message, "index -2 wraps around to element 38 of axis 1 with size 40");
    chosen.wrap = Wrap::error;
    auto raised = device().launch(*image_, "k", {{2}, {32}}, {}, chosen);
    ASSERT_NE(raised.error(), nullptr);
    EXPECT_EQ(raised.error()->kind, FindingKind::negative_index);
    EXPECT_EQ(raised.error()->exception_type, "IndexError");
    EXPECT_EQ(findings::coordinates(raised.error()->thread), "tid=[0, 0, 0] ctaid=[0, 0, 0]");
}

// The store is volatile: without it the optimiser removes the counter, every round of turns leaves the same
// state, and a processor that is fast enough for two rounds within the limit proves a livelock.
TEST_P(IrFaults, endless_loops_stop_at_the_time_limit) {
    auto image = ir_image(R"(
define void @k(ptr %p) {
  %count = alloca i64, align 8
  br label %loop
loop:
  %n = phi i64 [ 0, %0 ], [ %n1, %loop ]
  %n1 = add i64 %n, 1
  store volatile i64 %n1, ptr %count, align 8
  br label %loop
})");
    LaunchOptions limited = options();
    limited.time_limit_seconds = 0.2;
    image_ = device().load(image);
    const std::uint64_t parameter = 0;
    auto result =
        device().launch(*image_, "k", {{4}, {32}}, std::as_bytes(std::span(&parameter, 1)), limited);
    ASSERT_NE(result.error(), nullptr);
    EXPECT_EQ(result.error()->kind, FindingKind::time_limit);
}

TEST_P(IrFaults, an_endless_spin_on_memory_is_a_livelock) {
    auto image = ir_image(R"(
define void @k(ptr %p) {
  br label %loop
loop:
  %v = load volatile i32, ptr %p, align 4
  %z = icmp eq i32 %v, 0
  br i1 %z, label %loop, label %done
done:
  ret void
})");
    DeviceArray<int> flag(1);
    auto result = run_ir(image, {2}, {4}, flag.pointer());
    ASSERT_NE(result.error(), nullptr) << messages(result);
    EXPECT_EQ(result.error()->kind, FindingKind::livelock);
}

TEST_P(IrFaults, a_thousand_faulting_launches_leave_the_process_as_it_was) {
    auto image = ir_image(R"(
define void @k(ptr %p) {
  store i32 1, ptr %p, align 4
  ret void
})");
    for (int i = 0; i < 1000; ++i) ASSERT_NE(run_ir(image, {1}, {4}, 0x7000'0000ULL).error(), nullptr);
    DeviceArray<int> array(1);
    EXPECT_EQ(messages(run_ir(image, {1}, {4}, array.pointer())), "");
    EXPECT_EQ(array.read()[0], 1);
}

}  // namespace
}  // namespace cudasim::execution
