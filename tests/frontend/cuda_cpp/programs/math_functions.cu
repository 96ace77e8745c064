// Every function of the CUDA Math API's lists "Single Precision" and "Double Precision Mathematical
// Functions", on the device, and those that CUDA has on the host, there, against the C library's long double.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

const int count = 64;

// name, lowest and highest argument, long double reference of x
#define STANDARD(X)                    \
    X(acos, -1, 1, acosl(x))           \
    X(acosh, 1, 90, acoshl(x))         \
    X(asin, -1, 1, asinl(x))           \
    X(asinh, -80, 80, asinhl(x))       \
    X(atan, -9, 9, atanl(x))           \
    X(atanh, -0.99, 0.99, atanhl(x))   \
    X(cbrt, -100, 100, cbrtl(x))       \
    X(ceil, -9, 9, ceill(x))           \
    X(cos, -30, 30, cosl(x))           \
    X(cosh, -8, 8, coshl(x))           \
    X(erf, -3, 3, erfl(x))             \
    X(erfc, -3, 6, erfcl(x))           \
    X(exp, -30, 30, expl(x))           \
    X(exp2, -30, 30, exp2l(x))         \
    X(expm1, -3, 9, expm1l(x))         \
    X(fabs, -9, 9, fabsl(x))           \
    X(floor, -9, 9, floorl(x))         \
    X(lgamma, 3, 60, lgammal(x))       \
    X(log, 1e-3, 99, logl(x))          \
    X(log10, 1e-3, 99, log10l(x))      \
    X(log1p, -0.9, 99, log1pl(x))      \
    X(log2, 1e-3, 99, log2l(x))        \
    X(logb, 1e-3, 99, logbl(x))        \
    X(nearbyint, -9, 9, nearbyintl(x)) \
    X(rint, -9, 9, rintl(x))           \
    X(round, -9, 9, roundl(x))         \
    X(sin, -30, 30, sinl(x))           \
    X(sinh, -8, 8, sinhl(x))           \
    X(sqrt, 0, 99, sqrtl(x))           \
    X(tan, -1.5, 1.5, tanl(x))         \
    X(tanh, -4, 4, tanhl(x))           \
    X(tgamma, 0.2, 20, tgammal(x))     \
    X(trunc, -9, 9, truncl(x))
// Also functions of CUDA's on the host.
#define OF_CUDA(X)                                                                             \
    X(cospi, -9, 9, cosl(pi* remainderl(x, 2)))                                                \
    X(sinpi, -9, 9, sinl(pi* remainderl(x, 2)))                                                \
    X(erfcinv, 0.01, 1.99, root([](long double y) { return erfcl(y); }, x))                    \
    X(erfinv, -0.98, 0.98, root([](long double y) { return erfl(y); }, x))                     \
    X(erfcx, -3, 20, expl(x* x) * erfcl(x))                                                    \
    X(exp10, -30, 30, exp10l(x))                                                               \
    X(j0, 0.1, 2, j0l(x))                                                                      \
    X(j1, 0.1, 3, j1l(x))                                                                      \
    X(y0, 1, 3, y0l(x))                                                                        \
    X(y1, 0.1, 1.2, y1l(x))                                                                    \
    X(normcdf, -6, 6, erfcl(-x / sqrtl(2)) / 2)                                                \
    X(normcdfinv, 0.01, 0.99, root([](long double y) { return erfcl(-y / sqrtl(2)) / 2; }, x)) \
    X(rcbrt, 1e-2, 99, 1 / cbrtl(x))                                                           \
    X(rsqrt, 1e-2, 99, 1 / sqrtl(x))
#define OF_THE_DEVICE(X)                    \
    X(cyl_bessel_i0, -60, 60, bessel(0, x)) \
    X(cyl_bessel_i1, -60, 60, bessel(1, x))
#define OF_TWO(X)                \
    X(atan2, atan2l(x, y))       \
    X(copysign, copysignl(x, y)) \
    X(fdim, fdiml(x, y))         \
    X(fmax, fmaxl(x, y))         \
    X(fmin, fminl(x, y))         \
    X(fmod, fmodl(x, y))         \
    X(hypot, hypotl(x, y))       \
    X(pow, powl(x, y))           \
    X(remainder, remainderl(x, y))
#define OF_TWO_ON_THE_DEVICE(X) X(rhypot, 1 / hypotl(x, y))

const long double pi = 3.14159265358979323846264338327950288L;

template <typename F>
long double root(F increasing_or_decreasing, long double value) {
    const auto f = increasing_or_decreasing;
    const bool up = f(1) > f(-1);
    long double low = -12, high = 12;
    for (int i = 0; i < 200; ++i) {
        const long double middle = (low + high) / 2;
        ((f(middle) < value) == up ? low : high) = middle;
    }
    return low;
}
// The mean of exp(x cos t) (cos t)**order over a period: the trapezoidal rule converges at once for it.
long double bessel(int order, long double x) {
    long double sum = 0;
    const int steps = 400;
    for (int i = 0; i < steps; ++i) {
        const long double cosine = cosl(2 * pi * i / steps);
        sum += expl(x * cosine) * (order == 0 ? 1 : cosine);
    }
    return sum / steps;
}

enum {
#define NAME(name, ...) at_##name,
    STANDARD(NAME) OF_CUDA(NAME) OF_THE_DEVICE(NAME) OF_TWO(NAME) OF_TWO_ON_THE_DEVICE(NAME) functions
};

struct Result {
    double wide;
    float narrow, overloaded, standard;
};

__global__ void compute(const double* xs, const double* ys, Result* results) {
    const int f = blockIdx.x, i = f * count + threadIdx.x;
    const double x = xs[i], y = ys[i];
    Result r = {};
    switch (f) {
#define DEVICE(name, ...)              \
    case at_##name:                    \
        r.wide = name(x);              \
        r.narrow = name##f(float(x));  \
        r.overloaded = name(float(x)); \
        r.standard = r.overloaded;
#define DEVICE_STANDARD(name, ...)    \
    DEVICE(name)                      \
    r.standard = std::name(float(x)); \
    break;
#define DEVICE_OTHER(name, ...) \
    DEVICE(name)                \
    break;
        STANDARD(DEVICE_STANDARD)
        OF_CUDA(DEVICE_OTHER) OF_THE_DEVICE(DEVICE_OTHER)
#define DEVICE_TWO(name, ...)                       \
    case at_##name:                                 \
        r.wide = name(x, y);                        \
        r.narrow = name##f(float(x), float(y));     \
        r.overloaded = name(float(x), float(y));    \
        r.standard = std::name(float(x), float(y)); \
        break;
#define DEVICE_TWO_OTHER(name, ...)             \
    case at_##name:                             \
        r.wide = name(x, y);                    \
        r.narrow = name##f(float(x), float(y)); \
        r.overloaded = r.standard = r.narrow;   \
        break;
            OF_TWO(DEVICE_TWO) OF_TWO_ON_THE_DEVICE(DEVICE_TWO_OTHER)
    }
    results[i] = r;
}

long double reference(int f, long double x, long double y) {
    switch (f) {
#define REFERENCE(name, lowest, highest, ...) \
    case at_##name:                           \
        return __VA_ARGS__;
#define REFERENCE_TWO(name, ...) \
    case at_##name:              \
        return __VA_ARGS__;
        STANDARD(REFERENCE)
        OF_CUDA(REFERENCE) OF_THE_DEVICE(REFERENCE) OF_TWO(REFERENCE_TWO) OF_TWO_ON_THE_DEVICE(REFERENCE_TWO)
    }
    return 0;
}

const char* const names[] = {
#define STRING(name, ...) #name,
    STANDARD(STRING) OF_CUDA(STRING) OF_THE_DEVICE(STRING) OF_TWO(STRING) OF_TWO_ON_THE_DEVICE(STRING)};

int wrong = 0;
// Within a few units in the last place: fewer than most functions of CUDA's list are promised to have.
template <typename T>
void expect(int f, const char* form, double x, double y, T got, long double wanted) {
    const T value = static_cast<T>(wanted);
    const T unit = std::nextafter(std::fabs(value), T(INFINITY)) - std::fabs(value);
    const int units = f == at_cyl_bessel_i0 || f == at_cyl_bessel_i1 ? 6 : 4;
    if (std::fabs(got - wanted) <= units * static_cast<long double>(unit)) return;
    const char* const name = names[f];
    if (++wrong < 40)
        printf("%s (%s) of %.17g, %.17g: %.17g, not %.17g\n", name, form, x, y, double(got), double(value));
}

int main() {
    std::vector<double> xs(functions * count), ys(functions * count);
    double lowest[functions], highest[functions];
    for (int f = 0; f < functions; ++f) lowest[f] = 0.25, highest[f] = 9;
#define RANGE(name, low, high, ...) lowest[at_##name] = low, highest[at_##name] = high;
    STANDARD(RANGE)
    OF_CUDA(RANGE) OF_THE_DEVICE(RANGE) for (int f = 0; f < functions; ++f) for (int i = 0; i < count; ++i) {
        // floats, so that float and double functions see the same argument
        xs[f * count + i] = float(lowest[f] + (highest[f] - lowest[f]) * (i + 0.37) / count);
        ys[f * count + i] = float(-3 + 0.11 * ((i * 37) % count));
    }
    double *dx, *dy;
    Result* dr;
    cudaMalloc(&dx, xs.size() * sizeof(double));
    cudaMalloc(&dy, ys.size() * sizeof(double));
    cudaMalloc(&dr, xs.size() * sizeof(Result));
    cudaMemcpy(dx, xs.data(), xs.size() * sizeof(double), cudaMemcpyHostToDevice);
    cudaMemcpy(dy, ys.data(), ys.size() * sizeof(double), cudaMemcpyHostToDevice);
    compute<<<functions, count>>>(dx, dy, dr);
    std::vector<Result> results(xs.size());
    cudaMemcpy(results.data(), dr, results.size() * sizeof(Result), cudaMemcpyDeviceToHost);
    for (int f = 0; f < functions; ++f)
        for (int i = 0; i < count; ++i) {
            const Result& r = results[f * count + i];
            const double x = xs[f * count + i], y = ys[f * count + i];
            const long double wanted = reference(f, x, y);
            expect(f, "double", x, y, r.wide, wanted);
            expect(f, "float", x, y, r.narrow, wanted);
            expect(f, "overload", x, y, r.overloaded, wanted);
            expect(f, "std", x, y, r.standard, wanted);
            switch (f) {
#define HOST(name, ...)                                            \
    case at_##name:                                                \
        expect(f, "host", x, y, name(x), wanted);                  \
        expect(f, "host, float", x, y, name##f(float(x)), wanted); \
        expect(f, "host, overload", x, y, name(float(x)), wanted); \
        break;
                OF_CUDA(HOST)
            }
        }
    printf("%d functions, %d wrong\n", int(functions), wrong);
    return wrong != 0;
}
