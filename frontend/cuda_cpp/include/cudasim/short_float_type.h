// The types of cuda_fp16.h and cuda_bf16.h, which include this file with names of their own for
// CUDASIM_SHORT, CUDASIM_PAIR, CUDASIM_RAW, CUDASIM_RAW_PAIR, CUDASIM_OTHER (the other header's type) and
// CUDASIM_FORMAT (of float_formats.h). Members and conversions are those of the CUDA Math API, "Half" and
// "Bfloat16 Precision Conversion and Data Movement".
struct CUDASIM_OTHER;

struct __align__(2) CUDASIM_SHORT {
  protected:
    unsigned short __x;

  public:
    CUDASIM_SHORT() = default;
    CUDASIM_MEMBER constexpr CUDASIM_SHORT(const CUDASIM_RAW& raw) : __x(raw.x) {}
    CUDASIM_MEMBER CUDASIM_SHORT& operator=(const CUDASIM_RAW& raw) {
        __x = raw.x;
        return *this;
    }
    CUDASIM_MEMBER volatile CUDASIM_SHORT& operator=(const CUDASIM_RAW& raw) volatile {
        __x = raw.x;
        return *this;
    }
    CUDASIM_MEMBER volatile CUDASIM_SHORT& operator=(const volatile CUDASIM_RAW& raw) volatile {
        __x = raw.x;
        return *this;
    }
    CUDASIM_MEMBER operator CUDASIM_RAW() const {
        CUDASIM_RAW raw;
        raw.x = __x;
        return raw;
    }
    CUDASIM_MEMBER operator CUDASIM_RAW() const volatile {
        CUDASIM_RAW raw;
        raw.x = __x;
        return raw;
    }

#if CUDASIM_WITH_CONVERSIONS
    explicit CUDASIM_MEMBER CUDASIM_SHORT(const CUDASIM_OTHER other);

#define CUDASIM_FROM(type, pattern) \
    CUDASIM_MEMBER CUDASIM_SHORT(const type value) : __x(pattern) {}
#define CUDASIM_FROM_AND_ASSIGNED(type, pattern)                \
    CUDASIM_FROM(type, pattern)                                 \
    CUDASIM_MEMBER CUDASIM_SHORT& operator=(const type value) { \
        __x = pattern;                                          \
        return *this;                                           \
    }
#define CUDASIM_NEAREST cudasim::Rounding::nearest
    CUDASIM_FROM_AND_ASSIGNED(float, cudasim::Short<CUDASIM_FORMAT>::of(value))
    CUDASIM_FROM_AND_ASSIGNED(double, cudasim::Short<CUDASIM_FORMAT>::of(cudasim::narrow_to_odd(value)))
    CUDASIM_MEMBER operator float() const { return cudasim::Short<CUDASIM_FORMAT>::converted(__x); }
#if !defined(CUDASIM_WITHOUT_INTEGERS) || defined(__CUDACC__)
    CUDASIM_FROM_AND_ASSIGNED(short, cudasim::Short<CUDASIM_FORMAT>::of(value))
    CUDASIM_FROM_AND_ASSIGNED(unsigned short, cudasim::Short<CUDASIM_FORMAT>::of(value))
    CUDASIM_FROM_AND_ASSIGNED(int, cudasim::Short<CUDASIM_FORMAT>::of(cudasim::narrow_to_odd(value)))
    CUDASIM_FROM_AND_ASSIGNED(unsigned int, cudasim::Short<CUDASIM_FORMAT>::of(cudasim::narrow_to_odd(value)))
    CUDASIM_FROM(long, cudasim::short_of_integer<CUDASIM_FORMAT>(value, CUDASIM_NEAREST))
    CUDASIM_FROM(unsigned long, cudasim::short_of_integer<CUDASIM_FORMAT>(value, CUDASIM_NEAREST))
    CUDASIM_FROM_AND_ASSIGNED(long long, cudasim::short_of_integer<CUDASIM_FORMAT>(value, CUDASIM_NEAREST))
    CUDASIM_FROM_AND_ASSIGNED(unsigned long long,
                              cudasim::short_of_integer<CUDASIM_FORMAT>(value, CUDASIM_NEAREST))

    // As in C++, the fraction is dropped.
#define CUDASIM_TO(type)                                                                                    \
    CUDASIM_MEMBER operator type() const {                                                                  \
        return cudasim::integer_of<type>(cudasim::Short<CUDASIM_FORMAT>::to(__x), cudasim::Rounding::zero); \
    }
    CUDASIM_TO(signed char)
    CUDASIM_TO(unsigned char)
    CUDASIM_TO(char)
    CUDASIM_TO(short)
    CUDASIM_TO(unsigned short)
    CUDASIM_TO(int)
    CUDASIM_TO(unsigned int)
    CUDASIM_TO(long)
    CUDASIM_TO(unsigned long)
    CUDASIM_TO(long long)
    CUDASIM_TO(unsigned long long)
#undef CUDASIM_TO
    CUDASIM_MEMBER constexpr operator bool() const { return (__x & 0x7fffU) != 0; }
#endif
#undef CUDASIM_FROM
#undef CUDASIM_FROM_AND_ASSIGNED
#undef CUDASIM_NEAREST
#endif
};

struct __align__(4) CUDASIM_PAIR {
    CUDASIM_SHORT x, y;

    CUDASIM_PAIR() = default;
    CUDASIM_PAIR(const CUDASIM_PAIR&) = default;
    CUDASIM_PAIR(CUDASIM_PAIR&&) = default;
    CUDASIM_PAIR& operator=(const CUDASIM_PAIR&) = default;
    CUDASIM_PAIR& operator=(CUDASIM_PAIR&&) = default;
    CUDASIM_MEMBER constexpr CUDASIM_PAIR(const CUDASIM_SHORT& low, const CUDASIM_SHORT& high)
        : x(low), y(high) {}
    CUDASIM_MEMBER CUDASIM_PAIR(const CUDASIM_RAW_PAIR& raw) { *this = raw; }
    CUDASIM_MEMBER CUDASIM_PAIR& operator=(const CUDASIM_RAW_PAIR& raw) {
        CUDASIM_RAW half;
        half.x = raw.x;
        x = half;
        half.x = raw.y;
        y = half;
        return *this;
    }
    CUDASIM_MEMBER operator CUDASIM_RAW_PAIR() const {
        CUDASIM_RAW_PAIR raw;
        raw.x = static_cast<CUDASIM_RAW>(x).x;
        raw.y = static_cast<CUDASIM_RAW>(y).x;
        return raw;
    }
};

namespace cudasim {
CUDASIM_HOST_DEVICE unsigned short bits_of(CUDASIM_SHORT x) {
    return static_cast<CUDASIM_RAW>(x).x;
}
CUDASIM_HOST_DEVICE unsigned bits_of(CUDASIM_PAIR x) {
    return static_cast<unsigned>(bits_of(x.y)) << 16 | bits_of(x.x);
}
template <>
struct Of<CUDASIM_SHORT> {
    typedef Short<CUDASIM_FORMAT> format;
    typedef CUDASIM_PAIR pair;
    CUDASIM_MEMBER static CUDASIM_SHORT of_bits(unsigned pattern) {
        CUDASIM_RAW raw;
        raw.x = static_cast<unsigned short>(pattern);
        return raw;
    }
    CUDASIM_MEMBER static CUDASIM_SHORT rounded(float x) { return of_bits(format::of(x)); }
};
template <>
struct Of<CUDASIM_PAIR> {
    CUDASIM_MEMBER static CUDASIM_PAIR of_bits(unsigned pattern) {
        return CUDASIM_PAIR(Of<CUDASIM_SHORT>::of_bits(pattern), Of<CUDASIM_SHORT>::of_bits(pattern >> 16));
    }
};
// For arithmetic, which does not care which NaN it is.
CUDASIM_HOST_DEVICE float value_of(CUDASIM_SHORT x) {
    return Short<CUDASIM_FORMAT>::to(bits_of(x));
}
}  // namespace cudasim
