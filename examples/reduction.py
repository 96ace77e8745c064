"""Sum of an array: each block adds up 256 elements as a tree in shared memory, then the host adds the blocks.

ENABLE_CUDASIM=1 python examples/reduction.py
"""

import numpy as np
from numba import cuda, float64

THREADS = 256


@cuda.jit
def block_sums(x, sums):
    shared = cuda.shared.array(THREADS, float64)
    i = cuda.grid(1)
    thread = cuda.threadIdx.x
    shared[thread] = x[i] if i < x.size else 0.0
    cuda.syncthreads()
    step = THREADS // 2
    while step > 0:
        if thread < step:
            shared[thread] += shared[thread + step]
        cuda.syncthreads()
        step //= 2
    if thread == 0:
        sums[cuda.blockIdx.x] = shared[0]


def reduce_sum(x):
    blocks = (x.size + THREADS - 1) // THREADS
    sums = cuda.device_array(blocks, dtype=np.float64)
    block_sums[blocks, THREADS](cuda.to_device(x), sums)
    return sums.copy_to_host().sum()


def main():
    x = np.arange(10_000, dtype=np.float64)
    assert reduce_sum(x) == x.sum()
    print(f"reduction: the sum is {x.sum():.0f}, equal to NumPy's")


if __name__ == "__main__":
    main()
