// Mathematical functions that clang's headers for CUDA leave out (CUDA C++ Programming Guide, "Mathematical
// Functions"; CUDA Math API): overloads for float, min() and max(), and those of the host.
#ifndef CUDASIM_MATH_OVERLOADS_H
#define CUDASIM_MATH_OVERLOADS_H

#include <limits.h>
#include <math.h>
#include <time.h>

#include "../host_defines.h"
#include "special_functions.h"

#define CUDASIM_DEVICE static __device__ __inline__ __attribute__((always_inline))
#define CUDASIM_HOST static __host__ __inline__ __attribute__((always_inline))

// Declared in __clang_cuda_math_forward_declares.h, and defined nowhere.
#define CUDASIM_FLOAT_1(result, name)     \
    CUDASIM_DEVICE result name(float x) { \
        return ::name##f(x);              \
    }
#define CUDASIM_FLOAT_2(name)                     \
    CUDASIM_DEVICE float name(float x, float y) { \
        return ::name##f(x, y);                   \
    }
CUDASIM_FLOAT_1(float, acosh)
CUDASIM_FLOAT_1(float, asinh)
CUDASIM_FLOAT_1(float, atanh)
CUDASIM_FLOAT_1(float, cbrt)
CUDASIM_FLOAT_1(float, erf)
CUDASIM_FLOAT_1(float, erfc)
CUDASIM_FLOAT_1(float, exp2)
CUDASIM_FLOAT_1(float, expm1)
CUDASIM_FLOAT_1(float, lgamma)
CUDASIM_FLOAT_1(float, log1p)
CUDASIM_FLOAT_1(float, log2)
CUDASIM_FLOAT_1(float, logb)
CUDASIM_FLOAT_1(float, nearbyint)
CUDASIM_FLOAT_1(float, rint)
CUDASIM_FLOAT_1(float, round)
CUDASIM_FLOAT_1(float, tgamma)
CUDASIM_FLOAT_1(float, trunc)
CUDASIM_FLOAT_1(int, ilogb)
CUDASIM_FLOAT_1(long, lrint)
CUDASIM_FLOAT_1(long, lround)
CUDASIM_FLOAT_1(long long, llrint)
CUDASIM_FLOAT_1(long long, llround)
CUDASIM_FLOAT_2(copysign)
CUDASIM_FLOAT_2(fdim)
CUDASIM_FLOAT_2(fmax)
CUDASIM_FLOAT_2(fmin)
CUDASIM_FLOAT_2(hypot)
CUDASIM_FLOAT_2(nextafter)
CUDASIM_FLOAT_2(remainder)
CUDASIM_DEVICE float fma(float x, float y, float z) {
    return ::fmaf(x, y, z);
}
CUDASIM_DEVICE float remquo(float x, float y, int* quotient) {
    return ::remquof(x, y, quotient);
}
CUDASIM_DEVICE float scalbn(float x, int exponent) {
    return ::scalbnf(x, exponent);
}
CUDASIM_DEVICE float scalbln(float x, long exponent) {
    return ::scalblnf(x, exponent);
}
// The simulator keeps no payloads.
CUDASIM_DEVICE double nan(const char*) {
    return __builtin_nan("");
}
CUDASIM_DEVICE float nanf(const char*) {
    return __builtin_nanf("");
}

CUDASIM_DEVICE float __tanhf(float x) {
    return ::tanhf(x);
}

// Names of the host that no C library has.
#define CUDASIM_HOST_1(name, expression)                           \
    CUDASIM_HOST double name(double x) {                           \
        return expression;                                         \
    }                                                              \
    CUDASIM_HOST float name##f(float x) {                          \
        return static_cast<float>(::name(static_cast<double>(x))); \
    }
CUDASIM_HOST_1(rsqrt, static_cast<double>(1 / ::sqrtl(x)))
CUDASIM_HOST_1(rcbrt, static_cast<double>(1 / ::cbrtl(x)))
CUDASIM_HOST_1(sinpi, cudasim::sine_of_pi_times(x))
CUDASIM_HOST_1(cospi, cudasim::cosine_of_pi_times(x))
CUDASIM_HOST_1(erfcx, cudasim::scaled_erfc(x))
CUDASIM_HOST_1(erfinv, cudasim::inverse_erf(x))
CUDASIM_HOST_1(erfcinv, cudasim::inverse_erfc(x))
CUDASIM_HOST_1(normcdf, cudasim::normal_distribution(x))
CUDASIM_HOST_1(normcdfinv, cudasim::inverse_normal_distribution(x))
#undef CUDASIM_HOST_1
CUDASIM_HOST void sincospi(double x, double* sine, double* cosine) {
    *sine = ::sinpi(x);
    *cosine = ::cospi(x);
}
CUDASIM_HOST void sincospif(float x, float* sine, float* cosine) {
    *sine = ::sinpif(x);
    *cosine = ::cospif(x);
}
#define CUDASIM_HOST_PAIR(name, type, comparison) \
    CUDASIM_HOST type name(type a, type b) {      \
        return a comparison b ? a : b;            \
    }
CUDASIM_HOST_PAIR(umin, unsigned int, <)
CUDASIM_HOST_PAIR(umax, unsigned int, >)
CUDASIM_HOST_PAIR(llmin, long long, <)
CUDASIM_HOST_PAIR(llmax, long long, >)
CUDASIM_HOST_PAIR(ullmin, unsigned long long, <)
CUDASIM_HOST_PAIR(ullmax, unsigned long long, >)

// float overloads of names that the C library does not have for C++ either.
#define CUDASIM_FLOAT_BOTH(name)       \
    CUDASIM_FLOAT_1(float, name)       \
    CUDASIM_HOST float name(float x) { \
        return ::name##f(x);           \
    }
CUDASIM_FLOAT_BOTH(rsqrt)
CUDASIM_FLOAT_BOTH(rcbrt)
CUDASIM_FLOAT_BOTH(sinpi)
CUDASIM_FLOAT_BOTH(cospi)
CUDASIM_FLOAT_BOTH(erfcx)
CUDASIM_FLOAT_BOTH(erfinv)
CUDASIM_FLOAT_BOTH(erfcinv)
CUDASIM_FLOAT_BOTH(normcdf)
CUDASIM_FLOAT_BOTH(normcdfinv)
CUDASIM_FLOAT_BOTH(exp10)
CUDASIM_FLOAT_BOTH(j0)
CUDASIM_FLOAT_BOTH(j1)
CUDASIM_FLOAT_BOTH(y0)
CUDASIM_FLOAT_BOTH(y1)
CUDASIM_FLOAT_1(float, cyl_bessel_i0)
CUDASIM_FLOAT_1(float, cyl_bessel_i1)
#undef CUDASIM_FLOAT_BOTH
#define CUDASIM_BESSEL_OF_ORDER(qualifier)                         \
    qualifier float jn(int order, float x) {                       \
        return ::jnf(order, x);                                    \
    }                                                              \
    qualifier float yn(int order, float x) {                       \
        return ::ynf(order, x);                                    \
    }                                                              \
    qualifier void sincos(float x, float* sine, float* cosine) {   \
        ::sincosf(x, sine, cosine);                                \
    }                                                              \
    qualifier void sincospi(float x, float* sine, float* cosine) { \
        ::sincospif(x, sine, cosine);                              \
    }
CUDASIM_BESSEL_OF_ORDER(CUDASIM_DEVICE)
CUDASIM_BESSEL_OF_ORDER(CUDASIM_HOST)
#undef CUDASIM_BESSEL_OF_ORDER

// min() and max(): of integers the usual comparison, of mixed signs the unsigned one; of floating-point
// numbers fmin() and fmax(), which prefer a number to a NaN.
#define CUDASIM_BOTH static __host__ __device__ __inline__ __attribute__((always_inline))
#define CUDASIM_EXTREMA(type_a, type_b, result)                                          \
    CUDASIM_BOTH result min(type_a a, type_b b) {                                        \
        return static_cast<result>(a) < static_cast<result>(b) ? static_cast<result>(a)  \
                                                               : static_cast<result>(b); \
    }                                                                                    \
    CUDASIM_BOTH result max(type_a a, type_b b) {                                        \
        return static_cast<result>(a) > static_cast<result>(b) ? static_cast<result>(a)  \
                                                               : static_cast<result>(b); \
    }
#define CUDASIM_EXTREMA_OF_WIDTH(type)                           \
    CUDASIM_EXTREMA(unsigned type, unsigned type, unsigned type) \
    CUDASIM_EXTREMA(type, unsigned type, unsigned type)          \
    CUDASIM_EXTREMA(unsigned type, type, unsigned type)
// clang's header has min(int, int) and max(int, int) of the device.
CUDASIM_HOST_PAIR(min, int, <)
CUDASIM_HOST_PAIR(max, int, >)
CUDASIM_EXTREMA_OF_WIDTH(int)
CUDASIM_EXTREMA(long, long, long)
CUDASIM_EXTREMA_OF_WIDTH(long)
CUDASIM_EXTREMA(long long, long long, long long)
CUDASIM_EXTREMA_OF_WIDTH(long long)
#define CUDASIM_REAL_EXTREMA(type_a, type_b, result, suffix) \
    CUDASIM_BOTH result min(type_a a, type_b b) {            \
        return ::fmin##suffix(a, b);                         \
    }                                                        \
    CUDASIM_BOTH result max(type_a a, type_b b) {            \
        return ::fmax##suffix(a, b);                         \
    }
CUDASIM_REAL_EXTREMA(float, float, float, f)
CUDASIM_REAL_EXTREMA(double, double, double, )
CUDASIM_REAL_EXTREMA(float, double, double, )
CUDASIM_REAL_EXTREMA(double, float, double, )
#undef CUDASIM_REAL_EXTREMA
#undef CUDASIM_EXTREMA
#undef CUDASIM_EXTREMA_OF_WIDTH
#undef CUDASIM_HOST_PAIR
#undef CUDASIM_BOTH

#undef CUDASIM_FLOAT_1
#undef CUDASIM_FLOAT_2
#undef CUDASIM_DEVICE
#undef CUDASIM_HOST

#endif
