"""Kernels whose results differ on a GPU for a known cause, each with a clean twin, and what runs them.

CASES has name: (cause, what the stand-in driver is told, options of the simulator, case, twin). A case is a function
without arguments that launches one kernel by `compare()`.
"""

import json
import math
import os
import sys

import cudasim
import numpy as np
from cudasim import _native, options
from cudasim.comparing.arrays import Tolerance
from cudasim.recording.recorder import Recorder
from numba import cuda, float32, float64, int32
from numba.cuda import libdevice

VALUES = (np.random.default_rng(7).random(4096) * 100 - 50).astype(np.float32)
EXACT = {"exact": True}
CASES = {}


def case(cause, planted="", variables=None):
    """Adds the case and its twin: both are what the decorated function returns, (case, twin)."""

    def add(make):
        CASES[make.__name__] = (cause, planted, variables or {}, *make())
        return make

    return add


def compare(kernel, *args, **how):
    return cudasim.compare(kernel, *args, raises=False, **how).report["launches"][0]


REVERSE = "order=reverse"
RANDOM = "order=random:11"


# -- races


@case("race", REVERSE)
def tile_without_barrier():
    @cuda.jit
    def racy(x, y):
        tile = cuda.shared.array(64, float32)
        i = cuda.threadIdx.x
        tile[i] = x[i]
        y[i] = tile[63 - i]  # race

    @cuda.jit
    def clean(x, y):
        tile = cuda.shared.array(64, float32)
        i = cuda.threadIdx.x
        tile[i] = x[i]
        cuda.syncthreads()
        y[i] = tile[63 - i]

    return tuple(lambda k=k: compare(k[1, 64], VALUES, np.zeros(64, np.float32)) for k in (racy, clean))


@case("race", REVERSE)
def last_writer():
    @cuda.jit
    def racy(x, y):
        y[0] = x[cuda.grid(1)]  # race

    @cuda.jit
    def clean(x, y):
        i = cuda.grid(1)
        if i == 100:
            y[0] = x[i]

    return tuple(lambda k=k: compare(k[4, 64], VALUES, np.zeros(1, np.float32)) for k in (racy, clean))


@case("race", REVERSE)
def neighbour_in_place():
    @cuda.jit
    def racy(x, y):
        i = cuda.grid(1)
        if i < y.size - 1:
            y[i] = y[i + 1] + x[i]  # race

    @cuda.jit
    def clean(x, y):
        i = cuda.grid(1)
        if i < y.size - 1:
            y[i] = x[i + 1] + x[i]

    return tuple(lambda k=k: compare(k[4, 64], VALUES, np.ones(256, np.float32)) for k in (racy, clean))


@case("race", RANDOM)
def running_average():
    @cuda.jit
    def racy(x, y):
        i = cuda.grid(1)
        y[0] = y[0] * float32(0.5) + x[i]  # race

    @cuda.jit
    def clean(x, y):
        i = cuda.grid(1)
        y[i] = y[i] * float32(0.5) + x[i]

    return tuple(lambda k=k: compare(k[2, 64], VALUES, np.ones(128, np.float32)) for k in (racy, clean))


@case("race", REVERSE)
def reduction_without_barrier():
    def make(synchronise):
        @cuda.jit
        def k(x, y):
            tile = cuda.shared.array(128, int32)
            i = cuda.threadIdx.x
            tile[i] = int(x[i])
            cuda.syncthreads()
            step = 64
            while step > 0:
                if i < step:
                    tile[i] = tile[i] + tile[i + step]  # race
                if synchronise:
                    cuda.syncthreads()
                step //= 2
            if i == 0:
                y[0] = tile[0]

        return k

    return tuple(
        lambda k=k: compare(k[1, 128], VALUES, np.zeros(1, np.int32)) for k in (make(False), make(True))
    )


@case("race", RANDOM)
def last_in_bin():
    @cuda.jit
    def racy(x, y):
        i = cuda.grid(1)
        y[i % 8] = i  # race

    @cuda.jit
    def clean(x, y):
        i = cuda.grid(1)
        cuda.atomic.max(y, i % 8, i)

    return tuple(lambda k=k: compare(k[4, 64], VALUES, np.zeros(8, np.int32)) for k in (racy, clean))


@case("race", REVERSE)
def blocks_read_each_other():
    @cuda.jit
    def racy(x, y, z):
        i = cuda.grid(1)
        y[i] = x[i]
        z[i] = y[(i + 64) % y.size]  # race

    @cuda.jit
    def clean(x, y, z):
        i = cuda.grid(1)
        y[i] = x[i]
        z[i] = x[(i + 64) % y.size]

    return tuple(
        lambda k=k: compare(k[4, 64], VALUES, np.zeros(256, np.float32), np.zeros(256, np.float32))
        for k in (racy, clean)
    )


# -- the order of atomics


def _sum(dtype, exact_values):
    values = np.round(VALUES) if exact_values else VALUES**3 * dtype(1.1)

    @cuda.jit
    def total(x, y):
        cuda.atomic.add(y, 0, x[cuda.grid(1)])  # atomic

    return lambda: compare(total[8, 128], values.astype(dtype), np.zeros(1, dtype), **EXACT)


@case("atomic-order", REVERSE)
def sum_of_float32():
    return _sum(np.float32, False), _sum(np.float32, True)


@case("atomic-order", RANDOM)
def sum_of_float64():
    return _sum(np.float64, False), _sum(np.float64, True)


@case("atomic-order", REVERSE)
def histogram_of_weights():
    def make(values):
        @cuda.jit
        def k(x, y):
            i = cuda.grid(1)
            cuda.atomic.add(y, i % 16, x[i])  # atomic

        return lambda: compare(k[8, 128], values, np.zeros(16, np.float32), **EXACT)

    return make(VALUES), make(np.round(VALUES))


@case("atomic-order", RANDOM)
def compaction():
    @cuda.jit
    def unordered(x, y, n):
        i = cuda.grid(1)
        if x[i] > 0:
            y[cuda.atomic.add(n, 0, 1)] = x[i]

    @cuda.jit
    def ordered(x, y, n):
        i = cuda.grid(1)
        if x[i] > 0:
            cuda.atomic.add(n, 0, 1)
            y[i] = x[i]

    return tuple(
        lambda k=k: compare(k[4, 64], VALUES, np.zeros(256, np.float32), np.zeros(1, np.int32))
        for k in (unordered, ordered)
    )


@case("atomic-order", REVERSE)
def first_to_come():
    @cuda.jit
    def first(x, y):
        i = cuda.grid(1)
        cuda.atomic.compare_and_swap(y, -1, i)

    @cuda.jit
    def least(x, y):
        i = cuda.grid(1)
        cuda.atomic.min(y, 0, i)

    return (
        lambda: compare(first[4, 64], VALUES, np.full(1, -1, np.int32)),
        lambda: compare(least[4, 64], VALUES, np.full(1, 999, np.int32)),
    )


@case("atomic-order", REVERSE)
def sums_of_blocks():
    def make(values):
        @cuda.jit
        def k(x, y):
            part = cuda.shared.array(1, float32)
            i = cuda.threadIdx.x
            if i == 0:
                part[0] = 0
            cuda.syncthreads()
            cuda.atomic.add(part, 0, x[cuda.grid(1)])  # atomic
            cuda.syncthreads()
            if i == 0:
                y[cuda.blockIdx.x] = part[0]

        return lambda: compare(k[8, 128], values, np.zeros(8, np.float32), **EXACT)

    return make(VALUES), make(np.round(VALUES))


# -- memory that is read before it is written


@case("uninitialised")
def half_a_tile():
    def make(all_of_it):
        @cuda.jit
        def k(x, y):
            tile = cuda.shared.array(64, float32)
            i = cuda.threadIdx.x
            if all_of_it or i < 32:
                tile[i] = x[i]
            cuda.syncthreads()
            y[i] = tile[i] + 1  # uninitialised

        return lambda: compare(k[1, 64], VALUES, np.zeros(64, np.float32))

    return make(False), make(True)


@case("uninitialised")
def halo():
    def make(fill):
        @cuda.jit
        def k(x, y):
            tile = cuda.shared.array(66, float32)
            i = cuda.threadIdx.x
            tile[i + 1] = x[i]
            if fill and i == 0:
                tile[0] = 0
                tile[65] = 0
            cuda.syncthreads()
            y[i] = tile[i] + tile[i + 2]  # uninitialised

        return lambda: compare(k[2, 64], VALUES, np.zeros(64, np.float32))

    return make(False), make(True)


@case("uninitialised")
def accumulator():
    def make(clear):
        @cuda.jit
        def k(x, y):
            total = cuda.shared.array(1, int32)
            if clear:
                if cuda.threadIdx.x == 0:
                    total[0] = 0
                cuda.syncthreads()
            cuda.atomic.add(total, 0, cuda.threadIdx.x)  # uninitialised
            cuda.syncthreads()
            if cuda.threadIdx.x == 0:
                y[cuda.blockIdx.x] = total[0]

        return lambda: compare(k[2, 64], VALUES, np.zeros(2, np.int32))

    return make(False), make(True)


@case("uninitialised")
def edge_of_a_matrix():
    def make(fill):
        @cuda.jit
        def k(x, y):
            tile = cuda.shared.array((8, 8), float64)
            i, j = cuda.threadIdx.x, cuda.threadIdx.y
            if i < 6 and j < 6:
                tile[i, j] = x[i * 8 + j]
            elif fill:
                tile[i, j] = 0
            cuda.syncthreads()
            y[i, j] = tile[j, i] * 2  # uninitialised

        return lambda: compare(k[1, (8, 8)], VALUES, np.zeros((8, 8)))

    return make(False), make(True)


# -- libdevice

OWN = {"CUDASIM_LIBDEVICE": "own"}


def _function(kernel, dtype):
    """Its twin is compared with a tolerance."""
    values = np.abs(VALUES[:1024]).astype(dtype) + dtype(0.1)
    return tuple(
        lambda how=how: compare(kernel[4, 256], values, np.zeros(1024, dtype), **how)
        for how in (EXACT, {"ulp": 5})
    )


@case("libdevice", variables=OWN)
def sine():
    @cuda.jit
    def k(x, y):
        i = cuda.grid(1)
        y[i] = math.sin(x[i])  # libdevice

    return _function(k, np.float64)


@case("libdevice", variables=OWN)
def tangent_of_float32():
    @cuda.jit
    def k(x, y):
        i = cuda.grid(1)
        y[i] = math.tan(x[i])  # libdevice

    return _function(k, np.float32)


@case("libdevice", variables=OWN)
def gamma():
    @cuda.jit
    def k(x, y):
        i = cuda.grid(1)
        y[i] = math.lgamma(x[i])  # libdevice

    return _function(k, np.float64)


# -- fused multiplications and additions: the GPU is given the kernel of a launch with another fma


def _fused(kernel, shape):
    """(case, twin): what the GPU made of the launch with fma, compared with that without, and with its own."""

    def launched(simulated_fma):
        x, y = cuda.to_device(VALUES), cuda.to_device(np.zeros(256, np.float32))
        records = {}
        for fma in (False, True):
            y.copy_to_device(np.zeros(256, np.float32))
            with (
                options.defaults("a test", fma=fma),
                Recorder(
                    lambda record, fma=fma: records.__setitem__(fma, record), keep_after=True
                ).in_force(),
            ):
                kernel[shape](x, y)
        _native.add_gpu_code(records[True], "sm_90")
        from cudasim.comparing.runner import runner
        from cudasim.comparing.session import compare_outcome

        outcome = runner().run(records[True], 60.0)
        return compare_outcome(records[simulated_fma], outcome, {"": Tolerance(exact=True)})

    return lambda: launched(False), lambda: launched(True)


@case("fma")
def product_and_sum():
    @cuda.jit
    def k(x, y):
        i = cuda.grid(1)
        y[i] = x[i] * x[i + 1] + x[i + 2]  # fma

    return _fused(k, (4, 64))


@case("fma")
def polynomial():
    @cuda.jit
    def k(x, y):
        i = cuda.grid(1)
        t = x[i] / float32(50)
        y[i] = ((t * float32(0.3) + float32(0.7)) * t + float32(1.1)) * t + float32(0.2)  # fma

    return _fused(k, (4, 64))


@case("fma")
def dot_product():
    @cuda.jit
    def k(x, y):
        i = cuda.grid(1)
        total = float32(0)
        for j in range(16):
            total += x[i + j] * x[i + 2 * j]  # fma
        y[i] = total

    return _fused(k, (4, 64))


# -- approximations: the stand-in computes them as the simulator does, so a last bit is inverted


def _approximated(kernel, clean):
    return (
        lambda: compare(kernel[4, 64], VALUES, np.zeros(256, np.float32), **EXACT),
        lambda: compare(clean[4, 64], VALUES, np.zeros(256, np.float32)),
    )


@case("approximation", "flip=p3+400.0")
def fast_sine():
    @cuda.jit
    def k(x, y):
        i = cuda.grid(1)
        y[i] = libdevice.fast_sinf(x[i])  # approximate

    return _approximated(k, k)


@case("approximation", "flip=p3+400.0")
def exponential_of_float32():
    @cuda.jit
    def k(x, y):
        i = cuda.grid(1)
        y[i] = math.exp(x[i])  # approximate

    return _approximated(k, k)


@case("fast-math", "flip=p3+400.0")
def fast_quotient():
    @cuda.jit(fastmath=True)
    def k(x, y):
        i = cuda.grid(1)
        y[i] = x[i] / x[i + 1]  # fast-math

    return _approximated(k, k)


# -- what no experiment explains


@case("unexplained", "flip=p3+400.6")
def flipped_bit():
    @cuda.jit
    def k(x, y):
        i = cuda.grid(1)
        y[i] = x[i] * x[i + 1] + x[i + 2]

    return (lambda: compare(k[4, 64], VALUES, np.zeros(256, np.float32)),)


@case("unexplained", "flip=p3+3.6")
def flipped_bit_of_a_sum():
    @cuda.jit
    def k(x, y):
        cuda.atomic.add(y, 0, x[cuda.grid(1)])

    return (lambda: compare(k[4, 64], VALUES, np.zeros(1, np.float32)),)


@case("gpu-varies", "flip@1=p3+400.6")
def flipped_once():
    @cuda.jit
    def k(x, y):
        i = cuda.grid(1)
        y[i] = x[i] + x[i + 2]

    return (lambda: compare(k[4, 64], VALUES, np.zeros(256, np.float32)),)


def run(names):
    """Prints what the cases and their twins come to, as JSON."""
    results = {}
    for name in names:
        launches = [each() for each in CASES[name][3:]]
        results[name] = [
            {
                "cause": CASES[name][0],
                "verdict": launch.get("verdict"),
                "message": launch.get("message"),
                "explanations": launch.get("explanations"),
            }
            for launch in launches
        ]
    print(json.dumps(results))


def unplanted():
    """The cases for a GPU that is told nothing, of those whose options are in force."""
    return [
        name
        for name, (_, planted, variables, *_) in CASES.items()
        if not planted.startswith("flip")
        and variables.get("CUDASIM_LIBDEVICE") == os.environ.get("CUDASIM_LIBDEVICE")
    ]


if __name__ == "__main__":
    run(unplanted() if sys.argv[1:] == ["--unplanted"] else sys.argv[1:] or list(CASES))
