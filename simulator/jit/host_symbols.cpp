// See host_symbols.h.
#include "simulator/jit/host_symbols.h"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numbers>

extern "C" {  // compiler-rt / libgcc: 128-bit integers
__int128 __divti3(__int128, __int128);
__int128 __modti3(__int128, __int128);
unsigned __int128 __udivti3(unsigned __int128, unsigned __int128);
unsigned __int128 __umodti3(unsigned __int128, unsigned __int128);
}

namespace cudasim::jit {
namespace {

/// What libm has no function for. Named after what they compute; libdevice's names are in intrinsics.def.
namespace host {

double log_gamma(double x) {
    int sign = 0;
    return ::lgamma_r(x, &sign);
}
float log_gamma(float x) {
    int sign = 0;
    return ::lgammaf_r(x, &sign);
}

template <class T>
T reciprocal_square_root(T x) {
    return T(1) / std::sqrt(x);
}
template <class T>
T reciprocal_cube_root(T x) {
    return T(1) / std::cbrt(x);
}
template <class T>
T reciprocal_hypotenuse(T x, T y) {
    return T(1) / std::hypot(x, y);
}

/// sin(pi x): exact at multiples of 1/2, so the argument is reduced before it is multiplied by pi.
template <class T>
T sine_of_pi_times(T x) {
    if (!std::isfinite(x)) return std::numeric_limits<T>::quiet_NaN();
    T rest = std::fmod(x, T(2));
    if (rest == 0 || std::fabs(rest) == 1) return std::copysign(T(0), x);
    if (rest > 1) rest -= 2;
    if (rest < -1) rest += 2;
    if (rest > T(0.5)) rest = 1 - rest;
    if (rest < T(-0.5)) rest = -1 - rest;
    return std::sin(rest * std::numbers::pi_v<T>);
}

template <class T>
T cosine_of_pi_times(T x) {
    if (!std::isfinite(x)) return std::numeric_limits<T>::quiet_NaN();
    const T rest = std::fmod(std::fabs(x), T(2));
    if (rest == T(0.5) || rest == T(1.5)) return 0;
    const T folded = rest > 1 ? 2 - rest : rest;
    return folded > T(0.5) ? -std::cos((1 - folded) * std::numbers::pi_v<T>)
                           : std::cos(folded * std::numbers::pi_v<T>);
}

template <class T>
T normal_distribution(T x) {
    return T(0.5) * std::erfc(-x / std::numbers::sqrt2_v<T>);
}

template <class T>
T integer_power(T base, std::int32_t exponent) {
    return static_cast<T>(std::pow(base, static_cast<T>(exponent)));
}

/// PTX cvt: saturates; NaN gives the smallest value except f32 -> s32, which gives 0.
template <class Integer, class T>
Integer saturate(T x) {
    if (std::isnan(x))
        return sizeof(T) == 4 && sizeof(Integer) == 4 ? 0 : std::numeric_limits<Integer>::min();
    const T limit = -static_cast<T>(std::numeric_limits<Integer>::min());
    if (x >= limit) return std::numeric_limits<Integer>::max();
    if (x < -limit) return std::numeric_limits<Integer>::min();
    return static_cast<Integer>(x);
}

template <class T>
std::int64_t round_to_int64(T x) {
    return saturate<std::int64_t>(std::round(x));
}
template <class T>
std::int32_t round_to_int32(T x) {
    return saturate<std::int32_t>(std::round(x));
}
template <class T>
std::int64_t nearest_int64(T x) {
    return saturate<std::int64_t>(std::nearbyint(x));
}

double mantissa(double x) {
    int unused = 0;
    return std::frexp(x, &unused);
}
std::int32_t exponent(double x) {
    int result = 0;
    (void)std::frexp(x, &result);
    return std::isfinite(x) ? result : 0;
}

}  // namespace host

template <class Type>
void* address(Type* function) {
    return reinterpret_cast<void*>(function);
}

}  // namespace

const std::vector<std::pair<std::string_view, void*>>& host_symbols() {
    static const std::vector<std::pair<std::string_view, void*>> symbols = {
#define HOST(name, type, function) {name, address<type>(function)},
#define LLVM(name, type, intrinsic)
#define EMIT(name, type, emitter)
#include "simulator/jit/intrinsics.def"
#undef HOST
#undef LLVM
#undef EMIT
        // What LLVM's code generator calls for intrinsics and for types the CPU lacks.
        {"memcpy", address<void*(void*, const void*, std::size_t)>(::memcpy)},
        {"memmove", address<void*(void*, const void*, std::size_t)>(::memmove)},
        {"memset", address<void*(void*, int, std::size_t)>(::memset)},
#define LIBM_1(name) {#name, address<double(double)>(::name)}, {#name "f", address<float(float)>(::name##f)},
#define LIBM_2(name) \
    {#name, address<double(double, double)>(::name)}, {#name "f", address<float(float, float)>(::name##f)},
        LIBM_1(sin) LIBM_1(cos) LIBM_1(tan) LIBM_1(exp) LIBM_1(exp2) LIBM_1(exp10) LIBM_1(log) LIBM_1(log2)
            LIBM_1(log10) LIBM_1(round) LIBM_1(floor) LIBM_1(ceil) LIBM_1(trunc) LIBM_1(rint)
                LIBM_1(nearbyint) LIBM_1(roundeven) LIBM_2(pow) LIBM_2(fmod) LIBM_2(fmin) LIBM_2(fmax)
#undef LIBM_1
#undef LIBM_2
                    {"fma", address<double(double, double, double)>(::fma)},
        {"fmaf", address<float(float, float, float)>(::fmaf)},
        {"ldexp", address<double(double, int)>(::ldexp)},
        {"ldexpf", address<float(float, int)>(::ldexpf)},
        {"__divti3", address(&__divti3)},
        {"__modti3", address(&__modti3)},
        {"__udivti3", address(&__udivti3)},
        {"__umodti3", address(&__umodti3)},
    };
    return symbols;
}

}  // namespace cudasim::jit
