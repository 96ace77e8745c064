// Arithmetic, comparison and operators of cuda_fp16.h and cuda_bf16.h (CUDA Math API, "Half" and "Bfloat16
// Arithmetic Functions", "Comparison Functions"). See short_float_type.h. A float holds sums, products,
// quotients and square roots of these numbers so precisely that rounding them again is rounding once (its
// significand has more than twice as many bits, and two).
#define CUDASIM_ROUNDED(value) cudasim::Of<CUDASIM_SHORT>::rounded(value)
#define CUDASIM_BOTH(function) CUDASIM_PAIR(function(a.x, b.x), function(a.y, b.y))

#define CUDASIM_BINARY(name, pair_name, value)                                               \
    CUDASIM_HOST_DEVICE CUDASIM_SHORT name(const CUDASIM_SHORT a, const CUDASIM_SHORT b) {   \
        const float x = cudasim::value_of(a), y = cudasim::value_of(b);                      \
        return CUDASIM_ROUNDED(value);                                                       \
    }                                                                                        \
    CUDASIM_HOST_DEVICE CUDASIM_PAIR pair_name(const CUDASIM_PAIR a, const CUDASIM_PAIR b) { \
        return CUDASIM_BOTH(name);                                                           \
    }
CUDASIM_BINARY(__hadd, __hadd2, x + y)
CUDASIM_BINARY(__hsub, __hsub2, x - y)
CUDASIM_BINARY(__hmul, __hmul2, x* y)
CUDASIM_BINARY(__hdiv, __h2div, cudasim::quotient(x, y))
CUDASIM_BINARY(__hadd_rn, __hadd2_rn, x + y)
CUDASIM_BINARY(__hsub_rn, __hsub2_rn, x - y)
CUDASIM_BINARY(__hmul_rn, __hmul2_rn, x* y)
CUDASIM_BINARY(__hadd_sat, __hadd2_sat, cudasim::saturated(x + y))
CUDASIM_BINARY(__hsub_sat, __hsub2_sat, cudasim::saturated(x - y))
CUDASIM_BINARY(__hmul_sat, __hmul2_sat, cudasim::saturated(x* y))
#undef CUDASIM_BINARY

#define CUDASIM_MULTIPLY_ADD(name, pair_name, value)                                       \
    CUDASIM_HOST_DEVICE CUDASIM_SHORT name(const CUDASIM_SHORT a, const CUDASIM_SHORT b,   \
                                           const CUDASIM_SHORT c) {                        \
        const float sum = cudasim::Short<CUDASIM_FORMAT>::multiply_add(                    \
            cudasim::value_of(a), cudasim::value_of(b), cudasim::value_of(c));             \
        return CUDASIM_ROUNDED(value);                                                     \
    }                                                                                      \
    CUDASIM_HOST_DEVICE CUDASIM_PAIR pair_name(const CUDASIM_PAIR a, const CUDASIM_PAIR b, \
                                               const CUDASIM_PAIR c) {                     \
        return CUDASIM_PAIR(name(a.x, b.x, c.x), name(a.y, b.y, c.y));                     \
    }
CUDASIM_MULTIPLY_ADD(__hfma, __hfma2, sum)
CUDASIM_MULTIPLY_ADD(__hfma_sat, __hfma2_sat, cudasim::saturated(sum))
CUDASIM_MULTIPLY_ADD(__hfma_relu, __hfma2_relu, sum <= 0 ? 0.0F : sum)
#undef CUDASIM_MULTIPLY_ADD

CUDASIM_HOST_DEVICE CUDASIM_SHORT __habs(const CUDASIM_SHORT a) {
    return cudasim::Of<CUDASIM_SHORT>::of_bits(cudasim::bits_of(a) & 0x7fffU);
}
CUDASIM_HOST_DEVICE CUDASIM_PAIR __habs2(const CUDASIM_PAIR a) {
    return CUDASIM_PAIR(__habs(a.x), __habs(a.y));
}
CUDASIM_HOST_DEVICE CUDASIM_SHORT __hneg(const CUDASIM_SHORT a) {
    return cudasim::Of<CUDASIM_SHORT>::of_bits(cudasim::bits_of(a) ^ 0x8000U);
}
CUDASIM_HOST_DEVICE CUDASIM_PAIR __hneg2(const CUDASIM_PAIR a) {
    return CUDASIM_PAIR(__hneg(a.x), __hneg(a.y));
}
// a * b + c of complex numbers, the real part in x.
CUDASIM_HOST_DEVICE CUDASIM_PAIR __hcmadd(const CUDASIM_PAIR a, const CUDASIM_PAIR b, const CUDASIM_PAIR c) {
    const CUDASIM_SHORT real_part = __hfma(a.x, b.x, c.x), imaginary_part = __hfma(a.x, b.y, c.y);
    return CUDASIM_PAIR(__hfma(__hneg(a.y), b.y, real_part), __hfma(a.y, b.x, imaginary_part));
}

CUDASIM_HOST_DEVICE bool __hisnan(const CUDASIM_SHORT a) {
    return (cudasim::bits_of(a) & 0x7fffU) > CUDASIM_FORMAT::infinity;
}
CUDASIM_HOST_DEVICE CUDASIM_PAIR __hisnan2(const CUDASIM_PAIR a) {
    return CUDASIM_PAIR(CUDASIM_ROUNDED(__hisnan(a.x)), CUDASIM_ROUNDED(__hisnan(a.y)));
}
CUDASIM_HOST_DEVICE int __hisinf(const CUDASIM_SHORT a) {
    const unsigned bits = cudasim::bits_of(a);
    return bits == CUDASIM_FORMAT::infinity ? 1 : bits == (0x8000U | CUDASIM_FORMAT::infinity) ? -1 : 0;
}

// Comparisons: the ordered ones are false and the unordered ones true where a number is NaN.
#define CUDASIM_COMPARISON(how, condition)                                                             \
    CUDASIM_HOST_DEVICE bool __h##how(const CUDASIM_SHORT a, const CUDASIM_SHORT b) {                  \
        const float x = cudasim::value_of(a), y = cudasim::value_of(b);                                \
        return condition;                                                                              \
    }                                                                                                  \
    CUDASIM_HOST_DEVICE CUDASIM_PAIR __h##how##2(const CUDASIM_PAIR a, const CUDASIM_PAIR b) {         \
        return CUDASIM_PAIR(CUDASIM_ROUNDED(__h##how(a.x, b.x)), CUDASIM_ROUNDED(__h##how(a.y, b.y))); \
    }                                                                                                  \
    CUDASIM_HOST_DEVICE unsigned int __h##how##2_mask(const CUDASIM_PAIR a, const CUDASIM_PAIR b) {    \
        return (__h##how(a.x, b.x) ? 0xffffU : 0U) | (__h##how(a.y, b.y) ? 0xffff0000U : 0U);          \
    }                                                                                                  \
    CUDASIM_HOST_DEVICE bool __hb##how##2(const CUDASIM_PAIR a, const CUDASIM_PAIR b) {                \
        return __h##how(a.x, b.x) && __h##how(a.y, b.y);                                               \
    }
CUDASIM_COMPARISON(eq, x == y)
CUDASIM_COMPARISON(ne, x<y || x> y)
CUDASIM_COMPARISON(le, x <= y)
CUDASIM_COMPARISON(ge, x >= y)
CUDASIM_COMPARISON(lt, x < y)
CUDASIM_COMPARISON(gt, x > y)
CUDASIM_COMPARISON(equ, !(x < y || x > y))
CUDASIM_COMPARISON(neu, !(x == y))
CUDASIM_COMPARISON(leu, !(x > y))
CUDASIM_COMPARISON(geu, !(x < y))
CUDASIM_COMPARISON(ltu, !(x >= y))
CUDASIM_COMPARISON(gtu, !(x <= y))
#undef CUDASIM_COMPARISON

// -0 is less than +0. `signs` combines the bits of equal numbers, which differ in nothing but the sign.
#define CUDASIM_EXTREME(name, order, signs)                                                      \
    CUDASIM_HOST_DEVICE CUDASIM_SHORT name##_nan(const CUDASIM_SHORT a, const CUDASIM_SHORT b) { \
        if (__hisnan(a) || __hisnan(b)) return cudasim::Of<CUDASIM_SHORT>::of_bits(0x7fff);      \
        const float x = cudasim::value_of(a), y = cudasim::value_of(b);                          \
        const CUDASIM_SHORT equal =                                                              \
            cudasim::Of<CUDASIM_SHORT>::of_bits(cudasim::bits_of(a) signs cudasim::bits_of(b));  \
        return x order y ? a : y order x ? b : equal;                                            \
    }                                                                                            \
    CUDASIM_HOST_DEVICE CUDASIM_SHORT name(const CUDASIM_SHORT a, const CUDASIM_SHORT b) {       \
        return name##_nan(__hisnan(a) ? b : a, __hisnan(b) ? a : b);                             \
    }                                                                                            \
    CUDASIM_HOST_DEVICE CUDASIM_PAIR name##2_nan(const CUDASIM_PAIR a, const CUDASIM_PAIR b) {   \
        return CUDASIM_BOTH(name##_nan);                                                         \
    }                                                                                            \
    CUDASIM_HOST_DEVICE CUDASIM_PAIR name##2(const CUDASIM_PAIR a, const CUDASIM_PAIR b) {       \
        return CUDASIM_BOTH(name);                                                               \
    }
CUDASIM_EXTREME(__hmax, >, &)
CUDASIM_EXTREME(__hmin, <, |)
#undef CUDASIM_EXTREME

#define CUDASIM_OPERATORS(type, add, subtract, multiply, divide, negate, one) \
    CUDASIM_HOST_DEVICE type operator+(const type& lh, const type& rh) {      \
        return add(lh, rh);                                                   \
    }                                                                         \
    CUDASIM_HOST_DEVICE type operator-(const type& lh, const type& rh) {      \
        return subtract(lh, rh);                                              \
    }                                                                         \
    CUDASIM_HOST_DEVICE type operator*(const type& lh, const type& rh) {      \
        return multiply(lh, rh);                                              \
    }                                                                         \
    CUDASIM_HOST_DEVICE type operator/(const type& lh, const type& rh) {      \
        return divide(lh, rh);                                                \
    }                                                                         \
    CUDASIM_HOST_DEVICE type& operator+=(type& lh, const type& rh) {          \
        return lh = add(lh, rh);                                              \
    }                                                                         \
    CUDASIM_HOST_DEVICE type& operator-=(type& lh, const type& rh) {          \
        return lh = subtract(lh, rh);                                         \
    }                                                                         \
    CUDASIM_HOST_DEVICE type& operator*=(type& lh, const type& rh) {          \
        return lh = multiply(lh, rh);                                         \
    }                                                                         \
    CUDASIM_HOST_DEVICE type& operator/=(type& lh, const type& rh) {          \
        return lh = divide(lh, rh);                                           \
    }                                                                         \
    CUDASIM_HOST_DEVICE type& operator++(type& h) {                           \
        return h = add(h, one);                                               \
    }                                                                         \
    CUDASIM_HOST_DEVICE type& operator--(type& h) {                           \
        return h = subtract(h, one);                                          \
    }                                                                         \
    CUDASIM_HOST_DEVICE type operator++(type& h, const int) {                 \
        const type before = h;                                                \
        ++h;                                                                  \
        return before;                                                        \
    }                                                                         \
    CUDASIM_HOST_DEVICE type operator--(type& h, const int) {                 \
        const type before = h;                                                \
        --h;                                                                  \
        return before;                                                        \
    }                                                                         \
    CUDASIM_HOST_DEVICE type operator+(const type& h) {                       \
        return h;                                                             \
    }                                                                         \
    CUDASIM_HOST_DEVICE type operator-(const type& h) {                       \
        return negate(h);                                                     \
    }
#define CUDASIM_COMPARED(type, sign, function)                               \
    CUDASIM_HOST_DEVICE bool operator sign(const type& lh, const type& rh) { \
        return function(lh, rh);                                             \
    }
#if CUDASIM_WITH_OPERATORS
CUDASIM_OPERATORS(CUDASIM_SHORT, __hadd, __hsub, __hmul, __hdiv, __hneg, CUDASIM_ROUNDED(1))
CUDASIM_COMPARED(CUDASIM_SHORT, ==, __heq)
CUDASIM_COMPARED(CUDASIM_SHORT, !=, __hneu)
CUDASIM_COMPARED(CUDASIM_SHORT, >, __hgt)
CUDASIM_COMPARED(CUDASIM_SHORT, <, __hlt)
CUDASIM_COMPARED(CUDASIM_SHORT, >=, __hge)
CUDASIM_COMPARED(CUDASIM_SHORT, <=, __hle)
#endif
#if CUDASIM_WITH_PAIR_OPERATORS
CUDASIM_OPERATORS(CUDASIM_PAIR, __hadd2, __hsub2, __hmul2, __h2div, __hneg2,
                  CUDASIM_PAIR(CUDASIM_ROUNDED(1), CUDASIM_ROUNDED(1)))
CUDASIM_COMPARED(CUDASIM_PAIR, ==, __hbeq2)
CUDASIM_COMPARED(CUDASIM_PAIR, !=, __hbneu2)
CUDASIM_COMPARED(CUDASIM_PAIR, >, __hbgt2)
CUDASIM_COMPARED(CUDASIM_PAIR, <, __hblt2)
CUDASIM_COMPARED(CUDASIM_PAIR, >=, __hbge2)
CUDASIM_COMPARED(CUDASIM_PAIR, <=, __hble2)
#endif
#undef CUDASIM_OPERATORS
#undef CUDASIM_COMPARED
#undef CUDASIM_ROUNDED
#undef CUDASIM_BOTH
