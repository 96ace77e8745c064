// Integer functions that clang's headers for CUDA leave out or have as inline assembly (CUDA Math API,
// "Integer Intrinsics").
#ifndef CUDASIM_INTEGER_FUNCTIONS_H
#define CUDASIM_INTEGER_FUNCTIONS_H

#include "../host_defines.h"
#include "../vector_types.h"

#define CUDASIM_DEVICE static __device__ __inline__ __attribute__((always_inline))

// Funnel shifts of high:low; the ones with c clamp the distance to 32, the others take it modulo 32.
CUDASIM_DEVICE unsigned int __funnelshift_l(unsigned int low, unsigned int high, unsigned int shift) {
    return static_cast<unsigned int>(((static_cast<unsigned long long>(high) << 32 | low) << (shift & 31u)) >>
                                     32);
}
CUDASIM_DEVICE unsigned int __funnelshift_lc(unsigned int low, unsigned int high, unsigned int shift) {
    return shift >= 32u ? low : __funnelshift_l(low, high, shift);
}
CUDASIM_DEVICE unsigned int __funnelshift_r(unsigned int low, unsigned int high, unsigned int shift) {
    return static_cast<unsigned int>((static_cast<unsigned long long>(high) << 32 | low) >> (shift & 31u));
}
CUDASIM_DEVICE unsigned int __funnelshift_rc(unsigned int low, unsigned int high, unsigned int shift) {
    return shift >= 32u ? high : __funnelshift_r(low, high, shift);
}

// Dot products of four bytes with four bytes, and of two halfwords with the lower or upper two bytes, added
// to a word.
#define CUDASIM_DOT_PRODUCTS(word, half, byte)                                      \
    CUDASIM_DEVICE word __dp4a(word a, word b, word sum) {                          \
        unsigned int result = static_cast<unsigned int>(sum);                       \
        for (int i = 0; i < 32; i += 8)                                             \
            result += static_cast<unsigned int>(static_cast<byte>(a >> i)) *        \
                      static_cast<unsigned int>(static_cast<byte>(b >> i));         \
        return static_cast<word>(result);                                           \
    }                                                                               \
    CUDASIM_DEVICE word __dp2a_lo(word a, word b, word sum) {                       \
        unsigned int result = static_cast<unsigned int>(sum);                       \
        for (int i = 0; i < 2; ++i)                                                 \
            result += static_cast<unsigned int>(static_cast<half>(a >> (16 * i))) * \
                      static_cast<unsigned int>(static_cast<byte>(b >> (8 * i)));   \
        return static_cast<word>(result);                                           \
    }                                                                               \
    CUDASIM_DEVICE word __dp2a_hi(word a, word b, word sum) {                       \
        return __dp2a_lo(a, b >> 16, sum);                                          \
    }
CUDASIM_DOT_PRODUCTS(int, short, signed char)
CUDASIM_DOT_PRODUCTS(unsigned int, unsigned short, unsigned char)
#undef CUDASIM_DOT_PRODUCTS
#define CUDASIM_DOT_PRODUCTS(word, half2, byte4)                                         \
    CUDASIM_DEVICE word __dp4a(byte4 a, byte4 b, word sum) {                             \
        return __dp4a(__builtin_bit_cast(word, a), __builtin_bit_cast(word, b), sum);    \
    }                                                                                    \
    CUDASIM_DEVICE word __dp2a_lo(half2 a, byte4 b, word sum) {                          \
        return __dp2a_lo(__builtin_bit_cast(word, a), __builtin_bit_cast(word, b), sum); \
    }                                                                                    \
    CUDASIM_DEVICE word __dp2a_hi(half2 a, byte4 b, word sum) {                          \
        return __dp2a_hi(__builtin_bit_cast(word, a), __builtin_bit_cast(word, b), sum); \
    }
CUDASIM_DOT_PRODUCTS(int, short2, char4)
CUDASIM_DOT_PRODUCTS(unsigned int, ushort2, uchar4)
#undef CUDASIM_DOT_PRODUCTS

#undef CUDASIM_DEVICE

#endif
