"""Input data and NumPy's results. Seeded, so that every side of a comparison works on equal data."""

import numpy as np


def vectors(size):
    return np.random.default_rng(size).random((2, size))


def matrices(size, dtype):
    random = np.random.default_rng(size)
    return random.random((size, size)).astype(dtype), random.random((size, size)).astype(dtype)


def reduction_input():
    return np.random.default_rng(9).integers(0, 100, 256).astype(np.float64)


def lane_values():
    return np.random.default_rng(11).integers(0, 100, 256).astype(np.float32)


def summands():
    """Whole numbers, so that their sum does not depend on the order."""
    return np.random.default_rng(12).integers(-1, 2, 10_000_000).astype(np.float32)


def block_sums_input():
    """One element for each of 10 million threads in blocks of 256; whole numbers, as above."""
    return np.random.default_rng(13).integers(0, 4, 10_000_000 // 256 * 256).astype(np.float32)


def block_sums_result(x):
    return x.reshape(-1, 256).sum(axis=1)


HISTOGRAM_BINS = 64


def histogram_input():
    return np.random.default_rng(10).integers(0, HISTOGRAM_BINS, 10_000)


def large_histogram_input():
    return np.random.default_rng(10).integers(0, HISTOGRAM_BINS, 1_000_000 // 256 * 256, dtype=np.int32)


def histogram_result(values):
    return np.bincount(values, minlength=HISTOGRAM_BINS)


def ufunc_input():
    x, y = vectors(10_000_000)
    return x.astype(np.float32), y.astype(np.float32)


def ufunc_result(x, y):
    return x * y + x


EXCHANGE_ROUNDS = 1000


def exchange_result():
    """What 256 threads hold when each has taken its neighbour's value that many times."""
    return (np.arange(256) + EXCHANGE_ROUNDS) % 256


PI_BLOCKS, PI_THREADS, PI_DRAWS, PI_SEED = 24, 64, 10_000, 1

MANDELBROT_SIZE = 1024
MANDELBROT_LIMIT = 100
MANDELBROT_STEP = 3.0 / MANDELBROT_SIZE


def mandelbrot_result():
    size, step = MANDELBROT_SIZE, MANDELBROT_STEP
    real = (-2.0 + np.arange(size) * step)[None, :] + np.zeros((size, 1))
    imaginary = (-1.5 + np.arange(size) * step)[:, None] + np.zeros((1, size))
    x, y = np.zeros((size, size)), np.zeros((size, size))
    result = np.full((size, size), MANDELBROT_LIMIT, dtype=np.int32)
    for i in range(MANDELBROT_LIMIT):
        escaped = (result == MANDELBROT_LIMIT) & (x * x + y * y > 4.0)
        result[escaped] = i
        x, y = np.where(result < MANDELBROT_LIMIT, (x, y), (x * x - y * y + real, 2.0 * x * y + imaginary))
    return result
