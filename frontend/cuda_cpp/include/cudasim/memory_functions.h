// Loads and stores with a cache hint, address spaces, prefetches (CUDA C++ Programming Guide: "Load Functions
// Using Cache Hints", "Store Functions Using Cache Hints", "Read-Only Data Cache Load Function", "Address
// Space Predicate Functions", "Address Space Conversion Functions").
//
// There are no caches here. Functions that go past the first-level cache are for data that other blocks
// change: their accesses are volatile, so that a loop may wait for such a change. The others are plain
// accesses.
#ifndef CUDASIM_MEMORY_FUNCTIONS_H
#define CUDASIM_MEMORY_FUNCTIONS_H

#include <stddef.h>

#include "../host_defines.h"
#include "../vector_types.h"

#define CUDASIM_DEVICE static __device__ __inline__ __attribute__((always_inline))

// Scalars are read and written as they are; vectors as one access of the compiler's vector type.
#define CUDASIM_SCALAR(qualifier, load, store, type) \
    CUDASIM_DEVICE type load(const type* pointer) {  \
        return *(const qualifier type*)pointer;      \
    }                                                \
    CUDASIM_STORE_SCALAR(qualifier, store, type)
#define CUDASIM_STORE_SCALAR(qualifier, store, type)       \
    CUDASIM_DEVICE void store(type* pointer, type value) { \
        *(qualifier type*)pointer = value;                 \
    }
#define CUDASIM_VECTOR(qualifier, load, store, type, element, size)                 \
    CUDASIM_DEVICE type load(const type* pointer) {                                 \
        typedef element Elements __attribute__((ext_vector_type(size), may_alias)); \
        const Elements elements = *(const qualifier Elements*)pointer;              \
        return __builtin_bit_cast(type, elements);                                  \
    }                                                                               \
    CUDASIM_STORE_VECTOR(qualifier, store, type, element, size)
#define CUDASIM_STORE_VECTOR(qualifier, store, type, element, size)                 \
    CUDASIM_DEVICE void store(type* pointer, type value) {                          \
        typedef element Elements __attribute__((ext_vector_type(size), may_alias)); \
        *(qualifier Elements*)pointer = __builtin_bit_cast(Elements, value);        \
    }

#define CUDASIM_ALL_TYPES(qualifier, load, store)                             \
    CUDASIM_SCALAR(qualifier, load, store, char)                              \
    CUDASIM_SCALAR(qualifier, load, store, signed char)                       \
    CUDASIM_SCALAR(qualifier, load, store, unsigned char)                     \
    CUDASIM_SCALAR(qualifier, load, store, short)                             \
    CUDASIM_SCALAR(qualifier, load, store, unsigned short)                    \
    CUDASIM_SCALAR(qualifier, load, store, int)                               \
    CUDASIM_SCALAR(qualifier, load, store, unsigned int)                      \
    CUDASIM_SCALAR(qualifier, load, store, long)                              \
    CUDASIM_SCALAR(qualifier, load, store, unsigned long)                     \
    CUDASIM_SCALAR(qualifier, load, store, long long)                         \
    CUDASIM_SCALAR(qualifier, load, store, unsigned long long)                \
    CUDASIM_SCALAR(qualifier, load, store, float)                             \
    CUDASIM_SCALAR(qualifier, load, store, double)                            \
    CUDASIM_VECTOR(qualifier, load, store, char2, signed char, 2)             \
    CUDASIM_VECTOR(qualifier, load, store, char4, signed char, 4)             \
    CUDASIM_VECTOR(qualifier, load, store, uchar2, unsigned char, 2)          \
    CUDASIM_VECTOR(qualifier, load, store, uchar4, unsigned char, 4)          \
    CUDASIM_VECTOR(qualifier, load, store, short2, short, 2)                  \
    CUDASIM_VECTOR(qualifier, load, store, short4, short, 4)                  \
    CUDASIM_VECTOR(qualifier, load, store, ushort2, unsigned short, 2)        \
    CUDASIM_VECTOR(qualifier, load, store, ushort4, unsigned short, 4)        \
    CUDASIM_VECTOR(qualifier, load, store, int2, int, 2)                      \
    CUDASIM_VECTOR(qualifier, load, store, int4, int, 4)                      \
    CUDASIM_VECTOR(qualifier, load, store, uint2, unsigned int, 2)            \
    CUDASIM_VECTOR(qualifier, load, store, uint4, unsigned int, 4)            \
    CUDASIM_VECTOR(qualifier, load, store, longlong2, long long, 2)           \
    CUDASIM_VECTOR(qualifier, load, store, ulonglong2, unsigned long long, 2) \
    CUDASIM_VECTOR(qualifier, load, store, float2, float, 2)                  \
    CUDASIM_VECTOR(qualifier, load, store, float4, float, 4)                  \
    CUDASIM_VECTOR(qualifier, load, store, double2, double, 2)

#define CUDASIM_PLAIN
CUDASIM_ALL_TYPES(volatile, __ldcg, __stcg)
CUDASIM_ALL_TYPES(volatile, __ldcv, __stwt)
CUDASIM_ALL_TYPES(CUDASIM_PLAIN, __ldcs, __stcs)
CUDASIM_ALL_TYPES(CUDASIM_PLAIN, __ldca, __stwb)
#undef CUDASIM_STORE_SCALAR
#undef CUDASIM_STORE_VECTOR
#define CUDASIM_STORE_SCALAR(qualifier, store, type)
#define CUDASIM_STORE_VECTOR(qualifier, store, type, element, size)
CUDASIM_ALL_TYPES(CUDASIM_PLAIN, __ldlu, none)
CUDASIM_ALL_TYPES(CUDASIM_PLAIN, __ldg, none)
#undef CUDASIM_PLAIN
#undef CUDASIM_ALL_TYPES
#undef CUDASIM_SCALAR
#undef CUDASIM_VECTOR
#undef CUDASIM_STORE_SCALAR
#undef CUDASIM_STORE_VECTOR

// Predicates are pure: __builtin_assume() takes them.
#define CUDASIM_PREDICATE static __device__ __inline__ __attribute__((always_inline, const)) unsigned int
CUDASIM_PREDICATE __isGlobal(const void* pointer) {
    return __nvvm_isspacep_global(pointer);
}
CUDASIM_PREDICATE __isShared(const void* pointer) {
    return __nvvm_isspacep_shared(pointer);
}
CUDASIM_PREDICATE __isConstant(const void* pointer) {
    return __nvvm_isspacep_const(pointer);
}
CUDASIM_PREDICATE __isLocal(const void* pointer) {
    return __nvvm_isspacep_local(pointer);
}
#undef CUDASIM_PREDICATE

// Addresses within an address space. The numbers are LLVM's for the GPU.
#define CUDASIM_ADDRESS_SPACE(name, number)                                         \
    CUDASIM_DEVICE size_t __cvta_generic_to_##name(const void* pointer) {           \
        return (size_t)(__attribute__((address_space(number))) const void*)pointer; \
    }                                                                               \
    CUDASIM_DEVICE void* __cvta_##name##_to_generic(size_t address) {               \
        return (void*)(__attribute__((address_space(number))) void*)address;        \
    }
CUDASIM_ADDRESS_SPACE(global, 1)
CUDASIM_ADDRESS_SPACE(shared, 3)
CUDASIM_ADDRESS_SPACE(constant, 4)
CUDASIM_ADDRESS_SPACE(local, 5)
#undef CUDASIM_ADDRESS_SPACE

#undef CUDASIM_DEVICE

#endif
