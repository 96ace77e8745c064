// See special_functions.h.
#include "simulator/libdevice/special_functions.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <numbers>

namespace cudasim::libdevice {
namespace {

using Wide = long double;

/// The float form by way of the double form.
#define BY_WAY_OF_DOUBLE(name)                                   \
    float name(float x) {                                        \
        return static_cast<float>(name(static_cast<double>(x))); \
    }
#define BY_WAY_OF_LONG_DOUBLE(name, function)                       \
    double name(double x) {                                         \
        return static_cast<double>(function(static_cast<Wide>(x))); \
    }

/// numerator(x) / denominator(x), both of degree 7, lowest coefficients first.
struct Rational {
    double numerator[8], denominator[8];
    [[nodiscard]] double operator()(double x) const {
        double above = 0, below = 0;
        for (int i = 7; i >= 0; --i) {
            above = above * x + numerator[i];
            below = below * x + denominator[i];
        }
        return above / below;
    }
};

// M. Wichura, "Algorithm AS 241: The Percentage Points of the Normal Distribution", Applied Statistics 37
// (1988): PPND16, good to about 1 in 10**16.
constexpr Rational central = {{3.3871328727963665, 133.14166789178438, 1971.5909503065513, 13731.69376550946,
                               45921.95393154987, 67265.7709270087, 33430.57558358813, 2509.0809287301227},
                              {1.0, 42.31333070160091, 687.1870074920579, 5394.196021424751,
                               21213.794301586597, 39307.89580009271, 28729.085735721943, 5226.495278852854}};
constexpr Rational middle = {
    {1.4234371107496835, 4.630337846156546, 5.769497221460691, 3.6478483247632045, 1.2704582524523684,
     0.2417807251774506, 0.022723844989269184, 0.0007745450142783414},
    {1.0, 2.053191626637759, 1.6763848301838038, 0.6897673349851, 0.14810397642748008, 0.015198666563616457,
     0.0005475938084995345, 1.0507500716444169e-09}};
constexpr Rational far = {
    {6.657904643501103, 5.463784911164114, 1.7848265399172913, 0.29656057182850487, 0.026532189526576124,
     0.0012426609473880784, 2.7115555687434876e-05, 2.0103343992922881e-07},
    {1.0, 0.599832206555888, 0.1369298809227358, 0.014875361290850615, 0.0007868691311456133,
     1.8463183175100548e-05, 1.421511758316446e-07, 2.0442631033899397e-15}};

/// The quantile whose distance from 1/2 is `distance` and from 0 or 1, whichever is nearer, `tail`: each is
/// given exactly: half of the smallest double is a tail, too.
double normal_quantile(double distance, Wide tail) {
    if (std::fabs(distance) <= 0.425) return distance * central(0.180625 - distance * distance);
    const double depth = std::sqrt(static_cast<double>(-std::log(tail)));
    const double size = depth <= 5 ? middle(depth - 1.6) : far(depth - 5);
    return std::copysign(size, distance);
}

/// 1 / (n + 3)!
constexpr std::array<double, 12> inverse_factorials = [] {
    std::array<double, 12> made{};
    double factorial = 2;
    for (int n = 0; n < 12; ++n) made[n] = 1 / (factorial *= n + 3);
    return made;
}();

/// exp(x) - 1 for x in [0, 50], to some 60 bits: tanhl() has as many and takes several times as long. x = k
/// ln 2 + r, and exp(r) - 1 is r + r**2 / 2, which is exact, and a small rest.
Wide exponential_minus_1(double x) {
    constexpr double ln_2_high = 0x1.62e42fee00000p-1,
                     ln_2_low = 0x1.a39ef35793c76p-33;  // high: 32 bits, so k high is exact
    const double k = std::nearbyint(x * std::numbers::log2e);
    const double high = x - k * ln_2_high, r = high - k * ln_2_low;
    const double lost = (high - r) - k * ln_2_low;
    // The rest is r**3 times the sum of r**n / (n + 3)!; even and odd n apart, so that they are computed side
    // by side.
    const double square = r * r;
    double even = inverse_factorials[10], odd = inverse_factorials[11];
    for (int n = 8; n >= 0; n -= 2) {
        even = even * square + inverse_factorials[n];
        odd = odd * square + inverse_factorials[n + 1];
    }
    const double rest = (even + odd * r) * square * r + lost;
    const Wide less_1 = r + (static_cast<Wide>(r) * r / 2 + rest);
    const double power = std::bit_cast<double>(static_cast<std::uint64_t>(1023 + static_cast<int>(k)) << 52);
    return k == 0 ? less_1 : power * (1 + less_1) - 1;
}

Wide scaled_erfc(Wide x) {
    if (x < 100) return expl(x * x) * erfcl(x);
    const Wide square = 1 / (2 * x * x);  // the asymptotic series; its next term is below 1e-18
    return std::numbers::inv_sqrtpi_v<Wide> / x *
           (1 - square * (1 - 3 * square * (1 - 5 * square * (1 - 7 * square))));
}

constexpr double infinity = std::numeric_limits<double>::infinity();

}  // namespace

BY_WAY_OF_LONG_DOUBLE(cube_root, cbrtl)
BY_WAY_OF_DOUBLE(cube_root)
BY_WAY_OF_LONG_DOUBLE(reciprocal_cube_root, 1 / cbrtl)
BY_WAY_OF_DOUBLE(reciprocal_cube_root)
BY_WAY_OF_LONG_DOUBLE(reciprocal_square_root, 1 / sqrtl)
/// Correctly rounded: __frsqrt_rn.
float reciprocal_square_root(float x) {
    return static_cast<float>(1 / std::sqrt(static_cast<double>(x)));
}
BY_WAY_OF_LONG_DOUBLE(hyperbolic_cosine, coshl)
float hyperbolic_cosine(float x) {
    return static_cast<float>(std::cosh(static_cast<double>(x)));
}
double hyperbolic_tangent(double x) {
    const double size = std::fabs(x);
    if (!(size >= 0x1p-28)) return x;  // and NaN
    if (size > 20) return std::copysign(1.0, x);
    const Wide e = exponential_minus_1(2 * size);
    return std::copysign(static_cast<double>(e / (e + 2)), x);
}
float hyperbolic_tangent(float x) {
    if (std::fabs(x) < 0x1p-12F) return x;
    return static_cast<float>(1 - 2 / (std::exp(2 * static_cast<double>(x)) + 1));
}
BY_WAY_OF_LONG_DOUBLE(base_10_logarithm, log10l)
float base_10_logarithm(float x) {
    return static_cast<float>(std::log10(static_cast<double>(x)));
}
BY_WAY_OF_LONG_DOUBLE(base_10_exponential, exp10l)
float base_10_exponential(float x) {
    return static_cast<float>(::exp10(static_cast<double>(x)));
}
BY_WAY_OF_LONG_DOUBLE(bessel_j0, j0l)
float bessel_j0(float x) {
    return static_cast<float>(::j0(static_cast<double>(x)));
}
BY_WAY_OF_LONG_DOUBLE(bessel_j1, j1l)
float bessel_j1(float x) {
    return static_cast<float>(::j1(static_cast<double>(x)));
}
BY_WAY_OF_LONG_DOUBLE(bessel_y0, y0l)
float bessel_y0(float x) {
    return static_cast<float>(::y0(static_cast<double>(x)));
}
BY_WAY_OF_LONG_DOUBLE(bessel_y1, y1l)
float bessel_y1(float x) {
    return static_cast<float>(::y1(static_cast<double>(x)));
}

double bessel_jn(std::int32_t n, double x) {
    return n < 0 ? std::nan("") : ::jn(n, x);
}
float bessel_jn(std::int32_t n, float x) {
    return static_cast<float>(bessel_jn(n, static_cast<double>(x)));
}
double bessel_yn(std::int32_t n, double x) {
    return n < 0 ? std::nan("") : ::yn(n, x);
}
float bessel_yn(std::int32_t n, float x) {
    return static_cast<float>(bessel_yn(n, static_cast<double>(x)));
}

double gamma_function(double x) {
    return ::tgamma(x);
}
BY_WAY_OF_DOUBLE(gamma_function)
double log_gamma(double x) {
    int sign = 0;
    return ::lgamma_r(x, &sign);
}
BY_WAY_OF_DOUBLE(log_gamma)

double scaled_complementary_error_function(double x) {
    return static_cast<double>(scaled_erfc(x));
}
BY_WAY_OF_DOUBLE(scaled_complementary_error_function)

double normal_distribution(double x) {
    return static_cast<double>(erfcl(-x * (std::numbers::sqrt2_v<Wide> / 2)) / 2);
}
BY_WAY_OF_DOUBLE(normal_distribution)

double inverse_normal_distribution(double x) {
    if (std::isnan(x) || x < 0 || x > 1) return std::nan("");
    if (x == 0 || x == 1) return x == 0 ? -infinity : infinity;
    return normal_quantile(x - 0.5, std::min(x, 1 - x));
}
BY_WAY_OF_DOUBLE(inverse_normal_distribution)

double inverse_error_function(double x) {
    if (std::fabs(x) == 1) return std::copysign(infinity, x);
    if (!(std::fabs(x) < 1)) return std::nan("");
    return normal_quantile(x / 2, Wide{1 - std::fabs(x)} / 2) * (std::numbers::sqrt2 / 2);
}
BY_WAY_OF_DOUBLE(inverse_error_function)

double inverse_complementary_error_function(double x) {
    if (std::isnan(x) || x < 0 || x > 2) return std::nan("");
    if (x == 0 || x == 2) return x == 0 ? infinity : -infinity;
    return normal_quantile((1 - x) / 2, Wide{std::min(x, 2 - x)} / 2) * (std::numbers::sqrt2 / 2);
}
BY_WAY_OF_DOUBLE(inverse_complementary_error_function)

double reciprocal_hypotenuse(double x, double y) {
    return static_cast<double>(1 / hypotl(x, y));
}
float reciprocal_hypotenuse(float x, float y) {
    return static_cast<float>(1 / std::hypot(static_cast<double>(x), static_cast<double>(y)));
}
double integer_power(double base, std::int32_t exponent) {
    return std::pow(base, static_cast<double>(exponent));
}
float integer_power(float base, std::int32_t exponent) {
    return static_cast<float>(std::pow(static_cast<double>(base), static_cast<double>(exponent)));
}
float power_by_logarithm(float x, float y) {
    return static_cast<float>(std::exp2(y * std::log2(static_cast<double>(x))));
}
float quotient_by_reciprocal(float x, float y) {
    return std::fabs(y) > 0x1p126F ? x * std::copysign(0.0F, y) : x / y;
}

}  // namespace cudasim::libdevice
