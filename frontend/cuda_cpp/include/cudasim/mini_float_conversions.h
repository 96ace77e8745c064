// Conversions of cuda_fp8.h, cuda_fp6.h and cuda_fp4.h by name, of one number and of two. Includers define
// CUDASIM_KIND (what the names have: fp8), CUDASIM_ONE_STORAGE, CUDASIM_TWO_STORAGE, CUDASIM_BITS,
// CUDASIM_OPTIONS (the parameters behind the number), CUDASIM_OPTIONS_PASSED, CUDASIM_INTERPRETATION (an
// enum), CUDASIM_PATTERN(double) and CUDASIM_FLOAT(pattern, interpretation).
#define CUDASIM_TO_ONE(from, type, value)                                                          \
    CUDASIM_HOST_DEVICE CUDASIM_ONE_STORAGE CUDASIM_JOINED(__nv_cvt_##from##_to_, CUDASIM_KIND, )( \
        const type x, CUDASIM_OPTIONS) {                                                           \
        return static_cast<CUDASIM_ONE_STORAGE>(CUDASIM_PATTERN(value));                           \
    }
#define CUDASIM_TO_TWO(from, type, low, high)                                                        \
    CUDASIM_HOST_DEVICE CUDASIM_TWO_STORAGE CUDASIM_JOINED(__nv_cvt_##from##_to_, CUDASIM_KIND, x2)( \
        const type x, CUDASIM_OPTIONS) {                                                             \
        return static_cast<CUDASIM_TWO_STORAGE>(CUDASIM_PATTERN(low) | CUDASIM_PATTERN(high)         \
                                                                           << CUDASIM_BITS);         \
    }
CUDASIM_TO_ONE(double, double, x)
CUDASIM_TO_ONE(float, float, cudasim::widened(x))
CUDASIM_TO_ONE(halfraw, __half_raw, cudasim::double_of(x))
CUDASIM_TO_ONE(bfloat16raw, __nv_bfloat16_raw, cudasim::double_of(x))
CUDASIM_TO_TWO(double2, double2, x.x, x.y)
CUDASIM_TO_TWO(float2, float2, cudasim::widened(x.x), cudasim::widened(x.y))
CUDASIM_TO_TWO(halfraw2, __half2_raw, cudasim::double_of(cudasim::low_half(x)),
               cudasim::double_of(cudasim::high_half(x)))
CUDASIM_TO_TWO(bfloat16raw2, __nv_bfloat162_raw, cudasim::double_of(cudasim::low_half(x)),
               cudasim::double_of(cudasim::high_half(x)))

CUDASIM_HOST_DEVICE __half_raw CUDASIM_JOINED(__nv_cvt_, CUDASIM_KIND,
                                              _to_halfraw)(const CUDASIM_ONE_STORAGE x,
                                                           const CUDASIM_INTERPRETATION interpretation) {
    return cudasim::raw_half(CUDASIM_FLOAT(x, interpretation));
}
CUDASIM_HOST_DEVICE __half2_raw CUDASIM_JOINED(__nv_cvt_, CUDASIM_KIND,
                                               x2_to_halfraw2)(const CUDASIM_TWO_STORAGE x,
                                                               const CUDASIM_INTERPRETATION interpretation) {
    return cudasim::raw_pair(cudasim::raw_half(CUDASIM_FLOAT(x & ((1U << CUDASIM_BITS) - 1), interpretation)),
                             cudasim::raw_half(CUDASIM_FLOAT(x >> CUDASIM_BITS, interpretation)));
}

#undef CUDASIM_TO_ONE
#undef CUDASIM_TO_TWO
#undef CUDASIM_KIND
#undef CUDASIM_OPTIONS
#undef CUDASIM_INTERPRETATION
#undef CUDASIM_PATTERN
#undef CUDASIM_FLOAT
