// Complex numbers of float and double, for C and C++: cuFloatComplex, cuDoubleComplex and their functions.
#ifndef CU_COMPLEX_H_
#define CU_COMPLEX_H_

#include <math.h>

#include "vector_functions.h"
#include "vector_types.h"

#ifdef __cplusplus
extern "C" {
#endif

// -Wunused would name every function that a program does not call.
#define CUDASIM_COMPLEX static __inline__ __attribute__((unused)) __host__ __device__

// type, its parts, suffix of its functions, functions of the parts
#define CUDASIM_COMPLEX_FUNCTIONS(type, part, f, absolute, root)                                          \
    CUDASIM_COMPLEX part cuCreal##f(type x) {                                                             \
        return x.x;                                                                                       \
    }                                                                                                     \
    CUDASIM_COMPLEX part cuCimag##f(type x) {                                                             \
        return x.y;                                                                                       \
    }                                                                                                     \
    CUDASIM_COMPLEX type make_##type(part r, part i) {                                                    \
        type z;                                                                                           \
        z.x = r;                                                                                          \
        z.y = i;                                                                                          \
        return z;                                                                                         \
    }                                                                                                     \
    CUDASIM_COMPLEX type cuConj##f(type x) {                                                              \
        return make_##type(x.x, -x.y);                                                                    \
    }                                                                                                     \
    CUDASIM_COMPLEX type cuCadd##f(type x, type y) {                                                      \
        return make_##type(x.x + y.x, x.y + y.y);                                                         \
    }                                                                                                     \
    CUDASIM_COMPLEX type cuCsub##f(type x, type y) {                                                      \
        return make_##type(x.x - y.x, x.y - y.y);                                                         \
    }                                                                                                     \
    CUDASIM_COMPLEX type cuCmul##f(type x, type y) {                                                      \
        return make_##type((x.x * y.x) - (x.y * y.y), (x.x * y.y) + (x.y * y.x));                         \
    }                                                                                                     \
    /* Both are scaled by the size of the divisor, so that no square overflows or underflows. */          \
    CUDASIM_COMPLEX type cuCdiv##f(type x, type y) {                                                      \
        const part scale = (part)1 / (absolute(y.x) + absolute(y.y));                                     \
        const type a = make_##type(x.x * scale, x.y * scale);                                             \
        const type b = make_##type(y.x * scale, y.y * scale);                                             \
        const part inverse = (part)1 / ((b.x * b.x) + (b.y * b.y));                                       \
        return make_##type(((a.x * b.x) + (a.y * b.y)) * inverse, ((a.y * b.x) - (a.x * b.y)) * inverse); \
    }                                                                                                     \
    /* The larger part is drawn out of the root, for the same reason. */                                  \
    CUDASIM_COMPLEX part cuCabs##f(type x) {                                                              \
        const part a = absolute(x.x), b = absolute(x.y);                                                  \
        const part large = a > b ? a : b, small = a > b ? b : a;                                          \
        part ratio;                                                                                       \
        if (large == 0 || large - large != 0) return a + b; /* 0, infinity or NaN */                      \
        ratio = small / large;                                                                            \
        return large * root((part)1 + ratio * ratio);                                                     \
    }                                                                                                     \
    CUDASIM_COMPLEX type cuCfma##f(type x, type y, type d) {                                              \
        const part first = (x.x * y.x) + d.x, second = (x.x * y.y) + d.y;                                 \
        return make_##type(-(x.y * y.y) + first, (x.y * y.x) + second);                                   \
    }

typedef float2 cuFloatComplex;
typedef double2 cuDoubleComplex;
typedef cuFloatComplex cuComplex;

CUDASIM_COMPLEX_FUNCTIONS(cuFloatComplex, float, f, fabsf, sqrtf)
CUDASIM_COMPLEX_FUNCTIONS(cuDoubleComplex, double, , fabs, sqrt)

CUDASIM_COMPLEX cuComplex make_cuComplex(float x, float y) {
    return make_cuFloatComplex(x, y);
}
CUDASIM_COMPLEX cuDoubleComplex cuComplexFloatToDouble(cuFloatComplex c) {
    return make_cuDoubleComplex((double)c.x, (double)c.y);
}
CUDASIM_COMPLEX cuFloatComplex cuComplexDoubleToFloat(cuDoubleComplex c) {
    return make_cuFloatComplex((float)c.x, (float)c.y);
}

#undef CUDASIM_COMPLEX
#undef CUDASIM_COMPLEX_FUNCTIONS

#ifdef __cplusplus
}
#endif

#endif
