// Kernels in CUDA C++ for traces of who wrote an element and what had been read before, compiled by clang alone.
// Each kernel gets two arrays of 64 ints and runs in one block of 64 threads. The trace is that of out[5].
// Marked are the lines that write to it, and those whose reads the value or the address comes from.
#include "cuda_keywords.h"

#define KERNEL extern "C" __global__ void

struct Four {
    int parts[4];
};

__constant__ int table[4] = {10, 20, 30, 40};
__device__ int offset_in_memory = 3;

__device__ void set(int& target, int value) { target = value; }  // writes
__device__ int sum(const int* from, int n) {
    return n == 0 ? 0 : *from + sum(from + 1, n - 1);  // value
}

KERNEL an_element(const int* data, int* out) {
    out[thread_index()] = data[thread_index()] + 1;  // writes, value
}

KERNEL two_statements(const int* data, int* out) {
    int value = data[thread_index()];  // value
    out[thread_index()] = 0;  // writes
    out[thread_index()] = value + data[63 - thread_index()];  // writes, value
}

KERNEL a_function(const int* data, int* out) {
    set(out[thread_index()], data[thread_index()]);  // value
}

KERNEL recursion(const int* data, int* out) {
    int value = sum(data, 3);
    out[thread_index()] = value;  // writes
}

KERNEL a_structure(const int* data, int* out) {
    if (thread_index() < 16) ((Four*)out)[thread_index()] = ((const Four*)data)[thread_index()];  // writes, value
}

KERNEL a_local_structure(const int* data, int* out) {
    if (thread_index() < 16) {
        Four four = ((const Four*)data)[thread_index()];  // value
        four.parts[1] += four.parts[2];
        ((Four*)out)[thread_index()] = four;  // writes
    }
}

KERNEL narrow_parts(const int* data, int* out) {
    const short* from = (const short*)data;
    short* to = (short*)out;
    to[2 * thread_index()] = from[2 * thread_index()];  // writes, value
    ((char*)to)[4 * thread_index() + 3] = ((const char*)from)[4 * thread_index() + 3];  // writes, value
}

KERNEL a_generic_pointer(const int* data, int* out) {
    __shared__ int tile[64];
    int* where = thread_index() % 2 == 1 ? out : tile;
    where[thread_index()] = data[thread_index()];  // writes, value
}

KERNEL shared_memory(const int* data, int* out) {
    __shared__ int tile[64];
    tile[63 - thread_index()] = data[thread_index()];
    __syncthreads();
    out[thread_index()] = tile[thread_index()];  // writes, value
}

KERNEL an_index_in_memory(const int* data, int* out) {
    int index = data[thread_index()] & 63;  // address
    out[index] = data[63 - index];  // writes, value
}

KERNEL a_gather(const int* data, int* out) {
    int index = data[thread_index()] & 63;  // address
    out[thread_index()] = data[63 - index];  // writes, value
}

KERNEL variables_of_the_image(const int* data, int* out) {
    out[thread_index()] = table[thread_index() & 3] + offset_in_memory;  // writes, value
}

KERNEL a_condition(const int* data, int* out) {
    if (data[thread_index()] >= 0) out[thread_index()] = 7;  // writes
}

KERNEL a_volatile_array(const int* data, int* out) {
    volatile int* place = out;
    place[thread_index()] = data[thread_index()];  // writes, value
    place[thread_index()] = place[thread_index()] + 1;  // writes, value
}

KERNEL an_atomic_operation(const int* data, int* out) {
    int old = __nvvm_atom_add_gen_i(out + 5, data[thread_index()]);  // writes, value
    if (old < 0) out[0] = 1;
}

KERNEL an_older_value(const int* data, int* out) {
    int found = __nvvm_atom_cas_gen_i(out + thread_index(), -1, data[thread_index()]);  // value
    out[thread_index()] = found + 1;  // writes
}
