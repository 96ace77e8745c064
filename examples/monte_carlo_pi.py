"""π from random points: each thread draws its own and counts those inside the quarter of a circle.

ENABLE_CUDASIM=1 python examples/monte_carlo_pi.py
"""

import numpy as np
from numba import cuda
from numba.cuda.random import create_xoroshiro128p_states, xoroshiro128p_uniform_float32

BLOCKS, THREADS = 24, 64


@cuda.jit
def count_inside(states, draws, inside):
    i = cuda.grid(1)
    if i < inside.size:
        count = 0
        for _ in range(draws):
            x = xoroshiro128p_uniform_float32(states, i)
            y = xoroshiro128p_uniform_float32(states, i)
            if x * x + y * y <= 1.0:
                count += 1
        inside[i] = count


def estimate_pi(draws, seed):
    """An estimate from `draws` points per thread."""
    threads = BLOCKS * THREADS
    states = create_xoroshiro128p_states(threads, seed=seed)
    inside = cuda.device_array(threads, dtype=np.int64)
    count_inside[BLOCKS, THREADS](states, draws, inside)
    return 4 * inside.copy_to_host().sum() / (threads * draws)


def main():
    pi = estimate_pi(10_000, seed=1)
    assert abs(pi - np.pi) < 0.002
    print(f"monte_carlo_pi: {BLOCKS * THREADS} threads with 10000 points each: {pi:.4f}")


if __name__ == "__main__":
    main()
