"""A Julia set, with complex numbers.

ENABLE_CUDASIM=1 python examples/julia_set.py
"""

import numpy as np
from numba import cuda


@cuda.jit(device=True)
def escape_time(z, c, limit):
    for i in range(limit):
        if z.real * z.real + z.imag * z.imag > 4.0:
            return i
        z = z * z + c
    return limit


@cuda.jit
def draw(image, c, lower_left, step, limit):
    row, column = cuda.grid(2)
    if row < image.shape[0] and column < image.shape[1]:
        z = lower_left + complex(column * step, row * step)
        image[row, column] = escape_time(z, c, limit)


def julia_set(c, rows, columns, limit, lower_left=-1.5 - 1.0j, width=3.0):
    image = np.zeros((rows, columns), dtype=np.int32)
    threads = (16, 16)
    blocks = ((rows + 15) // 16, (columns + 15) // 16)
    draw[blocks, threads](image, c, lower_left, width / columns, limit)
    return image


def main():
    image = julia_set(-0.8 + 0.156j, 21, 63, 100)
    for row in image:
        print("".join(" .:-=+*#%@"[min(int(value) // 10, 9)] for value in row))


if __name__ == "__main__":
    main()
