// Atomic functions (CUDA C++ Programming Guide, "Atomic Functions").
#ifndef CUDASIM_ATOMICS_H
#define CUDASIM_ATOMICS_H

#define CUDASIM_DEVICE static __device__ __inline__ __attribute__((always_inline))

CUDASIM_DEVICE int atomicAdd(int* address, int value) {
    return __nvvm_atom_add_gen_i(address, value);
}
CUDASIM_DEVICE unsigned int atomicAdd(unsigned int* address, unsigned int value) {
    return static_cast<unsigned int>(
        __nvvm_atom_add_gen_i(reinterpret_cast<int*>(address), static_cast<int>(value)));
}
CUDASIM_DEVICE float atomicAdd(float* address, float value) {
    return __nvvm_atom_add_gen_f(address, value);
}

#undef CUDASIM_DEVICE

#endif
