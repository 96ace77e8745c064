// What nvcc includes before each .cu file.
#ifndef CUDASIM_TRANSLATION_UNIT_H
#define CUDASIM_TRANSLATION_UNIT_H

#include <cuda_runtime.h>

#if defined(CUDASIM_REGISTER_LINKED_BINARY) && !defined(__CUDA_ARCH__)
// With relocatable device code, clang's constructor calls a function with a name of its own for each object,
// which nvcc's step "device link" is to define. Here device code is linked when the program loads, so the
// object brings the function itself. Whole programs and shared libraries with the same name take any one of
// them.
extern "C" {
void** __cudaRegisterFatBinary(void*);
void __cudaRegisterFatBinaryEnd(void**);
void __cudaUnregisterFatBinary(void**);
int __cxa_atexit(void (*)(void*), void*, void*);
extern void* __dso_handle __attribute__((visibility("hidden")));
__attribute__((weak, visibility("hidden"), used)) void CUDASIM_REGISTER_LINKED_BINARY(
    void (*register_globals)(void**), void* wrapper, void*, void (*)(void*)) {
    void** handle = __cudaRegisterFatBinary(wrapper);
    register_globals(handle);
    __cudaRegisterFatBinaryEnd(handle);
    // At the end of the program, or when the shared library is unloaded.
    __cxa_atexit([](void* each) { __cudaUnregisterFatBinary(static_cast<void**>(each)); }, handle,
                 &__dso_handle);
}
}
#endif

#if defined(CUDASIM_OPENMP) && !defined(__CUDA_ARCH__)
// clang 19 calls it after loops with a dynamic schedule. It does nothing, and libomp has it since version 19.
extern "C" __attribute__((weak, visibility("hidden"), used)) void __kmpc_dispatch_deinit(void*, int) {}
#endif

#endif
