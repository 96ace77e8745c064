// Atomic functions with an order and a scope (CUDA C++ Programming Guide, "Built-in Atomic Functions").
#ifndef CUDASIM_SCOPED_ATOMICS_H
#define CUDASIM_SCOPED_ATOMICS_H

#include "../host_defines.h"

// The orders have the numbers of C++, and of clang's built-ins.
enum {
    __NV_ATOMIC_RELAXED = 0,
    __NV_ATOMIC_CONSUME = 1,
    __NV_ATOMIC_ACQUIRE = 2,
    __NV_ATOMIC_RELEASE = 3,
    __NV_ATOMIC_ACQ_REL = 4,
    __NV_ATOMIC_SEQ_CST = 5
};
enum {
    __NV_THREAD_SCOPE_THREAD = 0,
    __NV_THREAD_SCOPE_BLOCK = 1,
    __NV_THREAD_SCOPE_CLUSTER = 2,
    __NV_THREAD_SCOPE_DEVICE = 3,
    __NV_THREAD_SCOPE_SYSTEM = 4
};

namespace cudasim {

// nodebug: a finding inside is shown at the line that calls.
#define CUDASIM_ATOMIC static __device__ __inline__ __attribute__((always_inline, nodebug))

/// An integer of the size of an object.
template <int bytes>
struct IntegerOf;
template <>
struct IntegerOf<1> {
    typedef unsigned char type;
};
template <>
struct IntegerOf<2> {
    typedef unsigned short type;
};
template <>
struct IntegerOf<4> {
    typedef unsigned int type;
};
template <>
struct IntegerOf<8> {
    typedef unsigned long long type;
};
template <>
struct IntegerOf<16> {
    typedef unsigned __int128 type;
};

/// What a parameter of type T takes without taking part in the deduction of T: a literal 1 for a long.
template <typename T>
struct Same {
    typedef T type;
};

CUDASIM_ATOMIC void fence_of_scope(int scope) {
    if (scope == __NV_THREAD_SCOPE_THREAD) return;
    if (scope == __NV_THREAD_SCOPE_BLOCK)
        __nvvm_membar_cta();
    else if (scope == __NV_THREAD_SCOPE_SYSTEM)
        __nvvm_membar_sys();
    else
        __nvvm_membar_gl();
}

}  // namespace cudasim

#define CUDASIM_INTEGER typename cudasim::IntegerOf<sizeof(T)>::type
#define CUDASIM_VALUE typename cudasim::Same<T>::type

CUDASIM_ATOMIC void __nv_atomic_thread_fence(int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    if (order != __NV_ATOMIC_RELAXED) cudasim::fence_of_scope(scope);
}

// A generic form takes and gives its values by pointer and works on objects of any type; the one with _n by
// value on numbers. clang makes no difference between the scopes; the widest is what it writes.
template <typename T>
CUDASIM_ATOMIC void __nv_atomic_load(const T* pointer, T* result, int order, int = __NV_THREAD_SCOPE_SYSTEM) {
    const CUDASIM_INTEGER bits = __scoped_atomic_load_n(reinterpret_cast<const CUDASIM_INTEGER*>(pointer),
                                                        order, __MEMORY_SCOPE_SYSTEM);
    __builtin_memcpy(result, &bits, sizeof(T));
}
template <typename T>
CUDASIM_ATOMIC T __nv_atomic_load_n(const T* pointer, int order, int scope = __NV_THREAD_SCOPE_SYSTEM) {
    T result;
    __nv_atomic_load(pointer, &result, order, scope);
    return result;
}
template <typename T>
CUDASIM_ATOMIC void __nv_atomic_store(T* pointer, T* value, int order, int = __NV_THREAD_SCOPE_SYSTEM) {
    CUDASIM_INTEGER bits;
    __builtin_memcpy(&bits, value, sizeof(T));
    __scoped_atomic_store_n(reinterpret_cast<CUDASIM_INTEGER*>(pointer), bits, order, __MEMORY_SCOPE_SYSTEM);
}
template <typename T>
CUDASIM_ATOMIC void __nv_atomic_store_n(T* pointer, CUDASIM_VALUE value, int order,
                                        int scope = __NV_THREAD_SCOPE_SYSTEM) {
    __nv_atomic_store(pointer, &value, order, scope);
}
template <typename T>
CUDASIM_ATOMIC void __nv_atomic_exchange(T* pointer, T* value, T* result, int order,
                                         int = __NV_THREAD_SCOPE_SYSTEM) {
    CUDASIM_INTEGER bits;
    __builtin_memcpy(&bits, value, sizeof(T));
    bits = __scoped_atomic_exchange_n(reinterpret_cast<CUDASIM_INTEGER*>(pointer), bits, order,
                                      __MEMORY_SCOPE_SYSTEM);
    __builtin_memcpy(result, &bits, sizeof(T));
}
template <typename T>
CUDASIM_ATOMIC T __nv_atomic_exchange_n(T* pointer, CUDASIM_VALUE value, int order,
                                        int scope = __NV_THREAD_SCOPE_SYSTEM) {
    T result;
    __nv_atomic_exchange(pointer, &value, &result, order, scope);
    return result;
}
template <typename T>
CUDASIM_ATOMIC bool __nv_atomic_compare_exchange(T* pointer, T* expected, T* desired, bool /* weak */,
                                                 int success, int failure, int = __NV_THREAD_SCOPE_SYSTEM) {
    CUDASIM_INTEGER before, after;
    __builtin_memcpy(&before, expected, sizeof(T));
    __builtin_memcpy(&after, desired, sizeof(T));
    const bool exchanged =
        __scoped_atomic_compare_exchange_n(reinterpret_cast<CUDASIM_INTEGER*>(pointer), &before, after, false,
                                           success, failure, __MEMORY_SCOPE_SYSTEM);
    __builtin_memcpy(expected, &before, sizeof(T));
    return exchanged;
}
template <typename T>
CUDASIM_ATOMIC bool __nv_atomic_compare_exchange_n(T* pointer, T* expected, CUDASIM_VALUE desired, bool weak,
                                                   int success, int failure,
                                                   int scope = __NV_THREAD_SCOPE_SYSTEM) {
    return __nv_atomic_compare_exchange(pointer, expected, &desired, weak, success, failure, scope);
}

#define CUDASIM_ATOMIC_FETCH(name)                                                         \
    template <typename T>                                                                  \
    CUDASIM_ATOMIC T __nv_atomic_fetch_##name(T* pointer, CUDASIM_VALUE value, int order,  \
                                              int = __NV_THREAD_SCOPE_SYSTEM) {            \
        return __scoped_atomic_fetch_##name(pointer, value, order, __MEMORY_SCOPE_SYSTEM); \
    }                                                                                      \
    template <typename T>                                                                  \
    CUDASIM_ATOMIC void __nv_atomic_##name(T* pointer, CUDASIM_VALUE value, int order,     \
                                           int = __NV_THREAD_SCOPE_SYSTEM) {               \
        __scoped_atomic_fetch_##name(pointer, value, order, __MEMORY_SCOPE_SYSTEM);        \
    }
CUDASIM_ATOMIC_FETCH(add)
CUDASIM_ATOMIC_FETCH(sub)
CUDASIM_ATOMIC_FETCH(and)
CUDASIM_ATOMIC_FETCH(or)
CUDASIM_ATOMIC_FETCH(xor)
CUDASIM_ATOMIC_FETCH(min)
CUDASIM_ATOMIC_FETCH(max)

#undef CUDASIM_ATOMIC_FETCH
#undef CUDASIM_INTEGER
#undef CUDASIM_VALUE
#undef CUDASIM_ATOMIC

#endif
