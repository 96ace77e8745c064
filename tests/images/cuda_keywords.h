// The few words of CUDA C++ that smooth.cu uses, for clang alone: no CUDA toolkit, no header of one.
#pragma once

#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define __shared__ __attribute__((shared))
#define __constant__ __attribute__((constant))

__device__ inline int thread_index() {
    return __nvvm_read_ptx_sreg_tid_x();
}
__device__ inline int block_index() {
    return __nvvm_read_ptx_sreg_ctaid_x();
}
__device__ inline int block_size() {
    return __nvvm_read_ptx_sreg_ntid_x();
}
__device__ inline int atomic_add(int* where, int value) {
    return __nvvm_atom_add_gen_i(where, value);
}
