// Conversions of cuda_fp16.h and cuda_bf16.h (CUDA Math API, "Half" and "Bfloat16 Precision Conversion and
// Data Movement"). See short_float_type.h; CUDASIM_WORD is what stands for the type in names: half or
// bfloat16.
#define CUDASIM_NAME(before, after) CUDASIM_JOINED(before, CUDASIM_WORD, after)
#define CUDASIM_VALUE(pattern) cudasim::Of<CUDASIM_SHORT>::of_bits(pattern)

CUDASIM_HOST_DEVICE CUDASIM_SHORT CUDASIM_NAME(__float2, )(const float a) {
    return cudasim::Of<CUDASIM_SHORT>::rounded(a);
}
CUDASIM_HOST_DEVICE CUDASIM_SHORT CUDASIM_NAME(__float2, _rn)(const float a) {
    return cudasim::Of<CUDASIM_SHORT>::rounded(a);
}
CUDASIM_HOST_DEVICE CUDASIM_SHORT CUDASIM_NAME(__double2, )(const double a) {
    return cudasim::Of<CUDASIM_SHORT>::rounded(cudasim::narrow_to_odd(a));
}
#define CUDASIM_FROM(from, suffix, type, function, rounding)                                     \
    CUDASIM_HOST_DEVICE CUDASIM_SHORT CUDASIM_NAME(from, suffix)(const type a) {                 \
        return CUDASIM_VALUE(cudasim::function<CUDASIM_FORMAT>(a, cudasim::Rounding::rounding)); \
    }
#define CUDASIM_FROM_DIRECTED(from, type, function) \
    CUDASIM_FROM(from, _rz, type, function, zero)   \
    CUDASIM_FROM(from, _rd, type, function, down)   \
    CUDASIM_FROM(from, _ru, type, function, up)
#define CUDASIM_FROM_INTEGER(from, type)                \
    CUDASIM_FROM_DIRECTED(from, type, short_of_integer) \
    CUDASIM_FROM(from, _rn, type, short_of_integer, nearest)
CUDASIM_FROM_DIRECTED(__float2, float, short_of_double)
CUDASIM_FROM_INTEGER(__short2, short)
CUDASIM_FROM_INTEGER(__ushort2, unsigned short)
CUDASIM_FROM_INTEGER(__int2, int)
CUDASIM_FROM_INTEGER(__uint2, unsigned int)
CUDASIM_FROM_INTEGER(__ll2, long long)
CUDASIM_FROM_INTEGER(__ull2, unsigned long long)
#undef CUDASIM_FROM
#undef CUDASIM_FROM_DIRECTED
#undef CUDASIM_FROM_INTEGER

CUDASIM_HOST_DEVICE float CUDASIM_NAME(__, 2float)(const CUDASIM_SHORT a) {
    return cudasim::Short<CUDASIM_FORMAT>::converted(cudasim::bits_of(a));
}
#define CUDASIM_TO(suffix, type, rounding)                                                   \
    CUDASIM_HOST_DEVICE type CUDASIM_NAME(__, suffix)(const CUDASIM_SHORT h) {               \
        return cudasim::integer_of<type>(cudasim::value_of(h), cudasim::Rounding::rounding); \
    }
#define CUDASIM_TO_INTEGER(to, type)   \
    CUDASIM_TO(to##_rn, type, nearest) \
    CUDASIM_TO(to##_rz, type, zero)    \
    CUDASIM_TO(to##_rd, type, down)    \
    CUDASIM_TO(to##_ru, type, up)
CUDASIM_TO(2char_rz, signed char, zero)
CUDASIM_TO(2uchar_rz, unsigned char, zero)
CUDASIM_TO_INTEGER(2short, short)
CUDASIM_TO_INTEGER(2ushort, unsigned short)
CUDASIM_TO_INTEGER(2int, int)
CUDASIM_TO_INTEGER(2uint, unsigned int)
CUDASIM_TO_INTEGER(2ll, long long)
CUDASIM_TO_INTEGER(2ull, unsigned long long)
#undef CUDASIM_TO
#undef CUDASIM_TO_INTEGER

CUDASIM_HOST_DEVICE short CUDASIM_NAME(__, _as_short)(const CUDASIM_SHORT h) {
    return static_cast<short>(cudasim::bits_of(h));
}
CUDASIM_HOST_DEVICE unsigned short CUDASIM_NAME(__, _as_ushort)(const CUDASIM_SHORT h) {
    return cudasim::bits_of(h);
}
CUDASIM_HOST_DEVICE CUDASIM_SHORT CUDASIM_NAME(__short_as_, )(const short i) {
    return CUDASIM_VALUE(static_cast<unsigned short>(i));
}
CUDASIM_HOST_DEVICE CUDASIM_SHORT CUDASIM_NAME(__ushort_as_, )(const unsigned short i) {
    return CUDASIM_VALUE(i);
}

CUDASIM_HOST_DEVICE CUDASIM_PAIR CUDASIM_NAME(make_, 2)(const CUDASIM_SHORT x, const CUDASIM_SHORT y) {
    return CUDASIM_PAIR(x, y);
}
CUDASIM_HOST_DEVICE CUDASIM_PAIR CUDASIM_NAME(__halves2, 2)(const CUDASIM_SHORT a, const CUDASIM_SHORT b) {
    return CUDASIM_PAIR(a, b);
}
CUDASIM_HOST_DEVICE CUDASIM_PAIR CUDASIM_JOINED5(__, CUDASIM_WORD, 2, CUDASIM_WORD,
                                                 2)(const CUDASIM_SHORT a) {
    return CUDASIM_PAIR(a, a);
}
CUDASIM_HOST_DEVICE CUDASIM_PAIR CUDASIM_NAME(__float2, 2_rn)(const float a) {
    return CUDASIM_PAIR(CUDASIM_NAME(__float2, )(a), CUDASIM_NAME(__float2, )(a));
}
CUDASIM_HOST_DEVICE CUDASIM_PAIR CUDASIM_NAME(__floats2, 2_rn)(const float a, const float b) {
    return CUDASIM_PAIR(CUDASIM_NAME(__float2, )(a), CUDASIM_NAME(__float2, )(b));
}
CUDASIM_HOST_DEVICE CUDASIM_PAIR CUDASIM_NAME(__float22, 2_rn)(const float2 a) {
    return CUDASIM_PAIR(CUDASIM_NAME(__float2, )(a.x), CUDASIM_NAME(__float2, )(a.y));
}
CUDASIM_HOST_DEVICE float __low2float(const CUDASIM_PAIR a) {
    return CUDASIM_NAME(__, 2float)(a.x);
}
CUDASIM_HOST_DEVICE float __high2float(const CUDASIM_PAIR a) {
    return CUDASIM_NAME(__, 2float)(a.y);
}
CUDASIM_HOST_DEVICE float2 CUDASIM_NAME(__, 22float2)(const CUDASIM_PAIR a) {
    return make_float2(__low2float(a), __high2float(a));
}
CUDASIM_HOST_DEVICE CUDASIM_SHORT CUDASIM_NAME(__low2, )(const CUDASIM_PAIR a) {
    return a.x;
}
CUDASIM_HOST_DEVICE CUDASIM_SHORT CUDASIM_NAME(__high2, )(const CUDASIM_PAIR a) {
    return a.y;
}
CUDASIM_HOST_DEVICE CUDASIM_PAIR CUDASIM_NAME(__low2, 2)(const CUDASIM_PAIR a) {
    return CUDASIM_PAIR(a.x, a.x);
}
CUDASIM_HOST_DEVICE CUDASIM_PAIR CUDASIM_NAME(__high2, 2)(const CUDASIM_PAIR a) {
    return CUDASIM_PAIR(a.y, a.y);
}
CUDASIM_HOST_DEVICE CUDASIM_PAIR CUDASIM_NAME(__lows2, 2)(const CUDASIM_PAIR a, const CUDASIM_PAIR b) {
    return CUDASIM_PAIR(a.x, b.x);
}
CUDASIM_HOST_DEVICE CUDASIM_PAIR CUDASIM_NAME(__highs2, 2)(const CUDASIM_PAIR a, const CUDASIM_PAIR b) {
    return CUDASIM_PAIR(a.y, b.y);
}
CUDASIM_HOST_DEVICE CUDASIM_PAIR __lowhigh2highlow(const CUDASIM_PAIR a) {
    return CUDASIM_PAIR(a.y, a.x);
}

#undef CUDASIM_NAME
#undef CUDASIM_VALUE
