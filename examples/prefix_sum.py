"""Prefix sum: each warp by shuffles, each block over its warps, then the blocks one after another.

ENABLE_CUDASIM=1 python examples/prefix_sum.py
"""

import numpy as np
from numba import cuda, int64

THREADS = 256
WARPS = THREADS // 32
ALL = 0xFFFFFFFF


@cuda.jit(device=True)
def warp_scan(value, lane):
    """The sum of the values of this lane and those before it."""
    distance = 1
    while distance < 32:
        left = cuda.shfl_up_sync(ALL, value, distance)
        if lane >= distance:
            value += left
        distance *= 2
    return value


@cuda.jit
def scan_blocks(values, sums, block_sums):
    of_warp = cuda.shared.array(WARPS, int64)
    thread = cuda.threadIdx.x
    lane, warp = thread % 32, thread // 32
    i = cuda.grid(1)
    total = warp_scan(values[i] if i < values.size else 0, lane)
    if lane == 31:
        of_warp[warp] = total
    cuda.syncthreads()
    if warp == 0:
        before = warp_scan(of_warp[lane] if lane < WARPS else 0, lane)
        if lane < WARPS:
            of_warp[lane] = before
    cuda.syncthreads()
    if warp > 0:
        total += of_warp[warp - 1]
    if i < values.size:
        sums[i] = total
    if thread == THREADS - 1:
        block_sums[cuda.blockIdx.x] = total


@cuda.jit
def add_before(sums, block_sums):
    i = cuda.grid(1)
    if cuda.blockIdx.x > 0 and i < sums.size:
        sums[i] += block_sums[cuda.blockIdx.x - 1]


def prefix_sum(values):
    """The running sums of an int64 array; calls itself for the sums of the blocks."""
    blocks = (values.size + THREADS - 1) // THREADS
    sums = cuda.device_array(values.size, dtype=np.int64)
    block_sums = cuda.device_array(blocks, dtype=np.int64)
    scan_blocks[blocks, THREADS](values, sums, block_sums)
    if blocks > 1:
        add_before[blocks, THREADS](sums, prefix_sum(block_sums))
    return sums


def main():
    values = np.random.default_rng(4).integers(-100, 100, 100_000)
    assert np.array_equal(prefix_sum(cuda.to_device(values)).copy_to_host(), np.cumsum(values))
    print("prefix_sum: 100000 values in three levels, equal to NumPy's")


if __name__ == "__main__":
    main()
