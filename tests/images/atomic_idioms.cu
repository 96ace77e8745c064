// Plain accesses beside atomic ones that are meant so, and twins that race, compiled by clang alone. What is
// expected stands beside the lines, as in tests/python/checks/race_kernels.py. Each kernel gets three arrays
// of 64 ints, all 0, and runs in two blocks of 64 threads.
#include "cuda_keywords.h"

#define KERNEL extern "C" __global__ void

// nodebug: what is found inside is at the line that calls.
#define CAS __device__ __attribute__((nodebug)) inline
CAS int cas(int* where, int old, int wanted) {
    return __nvvm_atom_cas_gen_i(where, old, wanted);
}
CAS long long cas(long long* where, long long old, long long wanted) {
    return __nvvm_atom_cas_gen_ll(where, old, wanted);
}

// Plain reads that a compare-and-swap verifies ----------------------------------------------------------

__device__ inline int add(int* where, int value) {
    int old = *where, assumed;
    do {
        assumed = old;
        old = cas(where, assumed, assumed + value);
    } while (assumed != old);
    return old;
}

__device__ inline double add(double* where, double value) {
    long long* word = (long long*)where;
    long long old = *word, assumed;
    do {
        assumed = old;
        old = cas(word, assumed, __builtin_bit_cast(long long, __builtin_bit_cast(double, assumed) + value));
    } while (assumed != old);
    return __builtin_bit_cast(double, old);
}

__device__ inline float largest(float* where, float value) {
    int* word = (int*)where;
    int old = *word, assumed;
    do {
        assumed = old;
        const float now = __builtin_bit_cast(float, assumed);
        old = cas(word, assumed, __builtin_bit_cast(int, now < value ? value : now));
    } while (assumed != old);
    return __builtin_bit_cast(float, old);
}

KERNEL an_int_is_added_by_compare_and_swap(int* data, int* other, int* out) {
    add(data, 3);
}

KERNEL doubles_are_added_by_compare_and_swap(int* data, int* other, int* out) {
    add((double*)data, 1.5);
    add((double*)data + 1 + thread_index() % 2, thread_index());
}

KERNEL the_largest_float_by_compare_and_swap(int* data, int* other, int* out) {
    largest((float*)data, (float)thread_index());
}

KERNEL the_former_value_may_be_used(int* data, int* other, int* out) {
    const double former = add((double*)data, 1.0);
    if (thread_index() < 32) out[block_index() * 32 + thread_index()] = former > 5;
}

KERNEL in_shared_memory(int* data, int* other, int* out) {
    __shared__ int counts[4];
    __shared__ double sum;
    const int t = thread_index();
    if (t < 4) counts[t] = 0;
    if (t == 0) sum = 0;
    __syncthreads();
    add(&counts[t % 4], 1);
    add(&sum, t);
    __syncthreads();
    if (t < 4 && block_index() == 0) out[t] = counts[t] + (int)sum;
}

KERNEL a_branch_may_choose_the_new_value(int* data, int* other, int* out) {
    int old = *data, assumed;
    do {
        assumed = old;
        int next;
        if (assumed >= 40)
            next = 0;
        else
            next = assumed + 1;
        old = cas(data, assumed, next);
    } while (assumed != old);
}

KERNEL it_may_decide_whether_the_swap_is_tried(int* data, int* other, int* out) {
    const int value = thread_index();
    int old = *data;
    while (old < value) {
        const int seen = cas(data, old, value);
        if (seen == old) break;
        old = seen;
    }
}

KERNEL a_place_is_claimed_if_it_looks_free(int* data, int* other, int* out) {
    const int t = thread_index(), place = t % 16;
    if (data[place] == 0 && cas(&data[place], 0, t + 1) == 0) out[__nvvm_atom_add_gen_i(other, 1)] = t;
}

KERNEL confirmed_by_the_swap_it_may_be_used(int* data, int* other, int* out) {
    const int t = thread_index();
    if (t >= 32) return;
    int old = *data;
    while (true) {
        const int seen = cas(data, old, old + 1);
        if (seen == old) {
            out[block_index() * 32 + t] = old;
            break;
        }
        old = seen;
    }
}

KERNEL volatile_it_may_be(int* data, int* other, int* out) {
    int old = *(volatile int*)data, assumed;
    do {
        assumed = old;
        old = cas(data, assumed, assumed + 1);
    } while (assumed != old);
}

KERNEL what_is_read_is_stored(int* data, int* other, int* out) {
    int old = *data, assumed;  // race: A
    if (thread_index() < 32) out[block_index() * 32 + thread_index()] = old;
    do {
        assumed = old;
        old = cas(data, assumed, assumed + 3);  // race: A
    } while (assumed != old);
}

KERNEL what_is_read_decides_about_a_store(int* data, int* other, int* out) {
    int old = *data, assumed;  // race: A
    if (old > 30 && thread_index() < 32) out[block_index() * 32 + thread_index()] = 1;
    do {
        assumed = old;
        old = cas(data, assumed, assumed + 3);  // race: A
    } while (assumed != old);
}

KERNEL what_is_read_is_an_index(int* data, int* other, int* out) {
    int old = *data, assumed;  // race: A
    do {
        assumed = old;
        old = cas(data, assumed, other[assumed & 63] + 1);  // race: A
    } while (assumed != old);
}

KERNEL the_swap_is_of_another_word(int* data, int* other, int* out) {
    int old = data[0], assumed;  // race: A
    do {
        assumed = old;
        old = cas(&data[1], assumed, assumed + 1);
    } while (assumed != old);
    __nvvm_atom_add_gen_i(&data[0], 1);  // race: A
}

KERNEL the_first_value_is_used_behind_the_loop(int* data, int* other, int* out) {
    const int first = *data;  // race: A
    int old = first, assumed;
    do {
        assumed = old;
        old = cas(data, assumed, assumed + 1);  // race: A
    } while (assumed != old);
    if (thread_index() < 32) out[block_index() * 32 + thread_index()] = first;
}

KERNEL a_plain_write_races_with_what_is_verified(int* data, int* other, int* out) {
    if (thread_index() == 0 && block_index() == 0) *data = 5;  // race: A
    int old = *data;                                           // race: A
    while (old < -5) old = cas(data, old, 0);
}

// Reads -------------------------------------------------------------------------------------------------

KERNEL reads_of_all_kinds_do_not_race(int* data, int* other, int* out) {
    int rounds = 0;
    while (__atomic_load_n(&data[1], __ATOMIC_RELAXED) != 0 && rounds < 3) ++rounds;
    while (*(volatile int*)&data[2] != 0 && rounds < 3) ++rounds;
    const int before = cas(&data[3], 7, 8);
    if (thread_index() < 32) out[block_index() * 32 + thread_index()] = data[1] + data[2] + data[3] + before;
}

KERNEL a_swap_that_succeeds_is_a_write(int* data, int* other, int* out) {
    const int before = cas(&data[3], 0, 8);  // race: A
    if (thread_index() < 32) out[block_index() * 32 + thread_index()] = data[3] + before;  // race: A
}

// Writes that an atomic update decides ------------------------------------------------------------------

KERNEL the_last_block_resets_the_counter(int* data, int* count, int* out) {
    __shared__ bool last;
    const int t = thread_index();
    if (t == 0) {
        data[block_index()] = 5;
        __nvvm_membar_gl();
        last = __nvvm_atom_add_gen_i(count, 1) == 1;
    }
    __syncthreads();
    if (last && t == 0) {
        out[0] = data[0] + data[1];
        *count = 0;
    }
}

KERNEL another_thread_behind_the_barrier_resets_it(int* data, int* count, int* out) {
    __shared__ int rank;
    if (thread_index() == 0) rank = __nvvm_atom_add_gen_i(count, 1);
    __syncthreads();
    if (rank == 1 && thread_index() == 40) *count = 0;
}

KERNEL one_thread_takes_and_resets(int* data, int* count, int* out) {
    if (thread_index() != 0) return;
    const int rank = __nvvm_atom_add_gen_i(count, 1);
    if (rank == 1) *count = 0;
}

KERNEL the_flag_is_set_in_a_branch(int* data, int* count, int* out) {
    __shared__ int last;
    if (thread_index() == 0) {
        last = 0;
        if (__nvvm_atom_add_gen_i(count, 1) == 1) last = 1;
    }
    __syncthreads();
    if (last != 0 && thread_index() == 1) *(volatile int*)count = 0;
}

KERNEL what_the_others_have_written_needs_a_fence(int* data, int* count, int* out) {
    if (thread_index() != 0) return;
    data[block_index()] = 5;  // race: A
    if (__nvvm_atom_add_gen_i(count, 1) == 1) {
        out[0] = data[0] + data[1];  // race: A
        *count = 0;
    }
}

KERNEL a_block_that_is_not_the_last_resets(int* data, int* count, int* out) {
    if (thread_index() != 0) return;
    if (__nvvm_atom_add_gen_i(count, 1) == 0) *count = 0;  // race: A
}

KERNEL nothing_decides_about_the_reset(int* data, int* count, int* out) {
    if (thread_index() != 0) return;
    const int rank = __nvvm_atom_add_gen_i(count, 1);  // race: A
    data[block_index()] = rank;
    if (block_index() == 1) *count = 0;  // race: A
}
