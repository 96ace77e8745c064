"""Vector addition: one thread per element.

ENABLE_CUDASIM=1 python examples/vector_add.py
"""

import numpy as np
from numba import cuda


@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]


def vector_add(x, y):
    out = np.empty_like(x)
    threads = 256
    blocks = (out.size + threads - 1) // threads
    add[blocks, threads](x, y, out)
    return out


def main():
    x = np.arange(100_000, dtype=np.float64)
    y = 2 * x
    assert np.array_equal(vector_add(x, y), x + y)
    print("vector_add: 100000 elements, equal to NumPy's")


if __name__ == "__main__":
    main()
