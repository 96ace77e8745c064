"""Matrix multiplication in 16 x 16 tiles through shared memory.

ENABLE_CUDASIM=1 python examples/matmul.py
"""

import numpy as np
from numba import cuda, float32

TILE = 16


@cuda.jit
def multiply(a, b, out):
    tile_a = cuda.shared.array((TILE, TILE), float32)
    tile_b = cuda.shared.array((TILE, TILE), float32)
    row, column = cuda.grid(2)
    i = cuda.threadIdx.x
    j = cuda.threadIdx.y
    total = float32(0)
    for first in range(0, a.shape[1], TILE):
        tile_a[i, j] = 0
        tile_b[i, j] = 0
        if row < a.shape[0] and first + j < a.shape[1]:
            tile_a[i, j] = a[row, first + j]
        if first + i < b.shape[0] and column < b.shape[1]:
            tile_b[i, j] = b[first + i, column]
        cuda.syncthreads()
        for k in range(TILE):
            total += tile_a[i, k] * tile_b[k, j]
        cuda.syncthreads()
    if row < out.shape[0] and column < out.shape[1]:
        out[row, column] = total


def matmul(a, b):
    out = np.empty((a.shape[0], b.shape[1]), dtype=np.float32)
    blocks = tuple((extent + TILE - 1) // TILE for extent in out.shape)
    multiply[blocks, (TILE, TILE)](a, b, out)
    return out


def main():
    random = np.random.default_rng(0)
    a = random.random((100, 70), dtype=np.float32)
    b = random.random((70, 130), dtype=np.float32)
    assert np.allclose(matmul(a, b), a @ b, rtol=1e-4)
    print("matmul: 100 x 70 times 70 x 130, close to NumPy's")


if __name__ == "__main__":
    main()
