// Asynchronous copies (cp.async) with races and their clean twins, as races.cu has them: three arrays of 64 ints, two
// blocks of 64 threads, of which the first one works. Compiled for sm_80.
#include "cuda_keywords.h"

#define KERNEL extern "C" __global__ void

typedef __attribute__((address_space(3))) int shared_int;
typedef __attribute__((address_space(1))) const int global_int;

__device__ inline void copy(int* to, const int* from) {
    __nvvm_cp_async_ca_shared_global_4((shared_int*)to, (global_int*)from);
}

KERNEL waited_for(int* source, int* more, int* out) {
    __shared__ int tile[64];
    if (block_index() != 0) return;
    int t = thread_index();
    __nvvm_cp_async_ca_shared_global_4((shared_int*)&tile[t], (global_int*)&source[t]);
    __nvvm_cp_async_commit_group();
    __nvvm_cp_async_wait_group(0);
    __syncthreads();
    out[t] = tile[63 - t];
}

KERNEL waited_for_without_a_group(int* source, int* more, int* out) {
    __shared__ int tile[64];
    if (block_index() != 0) return;
    int t = thread_index();
    copy(&tile[t], &source[t]);
    __nvvm_cp_async_wait_all();
    out[t] = tile[t];
}

KERNEL not_waited_for(int* source, int* more, int* out) {
    __shared__ int tile[64];
    if (block_index() != 0) return;
    int t = thread_index();
    __nvvm_cp_async_ca_shared_global_4((shared_int*)&tile[t], (global_int*)&source[t]);  // race: A
    __nvvm_cp_async_commit_group();
    __syncthreads();
    out[t] = tile[63 - t];  // race: A
}

KERNEL its_own_thread_does_not_wait(int* source, int* more, int* out) {
    __shared__ int tile[64];
    if (block_index() != 0) return;
    int t = thread_index();
    __nvvm_cp_async_ca_shared_global_4((shared_int*)&tile[t], (global_int*)&source[t]);  // race: A
    out[t] = tile[t];  // race: A
    __nvvm_cp_async_wait_all();
}

KERNEL waited_for_behind_the_barrier(int* source, int* more, int* out) {
    __shared__ int tile[64];
    if (block_index() != 0) return;
    int t = thread_index();
    __nvvm_cp_async_ca_shared_global_4((shared_int*)&tile[t], (global_int*)&source[t]);  // race: A
    __syncthreads();
    __nvvm_cp_async_wait_all();
    out[t] = tile[63 - t];  // race: A
}

KERNEL waited_for_without_a_barrier(int* source, int* more, int* out) {
    __shared__ int tile[64];
    if (block_index() != 0) return;
    int t = thread_index();
    if (t < 32) {
        __nvvm_cp_async_ca_shared_global_4((shared_int*)&tile[t], (global_int*)&source[t]);  // race: A
        __nvvm_cp_async_wait_all();
    } else {
        out[t] = tile[t - 32];  // race: A
    }
}

KERNEL read_before_and_after(int* source, int* more, int* out) {
    __shared__ int tile[64];
    if (block_index() != 0) return;
    int t = thread_index();
    if (t < 2) out[t] = tile[0];  // race: A
    if (t == 2) __nvvm_cp_async_ca_shared_global_4((shared_int*)&tile[0], (global_int*)&source[0]);  // race: A, race: B
    if (t == 3) out[t] = tile[0];  // race: B
}

KERNEL not_committed(int* source, int* more, int* out) {
    __shared__ int tile[64];
    if (block_index() != 0) return;
    int t = thread_index();
    __nvvm_cp_async_ca_shared_global_4((shared_int*)&tile[t], (global_int*)&source[t]);  // race: A
    __nvvm_cp_async_wait_group(0);
    out[t] = tile[t];  // race: A
}

KERNEL two_stages(int* source, int* more, int* out) {
    __shared__ int tile[2][64];
    if (block_index() != 0) return;
    int t = thread_index();
    copy(&tile[0][t], &source[t]);
    __nvvm_cp_async_commit_group();
    for (int stage = 0; stage < 4; ++stage) {
        if (stage < 3) copy(&tile[(stage + 1) % 2][t], &more[t]);
        __nvvm_cp_async_commit_group();
        __nvvm_cp_async_wait_group(1);
        __syncthreads();
        out[t] += tile[stage % 2][63 - t];
        __syncthreads();
    }
}

KERNEL two_stages_with_two_groups_pending(int* source, int* more, int* out) {
    __shared__ int tile[2][64];
    if (block_index() != 0) return;
    int t = thread_index();
    __nvvm_cp_async_ca_shared_global_4((shared_int*)&tile[0][t], (global_int*)&source[t]);  // race: A
    __nvvm_cp_async_commit_group();
    __nvvm_cp_async_ca_shared_global_4((shared_int*)&tile[1][t], (global_int*)&more[t]);
    __nvvm_cp_async_commit_group();
    __nvvm_cp_async_wait_group(2);
    out[t] = tile[0][t];  // race: A
    __nvvm_cp_async_wait_group(0);
    out[t] += tile[1][t];
}

KERNEL two_stages_without_a_second_barrier(int* source, int* more, int* out) {
    __shared__ int tile[64];
    if (block_index() != 0) return;
    int t = thread_index();
    for (int stage = 0; stage < 2; ++stage) {
        __nvvm_cp_async_ca_shared_global_4((shared_int*)&tile[t], (global_int*)&source[t]);  // race: A
        __nvvm_cp_async_wait_all();
        __syncthreads();
        out[t] += tile[63 - t];  // race: A
    }
}

KERNEL written_over(int* source, int* more, int* out) {
    __shared__ int tile[64];
    if (block_index() != 0) return;
    int t = thread_index();
    __nvvm_cp_async_ca_shared_global_4((shared_int*)&tile[t], (global_int*)&source[t]);  // race: A
    tile[t] = t + 1;  // race: A
    __nvvm_cp_async_wait_all();
    out[t] = tile[t];
}

KERNEL source_is_changed(int* source, int* more, int* out) {
    __shared__ int tile[64];
    if (block_index() != 0) return;
    int t = thread_index();
    source[t] = 1;
    __nvvm_cp_async_ca_shared_global_4((shared_int*)&tile[t], (global_int*)&source[t]);  // race: A
    source[t] = 2;  // race: A
    __nvvm_cp_async_wait_all();
    out[t] = tile[t];
}

KERNEL source_is_changed_behind_the_wait(int* source, int* more, int* out) {
    __shared__ int tile[64];
    if (block_index() != 0) return;
    int t = thread_index();
    source[t] = 1;
    copy(&tile[t], &source[t]);
    __nvvm_cp_async_wait_all();
    source[t] = 2;
    out[t] = tile[t];
}

KERNEL source_is_changed_behind_a_barrier(int* source, int* more, int* out) {
    __shared__ int tile[64];
    if (block_index() != 0) return;
    int t = thread_index();
    __nvvm_cp_async_ca_shared_global_4((shared_int*)&tile[t], (global_int*)&source[t]);  // race: A
    __syncthreads();
    source[63 - t] = 2;  // race: A
    __syncthreads();
    __nvvm_cp_async_wait_all();
    out[t] = tile[t];
}

KERNEL sixteen_bytes_and_zeros(int* source, int* more, int* out) {
    __shared__ __attribute__((aligned(16))) int tile[64];
    if (block_index() != 0 || thread_index() >= 16) return;
    int t = thread_index();
    __nvvm_cp_async_cg_shared_global_16((shared_int*)&tile[4 * t], (global_int*)&source[4 * t], 8);
    source[4 * t + 3] = 1;
    __nvvm_cp_async_wait_all();
    out[t] = tile[4 * t] + tile[4 * t + 3];
}

KERNEL assembly(int* source, int* more, int* out) {
    __shared__ int tile[64];
    if (block_index() != 0) return;
    int t = thread_index();
    unsigned to = (unsigned)(unsigned long)(shared_int*)&tile[t];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(&source[t]) : "memory");
    asm volatile("cp.async.commit_group;" ::: "memory");
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();
    out[t] = tile[63 - t];
}

KERNEL assembly_without_a_wait(int* source, int* more, int* out) {
    __shared__ int tile[64];
    if (block_index() != 0) return;
    int t = thread_index();
    unsigned to = (unsigned)(unsigned long)(shared_int*)&tile[t];
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(&source[t]) : "memory");  // race: A
    asm volatile("cp.async.commit_group;" ::: "memory");
    __syncthreads();
    out[t] = tile[63 - t];  // race: A
}
