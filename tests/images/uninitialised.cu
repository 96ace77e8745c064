// Kernels in CUDA C++ that use values nobody wrote, and their clean twins, compiled by clang alone. Lines that
// use one are marked. Each kernel gets an array of 64 ints that nobody wrote, and one of 64 zeros, and runs in
// one block of 64 threads.
#include "cuda_keywords.h"

#define KERNEL extern "C" __global__ void

struct Pair {
    int first;
    int second;
};

struct Flags {
    unsigned low : 3;
    unsigned high : 5;
};

struct Padded {
    char letter;
    int number;
};

__device__ void set(int& target, int value) { target = value; }
__device__ void set_if(bool really, int* target, int value) {
    if (really) *target = value;
}
__device__ int depth_of(int n, int value) { return n == 0 ? value : 1 + depth_of(n - 1, value); }

__device__ int global_counter;

KERNEL a_variable(int* empty, int* zeros) {
    int value;
    if (thread_index() != 3) value = 1;
    zeros[thread_index()] = value + 1;  // uninitialised
}

KERNEL a_variable_set_by_reference(int* empty, int* zeros) {
    int value;
    set(value, 1);
    zeros[thread_index()] = value + 1;
}

KERNEL a_variable_set_sometimes(int* empty, int* zeros) {
    int value;
    set_if(thread_index() > 5, &value, 1);
    zeros[thread_index()] = value + 1;  // uninitialised
}

KERNEL a_variable_of_each_round(int* empty, int* zeros) {
    for (int i = 0; i < 3; ++i) {
        int value;
        if (i == 0) value = 1;
        zeros[thread_index()] += value;  // uninitialised
    }
}

KERNEL a_variable_that_stays(int* empty, int* zeros) {
    int value;
    for (int i = 0; i < 3; ++i) {
        if (i == 0) value = 1;
        zeros[thread_index()] += value;
    }
}

KERNEL a_condition(int* empty, int* zeros) {
    bool yes;
    if (thread_index() > 3) yes = true;
    if (yes) zeros[0] = 1;  // uninitialised
}

KERNEL a_member(int* empty, int* zeros) {
    Pair pair;
    pair.first = 1;
    Pair copy = pair;
    zeros[thread_index()] = copy.first * 2;
    zeros[thread_index()] += copy.second * 2;  // uninitialised
}

KERNEL both_members(int* empty, int* zeros) {
    Pair pair;
    pair.first = 1;
    pair.second = zeros[0];
    Pair copy = pair;
    zeros[thread_index()] = copy.first + copy.second;
}

KERNEL bits_of_a_word(int* empty, int* zeros) {
    Flags flags;
    flags.low = thread_index() & 7;
    zeros[thread_index()] = flags.low + 1;
}

KERNEL other_bits_of_a_word(int* empty, int* zeros) {
    Flags flags;
    flags.low = thread_index() & 7;
    zeros[thread_index()] = flags.high + 1;  // uninitialised
}

KERNEL padding(int* empty, int* zeros) {
    Padded one;
    one.letter = 'a';
    one.number = 2;
    Padded copies[2] = {one, one};
    zeros[thread_index()] = copies[thread_index() & 1].number + copies[0].letter;
}

KERNEL an_array(int* empty, int* zeros) {
    int values[8];
    for (int i = 0; i < 7; ++i) values[i] = i;
    zeros[thread_index()] = values[thread_index() & 7] + 1;  // uninitialised
}

KERNEL an_array_of_each_thread(int* empty, int* zeros) {
    int values[8];
    for (int i = 0; i < 8; ++i) values[i] = i;
    int sum = 0;
    for (int i = 0; i < 8; ++i) sum += values[(i + thread_index()) & 7];
    zeros[thread_index()] = sum;
}

KERNEL shared_memory(int* empty, int* zeros) {
    __shared__ int tile[64];
    if (thread_index() < 63) tile[thread_index()] = 1;
    __syncthreads();
    zeros[thread_index()] = tile[thread_index()] + 1;  // uninitialised
}

KERNEL global_memory(int* empty, int* zeros) {
    zeros[thread_index()] = empty[thread_index()];
    if (thread_index() == 7) empty[7] = 7;
    if (thread_index() == 7) zeros[7] = empty[7] + 1;
    if (thread_index() == 8) zeros[8] = empty[8] + 1;  // uninitialised
}

KERNEL a_variable_of_the_module(int* empty, int* zeros) {
    zeros[thread_index()] = global_counter + 1;
}

KERNEL an_atomic_operation(int* empty, int* zeros) {
    atomic_add(&zeros[0], 1);
    atomic_add(&empty[0], 1);  // uninitialised
}

KERNEL a_recursive_argument(int* empty, int* zeros) {
    zeros[thread_index()] = depth_of(3, zeros[1]);
    zeros[thread_index()] += depth_of(3, empty[1]);  // uninitialised
}

KERNEL chosen_between(int* empty, int* zeros) {
    int* from = thread_index() < 32 ? zeros : empty;
    int kept = from[thread_index()];
    if (thread_index() < 32) zeros[thread_index()] = kept + 1;
}

KERNEL a_copy_of_memory(int* empty, int* zeros) {
    int values[16];
    __builtin_memcpy(values, empty, sizeof values);
    values[3] = 3;
    __builtin_memcpy(zeros, values, sizeof values);
    if (thread_index() == 0) zeros[3] = zeros[3] + 1;
    if (thread_index() == 0) zeros[20] = zeros[4] + 1;  // uninitialised
}

KERNEL filled_memory(int* empty, int* zeros) {
    int values[16];
    __builtin_memset(values, 0, sizeof values);
    __builtin_memset(empty, 0, 64 * sizeof(int));
    zeros[thread_index()] = values[thread_index() & 15] + empty[thread_index()];
}

KERNEL a_value_chosen_among_two(int* empty, int* zeros) {
    int nothing = empty[thread_index()], something = zeros[thread_index()];
    int chosen = thread_index() & 1 ? nothing : something;
    int other = thread_index() & 1 ? something : nothing;
    if (thread_index() & 1) {
        zeros[thread_index()] = other + 1;
        zeros[0] = chosen + 1;  // uninitialised
    } else {
        zeros[thread_index()] = chosen + 1;
        zeros[1] = other + 1;  // uninitialised
    }
}

KERNEL the_sign_of_a_narrow_value(int* empty, int* zeros) {
    int value = ((signed char*)empty)[thread_index()];
    zeros[thread_index()] = value & 0;
    zeros[thread_index()] = (value >> 8) + 1;  // uninitialised
}

KERNEL above_a_narrow_value_without_sign(int* empty, int* zeros) {
    int value = ((unsigned char*)empty)[thread_index()];
    zeros[thread_index()] = (value >> 8) + 1;
}
