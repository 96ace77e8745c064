// What cuda_fp16.h and cuda_bf16.h share.
#ifndef CUDASIM_SHORT_FLOATS_H
#define CUDASIM_SHORT_FLOATS_H

#include "float_formats.h"

#define CUDASIM_JOINED_(a, b, c) a##b##c
#define CUDASIM_JOINED(a, b, c) CUDASIM_JOINED_(a, b, c)
#define CUDASIM_JOINED5_(a, b, c, d, e) a##b##c##d##e
#define CUDASIM_JOINED5(a, b, c, d, e) CUDASIM_JOINED5_(a, b, c, d, e)

namespace cudasim {

// Makes a type of this name: short_float_type.h has the specialisations.
template <class T>
struct Of;

template <unsigned long bytes>
struct WordOf;
template <>
struct WordOf<2> {
    typedef unsigned short type;
};
template <>
struct WordOf<4> {
    typedef unsigned type;
};
template <unsigned long bytes>
using Word = typename WordOf<bytes>::type;

CUDASIM_HOST_DEVICE float saturated(float x) {
    return x > 0 ? (x < 1 ? x : 1.0F) : 0.0F;
}
// Precise also where -use_fast_math makes the operator an approximation.
CUDASIM_HOST_DEVICE float quotient(float x, float y) {
#if defined(__CUDA_ARCH__)
    return __nv_fdiv_rn(x, y);
#else
    return x / y;
#endif
}

}  // namespace cudasim

#endif
