"""Kernels with races give one result for each policy, whatever carries their threads: coroutines, fibers, CPython (E6)."""

import numpy as np
import pytest
from cudasim import cuda, options

CARRIERS = [{}, {"carrier": "fiber"}, {"mode": "python"}]
SCHEDULES = [{"policy": "forward"}, {"policy": "reverse"}] + [
    {"policy": "random", "seed": seed} for seed in (1, 2)
]


@cuda.jit
def last_writer_wins(word):
    word[0] = cuda.grid(1) + 1


@cuda.jit
def updates(word):
    word[0] = (word[0] * 31 + cuda.grid(1)) % 1000003


@cuda.jit
def updates_around_barriers(word):
    tile = cuda.shared.array(1, np.int64)
    tile[0] = cuda.threadIdx.x
    for _ in range(2):
        word[0] = (word[0] * 31 + cuda.grid(1) + tile[0]) % 1000003
        cuda.syncthreads()
        tile[0] = (tile[0] * 7 + cuda.threadIdx.x) % 1009
        cuda.syncthreads()


@cuda.jit
def updates_around_warp_operations(word):
    lane = cuda.threadIdx.x % 32
    word[0] = (word[0] * 31 + cuda.grid(1)) % 1000003
    if lane < 8:
        cuda.syncwarp(0xFF)
        word[0] = (word[0] * 31 + cuda.grid(1)) % 1000003
    cuda.syncwarp()
    word[0] = (word[0] * 31 + cuda.grid(1)) % 1000003
    cuda.syncthreads()
    total = cuda.shfl_xor_sync(0xFFFFFFFF, lane, 1)
    word[0] = (word[0] * 31 + total + cuda.grid(1)) % 1000003


def result(kernel, threads, **given):
    word = np.ones(1, np.int64)
    with options.override(workers=1, **given):
        kernel[3, threads](word)
    return int(word[0])


@pytest.mark.parametrize("threads", [7, 64, 75])
@pytest.mark.parametrize(
    "kernel",
    [last_writer_wins, updates, updates_around_barriers, updates_around_warp_operations],
    ids=lambda kernel: kernel.py_func.__name__,
)
def test_every_carrier_gives_the_same_result(kernel, threads):
    by_schedule = []
    for schedule in SCHEDULES:
        results = {result(kernel, threads, **carrier, **schedule) for carrier in CARRIERS}
        assert len(results) == 1, schedule
        by_schedule += results
    assert len(set(by_schedule)) > 1
