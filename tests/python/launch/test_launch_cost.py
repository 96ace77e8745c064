"""What a launch costs: nothing is asked of the system twice, and the optimiser does not slow kernels down."""

import os
import resource
import subprocess
import sys
import time

import numpy as np
import pytest
from cudasim import cuda, options

THREADS, BLOCKS = 256, 2000


def tree_in_a_loop(x, out):
    shared = cuda.shared.array(THREADS, np.float32)
    thread = cuda.threadIdx.x
    shared[thread] = x[cuda.grid(1)]
    cuda.syncthreads()
    step = 128
    while step > 0:
        if thread < step:
            shared[thread] += shared[thread + step]
        cuda.syncthreads()
        step //= 2
    if thread == 0:
        out[cuda.blockIdx.x] = shared[0]


def tree_step_by_step(x, out):
    shared = cuda.shared.array(THREADS, np.float32)
    thread = cuda.threadIdx.x
    shared[thread] = x[cuda.grid(1)]
    cuda.syncthreads()
    if thread < 128:
        shared[thread] += shared[thread + 128]
    cuda.syncthreads()
    if thread < 64:
        shared[thread] += shared[thread + 64]
    cuda.syncthreads()
    if thread < 32:
        shared[thread] += shared[thread + 32]
    cuda.syncthreads()
    if thread < 16:
        shared[thread] += shared[thread + 16]
    cuda.syncthreads()
    if thread == 0:
        total = np.float32(0)
        for i in range(16):
            total += shared[i]
        out[cuda.blockIdx.x] = total


@pytest.mark.parametrize("function", [tree_in_a_loop, tree_step_by_step])
def test_the_optimiser_does_not_slow_barriers_down(function):
    values = np.random.default_rng(1).integers(0, 4, THREADS * BLOCKS).astype(np.float32)
    x, out = cuda.to_device(values), cuda.device_array(BLOCKS, np.float32)
    seconds = {}
    with options.override(workers=1):  # all on this thread, whose processor time counts
        kernels = {"optimised": cuda.jit(function), "plain": cuda.jit(opt=False)(function)}
        for _ in range(6):
            for name, kernel in kernels.items():
                start = time.thread_time()
                kernel[BLOCKS, THREADS](x, out)
                seconds.setdefault(name, []).append(time.thread_time() - start)
                np.testing.assert_array_equal(out.copy_to_host(), values.reshape(BLOCKS, THREADS).sum(axis=1))
    # 0.9 when this was written; 3.9 when barriers were copied behind branches on the thread.
    assert min(seconds["optimised"]) <= 2 * min(seconds["plain"])


def reads_so_far():
    """Calls of read() and its like that this process has made (proc(5))."""
    with open("/proc/self/io") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("syscr:"))


@pytest.mark.skipif(not os.path.exists("/proc/self/io"), reason="this system does not count system calls")
def test_a_launch_reads_no_file():
    @cuda.jit
    def empty():
        pass

    empty[1, 1]()
    before = reads_so_far()
    for _ in range(200):
        empty[1, 1]()
    assert reads_so_far() - before < 200


def test_results_of_ufuncs_take_memory_whose_pages_are_there():
    @cuda.vectorize(["float32(float32)"])
    def double(x):
        return x + x

    x = cuda.to_device(np.ones(10_000_000, np.float32))
    double(x)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(5):
        double(x)
    faults = resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before
    # 55,000 when every result took fresh memory, 6,000 for that of its shadow.
    assert faults < 3000


ON_ONE_CORE = """
import os
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
import numpy as np
from cudasim import cuda

@cuda.jit
def long_enough(x):
    for i in range(1_000_000):
        x[cuda.blockIdx.x] += i

x = cuda.to_device(np.zeros(64))
before = len(os.listdir("/proc/self/task"))
long_enough[64, 1](x)
print(len(os.listdir("/proc/self/task")) - before)
"""


@pytest.mark.skipif((os.cpu_count() or 1) < 2, reason="needs two cores")
def test_a_process_that_may_run_on_one_core_starts_no_further_workers():
    done = subprocess.run([sys.executable, "-c", ON_ONE_CORE], capture_output=True, text=True, check=True)
    assert done.stdout == "0\n"
