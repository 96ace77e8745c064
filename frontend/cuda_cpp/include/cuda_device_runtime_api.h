// The part of the runtime API that device code may call is declared with the rest. What only device code has:
// kernels that begin before the one in front of them in the stream has ended (CUDA C++ Programming Guide,
// "Programmatic Dependent Launch and Synchronization"). Here one kernel has ended before the next begins.
#ifndef __CUDA_DEVICE_RUNTIME_API_H__
#define __CUDA_DEVICE_RUNTIME_API_H__

#if defined(__CUDA__) && defined(__CUDACC__)
static __device__ __inline__ void cudaGridDependencySynchronize() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}
static __device__ __inline__ void cudaTriggerProgrammaticLaunchCompletion() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
#endif

#endif
