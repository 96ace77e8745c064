"""A photograph blurred by a 5 x 5 convolution through shared memory.

    ENABLE_CUDASIM=1 python examples/convolution.py
    ENABLE_CUDASIM=1 python examples/convolution.py --off-by-one

Each block loads its tile of the image and a border of two pixels around it into shared memory, waits until
all of it is there, and then each thread computes one pixel. With --off-by-one the kernel is the same but for
the test that keeps threads inside the image, which lets one row and one column too many through.
"""

import argparse

import numpy as np
from matplotlib import cbook, image
from numba import cuda, float32

TILE = 16
RADIUS = 2
WIDTH = TILE + 2 * RADIUS


@cuda.jit
def convolve(picture, weights, out):
    tile = cuda.shared.array((WIDTH, WIDTH), float32)
    rows, columns = picture.shape
    row, column = cuda.grid(2)
    first_row = cuda.blockIdx.x * TILE - RADIUS
    first_column = cuda.blockIdx.y * TILE - RADIUS
    for i in range(cuda.threadIdx.x, WIDTH, TILE):
        for j in range(cuda.threadIdx.y, WIDTH, TILE):
            source_row = min(max(first_row + i, 0), rows - 1)
            source_column = min(max(first_column + j, 0), columns - 1)
            tile[i, j] = picture[source_row, source_column]
    cuda.syncthreads()
    if row < rows and column < columns:
        total = float32(0)
        for i in range(2 * RADIUS + 1):
            for j in range(2 * RADIUS + 1):
                total += weights[i, j] * tile[cuda.threadIdx.x + i, cuda.threadIdx.y + j]
        out[row, column] = total


@cuda.jit
def convolve_off_by_one(picture, weights, out):
    tile = cuda.shared.array((WIDTH, WIDTH), float32)
    rows, columns = picture.shape
    row, column = cuda.grid(2)
    first_row = cuda.blockIdx.x * TILE - RADIUS
    first_column = cuda.blockIdx.y * TILE - RADIUS
    for i in range(cuda.threadIdx.x, WIDTH, TILE):
        for j in range(cuda.threadIdx.y, WIDTH, TILE):
            source_row = min(max(first_row + i, 0), rows - 1)
            source_column = min(max(first_column + j, 0), columns - 1)
            tile[i, j] = picture[source_row, source_column]
    cuda.syncthreads()
    if row <= rows and column <= columns:
        total = float32(0)
        for i in range(2 * RADIUS + 1):
            for j in range(2 * RADIUS + 1):
                total += weights[i, j] * tile[cuda.threadIdx.x + i, cuda.threadIdx.y + j]
        out[row, column] = total


def gaussian():
    x = np.arange(-RADIUS, RADIUS + 1)
    weights = np.exp(-(x[:, None] ** 2 + x[None, :] ** 2) / 2)
    return (weights / weights.sum()).astype(np.float32)


def blur(picture, kernel=convolve):
    out = np.empty_like(picture)
    blocks = tuple((extent + TILE - 1) // TILE for extent in picture.shape)
    kernel[blocks, (TILE, TILE)](picture, gaussian(), out)
    return out


def photograph():
    """Matplotlib's sample photograph as brightness between 0 and 1."""
    with cbook.get_sample_data("grace_hopper.jpg") as file:
        rgb = image.imread(file, format="jpg").astype(np.float32) / 255
    return np.ascontiguousarray(rgb @ np.array([0.299, 0.587, 0.114], dtype=np.float32))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--output", default="blurred.png")
    parser.add_argument("--off-by-one", action="store_true", help="run the kernel that has the bug")
    arguments = parser.parse_args()
    picture = photograph()
    blurred = blur(picture, convolve_off_by_one if arguments.off_by_one else convolve)
    image.imsave(arguments.output, blurred, cmap="gray", vmin=0, vmax=1)
    rows, columns = picture.shape
    print(f"convolution: {rows} x {columns} pixels blurred, saved as {arguments.output}")


if __name__ == "__main__":
    main()
