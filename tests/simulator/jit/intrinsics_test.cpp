// Mathematics and bit functions of libdevice, as compiled code computes them.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>

#include "kernels.h"
#include "machine.h"
#include "simulator/jit/host_symbols.h"

namespace cudasim::jit::testing {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
const double nan_value = std::nan("");

/// A kernel out[0] = function(in[0], in[1], ...).
template <class Result, class... Values>
Result call(const std::string& name, const std::string& result, const std::string& type, Values... values) {
    using Value = std::common_type_t<Values...>;
    std::string loads, arguments, types;
    for (std::size_t i = 0; i < sizeof...(values); ++i) {
        const std::string n = std::to_string(i);
        loads += "  %p" + n + " = getelementptr " + type + ", ptr addrspace(1) %in, i64 " + n + "\n  %x" + n +
                 " = load " + type + ", ptr addrspace(1) %p" + n + "\n";
        arguments += (i ? ", " : "") + type + " %x" + n;
        types += (i ? ", " : "") + type;
    }
    const std::string ir = module_head() + "declare " + result + " @" + name + "(" + types + ")\n" +
                           "define void @f(ptr addrspace(1) %in, ptr addrspace(1) %out) {\n" + loads +
                           "  %r = call " + result + " @" + name + "(" + arguments + ")\n  store " + result +
                           " %r, ptr addrspace(1) %out\n  ret void\n}\n" + kernels({"f"});
    Buffer<Value> in({values...});
    Buffer<Result> out({Result(77)});
    Machine machine(ir);
    machine.run("f", {}, {in.address(), out.address()});
    EXPECT_TRUE(machine.events.empty());
    return out[0];
}

double unary(const std::string& name, double x) {
    return call<double>(name, "double", "double", x);
}
float unary(const std::string& name, float x) {
    return call<float>(name, "float", "float", x);
}
double binary(const std::string& name, double x, double y) {
    return call<double>(name, "double", "double", x, y);
}
std::int32_t bits(const std::string& name, std::int32_t x) {
    return call<std::int32_t>(name, "i32", "i32", x);
}

TEST(Libdevice, functions_of_the_host_give_the_hosts_results) {
    EXPECT_EQ(unary("__nv_sin", 1.25), std::sin(1.25));
    EXPECT_EQ(unary("__nv_expf", 1.25F), std::exp(1.25F));
    EXPECT_EQ(unary("__nv_tgamma", 5.0), 24.0);
    EXPECT_EQ(unary("__nv_lgamma", 10.0), std::lgamma(10.0));
    EXPECT_EQ(binary("__nv_atan2", 1.0, -2.0), std::atan2(1.0, -2.0));
    EXPECT_EQ(binary("__nv_pow", 2.0, 0.5), std::pow(2.0, 0.5));
    EXPECT_EQ(binary("__nv_fmod", -7.5, 2.0), -1.5);
    EXPECT_EQ(unary("__nv_rsqrt", 4.0), 0.5);
}

TEST(Libdevice, roundings_are_exact) {
    EXPECT_EQ(unary("__nv_floor", -1.5), -2.0);
    EXPECT_EQ(unary("__nv_round", -2.5), -3.0) << "half away from zero";
    EXPECT_EQ(unary("__nv_rint", -2.5), -2.0) << "half to even";
    EXPECT_EQ(unary("__nv_truncf", -2.9F), -2.0F);
    EXPECT_EQ((call<std::int64_t>("__nv_llround", "i64", "double", 1e30)),
              std::numeric_limits<std::int64_t>::max());
}

TEST(Libdevice, sine_of_pi_is_exact_at_halves) {
    EXPECT_EQ(unary("__nv_sinpi", 1.0), 0.0);
    EXPECT_EQ(unary("__nv_sinpi", 0.5), 1.0);
    EXPECT_EQ(unary("__nv_sinpi", -1.5), 1.0);
    EXPECT_EQ(unary("__nv_cospi", 0.5), 0.0);
    EXPECT_EQ(unary("__nv_cospi", 1.0), -1.0);
    EXPECT_NEAR(unary("__nv_sinpi", 1e6 + 0.25), std::sqrt(0.5), 1e-15);
    EXPECT_NEAR(unary("__nv_cospi", 0.7), std::cos(0.7 * M_PI), 1e-15);
    EXPECT_TRUE(std::isnan(unary("__nv_sinpi", infinity)));
}

TEST(Libdevice, minimum_and_maximum_ignore_nan_and_order_zeros) {
    EXPECT_EQ(binary("__nv_fmin", nan_value, 3.0), 3.0);
    EXPECT_EQ(binary("__nv_fmax", 3.0, nan_value), 3.0);
    EXPECT_TRUE(std::isnan(binary("__nv_fmin", nan_value, nan_value)));
    EXPECT_TRUE(std::signbit(binary("__nv_fmin", 0.0, -0.0)));
    EXPECT_FALSE(std::signbit(binary("__nv_fmax", -0.0, 0.0)));
    EXPECT_EQ(binary("__nv_fmin", 2.0, -3.0), -3.0);
}

TEST(Libdevice, bit_functions) {
    EXPECT_EQ(bits("__nv_popc", 0xFF), 8);
    EXPECT_EQ(bits("__nv_clz", 0), 32);
    EXPECT_EQ(bits("__nv_clz", 1), 31);
    EXPECT_EQ(bits("__nv_ffs", 0), 0);
    EXPECT_EQ(bits("__nv_ffs", 8), 4);
    EXPECT_EQ(bits("__nv_brev", 1), std::numeric_limits<std::int32_t>::min());
    EXPECT_EQ(bits("__nv_abs", std::numeric_limits<std::int32_t>::min()),
              std::numeric_limits<std::int32_t>::min());
    EXPECT_EQ((call<std::int32_t>("__nv_mulhi", "i32", "i32", -2, 3)), -1);
    EXPECT_EQ((call<std::int64_t>("__nv_umul64hi", "i64", "i64", std::int64_t{-1}, std::int64_t{-1})), -2);
}

TEST(Libdevice, classification_and_saturation) {
    EXPECT_EQ((call<std::int32_t>("__nv_isnand", "i32", "double", nan_value)), 1);
    EXPECT_EQ((call<std::int32_t>("__nv_isinfd", "i32", "double", -infinity)), 1);
    EXPECT_EQ((call<std::int32_t>("__nv_isfinited", "i32", "double", infinity)), 0);
    EXPECT_EQ((call<std::int32_t>("__nv_signbitd", "i32", "double", -0.0)), 1);
    EXPECT_EQ(unary("__nv_saturatef", -1.0F), 0.0F);
    EXPECT_EQ(unary("__nv_saturatef", std::nanf("")), 0.0F);
    EXPECT_EQ(unary("__nv_saturatef", 1.5F), 1.0F);
}

TEST(Libdevice, results_through_pointers_are_memory_accesses_like_any_other) {
    Buffer<double> out({0, 0});
    Machine machine(module_head() + R"(
declare void @__nv_sincos(double, ptr, ptr)
declare double @__nv_modf(double, ptr)
declare double @__nv_frexp(double, ptr)
define void @f(double %x, ptr %s, ptr %c) {
  call void @__nv_sincos(double %x, ptr %s, ptr %c)
  ret void
}
define void @m(double %x, ptr %whole, ptr %fraction) {
  %f = call double @__nv_modf(double %x, ptr %whole)
  store double %f, ptr %fraction, align 8
  ret void
}
define void @e(double %x, ptr %exponent, ptr %mantissa) {
  %f = call double @__nv_frexp(double %x, ptr %exponent)
  store double %f, ptr %mantissa, align 8
  ret void
}
)" + kernels({"f", "m", "e"}));
    auto bits_of = [](double x) { return std::bit_cast<std::uint64_t>(x); };
    machine.run("f", {}, {bits_of(0.5), out.address(), out.address() + 8});
    EXPECT_TRUE(machine.events.empty());
    EXPECT_EQ(out[0], std::sin(0.5));
    EXPECT_EQ(out[1], std::cos(0.5));
    machine.run("f", {}, {bits_of(0.5), out.address(), out.address() + 16});
    EXPECT_EQ(machine.of("access_check").size(), 1U);
    machine.run("m", {}, {bits_of(-3.25), out.address(), out.address() + 8});
    EXPECT_EQ(out[0], -3.0);
    EXPECT_EQ(out[1], -0.25);
    machine.run("m", {}, {bits_of(-infinity), out.address(), out.address() + 8});
    EXPECT_EQ(out[0], -infinity);
    EXPECT_EQ(out[1], 0.0);
    EXPECT_TRUE(std::signbit(out[1]));
    machine.run("e", {}, {bits_of(48.0), out.address(), out.address() + 8});
    EXPECT_EQ(std::bit_cast<std::uint64_t>(out[0]) & 0xFFFFFFFF, 6U);
    EXPECT_EQ(out[1], 0.75);
}

TEST(Libdevice, a_wrong_type_is_refused) {
    EXPECT_THROW((void)call<float>("__nv_sin", "float", "float", 1.0F), CompileError);
}

TEST(Libdevice, every_host_function_has_an_address) {
    for (const auto& [name, address] : host_symbols()) EXPECT_NE(address, nullptr) << name;
}

const std::string multiply_add = R"(
define void @f(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %p1 = getelementptr double, ptr addrspace(1) %in, i64 1
  %p2 = getelementptr double, ptr addrspace(1) %in, i64 2
  %x = load double, ptr addrspace(1) %in
  %y = load double, ptr addrspace(1) %p1
  %z = load double, ptr addrspace(1) %p2
  %m = fmul contract double %x, %y
  %r = fadd contract double %m, %z
  store double %r, ptr addrspace(1) %out
  ret void
}
)" + kernels({"f"});

TEST(FloatingPoint, multiply_and_add_are_fused_only_when_asked_for) {
    const double x = 1.0 + 0x1p-30, y = 1.0 - 0x1p-30, z = -1.0;
    Buffer<double> in({x, y, z}), out({0.0});
    Machine strict(module_head() + multiply_add);
    strict.run("f", {}, {in.address(), out.address()});
    EXPECT_EQ(out[0], 0.0);
    Machine fused(module_head() + multiply_add, {.fma_contraction = true});
    fused.run("f", {}, {in.address(), out.address()});
    EXPECT_EQ(out[0], std::fma(x, y, z));
    EXPECT_NE(out[0], 0.0);
}

}  // namespace
}  // namespace cudasim::jit::testing
