"""Maths functions of NVIDIA's libdevice on the simulator, beside the simulator's own, which are the peer `own` here."""

import math

import numpy as np

from bench.timing import REPEATS, Absent, require, timed, use_one_core

THREADS, ROUNDS = 1 << 14, 8


def _seconds(choice):
    """A launch whose threads call ten functions ROUNDS times. :raises Absent: without a libdevice"""
    from cudasim import _native, cuda, options

    if _native.find_libdevice() is None:
        raise Absent('there is no libdevice.10.bc: pip install "cudasim[gpu]" brings one')

    @cuda.jit
    def kernel(out, x):
        i = cuda.grid(1)
        a = x[i]
        total = 0.0
        for _ in range(ROUNDS):
            b = a + total * 1e-30
            total += math.sin(b) + math.cos(b) + math.exp(-b) + math.log(b) + b**a
            total += math.tanh(b) + math.erf(b) + math.atan2(a, b) + math.gamma(b) + math.log2(b)
        out[i] = total

    x = np.random.default_rng(0).uniform(0.5, 9, THREADS)
    on_device, out = cuda.to_device(x), cuda.to_device(np.zeros(THREADS))
    use_one_core()
    with options.override(workers=1, libdevice=choice):
        seconds = timed(lambda: kernel[THREADS // 256, 256](out, on_device), REPEATS + 1)
    require(np.isfinite(out.copy_to_host()).all(), "maths functions")
    return seconds


OWN = {"maths_functions": lambda: _seconds("auto")}
PEERS = {"own": {"maths_functions": lambda: _seconds("own")}}
