// Memory checks (C1): which accesses reach the engine's decision, and which cost nothing.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels.h"
#include "machine.h"

namespace cudasim::jit::testing {
namespace {

class MemoryChecks : public ::testing::TestWithParam<unsigned> {
  protected:
    Machine machine(const std::string& body) {
        return Machine(module_head() + body, {.optimisation = GetParam()});
    }
};
INSTANTIATE_TEST_SUITE_P(Optimisation, MemoryChecks, ::testing::Values(0U, 2U));

const std::string copy_kernel = R"(
define void @copy(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr inbounds i32, ptr addrspace(1) %in, i32 %tid
  %q = getelementptr inbounds i32, ptr addrspace(1) %out, i32 %tid
  %x = load i32, ptr addrspace(1) %p, align 4
  store i32 %x, ptr addrspace(1) %q, align 4
  ret void
}
)" + kernels({"copy"});

TEST_P(MemoryChecks, legal_accesses_never_call_the_engine) {
    Buffer<std::int32_t> in({1, 2, 3, 4, 5}), out({0, 0, 0, 0, 0});
    auto m = machine(copy_kernel);
    m.run("copy", {{1, 1, 1}, {5, 1, 1}}, {in.address(), out.address()});
    EXPECT_TRUE(m.events.empty());
    EXPECT_EQ(out.values(), in.values());
}

TEST_P(MemoryChecks, a_store_beyond_the_end_is_reported_with_address_size_and_flags) {
    Buffer<std::int32_t> in({1, 2, 3, 4, 5, 6}), out({0, 0, 0, 0, 0});
    auto m = machine(copy_kernel);
    m.run("copy", {{1, 1, 1}, {6, 1, 1}}, {in.address(), out.address()});
    ASSERT_EQ(m.events.size(), 1U);
    EXPECT_EQ(m.events[0].hook, "access_check");
    EXPECT_EQ(m.events[0].thread, 5U);
    EXPECT_EQ(m.events[0].values,
              (std::vector<std::int64_t>{static_cast<std::int64_t>(out.address()) + 20, 4, access_write, 4}));
}

TEST_P(MemoryChecks, null_and_host_pointers_are_reported) {
    Buffer<std::int32_t> out({0});
    std::int32_t host = 1;
    auto m = machine(copy_kernel);
    m.run("copy", {}, {0, out.address()});
    ASSERT_EQ(m.events.size(), 1U);
    EXPECT_EQ(m.events[0].values[0], 0);
    m.run("copy", {}, {reinterpret_cast<std::uint64_t>(&host), out.address()});
    ASSERT_EQ(m.events.size(), 1U);
    EXPECT_EQ(m.events[0].values[0], static_cast<std::int64_t>(reinterpret_cast<std::uint64_t>(&host)));
}

TEST_P(MemoryChecks, read_only_memory_may_be_read_and_not_written) {
    Buffer<std::int32_t> in({7}, -1), out({0});
    auto m = machine(copy_kernel);
    m.run("copy", {}, {in.address(), out.address()});
    EXPECT_EQ(out[0], 7);
    ASSERT_EQ(m.events.size(), 1U);
    EXPECT_EQ(m.events[0].hook, "access_allowed");
    m.run("copy", {}, {out.address(), in.address()});
    ASSERT_EQ(m.events.size(), 1U);
    EXPECT_EQ(m.events[0].hook, "access_check");
    EXPECT_EQ(in[0], 7);
}

TEST_P(MemoryChecks, misaligned_accesses_are_reported) {
    Buffer<std::int32_t> in({1, 2}), out({0, 0});
    auto m = machine(copy_kernel);
    m.run("copy", {}, {in.address() + 2, out.address()});
    ASSERT_EQ(m.events.size(), 1U);
    EXPECT_EQ(m.events[0].values[0], static_cast<std::int64_t>(in.address()) + 2);
}

TEST_P(MemoryChecks, copies_of_objects_have_the_alignment_of_the_objects) {
    Buffer<std::int32_t> in({1, 2, 3, 4, 5, 6, 7, 8}), out({0, 0, 0, 0, 0, 0, 0, 0});
    auto m = machine(R"(
define void @f(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) align 4 %out, ptr addrspace(1) align 8 %in, i64 16, i1 false)
  ret void
}
declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
)" + kernels({"f"}));
    const std::uint64_t aligned = (in.address() + 7) / 8 * 8;
    m.run("f", {}, {aligned, out.address() + 4});
    EXPECT_TRUE(m.of("access_check").empty());
    m.run("f", {}, {aligned + 4, out.address()});
    const auto failed = m.of("access_check");
    ASSERT_EQ(failed.size(), 1U);
    EXPECT_EQ(failed[0].values[0], static_cast<std::int64_t>(aligned + 4));
    EXPECT_EQ(failed[0].values[3], 8);
}

TEST_P(MemoryChecks, a_load_whose_value_nobody_needs_is_still_checked) {
    Buffer<std::int32_t> in({1});
    auto m = machine(R"(
define internal void @peek(ptr %p) {
  %local = alloca i32, align 4
  %far = getelementptr i32, ptr %p, i64 100
  %x = load i32, ptr %far, align 4
  store i32 %x, ptr %local, align 4
  ret void
}
define void @f(ptr addrspace(1) %in) {
  %g = addrspacecast ptr addrspace(1) %in to ptr
  call void @peek(ptr %g)
  ret void
}
)" + kernels({"f"}));
    m.run("f", {}, {in.address()});
    ASSERT_EQ(m.events.size(), 1U);
    EXPECT_EQ(m.events[0].values[0], static_cast<std::int64_t>(in.address()) + 400);
}

TEST_P(MemoryChecks, code_after_a_null_store_is_not_erased) {
    Buffer<std::int32_t> out({0});
    auto m = machine(R"(
define void @f(ptr addrspace(1) %out, i64 %flag) {
  store i32 5, ptr addrspace(1) %out, align 4
  %go = icmp ne i64 %flag, 0
  br i1 %go, label %bad, label %end
bad:
  store i32 1, ptr addrspace(1) null, align 4
  br label %end
end:
  ret void
}
)" + kernels({"f"}));
    m.run("f", {}, {out.address(), 1});
    EXPECT_EQ(out[0], 5);
    ASSERT_EQ(m.events.size(), 1U);
    EXPECT_EQ(m.events[0].values[0], 0);
}

TEST_P(MemoryChecks, wide_accesses_are_checked_to_their_last_byte) {
    Buffer<std::int32_t> in({1, 2, 3, 4, 5, 6, 7}), out({0, 0, 0, 0, 0, 0, 0, 0});
    auto m = machine(R"(
define void @f(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %x = load <4 x i32>, ptr addrspace(1) %in, align 16
  store <4 x i32> %x, ptr addrspace(1) %out, align 16
  ret void
}
)" + kernels({"f"}));
    m.run("f", {}, {in.address(), out.address()});
    EXPECT_TRUE(m.events.empty());
    EXPECT_EQ(out[3], 4);
    m.run("f", {}, {in.address() + 16, out.address()});
    ASSERT_EQ(m.events.size(), 1U);
    EXPECT_EQ(m.events[0].values[1], 16);
}

/// Copies from and to every place around memory, of which `granules` says how many of each 8 bytes may be
/// accessed, below 0 read only.
void expect_exact_copies(Machine& m, unsigned bytes, unsigned alignment,
                         const std::vector<std::int8_t>& granules) {
    alignas(64) static std::int8_t memory[256], target[64];
    auto& shadow = Shadow::instance();
    for (std::size_t i = 0; i < granules.size(); ++i)
        shadow.set(memory + 64 + 8 * i, static_cast<std::uint64_t>(std::abs(granules[i])),
                   granules[i] < 0 ? -1 : 1);
    shadow.set(target, sizeof(target), 1);
    const unsigned first = 48, count = 96;  // thread i copies from or to byte first + i
    const auto memory_there = reinterpret_cast<std::uint64_t>(memory) + first;
    const auto memory_here = reinterpret_cast<std::uint64_t>(target);
    for (const bool write : {false, true}) {
        m.run(write ? "write" : "read", {{1, 1, 1}, {count, 1, 1}}, {memory_there, memory_here});
        const auto failed = m.of("access_check");
        std::size_t next = 0;
        for (unsigned i = 0; i < count; ++i) {
            const std::uint64_t there = memory_there + i;
            if (there % alignment == 0 && shadow.allows(there, bytes, write)) continue;
            ASSERT_LT(next, failed.size()) << bytes << " bytes at " << i << ", write: " << write;
            EXPECT_EQ(failed[next].thread, i) << bytes << " bytes, write: " << write;
            EXPECT_EQ(failed[next].values[0], static_cast<std::int64_t>(there));
            EXPECT_EQ(failed[next].values[1], bytes);
            ++next;
        }
        EXPECT_EQ(next, failed.size()) << bytes << " bytes, write: " << write;
    }
    shadow.set(memory, sizeof(memory), 0);
    shadow.set(target, sizeof(target), 0);
}

TEST_P(MemoryChecks, copies_of_a_constant_length_are_checked_exactly) {
    const std::pair<unsigned, unsigned> copies[] = {{1, 1},  {3, 1},  {4, 2},  {6, 2},   {8, 4},
                                                    {8, 8},  {12, 4}, {12, 1}, {16, 16}, {16, 8},
                                                    {16, 4}, {24, 8}, {31, 1}, {32, 16}, {64, 16}};
    for (const auto& [bytes, alignment] : copies) {
        const std::string pointer = "ptr addrspace(1) align " + std::to_string(alignment);
        const auto copy = [&](const std::string& name, const std::string& to, const std::string& from) {
            return "define void @" + name + R"((ptr addrspace(1) %memory, ptr addrspace(1) %target) {
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = getelementptr i8, ptr addrspace(1) %memory, i32 %tid
  call void @llvm.memcpy.p1.p1.i64()" +
                   pointer + to + ", " + pointer + from + ", i64 " + std::to_string(bytes) + R"(, i1 false)
  ret void
}
)";
        };
        auto m =
            machine("declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)\n" +
                    copy("read", " %target", " %place") + copy("write", " %place", " %target") +
                    kernels({"read", "write"}));
        expect_exact_copies(m, bytes, alignment, {8, 8, 8, 8, 8, 8, 8, 8, 4});
        expect_exact_copies(m, bytes, alignment, {8, 5, 8, 8, 0, 8, 8, 7, 8, 8, 3});
        expect_exact_copies(m, bytes, alignment, {8, 8, -8, -8, -8, -4, 8, 8, -8, 8});
    }
}

TEST_P(MemoryChecks, legal_copies_of_vectors_never_call_the_engine) {
    Buffer<std::int32_t> in({1, 2, 3, 4}), out({0, 0, 0, 0});
    auto m = machine(R"(
declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
define void @f(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) align 16 %out, ptr addrspace(1) align 16 %in, i64 16, i1 false)
  ret void
}
)" + kernels({"f"}));
    m.run("f", {}, {in.address(), out.address()});
    EXPECT_TRUE(m.events.empty());
    EXPECT_EQ(out.values(), in.values());
}

TEST_P(MemoryChecks, copies_are_checked_over_their_whole_length) {
    Buffer<std::int8_t> in(std::vector<std::int8_t>(64, 3)), out(std::vector<std::int8_t>(40, 0));
    auto m = machine(R"(
declare void @llvm.memcpy.p1.p1.i64(ptr addrspace(1), ptr addrspace(1), i64, i1)
define void @f(ptr addrspace(1) %in, ptr addrspace(1) %out, i64 %n) {
  call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) %out, ptr addrspace(1) %in, i64 %n, i1 false)
  ret void
}
)" + kernels({"f"}));
    m.run("f", {}, {in.address(), out.address(), 40});
    EXPECT_TRUE(m.of("access_check").empty());
    EXPECT_EQ(out[39], 3);
    m.run("f", {}, {in.address(), out.address(), 41});
    ASSERT_EQ(m.of("access_check").size(), 1U);
    EXPECT_EQ(m.of("access_check")[0].values[1], 41);
    m.run("f", {}, {0, 0, 0});
    EXPECT_TRUE(m.of("access_check").empty()) << "nothing is copied";
}

const std::string local_array = R"(
define void @f(ptr addrspace(1) %out, i64 %i) {
  %array = alloca [5 x i32], align 4
  %first = getelementptr i32, ptr %array, i64 1
  store i32 11, ptr %first, align 4
  %p = getelementptr i32, ptr %array, i64 %i
  %x = load i32, ptr %p, align 4
  store i32 %x, ptr addrspace(1) %out, align 4
  ret void
}
)" + kernels({"f"});

TEST_P(MemoryChecks, local_arrays_have_bounds_and_start_as_poison) {
    Buffer<std::int32_t> out({0});
    auto m = machine(local_array);
    m.run("f", {}, {out.address(), 1});
    EXPECT_EQ(out[0], 11);
    EXPECT_EQ(m.of("local_begin").size(), 1U);
    EXPECT_EQ(m.of("local_end").size(), 1U);
    m.run("f", {}, {out.address(), 4});
    EXPECT_EQ(out[0], -1) << "never written";
    for (std::int64_t bad : {5L, 6L, 12L, -1L, -8L}) {
        m.run("f", {}, {out.address(), static_cast<std::uint64_t>(bad)});
        EXPECT_EQ(m.of("access_check").size(), 1U) << bad;
    }
}

TEST_P(MemoryChecks, local_arrays_do_not_run_into_each_other) {
    Buffer<std::int32_t> out({0});
    auto m = machine(R"(
define void @f(ptr addrspace(1) %out, i64 %i, i64 %j) {
  %a = alloca [5 x i32], align 4
  %b = alloca [5 x i32], align 4
  %p = getelementptr i32, ptr %a, i64 %i
  %q = getelementptr i32, ptr %b, i64 %j
  %x = load i32, ptr %p, align 4
  %y = load i32, ptr %q, align 4
  %s = add i32 %x, %y
  store i32 %s, ptr addrspace(1) %out, align 4
  ret void
}
)" + kernels({"f"}));
    m.run("f", {}, {out.address(), 4, 4});
    EXPECT_TRUE(m.of("access_check").empty());
    for (std::int64_t bad = 5; bad <= 12; ++bad) {
        for (std::int64_t index : {bad, 4 - bad}) {
            m.run("f", {}, {out.address(), static_cast<std::uint64_t>(index), 0});
            EXPECT_EQ(m.of("access_check").size(), 1U) << index;
            m.run("f", {}, {out.address(), 0, static_cast<std::uint64_t>(index)});
            EXPECT_EQ(m.of("access_check").size(), 1U) << index;
        }
    }
}

TEST_P(MemoryChecks, local_variables_that_stay_in_bounds_cost_nothing) {
    Buffer<std::int32_t> out({0});
    auto m = machine(R"(
define void @f(ptr addrspace(1) %out) {
  %pair = alloca [2 x i32], align 4
  %second = getelementptr i32, ptr %pair, i64 1
  store volatile i32 3, ptr %second, align 4
  %x = load volatile i32, ptr %second, align 4
  store i32 %x, ptr addrspace(1) %out, align 4
  ret void
}
)" + kernels({"f"}));
    m.run("f", {}, {out.address()});
    EXPECT_TRUE(m.events.empty());
    EXPECT_EQ(out[0], 3);
}

const std::string shared_array = R"(
@tile = internal addrspace(3) global [4 x i32] undef, align 16
@other = internal addrspace(3) global [4 x i32] undef, align 16
@dynamic = external addrspace(3) global [0 x i8], align 16
define void @f(ptr addrspace(1) %out, i64 %i) {
  store i32 8, ptr addrspace(3) @tile, align 4
  store i32 9, ptr addrspace(3) @other, align 4
  %p = getelementptr i32, ptr addrspace(3) @tile, i64 %i
  %x = load i32, ptr addrspace(3) %p, align 4
  store i32 %x, ptr addrspace(1) %out, align 4
  store i32 %x, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @dynamic, i64 4), align 4
  ret void
}
)" + kernels({"f"});

TEST_P(MemoryChecks, shared_variables_do_not_run_into_each_other) {
    Buffer<std::int32_t> out({0});
    auto m = machine(shared_array);
    m.run("f", {.dynamic_shared_bytes = 8}, {out.address(), 0});
    EXPECT_TRUE(m.events.empty());
    EXPECT_EQ(out[0], 8);
    ASSERT_EQ(m.compiled->shared_variables.size(), 3U);
    EXPECT_EQ(m.compiled->shared_variables[0].name, "tile");
    EXPECT_GE(m.compiled->shared_variables[1].offset, 32U);
    EXPECT_EQ(m.compiled->shared_variables[2].bytes, 0U);
    EXPECT_EQ(m.compiled->shared_variables[2].offset, m.compiled->dynamic_shared_offset);
    EXPECT_EQ(m.compiled->dynamic_shared_offset % 16, 0U);
    EXPECT_GE(m.compiled->dynamic_shared_offset, m.compiled->static_shared_bytes);
    for (std::uint64_t bad : {4U, 7U}) {
        m.run("f", {.dynamic_shared_bytes = 8}, {out.address(), bad});
        EXPECT_EQ(m.of("access_check").size(), 1U) << bad;
    }
    m.run("f", {.dynamic_shared_bytes = 4}, {out.address(), 0});
    EXPECT_EQ(m.of("access_check").size(), 1U) << "beyond the dynamic bytes of the launch";
}

TEST_P(MemoryChecks, checks_can_be_switched_off) {
    Buffer<std::int32_t> in({1, 2, 3}), out({0, 0});
    Machine m(module_head() + copy_kernel,
              {.instrumentations = {&safepoint_polls()}, .optimisation = GetParam()});
    m.run("copy", {{1, 1, 1}, {3, 1, 1}}, {in.address(), out.address()});
    EXPECT_TRUE(m.events.empty());
    EXPECT_EQ(out.data()[2], 3);
}

}  // namespace
}  // namespace cudasim::jit::testing
