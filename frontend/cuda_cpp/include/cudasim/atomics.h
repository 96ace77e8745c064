// Atomic functions (CUDA C++ Programming Guide, "Atomic Functions"): relaxed in order; those without a suffix
// have the scope of the device, those with _block and _system that of their name.
//
// Read-modify-write operations are clang's built-ins with a scope, which become LLVM's atomic instructions.
// clang 19 writes no scope for this target, so the block's scope comes from the NVVM built-ins that carry it
// in their name.
#ifndef CUDASIM_ATOMICS_H
#define CUDASIM_ATOMICS_H

#include <string.h>

#include "../host_defines.h"
#include "../vector_functions.h"
#include "../vector_types.h"

// nodebug: a finding inside is shown at the line that calls.
#define CUDASIM_ATOMIC static __device__ __inline__ __attribute__((always_inline, nodebug))

// The NVVM built-ins for unsigned minimum and maximum in the block's scope compare signed numbers in clang
// 19.
#define CUDASIM_ATOMIC_BLOCK_LOOP(function, type, word, letters, better)                               \
    CUDASIM_ATOMIC type function(type* address, type value) {                                          \
        type seen = __scoped_atomic_load_n(address, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP);          \
        while (value better seen) {                                                                    \
            const type before = static_cast<type>(__nvvm_atom_cta_cas_gen_##letters(                   \
                reinterpret_cast<word*>(address), static_cast<word>(seen), static_cast<word>(value))); \
            if (before == seen) break;                                                                 \
            seen = before;                                                                             \
        }                                                                                              \
        return seen;                                                                                   \
    }

#define CUDASIM_ATOMIC_UPDATE(function, type, word, letters, operation)                              \
    CUDASIM_ATOMIC type atomic##function(type* address, type value) {                                \
        return __scoped_atomic_##operation(address, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE); \
    }                                                                                                \
    CUDASIM_ATOMIC type atomic##function##_system(type* address, type value) {                       \
        return __scoped_atomic_##operation(address, value, __ATOMIC_RELAXED, __MEMORY_SCOPE_SYSTEM); \
    }

#define CUDASIM_ATOMIC_OF_BLOCK(function, name, type, word, letters)                                      \
    CUDASIM_ATOMIC type atomic##function##_block(type* address, type value) {                             \
        return static_cast<type>(__nvvm_atom_cta_##name##_gen_##letters(reinterpret_cast<word*>(address), \
                                                                        static_cast<word>(value)));       \
    }

// Every scope of an operation that does not depend on the sign.
#define CUDASIM_ATOMIC_SCOPES(function, name, type, word, letters, operation) \
    CUDASIM_ATOMIC_UPDATE(function, type, word, letters, operation)           \
    CUDASIM_ATOMIC_OF_BLOCK(function, name, type, word, letters)

CUDASIM_ATOMIC_SCOPES(Add, add, int, int, i, fetch_add)
CUDASIM_ATOMIC_SCOPES(Add, add, unsigned int, int, i, fetch_add)
CUDASIM_ATOMIC_SCOPES(Add, add, unsigned long long, long long, ll, fetch_add)
CUDASIM_ATOMIC_SCOPES(Add, add, float, float, f, fetch_add)
CUDASIM_ATOMIC_SCOPES(Add, add, double, double, d, fetch_add)

CUDASIM_ATOMIC_SCOPES(Exch, xchg, int, int, i, exchange_n)
CUDASIM_ATOMIC_SCOPES(Exch, xchg, unsigned int, int, i, exchange_n)
CUDASIM_ATOMIC_SCOPES(Exch, xchg, unsigned long long, long long, ll, exchange_n)

CUDASIM_ATOMIC_SCOPES(Min, min, int, int, i, fetch_min)
CUDASIM_ATOMIC_SCOPES(Max, max, int, int, i, fetch_max)
CUDASIM_ATOMIC_SCOPES(Min, min, long long, long long, ll, fetch_min)
CUDASIM_ATOMIC_SCOPES(Max, max, long long, long long, ll, fetch_max)
CUDASIM_ATOMIC_UPDATE(Min, unsigned int, int, i, fetch_min)
CUDASIM_ATOMIC_UPDATE(Max, unsigned int, int, i, fetch_max)
CUDASIM_ATOMIC_UPDATE(Min, unsigned long long, long long, ll, fetch_min)
CUDASIM_ATOMIC_UPDATE(Max, unsigned long long, long long, ll, fetch_max)
CUDASIM_ATOMIC_BLOCK_LOOP(atomicMin_block, unsigned int, int, i, <)
CUDASIM_ATOMIC_BLOCK_LOOP(atomicMax_block, unsigned int, int, i, >)
CUDASIM_ATOMIC_BLOCK_LOOP(atomicMin_block, unsigned long long, long long, ll, <)
CUDASIM_ATOMIC_BLOCK_LOOP(atomicMax_block, unsigned long long, long long, ll, >)

#define CUDASIM_ATOMIC_BITS(function, name, operation)                         \
    CUDASIM_ATOMIC_SCOPES(function, name, int, int, i, operation)              \
    CUDASIM_ATOMIC_SCOPES(function, name, unsigned int, int, i, operation)     \
    CUDASIM_ATOMIC_SCOPES(function, name, long long, long long, ll, operation) \
    CUDASIM_ATOMIC_SCOPES(function, name, unsigned long long, long long, ll, operation)
CUDASIM_ATOMIC_BITS(And, and, fetch_and)
CUDASIM_ATOMIC_BITS(Or, or, fetch_or)
CUDASIM_ATOMIC_BITS(Xor, xor, fetch_xor)

// What is made of the operations above.
#define CUDASIM_ATOMIC_DERIVED(scope)                                                                       \
    CUDASIM_ATOMIC int atomicSub##scope(int* address, int value) {                                          \
        return atomicAdd##scope(address, static_cast<int>(0u - static_cast<unsigned int>(value)));          \
    }                                                                                                       \
    CUDASIM_ATOMIC unsigned int atomicSub##scope(unsigned int* address, unsigned int value) {               \
        return atomicAdd##scope(address, 0u - value);                                                       \
    }                                                                                                       \
    CUDASIM_ATOMIC float atomicExch##scope(float* address, float value) {                                   \
        return __builtin_bit_cast(                                                                          \
            float, atomicExch##scope(reinterpret_cast<int*>(address), __builtin_bit_cast(int, value)));     \
    }                                                                                                       \
    CUDASIM_ATOMIC float2 atomicAdd##scope(float2* address, float2 value) {                                 \
        return make_float2(atomicAdd##scope(&address->x, value.x), atomicAdd##scope(&address->y, value.y)); \
    }                                                                                                       \
    CUDASIM_ATOMIC float4 atomicAdd##scope(float4* address, float4 value) {                                 \
        return make_float4(atomicAdd##scope(&address->x, value.x), atomicAdd##scope(&address->y, value.y),  \
                           atomicAdd##scope(&address->z, value.z), atomicAdd##scope(&address->w, value.w)); \
    }
CUDASIM_ATOMIC_DERIVED()
CUDASIM_ATOMIC_DERIVED(_block)
CUDASIM_ATOMIC_DERIVED(_system)

CUDASIM_ATOMIC unsigned int atomicInc(unsigned int* address, unsigned int limit) {
    return __nvvm_atom_inc_gen_ui(address, limit);
}
CUDASIM_ATOMIC unsigned int atomicDec(unsigned int* address, unsigned int limit) {
    return __nvvm_atom_dec_gen_ui(address, limit);
}
CUDASIM_ATOMIC unsigned int atomicInc_block(unsigned int* address, unsigned int limit) {
    return __nvvm_atom_cta_inc_gen_ui(address, limit);
}
CUDASIM_ATOMIC unsigned int atomicDec_block(unsigned int* address, unsigned int limit) {
    return __nvvm_atom_cta_dec_gen_ui(address, limit);
}
CUDASIM_ATOMIC unsigned int atomicInc_system(unsigned int* address, unsigned int limit) {
    return __nvvm_atom_sys_inc_gen_ui(address, limit);
}
CUDASIM_ATOMIC unsigned int atomicDec_system(unsigned int* address, unsigned int limit) {
    return __nvvm_atom_sys_dec_gen_ui(address, limit);
}

#define CUDASIM_ATOMIC_COMPARE(type, suffix, scope)                                           \
    CUDASIM_ATOMIC type atomicCAS##suffix(type* address, type compare, type value) {          \
        __scoped_atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_RELAXED, \
                                           __ATOMIC_RELAXED, scope);                          \
        return compare;                                                                       \
    }
#define CUDASIM_ATOMIC_COMPARE_OF_BLOCK(type, word, letters)                                          \
    CUDASIM_ATOMIC type atomicCAS_block(type* address, type compare, type value) {                    \
        return static_cast<type>(__nvvm_atom_cta_cas_gen_##letters(                                   \
            reinterpret_cast<word*>(address), static_cast<word>(compare), static_cast<word>(value))); \
    }
#define CUDASIM_ATOMIC_COMPARE_WIDE(type)                 \
    CUDASIM_ATOMIC_COMPARE(type, , __MEMORY_SCOPE_DEVICE) \
    CUDASIM_ATOMIC_COMPARE(type, _system, __MEMORY_SCOPE_SYSTEM)
CUDASIM_ATOMIC_COMPARE_WIDE(int)
CUDASIM_ATOMIC_COMPARE_WIDE(unsigned int)
CUDASIM_ATOMIC_COMPARE_WIDE(unsigned long long)
CUDASIM_ATOMIC_COMPARE_WIDE(unsigned short)
CUDASIM_ATOMIC_COMPARE(unsigned short, _block, __MEMORY_SCOPE_WRKGRP)
CUDASIM_ATOMIC_COMPARE_OF_BLOCK(int, int, i)
CUDASIM_ATOMIC_COMPARE_OF_BLOCK(unsigned int, int, i)
CUDASIM_ATOMIC_COMPARE_OF_BLOCK(unsigned long long, long long, ll)

// Objects of 16 bytes that are aligned to 16.
namespace cudasim {
template <bool fits, typename T>
struct ObjectOf128Bits {};
template <typename T>
struct ObjectOf128Bits<true, T> {
    typedef T type;
};
}  // namespace cudasim
#define CUDASIM_128_BITS(T)                                                                              \
    typename cudasim::ObjectOf128Bits<sizeof(T) == 16 && alignof(T) >= 16 && __is_trivially_copyable(T), \
                                      T>::type
#define CUDASIM_ATOMIC_OBJECT(suffix, scope)                                                           \
    template <typename T>                                                                              \
    CUDASIM_ATOMIC CUDASIM_128_BITS(T) atomicCAS##suffix(T* address, T compare, T value) {             \
        unsigned __int128 expected, desired;                                                           \
        __builtin_memcpy(&expected, &compare, 16);                                                     \
        __builtin_memcpy(&desired, &value, 16);                                                        \
        __scoped_atomic_compare_exchange_n(reinterpret_cast<unsigned __int128*>(address), &expected,   \
                                           desired, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED, scope); \
        __builtin_memcpy(&compare, &expected, 16);                                                     \
        return compare;                                                                                \
    }                                                                                                  \
    template <typename T>                                                                              \
    CUDASIM_ATOMIC CUDASIM_128_BITS(T) atomicExch##suffix(T* address, T value) {                       \
        unsigned __int128 desired;                                                                     \
        __builtin_memcpy(&desired, &value, 16);                                                        \
        desired = __scoped_atomic_exchange_n(reinterpret_cast<unsigned __int128*>(address), desired,   \
                                             __ATOMIC_RELAXED, scope);                                 \
        __builtin_memcpy(&value, &desired, 16);                                                        \
        return value;                                                                                  \
    }
CUDASIM_ATOMIC_OBJECT(, __MEMORY_SCOPE_DEVICE)
CUDASIM_ATOMIC_OBJECT(_block, __MEMORY_SCOPE_WRKGRP)
CUDASIM_ATOMIC_OBJECT(_system, __MEMORY_SCOPE_SYSTEM)

#undef CUDASIM_ATOMIC_BLOCK_LOOP
#undef CUDASIM_ATOMIC_UPDATE
#undef CUDASIM_ATOMIC_OF_BLOCK
#undef CUDASIM_ATOMIC_SCOPES
#undef CUDASIM_ATOMIC_BITS
#undef CUDASIM_ATOMIC_DERIVED
#undef CUDASIM_ATOMIC_COMPARE
#undef CUDASIM_ATOMIC_COMPARE_OF_BLOCK
#undef CUDASIM_ATOMIC_COMPARE_WIDE
#undef CUDASIM_ATOMIC_OBJECT
#undef CUDASIM_128_BITS
#undef CUDASIM_ATOMIC

#endif
