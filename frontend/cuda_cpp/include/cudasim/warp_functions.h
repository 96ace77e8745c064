// Functions of a warp and of a block (CUDA C++ Programming Guide: "Warp Vote Functions", "Warp Match
// Functions", "Warp Reduce Functions", "Warp Shuffle Functions", "Synchronization Functions", "Nanosleep
// Function").
//
// clang 19's header for them, __clang_cuda_intrinsics.h, is not used: its __reduce_*_sync() swap value and
// mask, and what it does in inline assembly is plain C++ here.
#ifndef CUDASIM_WARP_FUNCTIONS_H
#define CUDASIM_WARP_FUNCTIONS_H

#include <string.h>

#include "../host_defines.h"
#include "../vector_functions.h"
#include "../vector_types.h"

#define CUDASIM_DEVICE static __device__ __inline__ __attribute__((always_inline))

CUDASIM_DEVICE void __syncwarp(unsigned int mask = 0xffffffffu) {
    __nvvm_bar_warp_sync(mask);
}
CUDASIM_DEVICE void __barrier_sync(unsigned int id) {
    __nvvm_barrier_sync(id);
}
CUDASIM_DEVICE void __barrier_sync_count(unsigned int id, unsigned int count) {
    __nvvm_barrier_sync_cnt(id, count);
}
CUDASIM_DEVICE int __all_sync(unsigned int mask, int predicate) {
    return __nvvm_vote_all_sync(mask, predicate);
}
CUDASIM_DEVICE int __any_sync(unsigned int mask, int predicate) {
    return __nvvm_vote_any_sync(mask, predicate);
}
CUDASIM_DEVICE int __uni_sync(unsigned int mask, int predicate) {
    return __nvvm_vote_uni_sync(mask, predicate);
}
CUDASIM_DEVICE unsigned int __ballot_sync(unsigned int mask, int predicate) {
    return __nvvm_vote_ballot_sync(mask, predicate);
}
CUDASIM_DEVICE unsigned int __activemask() {
    return __nvvm_activemask();
}
CUDASIM_DEVICE void __nanosleep(unsigned int nanoseconds) {
    __nvvm_nanosleep(nanoseconds);
}

// The position of the n-th set bit, counted from the base: upwards for n > 0, downwards for n < 0, and the
// base itself for n == 0. Without such a bit: 0xffffffff.
CUDASIM_DEVICE unsigned int __fns(unsigned int mask, unsigned int base, int n) {
    int position = static_cast<int>(base & 31u);
    if (n == 0) return (mask >> position) & 1u ? static_cast<unsigned int>(position) : 0xffffffffu;
    const int step = n > 0 ? 1 : -1;
    unsigned int left = n > 0 ? static_cast<unsigned int>(n) : 0u - static_cast<unsigned int>(n);
    for (; position >= 0 && position < 32; position += step)
        if ((mask >> position) & 1u && --left == 0) return static_cast<unsigned int>(position);
    return 0xffffffffu;
}

// Shuffles. The last operand of the instruction holds the width of a segment and the last lane that may be
// read; for up it is the first one.
#define CUDASIM_SHUFFLE(function, instruction, last_lane, offset_type)                                    \
    CUDASIM_DEVICE int function(unsigned int mask, int value, offset_type offset, int width = 32) {       \
        return __nvvm_shfl_sync_##instruction##_i32(mask, value, static_cast<int>(offset),                \
                                                    ((32 - width) << 8) | (last_lane));                   \
    }                                                                                                     \
    CUDASIM_DEVICE float function(unsigned int mask, float value, offset_type offset, int width = 32) {   \
        return __nvvm_shfl_sync_##instruction##_f32(mask, value, static_cast<int>(offset),                \
                                                    ((32 - width) << 8) | (last_lane));                   \
    }                                                                                                     \
    CUDASIM_DEVICE unsigned int function(unsigned int mask, unsigned int value, offset_type offset,       \
                                         int width = 32) {                                                \
        return static_cast<unsigned int>(function(mask, static_cast<int>(value), offset, width));         \
    }                                                                                                     \
    CUDASIM_DEVICE long long function(unsigned int mask, long long value, offset_type offset,             \
                                      int width = 32) {                                                   \
        const unsigned long long bits = static_cast<unsigned long long>(value);                           \
        const unsigned int low = function(mask, static_cast<unsigned int>(bits), offset, width);          \
        const unsigned int high = function(mask, static_cast<unsigned int>(bits >> 32), offset, width);   \
        return static_cast<long long>(static_cast<unsigned long long>(high) << 32 | low);                 \
    }                                                                                                     \
    CUDASIM_SHUFFLE_AS_LONG_LONG(function, unsigned long long, offset_type)                               \
    CUDASIM_SHUFFLE_AS_LONG_LONG(function, long, offset_type)                                             \
    CUDASIM_SHUFFLE_AS_LONG_LONG(function, unsigned long, offset_type)                                    \
    CUDASIM_DEVICE double function(unsigned int mask, double value, offset_type offset, int width = 32) { \
        return __builtin_bit_cast(double,                                                                 \
                                  function(mask, __builtin_bit_cast(long long, value), offset, width));   \
    }
#define CUDASIM_SHUFFLE_AS_LONG_LONG(function, type, offset_type)                                     \
    CUDASIM_DEVICE type function(unsigned int mask, type value, offset_type offset, int width = 32) { \
        return static_cast<type>(function(mask, static_cast<long long>(value), offset, width));       \
    }
CUDASIM_SHUFFLE(__shfl_sync, idx, 0x1f, int)
CUDASIM_SHUFFLE(__shfl_up_sync, up, 0, unsigned int)
CUDASIM_SHUFFLE(__shfl_down_sync, down, 0x1f, unsigned int)
CUDASIM_SHUFFLE(__shfl_xor_sync, bfly, 0x1f, int)
#undef CUDASIM_SHUFFLE
#undef CUDASIM_SHUFFLE_AS_LONG_LONG

// Matches compare bits, in 32 or 64 of them.
#define CUDASIM_MATCH(type, bits, word)                                                            \
    CUDASIM_DEVICE unsigned int __match_any_sync(unsigned int mask, type value) {                  \
        return __nvvm_match_any_sync_i##bits(mask, __builtin_bit_cast(word, value));               \
    }                                                                                              \
    CUDASIM_DEVICE unsigned int __match_all_sync(unsigned int mask, type value, int* all_equal) {  \
        return __nvvm_match_all_sync_i##bits##p(mask, __builtin_bit_cast(word, value), all_equal); \
    }
CUDASIM_MATCH(int, 32, int)
CUDASIM_MATCH(unsigned int, 32, int)
CUDASIM_MATCH(float, 32, int)
CUDASIM_MATCH(long, 64, long long)
CUDASIM_MATCH(unsigned long, 64, long long)
CUDASIM_MATCH(long long, 64, long long)
CUDASIM_MATCH(unsigned long long, 64, long long)
CUDASIM_MATCH(double, 64, long long)
#undef CUDASIM_MATCH

// Reductions: the built-in takes the value first.
#define CUDASIM_REDUCTION(name, type, instruction)                                             \
    CUDASIM_DEVICE type __reduce_##name##_sync(unsigned int mask, type value) {                \
        return static_cast<type>(                                                              \
            __nvvm_redux_sync_##instruction(static_cast<int>(value), static_cast<int>(mask))); \
    }
CUDASIM_REDUCTION(add, int, add)
CUDASIM_REDUCTION(add, unsigned int, add)
CUDASIM_REDUCTION(min, int, min)
CUDASIM_REDUCTION(min, unsigned int, umin)
CUDASIM_REDUCTION(max, int, max)
CUDASIM_REDUCTION(max, unsigned int, umax)
CUDASIM_REDUCTION(and, unsigned int, and)
CUDASIM_REDUCTION(or, unsigned int, or)
CUDASIM_REDUCTION(xor, unsigned int, xor)
#undef CUDASIM_REDUCTION

// Functions without a mask, which code for compute capability below 7.0 may call (CUDA C++ Programming
// Guide 9, "Warp Shuffle Functions"): the lanes that are at the call take part. They are templates, so that a
// program's own function of such a name is taken instead.
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 700
#define CUDASIM_WITHOUT_MASK(function, arguments)                                                           \
    template <typename... Arguments>                                                                        \
    __device__ int function(Arguments... arguments) __attribute__((                                         \
        unavailable(#function "() does not exist for compute capability 7.0 and higher; use " #function "_" \
                              "sync(mask, " #arguments "), or compile with -arch=sm_60")));
#define CUDASIM_SHUFFLE_WITHOUT_MASK(function, offset_type) CUDASIM_WITHOUT_MASK(function, ...)
#define CUDASIM_VOTE_WITHOUT_MASK(type, function) CUDASIM_WITHOUT_MASK(function, predicate)
#else
#define CUDASIM_DEPRECATED(function)                                                             \
    __attribute__((deprecated(#function "() is deprecated in favor of " #function "_sync() and " \
                                        "does not exist for compute capability 7.0 and higher")))
#define CUDASIM_SHUFFLE_WITHOUT_MASK(function, offset_type)                                  \
    template <typename Value, typename... Width>                                             \
    CUDASIM_DEPRECATED(function)                                                             \
    CUDASIM_DEVICE Value function(Value value, offset_type offset, Width... width) {         \
        return static_cast<Value>(function##_sync(__activemask(), value, offset, width...)); \
    }
#define CUDASIM_VOTE_WITHOUT_MASK(type, function)                  \
    template <typename Predicate>                                  \
    CUDASIM_DEPRECATED(function)                                   \
    CUDASIM_DEVICE type function(Predicate predicate) {            \
        return function##_sync(__activemask(), predicate ? 1 : 0); \
    }
#endif
CUDASIM_SHUFFLE_WITHOUT_MASK(__shfl, int)
CUDASIM_SHUFFLE_WITHOUT_MASK(__shfl_up, unsigned int)
CUDASIM_SHUFFLE_WITHOUT_MASK(__shfl_down, unsigned int)
CUDASIM_SHUFFLE_WITHOUT_MASK(__shfl_xor, int)
CUDASIM_VOTE_WITHOUT_MASK(int, __any)
CUDASIM_VOTE_WITHOUT_MASK(int, __all)
CUDASIM_VOTE_WITHOUT_MASK(unsigned int, __ballot)
#undef CUDASIM_SHUFFLE_WITHOUT_MASK
#undef CUDASIM_VOTE_WITHOUT_MASK
#undef CUDASIM_WITHOUT_MASK
#undef CUDASIM_DEPRECATED

#undef CUDASIM_DEVICE

#endif
