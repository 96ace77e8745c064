"""Arguments of device functions that may be left out or None, and what declared signatures say of them."""

import numpy as np
from cudasim import cuda
from cudasim.cuda import types


def run(kernel, size=4):
    out = np.arange(1.0, size + 1)
    kernel[1, 1](out)
    return out.tolist()


def test_defaults_of_none_are_decided_by_type():
    @cuda.jit(device=True)
    def item(values=None, i=0):
        if values is None:
            return -1.0
        return values[i]

    @cuda.jit
    def kernel(out):
        out[0] = item()
        out[1] = item(out, 3)
        out[2] = item(None, i=7)

    assert run(kernel) == [-1, 4, -1, 4]


def test_declared_optional_parameters_take_values_and_none():
    @cuda.jit(types.float64(types.float64, types.optional(types.float64)), device=True)
    def plus(x, y):
        if y is None:
            return x
        return x + y

    @cuda.jit("float64(float64, optional(float64))", device=True)
    def plus_by_text(x, y):
        if y is not None:
            return x + y
        return x

    @cuda.jit(device=True)
    def large(x):
        if x > 2:
            return x
        return None

    @cuda.jit
    def kernel(out):
        out[0] = plus(out[1], None)
        out[1] = plus(out[1], 3)
        out[2] = plus_by_text(1.0, large(out[3]))
        out[3] = plus_by_text(1.0, large(0.0))

    assert run(kernel) == [2, 5, 5, 1]


def test_indices_and_groups_are_declared_arguments():
    @cuda.jit(types.int32(types.dim3), device=True)
    def extent(indices):
        return indices.x + indices.y

    @cuda.jit(types.void(types.grid_group), device=True)
    def meet(group):
        group.sync()

    @cuda.jit
    def kernel(out):
        out[0] = extent(cuda.blockDim)
        out[1] = extent(cuda.threadIdx)
        meet(cuda.cg.this_grid())

    assert run(kernel) == [2, 0, 3, 4]
