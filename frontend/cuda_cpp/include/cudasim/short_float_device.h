// What cuda_fp16.h and cuda_bf16.h have for device code only: mathematical functions, shuffles, loads,
// stores, atomics (CUDA Math API, "Half" and "Bfloat16 Math Functions"; CUDA C++ Programming Guide, "Atomic
// Functions"). See short_float_type.h. The functions are libdevice's of floats, rounded: the same bits as in
// Python kernels.
#define CUDASIM_FUNCTION(name, value)                                  \
    CUDASIM_DEVICE_ONLY CUDASIM_SHORT h##name(const CUDASIM_SHORT a) { \
        const float x = cudasim::value_of(a);                          \
        return cudasim::Of<CUDASIM_SHORT>::rounded(value);             \
    }                                                                  \
    CUDASIM_DEVICE_ONLY CUDASIM_PAIR h2##name(const CUDASIM_PAIR a) {  \
        return CUDASIM_PAIR(h##name(a.x), h##name(a.y));               \
    }
CUDASIM_FUNCTION(ceil, __nv_ceilf(x))
CUDASIM_FUNCTION(floor, __nv_floorf(x))
CUDASIM_FUNCTION(rint, __nv_rintf(x))
CUDASIM_FUNCTION(trunc, __nv_truncf(x))
CUDASIM_FUNCTION(sqrt, __nv_fsqrt_rn(x))
CUDASIM_FUNCTION(rsqrt, __nv_rsqrtf(x))
CUDASIM_FUNCTION(rcp, __nv_frcp_rn(x))
CUDASIM_FUNCTION(log, __nv_logf(x))
CUDASIM_FUNCTION(log2, __nv_log2f(x))
CUDASIM_FUNCTION(log10, __nv_log10f(x))
CUDASIM_FUNCTION(exp, __nv_expf(x))
CUDASIM_FUNCTION(exp2, __nv_exp2f(x))
CUDASIM_FUNCTION(exp10, __nv_exp10f(x))
CUDASIM_FUNCTION(cos, __nv_cosf(x))
CUDASIM_FUNCTION(sin, __nv_sinf(x))
CUDASIM_FUNCTION(tanh, __nv_tanhf(x))
CUDASIM_FUNCTION(tanh_approx, __nv_tanhf(x))
#undef CUDASIM_FUNCTION

#define CUDASIM_SHUFFLE(name, type, lane_type)                                                          \
    CUDASIM_DEVICE_ONLY type name(const unsigned int mask, const type var, const lane_type lane,        \
                                  const int width = 32) {                                               \
        return cudasim::Of<type>::of_bits(                                                              \
            static_cast<unsigned>(::name(mask, static_cast<int>(cudasim::bits_of(var)), lane, width))); \
    }
#define CUDASIM_SHUFFLES(type)                            \
    CUDASIM_SHUFFLE(__shfl_sync, type, int)               \
    CUDASIM_SHUFFLE(__shfl_up_sync, type, unsigned int)   \
    CUDASIM_SHUFFLE(__shfl_down_sync, type, unsigned int) \
    CUDASIM_SHUFFLE(__shfl_xor_sync, type, int)
CUDASIM_SHUFFLES(CUDASIM_SHORT)
CUDASIM_SHUFFLES(CUDASIM_PAIR)
#undef CUDASIM_SHUFFLE
#undef CUDASIM_SHUFFLES

// There is no cache to be told how long to keep what.
#define CUDASIM_LOAD(name, type)                           \
    CUDASIM_DEVICE_ONLY type name(const type* const ptr) { \
        return *ptr;                                       \
    }
#define CUDASIM_STORE(name, type)                                      \
    CUDASIM_DEVICE_ONLY void name(type* const ptr, const type value) { \
        *ptr = value;                                                  \
    }
#define CUDASIM_LOADS_AND_STORES(type)                                            \
    CUDASIM_LOAD(__ldg, type)                                                     \
    CUDASIM_LOAD(__ldcg, type)                                                    \
    CUDASIM_LOAD(__ldca, type)                                                    \
    CUDASIM_LOAD(__ldcs, type)                                                    \
    CUDASIM_LOAD(__ldlu, type)                                                    \
    CUDASIM_DEVICE_ONLY type __ldcv(const type* const ptr) {                      \
        return cudasim::Of<type>::of_bits(                                        \
            *reinterpret_cast<const volatile cudasim::Word<sizeof(type)>*>(ptr)); \
    }                                                                             \
    CUDASIM_STORE(__stwb, type)                                                   \
    CUDASIM_STORE(__stcg, type)                                                   \
    CUDASIM_STORE(__stcs, type)                                                   \
    CUDASIM_STORE(__stwt, type)
CUDASIM_LOADS_AND_STORES(CUDASIM_SHORT)
CUDASIM_LOADS_AND_STORES(CUDASIM_PAIR)
#undef CUDASIM_LOAD
#undef CUDASIM_STORE
#undef CUDASIM_LOADS_AND_STORES

CUDASIM_DEVICE_ONLY CUDASIM_SHORT atomicAdd(CUDASIM_SHORT* const address, const CUDASIM_SHORT val) {
    unsigned short* const word = reinterpret_cast<unsigned short*>(address);
    unsigned short before = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(
        word, &before, cudasim::bits_of(__hadd(cudasim::Of<CUDASIM_SHORT>::of_bits(before), val)), false,
        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return cudasim::Of<CUDASIM_SHORT>::of_bits(before);
}
// The guide promises atomicity of each half, not of both together.
CUDASIM_DEVICE_ONLY CUDASIM_PAIR atomicAdd(CUDASIM_PAIR* const address, const CUDASIM_PAIR val) {
    unsigned* const word = reinterpret_cast<unsigned*>(address);
    unsigned before = __atomic_load_n(word, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(
        word, &before, cudasim::bits_of(__hadd2(cudasim::Of<CUDASIM_PAIR>::of_bits(before), val)), false,
        __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
    return cudasim::Of<CUDASIM_PAIR>::of_bits(before);
}
