// Kernels in CUDA C++ with races and their clean twins, compiled by clang alone. What is expected stands beside
// the lines, as in tests/python/checks/race_kernels.py. Each kernel gets three arrays of 64 ints, all 0, and runs
// in two blocks of 64 threads.
#include "cuda_keywords.h"

#define KERNEL extern "C" __global__ void

KERNEL volatile_flag(int* data, volatile int* flag, int* out) {
    if (block_index() == 0 && thread_index() == 0) {
        data[0] = 42;
        __nvvm_membar_gl();
        *flag = 1;
    }
    if (block_index() == 1 && thread_index() == 0) {
        while (*flag == 0) {
        }
        __nvvm_membar_gl();
        out[0] = data[0];
    }
}

KERNEL volatile_flag_without_fence(int* data, volatile int* flag, int* out) {
    if (block_index() == 0 && thread_index() == 0) {
        data[0] = 42;  // race: A
        *flag = 1;  // race: B
    }
    if (block_index() == 1 && thread_index() == 0) {
        while (*flag == 0) {  // race: B
        }
        __nvvm_membar_gl();
        out[0] = data[0];  // race: A
    }
}

KERNEL volatile_flag_behind_a_fence_of_the_block(int* data, volatile int* flag, int* out) {
    if (block_index() == 0 && thread_index() == 0) {
        data[0] = 42;  // race: A
        __nvvm_membar_cta();
        *flag = 1;
    }
    if (block_index() == 1 && thread_index() == 0) {
        while (*flag == 0) {
        }
        __nvvm_membar_gl();
        out[0] = data[0];  // race: A
    }
}

KERNEL a_scan_that_looks_back(int* data, volatile int* flag, int* out) {
    if (thread_index() == 0) {
        int total = 0;
        for (int before = block_index() - 1; before >= 0;) {
            const int state = flag[before];
            if (state == 0) continue;  // the same flag again
            __nvvm_membar_gl();
            total += data[before];
            if (state == 2) break;
            --before;
        }
        data[block_index()] = total + 5;
        __nvvm_membar_gl();
        flag[block_index()] = 2;
        out[block_index()] = total;
    }
}

KERNEL a_scan_that_looks_back_without_a_fence(int* data, volatile int* flag, int* out) {
    if (thread_index() == 0) {
        int total = 0;
        for (int before = block_index() - 1; before >= 0;) {
            const int state = flag[before];  // race: B
            if (state == 0) continue;
            __nvvm_membar_gl();
            total += data[before];  // race: A
            if (state == 2) break;
            --before;
        }
        data[block_index()] = total + 5;  // race: A
        flag[block_index()] = 2;  // race: B
        out[block_index()] = total;
    }
}

KERNEL volatile_without_polling(int* data, volatile int* flag, int* out) {
    if (thread_index() == 0 && block_index() == 0) {
        __nvvm_membar_gl();
        *flag = 1;  // race: A
    }
    if (thread_index() == 33 && block_index() == 0) out[0] = *flag;  // race: A
}

KERNEL a_lock_without_fences_is_no_flag(int* mutex, volatile int* value, int* out) {
    if (thread_index() == 0) {
        while (__nvvm_atom_cas_gen_i(mutex, 0, 1) != 0) {
        }
        *value = *value + 1;  // race: A
        __nvvm_atom_xchg_gen_i(mutex, 0);
    }
}

KERNEL a_lock_with_fences(int* mutex, volatile int* value, int* out) {
    if (thread_index() == 0) {
        while (__nvvm_atom_cas_gen_i(mutex, 0, 1) != 0) {
        }
        __nvvm_membar_gl();
        *value = *value + 1;
        __nvvm_membar_gl();
        __nvvm_atom_xchg_gen_i(mutex, 0);
    }
}

KERNEL release_and_acquire(int* data, int* flag, int* out) {
    if (block_index() == 0 && thread_index() == 0) {
        data[0] = 42;
        __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    }
    if (block_index() == 1 && thread_index() == 0) {
        while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) {
        }
        out[0] = data[0];
    }
}

KERNEL relaxed_both(int* data, int* flag, int* out) {
    if (block_index() == 0 && thread_index() == 0) {
        data[0] = 42;  // race: A
        __atomic_store_n(flag, 1, __ATOMIC_RELAXED);
    }
    if (block_index() == 1 && thread_index() == 0) {
        while (__atomic_load_n(flag, __ATOMIC_RELAXED) == 0) {
        }
        out[0] = data[0];  // race: A
    }
}

KERNEL atomics_of_the_block(int* counter, int* flag, int* out) {
    __nvvm_atom_cta_add_gen_i(counter, 1);  // race: A
}

KERNEL atomics_of_the_block_in_one_block(int* counter, int* flag, int* out) {
    if (block_index() == 0) __nvvm_atom_cta_add_gen_i(counter, 1);
}

KERNEL atomics_of_the_device(int* counter, int* flag, int* out) {
    atomic_add(counter, 1);
}

KERNEL half_of_the_block_waits(int* data, int* flag, int* out) {
    __shared__ int tile[64];
    int t = thread_index();
    if (t < 32) {
        tile[t] = t;
        __nvvm_barrier_sync_cnt(1, 64);
    } else {
        __nvvm_barrier_sync_cnt(1, 64);
        if (block_index() == 0) out[t] = tile[t - 32];
    }
}

KERNEL written_behind_the_barrier(int* data, int* flag, int* out) {
    __shared__ int tile[64];
    int t = thread_index();
    if (t < 32) {
        __nvvm_barrier_sync_cnt(1, 64);
        tile[t] = t;  // race: A
    } else {
        __nvvm_barrier_sync_cnt(1, 64);
        if (block_index() == 0) out[t] = tile[t - 32];  // race: A
    }
}

KERNEL bytes_of_one_word(int* data, int* flag, int* out) {
    if (block_index() == 0) ((char*)out)[thread_index()] = (char)thread_index();
}

KERNEL neighbouring_shorts(int* data, int* flag, int* out) {
    short* values = (short*)out;
    if (block_index() != 0) return;
    int t = thread_index();
    values[t] = (short)t;  // race: A
    data[t] = values[t ^ 1];  // race: A
}

KERNEL structs_are_copied(int* data, int* flag, int* out) {
    struct Quad {
        int values[4];
    };
    Quad* quads = (Quad*)out;
    if (block_index() != 0 || thread_index() >= 16) return;
    quads[thread_index()] = ((Quad*)data)[0];
}

KERNEL structs_overlap(int* data, int* flag, int* out) {
    struct Quad {
        int values[4];
    };
    if (block_index() != 0 || thread_index() >= 8) return;
    data[thread_index()] = thread_index();  // race: B
    *(Quad*)(out + 2 * thread_index()) = *(Quad*)(data + 4);  // race: A, race: B
}

KERNEL a_flag_that_an_atomic_operation_sets(int* data, volatile int* flag, int* out) {
    if (thread_index() != 0) return;
    if (block_index() == 0) {
        __nvvm_atom_xchg_gen_i((int*)flag, 1);
    } else {
        while (*flag == 0) {
        }
        out[0] = 1;
    }
}

KERNEL a_flag_that_ends_a_loop_by_break(int* data, volatile int* flag, int* out) {
    if (thread_index() != 0) return;
    if (block_index() == 0) {
        data[0] = 42;
        __nvvm_membar_gl();
        flag[0] = 1;
    } else {
        while (true) {
            int value = flag[0];
            if (value == 1) break;
        }
        __nvvm_membar_gl();
        out[0] = data[0];
    }
}

KERNEL a_lock_that_is_tested_before_it_is_taken(int* mutex, int* value, int* out) {
    if (thread_index() != 0) return;
    bool done = false;
    while (!done) {
        if (*(volatile int*)mutex == 0 && __nvvm_atom_cas_gen_i(mutex, 0, 1) == 0) {
            __nvvm_membar_gl();
            value[0] += 1;
            __nvvm_membar_gl();
            __nvvm_atom_xchg_gen_i(mutex, 0);
            done = true;
        }
    }
}

KERNEL a_lock_that_is_tested_in_a_loop_of_its_own(int* mutex, int* value, int* out) {
    if (thread_index() != 0) return;
    while (true) {
        while (*(volatile int*)mutex != 0) {
        }
        if (__nvvm_atom_cas_gen_i(mutex, 0, 1) == 0) break;
    }
    __nvvm_membar_gl();
    value[0] += 1;
    __nvvm_membar_gl();
    *(volatile int*)mutex = 0;
}

KERNEL a_lock_that_is_tested_and_taken_in_one_condition(int* mutex, int* value, int* out) {
    if (thread_index() != 0) return;
    while (*(volatile int*)mutex != 0 || __nvvm_atom_cas_gen_i(mutex, 0, 1) != 0) {
    }
    __nvvm_membar_gl();
    value[0] += 1;
    __nvvm_membar_gl();
    __nvvm_atom_xchg_gen_i(mutex, 0);
}

KERNEL such_a_lock_without_fences(int* mutex, int* value, int* out) {
    if (thread_index() != 0) return;
    while (*(volatile int*)mutex != 0 || __nvvm_atom_cas_gen_i(mutex, 0, 1) != 0) {
    }
    value[0] += 1;  // race: A
    __nvvm_atom_xchg_gen_i(mutex, 0);
}

KERNEL volatile_elements_in_a_loop_are_no_flags(int* data, volatile int* values, int* out) {
    if (thread_index() != 0) return;
    if (block_index() == 0) {
        for (int i = 0; i < 8; ++i) values[i] = i;  // race: A
    } else {
        int count = 0;
        for (int i = 0; i < 8; ++i)
            if (values[i] > 3) ++count;  // race: A
        out[0] = count;
    }
}

KERNEL a_compare_and_swap_whose_result_nobody_uses(int* data, int* other, int* out) {
    __nvvm_atom_cas_gen_i(&data[thread_index() & 3], 0, 1);
}

struct Four {
    int a, b, c, d;
};

KERNEL equal_structs(int* data, int* other, int* out) {
    Four four{1, 2, 3, 4};
    *(Four*)data = four;  // equal: A
}

KERNEL structs_that_differ_in_one_member(int* data, int* other, int* out) {
    Four four{1, 2, thread_index(), 4};
    *(Four*)data = four;  // race: A
}

KERNEL equal_fills(int* data, int* other, int* out) {
    __builtin_memset(data, 7, 32);  // equal: A
}

KERNEL release_and_acquire_in_assembly(int* data, int* flag, int* out) {
    if (thread_index() != 0) return;
    if (block_index() == 0) {
        data[0] = 42;
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
    } else {
        int value;
        do {
            asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
        } while (value == 0);
        out[0] = data[0];
    }
}

KERNEL relaxed_accesses_in_assembly(int* data, int* flag, int* out) {
    if (thread_index() != 0) return;
    if (block_index() == 0) {
        data[0] = 42;  // race: A
        asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(flag), "r"(1) : "memory");
    } else {
        int value;
        do {
            asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
        } while (value == 0);
        out[0] = data[0];  // race: A
    }
}

KERNEL fences_in_assembly(int* data, volatile int* flag, int* out) {
    if (thread_index() != 0) return;
    if (block_index() == 0) {
        data[0] = 42;
        asm volatile("membar.gl;" ::: "memory");
        *flag = 1;
    } else {
        while (*flag == 0) {
        }
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        out[0] = data[0];
    }
}

KERNEL a_fence_of_the_block_in_assembly(int* data, volatile int* flag, int* out) {
    if (thread_index() != 0) return;
    if (block_index() == 0) {
        data[0] = 42;  // race: A
        asm volatile("membar.cta;" ::: "memory");
        *flag = 1;
    } else {
        while (*flag == 0) {
        }
        asm volatile("membar.gl;" ::: "memory");
        out[0] = data[0];  // race: A
    }
}

KERNEL a_plain_store_in_assembly(int* data, int* flag, int* out) {
    asm volatile("st.global.u32 [%0], %1;" ::"l"(out), "r"(thread_index()) : "memory");  // race: A
}

KERNEL a_barrier_in_assembly(int* data, int* flag, int* out) {
    if (block_index() != 0) return;
    data[thread_index()] = thread_index();
    asm volatile("bar.sync 0;" ::: "memory");
    out[thread_index()] = data[63 - thread_index()];
}
