// See rounding.h. Operands and results are volatile, so that no compiler moves the operation out from between
// the two changes of the mode.
#include "simulator/libdevice/rounding.h"

#include <cfenv>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace cudasim::libdevice {
namespace {

/// The rounding mode for as long as the object lives.
template <Rounding rounding>
class Mode {
  public:
#if defined(__SSE2__)
    // Bits 13 and 14 of MXCSR (Intel's manual, volume 1, 10.2.3).
    Mode() : saved_(_mm_getcsr()) { _mm_setcsr((saved_ & ~0x6000U) | control); }
    ~Mode() { _mm_setcsr(saved_); }

  private:
    static constexpr unsigned control = rounding == down   ? 0x2000
                                        : rounding == up   ? 0x4000
                                        : rounding == zero ? 0x6000
                                                           : 0;
    unsigned saved_;
#else
    Mode() : saved_(std::fegetround()) { std::fesetround(control); }
    ~Mode() { std::fesetround(saved_); }

  private:
    static constexpr int control = rounding == down   ? FE_DOWNWARD
                                   : rounding == up   ? FE_UPWARD
                                   : rounding == zero ? FE_TOWARDZERO
                                                      : FE_TONEAREST;
    int saved_;
#endif
  public:
    Mode(const Mode&) = delete;
    Mode& operator=(const Mode&) = delete;
};

/// operation(x...) in a mode.
template <Rounding rounding, class Result, class Operation, class... Operands>
Result rounded(Operation operation, Operands... operands) {
    if constexpr (rounding == nearest) {
        return operation(operands...);
    } else {
        volatile Result result;
        const Mode<rounding> mode;
        result = operation(static_cast<const volatile Operands&>(operands)...);
        return result;
    }
}

}  // namespace

template <Rounding rounding, class T>
T sum(T x, T y) {
    return rounded<rounding, T>([](T a, T b) { return a + b; }, x, y);
}
template <Rounding rounding, class T>
T difference(T x, T y) {
    return rounded<rounding, T>([](T a, T b) { return a - b; }, x, y);
}
template <Rounding rounding, class T>
T product(T x, T y) {
    return rounded<rounding, T>([](T a, T b) { return a * b; }, x, y);
}
template <Rounding rounding, class T>
T quotient(T x, T y) {
    return rounded<rounding, T>([](T a, T b) { return a / b; }, x, y);
}
template <Rounding rounding, class T>
T reciprocal(T x) {
    return quotient<rounding>(T(1), x);
}
template <Rounding rounding, class T>
T square_root(T x) {
    return rounded<rounding, T>([](T a) { return std::sqrt(a); }, x);
}
template <Rounding rounding, class T>
T multiply_add(T x, T y, T z) {
    return rounded<rounding, T>([](T a, T b, T c) { return std::fma(a, b, c); }, x, y, z);
}
template <Rounding rounding>
float narrowed(double x) {
    return rounded<rounding, float>([](double a) { return static_cast<float>(a); }, x);
}
template <Rounding rounding, class Real, class Integer>
Real from_integer(Integer x) {
    return rounded<rounding, Real>([](Integer a) { return static_cast<Real>(a); }, x);
}

#define FOR_REAL(rounding, T)                            \
    template T sum<rounding, T>(T, T);                   \
    template T difference<rounding, T>(T, T);            \
    template T product<rounding, T>(T, T);               \
    template T quotient<rounding, T>(T, T);              \
    template T reciprocal<rounding, T>(T);               \
    template T square_root<rounding, T>(T);              \
    template T multiply_add<rounding, T>(T, T, T);       \
    template T from_integer<rounding, T>(std::int32_t);  \
    template T from_integer<rounding, T>(std::uint32_t); \
    template T from_integer<rounding, T>(std::int64_t);  \
    template T from_integer<rounding, T>(std::uint64_t);
#define FOR_ROUNDING(rounding) \
    FOR_REAL(rounding, float)  \
    FOR_REAL(rounding, double) \
    template float narrowed<rounding>(double);
FOR_ROUNDING(down)
FOR_ROUNDING(nearest)
FOR_ROUNDING(up)
FOR_ROUNDING(zero)
#undef FOR_REAL
#undef FOR_ROUNDING

}  // namespace cudasim::libdevice
