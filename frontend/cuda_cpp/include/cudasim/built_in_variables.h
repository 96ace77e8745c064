// threadIdx, blockIdx, blockDim, gridDim and warpSize (CUDA C++ Programming Guide, "Built-in Variables").
// Their members are properties, read from a special register each time. clang's own variables are declared
// only: a conversion to uint3 would leave a reference to nothing in the image. dim3 has a constructor for
// them.
#ifndef CUDASIM_BUILT_IN_VARIABLES_H
#define CUDASIM_BUILT_IN_VARIABLES_H

#include "../vector_types.h"

// clang's header of the same purpose.
#define __CUDA_BUILTIN_VARS_H

#define CUDASIM_MEMBER(member, special_register)                                                \
    __declspec(property(get = get_##member)) unsigned int member;                               \
    static __inline__ __attribute__((device, always_inline)) unsigned int get_##member() {      \
        return static_cast<unsigned int>(__nvvm_read_ptx_sreg_##special_register##_##member()); \
    }
#define CUDASIM_BUILT_IN_VARIABLE(type, name, special_register)                    \
    namespace cudasim {                                                            \
    struct type {                                                                  \
        typedef type CudasimBuiltInVariable;                                       \
        CUDASIM_MEMBER(x, special_register)                                        \
        CUDASIM_MEMBER(y, special_register)                                        \
        CUDASIM_MEMBER(z, special_register)                                        \
        __inline__ __attribute__((device, always_inline)) operator uint3() const { \
            return uint3{get_x(), get_y(), get_z()};                               \
        }                                                                          \
    };                                                                             \
    }                                                                              \
    static __attribute__((device, unused)) constexpr cudasim::type name = {};
CUDASIM_BUILT_IN_VARIABLE(ThreadIndex, threadIdx, tid)
CUDASIM_BUILT_IN_VARIABLE(BlockIndex, blockIdx, ctaid)
CUDASIM_BUILT_IN_VARIABLE(BlockExtents, blockDim, ntid)
CUDASIM_BUILT_IN_VARIABLE(GridExtents, gridDim, nctaid)
#undef CUDASIM_BUILT_IN_VARIABLE
#undef CUDASIM_MEMBER

static __attribute__((device, unused)) const int warpSize = 32;

#endif
