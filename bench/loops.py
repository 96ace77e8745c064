"""The peers on the CPU: the same work as loops under numba's @njit, default options."""

from numba import njit
from numba.cuda.random import xoroshiro128p_uniform_float32


@njit
def add(x, y, out):
    for i in range(out.size):
        out[i] = x[i] + y[i]


@njit
def matmul_naive(a, b, out):
    for row in range(out.shape[0]):
        for column in range(out.shape[1]):
            total = 0.0
            for k in range(a.shape[1]):
                total += a[row, k] * b[k, column]
            out[row, column] = total


@njit
def mandelbrot(image, left, top, step, limit):
    for row in range(image.shape[0]):
        for column in range(image.shape[1]):
            real = left + column * step
            imaginary = top + row * step
            x = 0.0
            y = 0.0
            count = 0
            while count < limit and x * x + y * y <= 4.0:
                x, y = x * x - y * y + real, 2.0 * x * y + imaginary
                count += 1
            image[row, column] = count


@njit
def pi(states, draws, out):
    for thread in range(out.size):
        inside = 0
        for _ in range(draws):
            x = xoroshiro128p_uniform_float32(states, thread)
            y = xoroshiro128p_uniform_float32(states, thread)
            if x * x + y * y <= 1.0:
                inside += 1
        out[thread] = 4.0 * inside / draws
