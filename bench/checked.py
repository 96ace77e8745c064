"""How much longer launches take with checks than with the default ones: the same launch, alternating, on one worker."""

import statistics
import time

import numpy as np

ROUNDS = 15


def _launches():
    """name → a launch of a kernel over device arrays."""
    from cudasim import cuda
    from cudasim.types import float32

    from bench import kernels

    def of(*shape):
        return cuda.to_device(np.random.default_rng(0).random(shape, dtype=np.float32))

    @cuda.jit
    def stencil(u, v):
        column, row = cuda.grid(2)
        if 0 < column < u.shape[1] - 1 and 0 < row < u.shape[0] - 1:
            v[row, column] = float32(0.2) * (
                u[row, column]
                + u[row - 1, column]
                + u[row + 1, column]
                + u[row, column - 1]
                + u[row, column + 1]
            )

    bins = cuda.to_device(np.zeros(256, np.int32))
    values = cuda.to_device(np.random.default_rng(0).integers(0, 256, 1 << 20).astype(np.int32))
    square, large = [of(512, 512) for _ in range(3)], [of(1 << 20) for _ in range(3)]
    image = of(1024, 1024), of(1024, 1024)
    return {
        "matmul": lambda: kernels.matmul_tiled[(32, 32), (16, 16)](*square),
        "add": lambda: kernels.add[4096, 256](*large),
        "stencil": lambda: stencil[(32, 128), (32, 8)](*image),
        "reduction": lambda: kernels.reduce_blocks[4096, 256](large[0], large[1]),
        "histogram": lambda: kernels.count_values[4096, 256](values, bins),
    }


def _ratio(name, check):
    from cudasim import options

    launch = _launches()[name]
    times = {"default": [], check: []}
    with options.override(workers=1):
        for measured in (False, True):
            for _ in range(ROUNDS if measured else 2):
                for each, kept in times.items():
                    with options.override(check=each):
                        launch()  # checks note what launches without them may have written
                        start = time.perf_counter()
                        launch()
                        if measured:
                            kept.append(time.perf_counter() - start)
    return statistics.median(ours / usual for ours, usual in zip(times[check], times["default"]))


#: What is measured of the checks.
OWN = {
    f"{check}_{name}": lambda check=check, name=name: _ratio(name, check)
    for check in ("races", "init", "all")
    for name in ("matmul", "add", "stencil", "reduction", "histogram")
}
