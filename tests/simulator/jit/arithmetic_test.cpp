// Integer division, shifts and float-to-integer conversion have PTX's results, whatever the optimiser sees.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "kernels.h"
#include "machine.h"

namespace cudasim::jit::testing {
namespace {

using findings::FindingKind;

/// A kernel `@f` that applies `operation` ("sdiv i32") to in[0] and in[1] and stores to out[0].
std::string binary(const std::string& operation, const std::string& type) {
    return module_head() + "define void @f(ptr addrspace(1) %in, ptr addrspace(1) %out) {\n" +
           "  %second = getelementptr " + type + ", ptr addrspace(1) %in, i64 1\n" + "  %x = load " + type +
           ", ptr addrspace(1) %in\n" + "  %y = load " + type + ", ptr addrspace(1) %second\n" +
           "  %r = " + operation + " %x, %y\n" + "  store " + type +
           " %r, ptr addrspace(1) %out\n  ret void\n}\n" + kernels({"f"});
}

template <class T>
struct Result {
    T value;
    std::vector<Event> events;
};

template <class T>
Result<T> apply(const std::string& operation, const std::string& type, T x, T y, unsigned optimisation) {
    Buffer<T> in({x, y}), out({T(77)});
    Machine machine(binary(operation, type), {.optimisation = optimisation});
    machine.run("f", {}, {in.address(), out.address()});
    return {out[0], machine.events};
}

class Arithmetic : public ::testing::TestWithParam<unsigned> {
  protected:
    template <class T>
    T value(const std::string& operation, const std::string& type, T x, T y) {
        const auto result = apply<T>(operation, type, x, y, GetParam());
        EXPECT_TRUE(result.events.empty()) << operation;
        return result.value;
    }
    template <class T>
    void expect_division_fault(const std::string& operation, const std::string& type, T x) {
        const auto result = apply<T>(operation, type, x, T(0), GetParam());
        ASSERT_EQ(result.events.size(), 1U) << operation;
        EXPECT_EQ(result.events[0].hook, "fault");
        EXPECT_EQ(result.events[0].values[0], static_cast<int>(FindingKind::integer_division));
        EXPECT_EQ(result.value, T(77)) << "nothing after the division runs";
    }
};
INSTANTIATE_TEST_SUITE_P(Optimisation, Arithmetic, ::testing::Values(0U, 2U));

constexpr auto smallest = std::numeric_limits<std::int32_t>::min();
constexpr auto smallest64 = std::numeric_limits<std::int64_t>::min();

TEST_P(Arithmetic, division_by_zero_is_a_fault) {
    expect_division_fault<std::int32_t>("sdiv i32", "i32", 5);
    expect_division_fault<std::int32_t>("srem i32", "i32", smallest);
    expect_division_fault<std::uint64_t>("udiv i64", "i64", 5);
    expect_division_fault<std::uint8_t>("urem i8", "i8", 5);
}

TEST_P(Arithmetic, division_is_ordinary_otherwise) {
    EXPECT_EQ(value<std::int32_t>("sdiv i32", "i32", -7, 2), -3);
    EXPECT_EQ(value<std::int32_t>("srem i32", "i32", -7, 2), -1);
    EXPECT_EQ(value<std::int32_t>("sdiv i32", "i32", -7, -1), 7);
    EXPECT_EQ(value<std::uint32_t>("udiv i32", "i32", 0xFFFFFFFF, 0xFFFFFFFF), 1U);
}

TEST_P(Arithmetic, smallest_divided_by_minus_one_wraps) {
    EXPECT_EQ(value<std::int32_t>("sdiv i32", "i32", smallest, -1), smallest);
    EXPECT_EQ(value<std::int32_t>("srem i32", "i32", smallest, -1), 0);
    EXPECT_EQ(value<std::int64_t>("sdiv i64", "i64", smallest64, -1), smallest64);
    EXPECT_EQ(value<std::int64_t>("srem i64", "i64", smallest64, -1), 0);
}

TEST_P(Arithmetic, shifts_by_the_width_or_more_are_clamped) {
    for (std::uint32_t amount : {32U, 33U, 64U, 0xFFFFFFFFU}) {
        EXPECT_EQ(value<std::uint32_t>("shl i32", "i32", 0xF0F0F0F1, amount), 0U) << amount;
        EXPECT_EQ(value<std::uint32_t>("lshr i32", "i32", 0xF0F0F0F1, amount), 0U) << amount;
        EXPECT_EQ(value<std::uint32_t>("ashr i32", "i32", 0xF0F0F0F1, amount), 0xFFFFFFFFU) << amount;
        EXPECT_EQ(value<std::uint32_t>("ashr i32", "i32", 0x70F0F0F1, amount), 0U) << amount;
    }
    EXPECT_EQ(value<std::uint32_t>("shl i32", "i32", 3, 31), 0x80000000U);
    EXPECT_EQ(value<std::int64_t>("ashr i64", "i64", smallest64, 63), -1);
    EXPECT_EQ(value<std::int64_t>("ashr i64", "i64", smallest64, 64), -1);
    EXPECT_EQ(value<std::int64_t>("shl nsw nuw i64", "i64", smallest64, 1), 0) << "claims do not count";
}

TEST_P(Arithmetic, an_overflow_that_is_claimed_away_wraps_all_the_same) {
    // With the claim believed, x + 1 > x is true for every x, and 2 * x / 2 is x.
    const std::string ir = module_head() + R"(
define void @f(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %x = load i32, ptr addrspace(1) %in
  %sum = add nsw i32 %x, 1
  %larger = icmp sgt i32 %sum, %x
  %bit = zext i1 %larger to i32
  %twice = mul nsw i32 %x, 2
  %half = ashr exact i32 %twice, 1
  %back = add i32 %half, %bit
  store i32 %back, ptr addrspace(1) %out
  ret void
}
)" + kernels({"f"});
    Buffer<std::int32_t> in({std::numeric_limits<std::int32_t>::max()}), out({77});
    Machine machine(ir, {.optimisation = GetParam()});
    machine.run("f", {}, {in.address(), out.address()});
    EXPECT_EQ(out[0], -1);
}

/// A kernel that converts in[0] of `from` to `to`.
template <class From, class To>
To convert(const std::string& operation, const std::string& from, const std::string& to, From x,
           unsigned optimisation) {
    const std::string ir =
        module_head() + "define void @f(ptr addrspace(1) %in, ptr addrspace(1) %out) {\n  %x = load " + from +
        ", ptr addrspace(1) %in\n  %r = " + operation + " " + from + " %x to " + to + "\n  store " + to +
        " %r, ptr addrspace(1) %out\n  ret void\n}\n" + kernels({"f"});
    Buffer<From> in({x});
    Buffer<To> out({To(77)});
    Machine machine(ir, {.optimisation = optimisation});
    machine.run("f", {}, {in.address(), out.address()});
    EXPECT_TRUE(machine.events.empty());
    return out[0];
}

TEST_P(Arithmetic, conversions_to_integers_saturate) {
    const unsigned o = GetParam();
    EXPECT_EQ((convert<float, std::int32_t>("fptosi", "float", "i32", 3e9F, o)), 2147483647);
    EXPECT_EQ((convert<float, std::int32_t>("fptosi", "float", "i32", -3e9F, o)), smallest);
    EXPECT_EQ((convert<float, std::int32_t>("fptosi", "float", "i32", -2.9F, o)), -2);
    EXPECT_EQ((convert<double, std::uint32_t>("fptoui", "double", "i32", -5.0, o)), 0U);
    EXPECT_EQ((convert<double, std::uint32_t>("fptoui", "double", "i32", 5e9, o)), 0xFFFFFFFFU);
    EXPECT_EQ((convert<double, std::int64_t>("fptosi", "double", "i64", 1e30, o)),
              std::numeric_limits<std::int64_t>::max());
    EXPECT_EQ((convert<float, std::int16_t>("fptosi", "float", "i16", 1e6F, o)), 32767);
}

TEST_P(Arithmetic, nan_converts_as_ptx_says) {
    const unsigned o = GetParam();
    const float narrow = std::nanf("");
    const double wide = std::nan("");
    EXPECT_EQ((convert<float, std::int32_t>("fptosi", "float", "i32", narrow, o)), 0);
    EXPECT_EQ((convert<float, std::uint32_t>("fptoui", "float", "i32", narrow, o)), 0U);
    EXPECT_EQ((convert<double, std::int32_t>("fptosi", "double", "i32", wide, o)), smallest);
    EXPECT_EQ((convert<float, std::int64_t>("fptosi", "float", "i64", narrow, o)), smallest64);
    EXPECT_EQ((convert<double, std::uint64_t>("fptoui", "double", "i64", wide, o)), std::uint64_t{1} << 63);
}

TEST_P(Arithmetic, a_division_whose_result_nobody_needs_is_still_checked) {
    const std::string ir = module_head() + R"(
define void @f(i32 %x, i32 %y) {
  %dead = sdiv i32 %x, %y
  ret void
}
)" + kernels({"f"});
    Machine machine(ir, {.optimisation = GetParam()});
    machine.run_bytes("f", {}, std::vector<std::byte>(8));
    ASSERT_EQ(machine.events.size(), 1U);
    EXPECT_EQ(machine.events[0].values[0], static_cast<int>(FindingKind::integer_division));
}

TEST_P(Arithmetic, vector_operands_are_defined_element_by_element) {
    const std::string ir = module_head() + R"(
define void @f(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %second = getelementptr <2 x i32>, ptr addrspace(1) %in, i64 1
  %x = load <2 x i32>, ptr addrspace(1) %in, align 8
  %y = load <2 x i32>, ptr addrspace(1) %second, align 8
  %q = sdiv <2 x i32> %x, %y
  %s = shl <2 x i32> %q, <i32 40, i32 1>
  store <2 x i32> %s, ptr addrspace(1) %out, align 8
  ret void
}
)" + kernels({"f"});
    Buffer<std::int32_t> in({100, smallest, 7, -1}), out({77, 77});
    Machine machine(ir, {.optimisation = GetParam()});
    machine.run("f", {}, {in.address(), out.address()});
    EXPECT_TRUE(machine.events.empty());
    EXPECT_EQ(out[0], 0);
    EXPECT_EQ(out[1], 0);
    in[3] = 0;
    machine.run("f", {}, {in.address(), out.address()});
    ASSERT_EQ(machine.events.size(), 1U);
}

}  // namespace
}  // namespace cudasim::jit::testing
