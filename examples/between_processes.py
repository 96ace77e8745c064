"""Device memory that two processes use: a worker process squares half of an array where it is, without a copy, and
counts its elements in mapped memory of its own.

    ENABLE_CUDASIM=1 python examples/between_processes.py
"""

import multiprocessing

import numpy as np
from numba import cuda


@cuda.jit
def square(x, count):
    i = cuda.grid(1)
    if i < x.size:
        x[i] *= x[i]
        cuda.atomic.add(count, 0, 1)


def worker(handle, results):
    """Opens the handle: the array is the other process's memory."""
    count = cuda.mapped_array(1, dtype=np.int64)  # kernels write it, host code reads it: no copies
    count[0] = 0
    with handle as half:
        square[(half.size + 127) // 128, 128](half, count)
        cuda.synchronize()
    results.put(int(count[0]))


def square_second_half(host):
    """The array with its second half squared by another process."""
    array = cuda.to_device(host)
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    process = context.Process(target=worker, args=(array[host.size // 2 :].get_ipc_handle(), results))
    process.start()
    squared = results.get()
    process.join()
    return array.copy_to_host(), squared


if __name__ == "__main__":
    numbers = np.arange(1000, dtype=np.int64)
    result, squared = square_second_half(numbers)
    assert squared == 500
    np.testing.assert_array_equal(result, np.where(numbers < 500, numbers, numbers**2))
    print(f"between_processes: the other process squared {squared} of {numbers.size} elements where they are")
