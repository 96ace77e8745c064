// Barriers, locks and queues that programs make of flags and counters. Fenced they are right, and no check finds
// anything in any order of threads; without their fences each of them has a race.
//
// program           runs all of them with fences, and prints 1 for each that has the right result
// program NUMBER    runs one of them without fences
#include <cstdio>
#include <cstdlib>

constexpr int blocks = 4, threads = 64, rounds = 3, items = 12;
__device__ unsigned arrived, generation, tickets, mutex;
__device__ volatile unsigned flag, head, tail, comings[blocks], answers[blocks];
__device__ int value, sums[blocks], ring[4];

__device__ volatile unsigned& volatile_of(unsigned& word) {
    return *const_cast<volatile unsigned*>(&word);
}

// Barriers of the grid -----------------------------------------------------------------------------------

/// The generation is read before the fence, and stored by the last block.
struct StoredGeneration {
    template <typename Fence> __device__ static void wait(Fence fence, unsigned) {
        const unsigned now = flag;
        fence();
        if (atomicAdd(&arrived, 1) == gridDim.x - 1) {
            arrived = 0;
            fence();
            flag = now + 1;
        } else {
            while (flag == now) {}
        }
        fence();
    }
};
/// It is read again where it is incremented.
struct IncrementedGeneration {
    template <typename Fence> __device__ static void wait(Fence fence, unsigned) {
        const unsigned now = flag;
        fence();
        if (atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1) {
            fence();
            flag = flag + 1;
        }
        while (flag == now) {}
        fence();
    }
};
/// An atomic operation makes it another one.
struct FlippedGeneration {
    template <typename Fence> __device__ static void wait(Fence fence, unsigned) {
        const unsigned now = volatile_of(generation);
        fence();
        if (atomicAdd(&arrived, 1) == gridDim.x - 1) {
            atomicExch(&arrived, 0);
            fence();
            atomicXor(&generation, 1);
        } else {
            while (volatile_of(generation) == now) {}
        }
        fence();
    }
};
/// The sense of the next round is read from memory.
struct SenseReversing {
    template <typename Fence> __device__ static void wait(Fence fence, unsigned) {
        const unsigned sense = !flag;
        fence();
        if (atomicAdd(&arrived, 1) == gridDim.x - 1) {
            arrived = 0;
            fence();
            flag = sense;
        } else {
            while (flag != sense) {}
        }
        fence();
    }
};
/// The counter only grows.
struct Counter {
    template <typename Fence> __device__ static void wait(Fence fence, unsigned round) {
        fence();
        atomicAdd(&arrived, 1);
        while (volatile_of(arrived) < round * gridDim.x) {}
        fence();
    }
};
/// One block waits for all others, and answers them.
struct OneBlockAnswers {
    template <typename Fence> __device__ static void wait(Fence fence, unsigned round) {
        fence();
        if (blockIdx.x == 0) {
            atomicAdd(&arrived, 1);
            while (volatile_of(arrived) < round * gridDim.x) {}
            fence();
            answers[0] = round;
        } else {
            atomicAdd(&arrived, 1);
            while (answers[0] != round) {}
        }
        fence();
    }
};
/// Each block has a flag to say that it came, and another one by which it may go on.
struct FlagOfEachBlock {
    template <typename Fence> __device__ static void wait(Fence fence, unsigned round) {
        fence();
        comings[blockIdx.x] = round;
        if (blockIdx.x == 0) {
            for (unsigned block = 0; block < gridDim.x; ++block)
                while (comings[block] != round) {}
            fence();
            for (unsigned block = 0; block < gridDim.x; ++block) answers[block] = round;
        }
        while (answers[blockIdx.x] != round) {}
        fence();
    }
};
/// Atomic loads and stores; the next round's generation is read without one.
struct AtomicGeneration {
    template <typename Fence> __device__ static void wait(Fence fence, unsigned) {
        const unsigned now = generation;
        fence();
        if (atomicInc(&arrived, gridDim.x - 1) == gridDim.x - 1) {
            fence();
            __scoped_atomic_store_n(&generation, now + 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
        } else {
            while (__scoped_atomic_load_n(&generation, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) == now) {}
        }
        fence();
    }
};

template <typename Barrier, typename Fence> __device__ void shift(int* values, Fence fence) {
    const unsigned me = blockIdx.x * blockDim.x + threadIdx.x, all = gridDim.x * blockDim.x;
    unsigned round = 0;
    const auto barrier = [&] {
        ++round;
        __syncthreads();
        if (threadIdx.x == 0) Barrier::wait(fence, round);
        __syncthreads();
    };
    for (int i = 0; i < rounds; ++i) {
        const int next = values[(me + blockDim.x) % all];
        barrier();
        values[me] = next + 1;
        barrier();
    }
}

// Locks and queues ---------------------------------------------------------------------------------------

struct TicketLock {
    template <typename Fence> __device__ static void run(Fence fence) {
        const unsigned ticket = atomicAdd(&tickets, 1);
        while (flag != ticket) {}
        fence();
        value = value + 1;
        fence();
        flag = flag + 1;
    }
};
struct SpinLock {
    template <typename Fence> __device__ static void run(Fence fence) {
        while (atomicCAS(&mutex, 0, 1) != 0) {}
        fence();
        value = value + 1;
        fence();
        atomicExch(&mutex, 0);
    }
};
struct TestedLock {
    template <typename Fence> __device__ static void run(Fence fence) {
        do {
            while (volatile_of(mutex) != 0) {}
        } while (atomicCAS(&mutex, 0, 1) != 0);
        fence();
        value = value + 1;
        fence();
        volatile_of(mutex) = 0;
    }
};
struct LastBlock {
    template <typename Fence> __device__ static void run(Fence fence) {
        sums[blockIdx.x] = 1;
        fence();
        if (atomicAdd(&arrived, 1) != gridDim.x - 1) return;
        fence();
        for (int block = 0; block < blocks; ++block) value += sums[block];
        arrived = 0;
    }
};
struct LooksBack {
    template <typename Fence> __device__ static void run(Fence fence) {
        int sum = 1;
        if (blockIdx.x > 0) {
            while (answers[blockIdx.x - 1] == 0) {}
            fence();
            sum += sums[blockIdx.x - 1];
        }
        sums[blockIdx.x] = sum;
        fence();
        answers[blockIdx.x] = 1;
        if (blockIdx.x == gridDim.x - 1) value = sum;
    }
};
/// The first block fills a ring, and the second one empties it.
struct Ring {
    template <typename Fence> __device__ static void run(Fence fence) {
        for (unsigned i = 0; blockIdx.x < 2 && i < items; ++i) {
            if (blockIdx.x == 0) {
                while (head - tail == 4) {}
                fence();
                ring[head % 4] = 1;
                fence();
                head = head + 1;
            } else {
                while (tail == head) {}
                fence();
                if (i < blocks) value += ring[tail % 4];
                fence();
                tail = tail + 1;
            }
        }
    }
};
/// The flag is read again behind the wait.
struct ReadAgain {
    template <typename Fence> __device__ static void run(Fence fence) {
        if (blockIdx.x == 0) {
            sums[0] = blocks - 1;
            fence();
            atomicExch(&generation, 1);
        } else if (blockIdx.x == 1) {
            while (volatile_of(generation) == 0) {}
            fence();
            value = sums[0] + volatile_of(generation);
        }
    }
};

struct Fenced {
    __device__ void operator()() const { __threadfence(); }
};
struct Unfenced {
    __device__ void operator()() const {}
};
template <typename Barrier, typename Fence> __global__ void barriers(int* values) {
    shift<Barrier>(values, Fence());
}
template <typename Lock, typename Fence> __global__ void locks(int*) {
    if (threadIdx.x == 0) Lock::run(Fence());
}

using Kernel = void (*)(int*);
template <typename Fence> constexpr Kernel of_barriers[] = {
    barriers<StoredGeneration, Fence>, barriers<IncrementedGeneration, Fence>,
    barriers<FlippedGeneration, Fence>, barriers<SenseReversing, Fence>,
    barriers<Counter, Fence>,          barriers<OneBlockAnswers, Fence>,
    barriers<FlagOfEachBlock, Fence>,  barriers<AtomicGeneration, Fence>};
template <typename Fence> constexpr Kernel of_locks[] = {
    locks<TicketLock, Fence>, locks<SpinLock, Fence>, locks<TestedLock, Fence>, locks<LastBlock, Fence>,
    locks<LooksBack, Fence>,  locks<Ring, Fence>,     locks<ReadAgain, Fence>};

template <typename T> void clear(T& symbol) {
    static const char zeros[sizeof(T)] = {};
    cudaMemcpyToSymbol(symbol, zeros, sizeof(T));
}

/// @return whether the result is right
bool run(Kernel kernel, bool is_barrier) {
    clear(arrived), clear(generation), clear(tickets), clear(mutex), clear(value), clear(sums), clear(ring);
    const unsigned zeros[blocks] = {};
    cudaMemcpyToSymbol(flag, zeros, 4), cudaMemcpyToSymbol(head, zeros, 4), cudaMemcpyToSymbol(tail, zeros, 4);
    cudaMemcpyToSymbol(comings, zeros, sizeof zeros), cudaMemcpyToSymbol(answers, zeros, sizeof zeros);
    int *values, result[blocks * threads];
    cudaMalloc(&values, sizeof result);
    cudaMemset(values, 0, sizeof result);
    kernel<<<blocks, threads>>>(values);
    if (cudaDeviceSynchronize() != cudaSuccess) return false;
    cudaMemcpy(result, values, sizeof result, cudaMemcpyDeviceToHost);
    if (!is_barrier) cudaMemcpyFromSymbol(result, value, sizeof(int));
    cudaFree(values);
    bool right = true;
    for (int i = 0; i < (is_barrier ? blocks * threads : 1); ++i)
        right = right && result[i] == (is_barrier ? rounds : blocks);
    return right;
}

int main(int count, char** arguments) {
    constexpr int barrier_count = sizeof of_barriers<Fenced> / sizeof(Kernel);
    if (count > 1) {
        const int which = std::atoi(arguments[1]);
        run(which < barrier_count ? of_barriers<Unfenced>[which] : of_locks<Unfenced>[which - barrier_count],
            which < barrier_count);
        return 0;
    }
    for (const Kernel each : of_barriers<Fenced>) std::printf("%d", run(each, true));
    for (const Kernel each : of_locks<Fenced>) std::printf("%d", run(each, false));
    std::printf("\n");
}
