"""Histogram with atomic additions in global memory.

ENABLE_CUDASIM=1 python examples/histogram.py
"""

import numpy as np
from numba import cuda


@cuda.jit
def count(values, low, high, bins):
    i = cuda.grid(1)
    if i < values.size and low <= values[i] < high:
        place = int((values[i] - low) / (high - low) * bins.size)
        cuda.atomic.add(bins, place, 1)


def histogram(values, bins, low, high):
    counts = np.zeros(bins, dtype=np.int64)
    threads = 128
    blocks = (values.size + threads - 1) // threads
    count[blocks, threads](values, low, high, counts)
    return counts


def main():
    values = np.random.default_rng(1).random(10_000)
    expected, _ = np.histogram(values, bins=64, range=(0.0, 1.0))
    assert np.array_equal(histogram(values, 64, 0.0, 1.0), expected)
    print("histogram: 10000 values in 64 bins, equal to NumPy's")


if __name__ == "__main__":
    main()
