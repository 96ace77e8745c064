// The types of one format of cuda_fp8.h, cuda_fp6.h or cuda_fp4.h: one number, two, four. Includers define
// CUDASIM_ONE, CUDASIM_TWO, CUDASIM_FOUR, their storage types with _STORAGE behind, CUDASIM_BITS (how many
// bits apart numbers lie), CUDASIM_PATTERN(double) and CUDASIM_FLOAT(pattern); CUDASIM_WITH_CONSTRUCTORS and
// CUDASIM_WITH_CONVERSIONS where the program has not turned them off.
struct __align__(sizeof(CUDASIM_ONE_STORAGE)) CUDASIM_ONE {
    CUDASIM_ONE_STORAGE __x;

    CUDASIM_ONE() = default;
#if CUDASIM_WITH_CONSTRUCTORS
#define CUDASIM_FROM(type) \
    explicit CUDASIM_MEMBER CUDASIM_ONE(const type value) : __x(CUDASIM_PATTERN(cudasim::widened(value))) {}
    explicit CUDASIM_MEMBER CUDASIM_ONE(const __half value)
        : __x(CUDASIM_PATTERN(cudasim::double_of(static_cast<__half_raw>(value)))) {}
    explicit CUDASIM_MEMBER CUDASIM_ONE(const __nv_bfloat16 value)
        : __x(CUDASIM_PATTERN(cudasim::double_of(static_cast<__nv_bfloat16_raw>(value)))) {}
    CUDASIM_FROM(float)
    CUDASIM_FROM(double)
    CUDASIM_FROM(short)
    CUDASIM_FROM(unsigned short)
    CUDASIM_FROM(int)
    CUDASIM_FROM(unsigned int)
    CUDASIM_FROM(long)
    CUDASIM_FROM(unsigned long)
    CUDASIM_FROM(long long)
    CUDASIM_FROM(unsigned long long)
#undef CUDASIM_FROM
#endif
#if CUDASIM_WITH_CONVERSIONS
    explicit CUDASIM_MEMBER operator float() const { return CUDASIM_FLOAT(__x); }
    explicit CUDASIM_MEMBER operator double() const { return static_cast<double>(CUDASIM_FLOAT(__x)); }
    explicit CUDASIM_MEMBER operator __half() const { return __float2half(CUDASIM_FLOAT(__x)); }
    explicit CUDASIM_MEMBER operator __nv_bfloat16() const { return __float2bfloat16(CUDASIM_FLOAT(__x)); }
    explicit CUDASIM_MEMBER operator bool() const { return !(CUDASIM_FLOAT(__x) == 0); }
#define CUDASIM_TO(type)                                                               \
    explicit CUDASIM_MEMBER operator type() const {                                    \
        return cudasim::integer_of<type>(CUDASIM_FLOAT(__x), cudasim::Rounding::zero); \
    }
    CUDASIM_TO(char)
    CUDASIM_TO(signed char)
    CUDASIM_TO(unsigned char)
    CUDASIM_TO(short)
    CUDASIM_TO(unsigned short)
    CUDASIM_TO(int)
    CUDASIM_TO(unsigned int)
    CUDASIM_TO(long)
    CUDASIM_TO(unsigned long)
    CUDASIM_TO(long long)
    CUDASIM_TO(unsigned long long)
#undef CUDASIM_TO
#endif
};

// Two numbers, the first in the low bits; then four.
#define CUDASIM_PACKED(low, high) \
    static_cast<CUDASIM_TWO_STORAGE>(CUDASIM_PATTERN(low) | CUDASIM_PATTERN(high) << CUDASIM_BITS)
#define CUDASIM_UNPACKED(index) CUDASIM_FLOAT((__x >> (index * CUDASIM_BITS)) & ((1U << CUDASIM_BITS) - 1))

struct __align__(sizeof(CUDASIM_TWO_STORAGE)) CUDASIM_TWO {
    CUDASIM_TWO_STORAGE __x;

    CUDASIM_TWO() = default;
#if CUDASIM_WITH_CONSTRUCTORS
    explicit CUDASIM_MEMBER CUDASIM_TWO(const __half2 value) {
        const __half2_raw raw = value;
        __x = CUDASIM_PACKED(cudasim::double_of(cudasim::low_half(raw)),
                             cudasim::double_of(cudasim::high_half(raw)));
    }
    explicit CUDASIM_MEMBER CUDASIM_TWO(const __nv_bfloat162 value) {
        const __nv_bfloat162_raw raw = value;
        __x = CUDASIM_PACKED(cudasim::double_of(cudasim::low_half(raw)),
                             cudasim::double_of(cudasim::high_half(raw)));
    }
    explicit CUDASIM_MEMBER CUDASIM_TWO(const float2 value)
        : __x(CUDASIM_PACKED(cudasim::widened(value.x), cudasim::widened(value.y))) {}
    explicit CUDASIM_MEMBER CUDASIM_TWO(const double2 value) : __x(CUDASIM_PACKED(value.x, value.y)) {}
#endif
#if CUDASIM_WITH_CONVERSIONS
    explicit CUDASIM_MEMBER operator float2() const {
        return make_float2(CUDASIM_UNPACKED(0), CUDASIM_UNPACKED(1));
    }
    explicit CUDASIM_MEMBER operator __half2() const {
        return __floats2half2_rn(CUDASIM_UNPACKED(0), CUDASIM_UNPACKED(1));
    }
#if CUDASIM_WITH_PAIR_OF_BFLOATS
    explicit CUDASIM_MEMBER operator __nv_bfloat162() const {
        return __floats2bfloat162_rn(CUDASIM_UNPACKED(0), CUDASIM_UNPACKED(1));
    }
#endif
#endif
};

struct __align__(sizeof(CUDASIM_FOUR_STORAGE)) CUDASIM_FOUR {
    CUDASIM_FOUR_STORAGE __x;

    CUDASIM_FOUR() = default;
#if CUDASIM_WITH_CONSTRUCTORS
#define CUDASIM_FROM_VECTOR(type)                                                          \
    explicit CUDASIM_MEMBER CUDASIM_FOUR(const type value)                                 \
        : __x(joined(CUDASIM_PACKED(cudasim::widened(value.x), cudasim::widened(value.y)), \
                     CUDASIM_PACKED(cudasim::widened(value.z), cudasim::widened(value.w)))) {}
    CUDASIM_FROM_VECTOR(float4)
    CUDASIM_FROM_VECTOR(double4)
    CUDASIM_FROM_VECTOR(double4_16a)
    CUDASIM_FROM_VECTOR(double4_32a)
#undef CUDASIM_FROM_VECTOR
    explicit CUDASIM_MEMBER CUDASIM_FOUR(const __half2 low, const __half2 high)
        : __x(joined(CUDASIM_TWO(low).__x, CUDASIM_TWO(high).__x)) {}
    explicit CUDASIM_MEMBER CUDASIM_FOUR(const __nv_bfloat162 low, const __nv_bfloat162 high)
        : __x(joined(CUDASIM_TWO(low).__x, CUDASIM_TWO(high).__x)) {}
#endif
#if CUDASIM_WITH_CONVERSIONS
    explicit CUDASIM_MEMBER operator float4() const {
        return make_float4(CUDASIM_UNPACKED(0), CUDASIM_UNPACKED(1), CUDASIM_UNPACKED(2),
                           CUDASIM_UNPACKED(3));
    }
#endif

  private:
    CUDASIM_MEMBER static CUDASIM_FOUR_STORAGE joined(CUDASIM_TWO_STORAGE low, CUDASIM_TWO_STORAGE high) {
        return static_cast<CUDASIM_FOUR_STORAGE>(low | static_cast<unsigned>(high) << (2 * CUDASIM_BITS));
    }
};

#undef CUDASIM_PACKED
#undef CUDASIM_UNPACKED
#undef CUDASIM_ONE
#undef CUDASIM_TWO
#undef CUDASIM_FOUR
#undef CUDASIM_PATTERN
#undef CUDASIM_FLOAT
