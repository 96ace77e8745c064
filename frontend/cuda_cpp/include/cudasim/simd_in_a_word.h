// Functions on two halfwords or four bytes of a 32-bit word (CUDA Math API, "SIMD Intrinsics"). In C++, one
// lane after the other. Those with __nv_ in their name are what clang's __vadd2() and its kin call.
#ifndef CUDASIM_SIMD_IN_A_WORD_H
#define CUDASIM_SIMD_IN_A_WORD_H

#include "../host_defines.h"

namespace cudasim {

/// The lanes of a word: `Element` is the type of one.
template <typename Element>
struct Lanes {
    enum { bits = 8 * sizeof(Element), count = 32 / bits };
    static constexpr unsigned mask = (1u << bits) - 1;
    static constexpr int lowest = Element(-1) < Element(0) ? -(1 << (bits - 1)) : 0;
    static constexpr int highest = Element(-1) < Element(0) ? (1 << (bits - 1)) - 1 : (1 << bits) - 1;

    static __host__ __device__ __forceinline__ int of(unsigned int word, int lane) {
        return static_cast<Element>(word >> (lane * bits));
    }
    static __host__ __device__ __forceinline__ unsigned int placed(int value, int lane) {
        return (static_cast<unsigned int>(value) & mask) << (lane * bits);
    }
    static __host__ __device__ __forceinline__ int saturated(int value) {
        return value < lowest ? lowest : value > highest ? highest : value;
    }
    static __host__ __device__ __forceinline__ int wrapped(int value) { return static_cast<Element>(value); }
};

}  // namespace cudasim

#define CUDASIM_DEVICE static __device__ __forceinline__
#define CUDASIM_BOTH static __host__ __device__ __forceinline__

// Defines a function of a word whose lanes are named a; of two words: a and b; of three: a, b and c.
#define CUDASIM_LANES_1(function, element, expression)          \
    CUDASIM_DEVICE unsigned int function(unsigned int word_a) { \
        typedef cudasim::Lanes<element> Lanes;                  \
        unsigned int result = 0;                                \
        for (int lane = 0; lane < Lanes::count; ++lane) {       \
            const int a = Lanes::of(word_a, lane);              \
            result |= Lanes::placed((expression), lane);        \
        }                                                       \
        return result;                                          \
    }
#define CUDASIM_LANES_2_OF(qualifier, function, element, expression)            \
    qualifier unsigned int function(unsigned int word_a, unsigned int word_b) { \
        typedef cudasim::Lanes<element> Lanes;                                  \
        unsigned int result = 0;                                                \
        for (int lane = 0; lane < Lanes::count; ++lane) {                       \
            const int a = Lanes::of(word_a, lane), b = Lanes::of(word_b, lane); \
            result |= Lanes::placed((expression), lane);                        \
        }                                                                       \
        return result;                                                          \
    }
#define CUDASIM_LANES_2(function, element, expression) \
    CUDASIM_LANES_2_OF(CUDASIM_DEVICE, function, element, expression)
#define CUDASIM_LANES_3(function, element, expression)                                                       \
    CUDASIM_BOTH unsigned int function(unsigned int word_a, unsigned int word_b, unsigned int word_c) {      \
        typedef cudasim::Lanes<element> Lanes;                                                               \
        unsigned int result = 0;                                                                             \
        for (int lane = 0; lane < Lanes::count; ++lane) {                                                    \
            const int a = Lanes::of(word_a, lane), b = Lanes::of(word_b, lane), c = Lanes::of(word_c, lane); \
            result |= Lanes::placed((expression), lane);                                                     \
        }                                                                                                    \
        return result;                                                                                       \
    }
// A sum over the lanes.
#define CUDASIM_LANES_SUM(function, element, expression)                             \
    CUDASIM_DEVICE unsigned int function(unsigned int word_a, unsigned int word_b) { \
        typedef cudasim::Lanes<element> Lanes;                                       \
        unsigned int result = 0;                                                     \
        for (int lane = 0; lane < Lanes::count; ++lane) {                            \
            const int a = Lanes::of(word_a, lane), b = Lanes::of(word_b, lane);      \
            result += static_cast<unsigned int>(expression);                         \
        }                                                                            \
        return result;                                                               \
    }

#define CUDASIM_LARGER(x, y) ((x) > (y) ? (x) : (y))
#define CUDASIM_SMALLER(x, y) ((x) < (y) ? (x) : (y))

// A comparison gives all bits of a lane (__nv_vcmp...) or its lowest one (__nv_vset...).
#define CUDASIM_COMPARED(width, element, name, operation)                      \
    CUDASIM_LANES_2(__nv_vcmp##name##width, element, (a operation b) ? -1 : 0) \
    CUDASIM_LANES_2(__nv_vset##name##width, element, (a operation b) ? 1 : 0)

#define CUDASIM_SIMD(width, signed_lane, unsigned_lane)                                \
    CUDASIM_LANES_1(__nv_vabs##width, signed_lane, a < 0 ? -a : a)                     \
    CUDASIM_LANES_1(__nv_vabsss##width, signed_lane, Lanes::saturated(a < 0 ? -a : a)) \
    CUDASIM_LANES_1(__nv_vneg##width, signed_lane, -a)                                 \
    CUDASIM_LANES_1(__nv_vnegss##width, signed_lane, Lanes::saturated(-a))             \
    CUDASIM_LANES_2(__nv_vadd##width, unsigned_lane, a + b)                            \
    CUDASIM_LANES_2(__nv_vaddss##width, signed_lane, Lanes::saturated(a + b))          \
    CUDASIM_LANES_2(__nv_vaddus##width, unsigned_lane, Lanes::saturated(a + b))        \
    CUDASIM_LANES_2(__nv_vsub##width, unsigned_lane, a - b)                            \
    CUDASIM_LANES_2(__nv_vsubss##width, signed_lane, Lanes::saturated(a - b))          \
    CUDASIM_LANES_2(__nv_vsubus##width, unsigned_lane, Lanes::saturated(a - b))        \
    CUDASIM_LANES_2(__nv_vabsdiffs##width, signed_lane, a < b ? b - a : a - b)         \
    CUDASIM_LANES_2(__nv_vabsdiffu##width, unsigned_lane, a < b ? b - a : a - b)       \
    CUDASIM_LANES_SUM(__nv_vsads##width, signed_lane, a < b ? b - a : a - b)           \
    CUDASIM_LANES_SUM(__nv_vsadu##width, unsigned_lane, a < b ? b - a : a - b)         \
    /* Rounded away from zero, as the vavrg instructions of PTX. */                    \
    CUDASIM_LANES_2(__nv_vavgs##width, signed_lane, (a + b + (a + b >= 0)) >> 1)       \
    CUDASIM_LANES_2(__nv_vavgu##width, unsigned_lane, (a + b + 1) >> 1)                \
    CUDASIM_LANES_2(__nv_vhaddu##width, unsigned_lane, (a + b) >> 1)                   \
    CUDASIM_LANES_2(__nv_vmaxs##width, signed_lane, CUDASIM_LARGER(a, b))              \
    CUDASIM_LANES_2(__nv_vmaxu##width, unsigned_lane, CUDASIM_LARGER(a, b))            \
    CUDASIM_LANES_2(__nv_vmins##width, signed_lane, CUDASIM_SMALLER(a, b))             \
    CUDASIM_LANES_2(__nv_vminu##width, unsigned_lane, CUDASIM_SMALLER(a, b))           \
    CUDASIM_COMPARED(width, unsigned_lane, eq, ==)                                     \
    CUDASIM_COMPARED(width, unsigned_lane, ne, !=)                                     \
    CUDASIM_COMPARED(width, signed_lane, ges, >=)                                      \
    CUDASIM_COMPARED(width, unsigned_lane, geu, >=)                                    \
    CUDASIM_COMPARED(width, signed_lane, gts, >)                                       \
    CUDASIM_COMPARED(width, unsigned_lane, gtu, >)                                     \
    CUDASIM_COMPARED(width, signed_lane, les, <=)                                      \
    CUDASIM_COMPARED(width, unsigned_lane, leu, <=)                                    \
    CUDASIM_COMPARED(width, signed_lane, lts, <)                                       \
    CUDASIM_COMPARED(width, unsigned_lane, ltu, <)

CUDASIM_SIMD(2, short, unsigned short)
CUDASIM_SIMD(4, signed char, unsigned char)

// Three operands, clamping to zero ("relu"), and what the comparison said: also functions of the host.
#define CUDASIM_RELU(value) CUDASIM_LARGER(value, 0)
CUDASIM_LANES_2_OF(CUDASIM_BOTH, __vimax_s16x2_relu, short, CUDASIM_RELU(CUDASIM_LARGER(a, b)))
CUDASIM_LANES_2_OF(CUDASIM_BOTH, __vimin_s16x2_relu, short, CUDASIM_RELU(CUDASIM_SMALLER(a, b)))
CUDASIM_LANES_3(__vimax3_s16x2, short, CUDASIM_LARGER(CUDASIM_LARGER(a, b), c))
CUDASIM_LANES_3(__vimin3_s16x2, short, CUDASIM_SMALLER(CUDASIM_SMALLER(a, b), c))
CUDASIM_LANES_3(__vimax3_u16x2, unsigned short, CUDASIM_LARGER(CUDASIM_LARGER(a, b), c))
CUDASIM_LANES_3(__vimin3_u16x2, unsigned short, CUDASIM_SMALLER(CUDASIM_SMALLER(a, b), c))
CUDASIM_LANES_3(__vimax3_s16x2_relu, short, CUDASIM_RELU(CUDASIM_LARGER(CUDASIM_LARGER(a, b), c)))
CUDASIM_LANES_3(__vimin3_s16x2_relu, short, CUDASIM_RELU(CUDASIM_SMALLER(CUDASIM_SMALLER(a, b), c)))
CUDASIM_LANES_3(__viaddmax_s16x2, short, CUDASIM_LARGER(Lanes::wrapped(a + b), c))
CUDASIM_LANES_3(__viaddmin_s16x2, short, CUDASIM_SMALLER(Lanes::wrapped(a + b), c))
CUDASIM_LANES_3(__viaddmax_u16x2, unsigned short, CUDASIM_LARGER(Lanes::wrapped(a + b), c))
CUDASIM_LANES_3(__viaddmin_u16x2, unsigned short, CUDASIM_SMALLER(Lanes::wrapped(a + b), c))
CUDASIM_LANES_3(__viaddmax_s16x2_relu, short, CUDASIM_RELU(CUDASIM_LARGER(Lanes::wrapped(a + b), c)))
CUDASIM_LANES_3(__viaddmin_s16x2_relu, short, CUDASIM_RELU(CUDASIM_SMALLER(Lanes::wrapped(a + b), c)))

// The same on whole words.
#define CUDASIM_WORD_3(function, type, expression)       \
    CUDASIM_BOTH type function(type a, type b, type c) { \
        return expression;                               \
    }
#define CUDASIM_WRAPPED_SUM(type) \
    static_cast<type>(static_cast<unsigned int>(a) + static_cast<unsigned int>(b))
CUDASIM_BOTH int __vimax_s32_relu(int a, int b) {
    return CUDASIM_RELU(CUDASIM_LARGER(a, b));
}
CUDASIM_BOTH int __vimin_s32_relu(int a, int b) {
    return CUDASIM_RELU(CUDASIM_SMALLER(a, b));
}
CUDASIM_WORD_3(__vimax3_s32, int, CUDASIM_LARGER(CUDASIM_LARGER(a, b), c))
CUDASIM_WORD_3(__vimin3_s32, int, CUDASIM_SMALLER(CUDASIM_SMALLER(a, b), c))
CUDASIM_WORD_3(__vimax3_u32, unsigned int, CUDASIM_LARGER(CUDASIM_LARGER(a, b), c))
CUDASIM_WORD_3(__vimin3_u32, unsigned int, CUDASIM_SMALLER(CUDASIM_SMALLER(a, b), c))
CUDASIM_WORD_3(__vimax3_s32_relu, int, CUDASIM_RELU(CUDASIM_LARGER(CUDASIM_LARGER(a, b), c)))
CUDASIM_WORD_3(__vimin3_s32_relu, int, CUDASIM_RELU(CUDASIM_SMALLER(CUDASIM_SMALLER(a, b), c)))
CUDASIM_WORD_3(__viaddmax_s32, int, CUDASIM_LARGER(CUDASIM_WRAPPED_SUM(int), c))
CUDASIM_WORD_3(__viaddmin_s32, int, CUDASIM_SMALLER(CUDASIM_WRAPPED_SUM(int), c))
CUDASIM_WORD_3(__viaddmax_u32, unsigned int, CUDASIM_LARGER(CUDASIM_WRAPPED_SUM(unsigned int), c))
CUDASIM_WORD_3(__viaddmin_u32, unsigned int, CUDASIM_SMALLER(CUDASIM_WRAPPED_SUM(unsigned int), c))
CUDASIM_WORD_3(__viaddmax_s32_relu, int, CUDASIM_RELU(CUDASIM_LARGER(CUDASIM_WRAPPED_SUM(int), c)))
CUDASIM_WORD_3(__viaddmin_s32_relu, int, CUDASIM_RELU(CUDASIM_SMALLER(CUDASIM_WRAPPED_SUM(int), c)))

// Larger or smaller of two, and whether it is the first one.
#define CUDASIM_CHOICE(name, comparison)                                                          \
    CUDASIM_BOTH int __vib##name##_s32(int a, int b, bool* is_first) {                            \
        *is_first = a comparison b;                                                               \
        return *is_first ? a : b;                                                                 \
    }                                                                                             \
    CUDASIM_BOTH unsigned int __vib##name##_u32(unsigned int a, unsigned int b, bool* is_first) { \
        *is_first = a comparison b;                                                               \
        return *is_first ? a : b;                                                                 \
    }                                                                                             \
    CUDASIM_CHOICE_OF_LANES(__vib##name##_s16x2, short, comparison)                               \
    CUDASIM_CHOICE_OF_LANES(__vib##name##_u16x2, unsigned short, comparison)
#define CUDASIM_CHOICE_OF_LANES(function, element, comparison)                                 \
    CUDASIM_BOTH unsigned int function(unsigned int a, unsigned int b, bool* high_is_first,    \
                                       bool* low_is_first) {                                   \
        typedef cudasim::Lanes<element> Lanes;                                                 \
        *high_is_first = Lanes::of(a, 1) comparison Lanes::of(b, 1);                           \
        *low_is_first = Lanes::of(a, 0) comparison Lanes::of(b, 0);                            \
        return ((*high_is_first ? a : b) & 0xffff0000u) | ((*low_is_first ? a : b) & 0xffffu); \
    }
CUDASIM_CHOICE(max, >=)
CUDASIM_CHOICE(min, <=)

#undef CUDASIM_CHOICE
#undef CUDASIM_CHOICE_OF_LANES
#undef CUDASIM_WORD_3
#undef CUDASIM_WRAPPED_SUM
#undef CUDASIM_RELU
#undef CUDASIM_SIMD
#undef CUDASIM_COMPARED
#undef CUDASIM_LARGER
#undef CUDASIM_SMALLER
#undef CUDASIM_LANES_SUM
#undef CUDASIM_LANES_1
#undef CUDASIM_LANES_2
#undef CUDASIM_LANES_2_OF
#undef CUDASIM_LANES_3
#undef CUDASIM_DEVICE
#undef CUDASIM_BOTH

#endif
