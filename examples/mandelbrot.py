"""The Mandelbrot set, with a device function for one point.

ENABLE_CUDASIM=1 python examples/mandelbrot.py
"""

import numpy as np
from numba import cuda


@cuda.jit(device=True)
def escape_time(real, imaginary, limit):
    x = 0.0
    y = 0.0
    for i in range(limit):
        if x * x + y * y > 4.0:
            return i
        x, y = x * x - y * y + real, 2.0 * x * y + imaginary
    return limit


@cuda.jit
def draw(image, left, top, step, limit):
    row, column = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[1]:
        image[row, column] = escape_time(left + column * step, top + row * step, limit)


def mandelbrot(rows, columns, limit, left=-2.0, top=-1.0, step=None):
    step = 3.0 / columns if step is None else step
    image = np.zeros((rows, columns), dtype=np.int32)
    threads = (16, 16)
    blocks = ((rows + 15) // 16, (columns + 15) // 16)
    draw[blocks, threads](image, left, top, step, limit)
    return image


def main():
    image = mandelbrot(21, 63, 50)
    for row in image:
        print("".join(" .:-=+*#%@"[min(int(value) // 5, 9)] for value in row))


if __name__ == "__main__":
    main()
