// Functions of the CUDA Math API that neither clang's headers nor the C library have: norms and modified
// Bessel functions, for host and device, and for the host those that a device has from libdevice.
#ifndef CUDASIM_SPECIAL_FUNCTIONS_H
#define CUDASIM_SPECIAL_FUNCTIONS_H

#include <math.h>

#include "../host_defines.h"

namespace cudasim {

#define CUDASIM_BOTH static __host__ __device__ __inline__

// A Euclidean norm is computed with the values divided by a power of two near the largest one, so that no
// square overflows or vanishes. A C99 hypot() that sees an infinity returns it, even beside a NaN; so do
// these.
template <typename Values>
CUDASIM_BOTH double norm_of(int count, const Values& values, bool reciprocal) {
    double largest = 0;
    bool unordered = false;
    for (int i = 0; i < count; ++i) {
        const double size = __builtin_fabs(values[i]);
        if (size > largest) largest = size;
        unordered |= size != size;
    }
    if (largest == __builtin_huge_val()) return reciprocal ? 0.0 : largest;
    if (unordered) return __builtin_nan("");
    if (largest == 0) return reciprocal ? __builtin_huge_val() : 0.0;
    const int exponent = ::ilogb(largest);
    double sum = 0, lost = 0;  // what rounding lost of the sum is added at the end (Kahan)
    for (int i = 0; i < count; ++i) {
        const double value = ::ldexp(static_cast<double>(values[i]), -exponent);
        const double term = value * value - lost;
        const double next = sum + term;
        lost = (next - sum) - term;
        sum = next;
    }
    const double norm = ::sqrt(sum);
    return reciprocal ? ::ldexp(1 / norm, -exponent) : ::ldexp(norm, exponent);
}

// A float's square is exact as a double, and no sum of them overflows.
template <typename Values>
CUDASIM_BOTH float float_norm_of(int count, const Values& values, bool reciprocal) {
    double sum = 0;
    bool infinite = false;
    for (int i = 0; i < count; ++i) {
        const double value = values[i];
        infinite |= __builtin_fabs(value) == __builtin_huge_val();
        sum += value * value;
    }
    if (infinite) sum = __builtin_huge_val();
    const double norm = ::sqrt(sum);
    return static_cast<float>(reciprocal ? 1 / norm : norm);
}

// Four values, or three and a zero, by number.
template <typename T>
struct Values4 {
    T values[4];
    __host__ __device__ T operator[](int i) const { return values[i]; }
};

// I0 and I1 (Abramowitz and Stegun 9.6.10 and 9.7.1): the power series, whose terms are all positive, and for
// large arguments the asymptotic one. The former has many terms, each made of the one before: what rounding
// loses of them is carried along.
CUDASIM_BOTH double modified_bessel(int order, double argument) {
    const double x = __builtin_fabs(argument);
    double value;
    if (!(x > 30)) {  // and NaN
        const double square = x * x, square_lost = __builtin_fma(x, x, -square);
        double term = order == 0 ? 1 : x / 2, term_lost = 0, lost = 0;
        value = term;
        for (int k = 1; term > value * 1e-18; ++k) {
            const double divisor = 4.0 * k * (k + order), product = term * square;
            const double product_lost =
                __builtin_fma(term, square, -product) + term * square_lost + term_lost * square;
            term = product / divisor;
            term_lost = (__builtin_fma(-term, divisor, product) + product_lost) / divisor;
            const double sum = value + term, added = sum - value;
            lost += (value - (sum - added)) + (term - added) + term_lost;
            value = sum;
        }
        value += lost;
    } else {
        const double mu = 4.0 * order * order;
        double term = 1, sum = 1;
        for (int k = 1; k < 40 && __builtin_fabs(term) > 1e-17; ++k) {
            const double odd = 2.0 * k - 1;
            sum += term *= -(mu - odd * odd) / (k * 8.0 * x);
        }
        sum /= ::sqrt(2 * 3.14159265358979323846 * x);
        const double half = ::exp(x / 2);  // exp(x) overflows before the function does
        value = x < 700 ? ::exp(x) * sum : half * sum * half;
        if (x == __builtin_huge_val()) value = x;
    }
    return order == 1 && argument < 0 ? -value : value;
}

#undef CUDASIM_BOTH

// On the host: in long double and rounded once.
#define CUDASIM_HOST static __host__ __inline__

CUDASIM_HOST double scaled_erfc(double argument) {
    const long double x = argument;
    if (x < 100) return static_cast<double>(::expl(x * x) * ::erfcl(x));
    const long double square = 1 / (2 * x * x);  // the asymptotic series; its next term is below 1e-18
    return static_cast<double>(0.564189583547756286948079451560772586L / x *
                               (1 - square * (1 - 3 * square * (1 - 5 * square * (1 - 7 * square)))));
}

// The x with erfc(x / sqrt 2) / 2 == tail, for a tail from 0 to 1/2: a first guess (Abramowitz and Stegun
// 26.2.23, good to 5e-4), made exact by Halley's method.
CUDASIM_HOST long double normal_tail_inverse(long double tail) {
    const long double t = ::sqrtl(-2 * ::logl(tail));
    long double x = t - (2.515517L + t * (0.802853L + t * 0.010328L)) /
                            (1 + t * (1.432788L + t * (0.189269L + t * 0.001308L)));
    for (int i = 0; i < 3; ++i) {
        const long double density = ::expl(-x * x / 2) * 0.398942280401432677939946059934381868L;
        const long double step = (::erfcl(x * 0.707106781186547524400844362104849039L) / 2 - tail) / density;
        x += step / (1 - x * step / 2);
    }
    return x;
}
// The same near the middle, where the tail has lost digits: the x with erf(x / sqrt 2) / 2 == distance.
CUDASIM_HOST long double normal_middle_inverse(long double distance) {
    long double x = distance * 2.50662827463100050241576528481104525L;
    for (int i = 0; i < 5; ++i) {
        const long double density = ::expl(-x * x / 2) * 0.398942280401432677939946059934381868L;
        const long double step =
            (::erfl(x * 0.707106781186547524400844362104849039L) / 2 - distance) / density;
        x -= step / (1 + x * step / 2);
    }
    return x;
}
// The quantile at `distance` above 1/2 whose nearer tail is `tail`.
CUDASIM_HOST long double normal_quantile(long double distance, long double tail) {
    if (tail < 0 || tail != tail) return __builtin_nanl("");
    if (tail == 0) return distance > 0 ? __builtin_huge_vall() : -__builtin_huge_vall();
    if (::fabsl(distance) < 0.3L) return normal_middle_inverse(distance);
    return ::copysignl(normal_tail_inverse(tail), distance);
}
CUDASIM_HOST double normal_distribution(double x) {
    return static_cast<double>(::erfcl(-x * 0.707106781186547524400844362104849039L) / 2);
}
CUDASIM_HOST double inverse_normal_distribution(double x) {
    const long double wide = x;
    return static_cast<double>(normal_quantile(wide - 0.5L, x > 0.5 ? 1 - wide : wide));
}
CUDASIM_HOST double inverse_erf(double x) {
    const long double wide = x;
    return static_cast<double>(normal_quantile(wide / 2, (1 - ::fabsl(wide)) / 2) *
                               0.707106781186547524400844362104849039L);
}
CUDASIM_HOST double inverse_erfc(double x) {
    const long double wide = x;
    return static_cast<double>(normal_quantile((1 - wide) / 2, (x > 1 ? 2 - wide : wide) / 2) *
                               0.707106781186547524400844362104849039L);
}

// Sine and cosine of pi x: exact at multiples of one half.
CUDASIM_HOST double sine_of_pi_times(double x) {
    if (!(__builtin_fabs(x) < __builtin_huge_val())) return __builtin_nan("");
    const double turn = ::remainder(x, 2.0);  // exact, in [-1, 1]
    if (turn == 0 || __builtin_fabs(turn) == 1) return ::copysign(0.0, x);
    const double size = __builtin_fabs(turn);
    const long double pi = 3.14159265358979323846264338327950288L;
    const long double value = size <= 0.25  ? ::sinl(pi * size)
                              : size < 0.75 ? ::cosl(pi * (0.5L - size))
                                            : ::sinl(pi * (1.0L - size));
    return static_cast<double>(turn < 0 ? -value : value);
}
CUDASIM_HOST double cosine_of_pi_times(double x) {
    if (!(__builtin_fabs(x) < __builtin_huge_val())) return __builtin_nan("");
    const double turn = __builtin_fabs(::remainder(x, 2.0));
    if (turn == 0.5) return 0;
    const long double pi = 3.14159265358979323846264338327950288L;
    return static_cast<double>(turn <= 0.25  ? ::cosl(pi * turn)
                               : turn < 0.75 ? ::sinl(pi * (0.5L - turn))
                                             : -::cosl(pi * (1.0L - turn)));
}

#undef CUDASIM_HOST

}  // namespace cudasim

#endif
