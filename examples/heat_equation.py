"""Heat along a rod: one launch for all time steps, in which the whole grid meets after each of them.

ENABLE_CUDASIM=1 python examples/heat_equation.py
"""

import numpy as np
from numba import cuda

THREADS = 128


@cuda.jit
def diffuse(now, then, steps, factor):
    grid = cuda.cg.this_grid()
    i = cuda.grid(1)
    for _ in range(steps):
        if 0 < i < now.size - 1:
            then[i] = now[i] + factor * (now[i - 1] - 2.0 * now[i] + now[i + 1])
        grid.sync()  # everybody has read `now` before anybody writes it in the next step
        now, then = then, now


def heat_equation(rod, steps, factor):
    """The rod after so many steps; its two ends keep their temperatures."""
    blocks = (rod.size + THREADS - 1) // THREADS
    rods = cuda.to_device(rod), cuda.to_device(rod)
    diffuse[blocks, THREADS](*rods, steps, factor)
    return rods[steps % 2].copy_to_host()


def main():
    rod = np.zeros(2000)
    rod[0], rod[-1] = 100.0, 20.0
    expected = rod.copy()
    for _ in range(500):
        expected[1:-1] += 0.4 * (expected[:-2] - 2.0 * expected[1:-1] + expected[2:])
    assert np.allclose(heat_equation(rod, 500, 0.4), expected)
    print("heat_equation: 500 steps of 2000 points in one launch, close to NumPy's")


if __name__ == "__main__":
    main()
