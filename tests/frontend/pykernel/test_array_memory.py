"""cuda.shared.array, cuda.local.array and cuda.const.array_like: shapes and dtypes as Numba's CUDA target takes them,
one allocation per place (V4), poisoned contents (V3)."""

import numpy as np
import pytest
from cudasim import cuda, types
from cudasim.types import float32, int16
from kernel_checks import kernel_of_source as kernel
from kernel_checks import refusal, types_of

LENGTH, SHAPE = 4, (2, 3)
RECORDED = np.dtype("i2")
NAMES = {
    "np": np,
    "cuda": cuda,
    "float32": float32,
    "int16": int16,
    "types": types,
    "LENGTH": LENGTH,
    "SHAPE": SHAPE,
    "RECORDED": RECORDED,
    "NAME": "uint8",
}
DTYPES = {
    "float32": "float32",
    "np.float32": "float32",
    "'float32'": "float32",
    "'f4'": "float32",
    "'<f4'": "float32",
    "'float'": "float64",
    "'d'": "float64",
    "'int'": "int64",
    "'i'": "int32",
    "'?'": "bool",
    "'bool'": "bool",
    "'b1'": "bool",
    "'byte'": "int8",
    "'long'": "int64",
    "NAME": "uint8",
    "np.bool_": "bool",
    "np.intp": "int64",
    "np.uint16": "uint16",
    "np.longlong": "int64",
    "RECORDED": "int16",
    "types.int16": "int16",
    "a.dtype": "float64",
}
SHAPES = {
    "3": 1,
    "(3,)": 1,
    "(2, 3, 4)": 3,
    "LENGTH": 1,
    "SHAPE": 2,
    "(LENGTH, 2)": 2,
    "SHAPE[0]": 1,
    "(SHAPE[1], 4)": 2,
    "4 // 2": 1,
    "2 ** 3": 1,
    "-(-3)": 1,
    "a.ndim": 1,
    "()": 0,
}


@pytest.mark.parametrize("place", ["cuda.shared.array", "cuda.local.array"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(place, dtype):
    inferred = types_of(kernel(f"r = {place}(3, {dtype})", "a", **NAMES), "array(float64, 1d, C)")["r"]
    assert inferred == f"array({DTYPES[dtype]}, 1d, C)"


@pytest.mark.parametrize("place", ["cuda.shared.array", "cuda.local.array"])
@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(place, shape):
    inferred = types_of(
        kernel(f"r = {place}(shape={shape}, dtype=float32)", "a", **NAMES), "array(float64, 1d, C)"
    )["r"]
    assert inferred == f"array(float32, {SHAPES[shape]}d, C)"


@pytest.mark.parametrize("shape", ["LENGTH * 2", "len(SHAPE)", "a.shape", "a.size", "2.0", "True", "n"])
def test_shapes_that_are_no_constants(shape):
    from cudasim import errors

    body = f"n = 3\n    if a[0] > 1:\n        n = 4\n    r = cuda.local.array({shape}, float32)"
    refusal(errors.TypingError, kernel(body, "a", **NAMES), "array(float64, 1d, C)")


def test_a_variable_that_holds_a_constant_is_a_shape():
    @cuda.jit
    def k(out):
        n = 3
        shape = (n, 2)
        out[0] = cuda.local.array(shape, np.int8).size
        n = 5
        out[1] = cuda.shared.array(n, np.int8).size

    out = np.zeros(2)
    k[1, 1](out)
    assert list(out) == [6, 5]


def test_fresh_memory_is_poisoned():
    @cuda.jit(device=True)
    def local(out, i):
        memory = cuda.local.array(3, np.float64)
        out[i] = memory[i % 3]
        memory[:] = 1

    @cuda.jit
    def k(out):
        shared = cuda.shared.array(2, np.float32)
        out[0] = shared[1]
        local(out, 1)
        local(out, 2)
        for i in range(2):
            memory = cuda.local.array(2, np.float64)
            out[3 + i] = memory[0]
            memory[0] = i

    out = np.zeros(5)
    k[2, 1](out)
    assert np.isnan(out[:4]).all()
    assert out[4] == 0  # one allocation per place: what the first iteration wrote


def test_arrays_in_branches_and_functions():
    @cuda.jit(device=True)
    def scratch(n):
        memory = cuda.local.array(4, np.int64)
        for i in range(4):
            memory[i] = n + i
        return memory[n % 4]

    @cuda.jit
    def k(out):
        i = cuda.threadIdx.x
        if i % 2:
            tile = cuda.shared.array(4, np.int64)
        else:
            tile = cuda.shared.array(4, np.int64)
        tile[i] = i + 10
        cuda.syncthreads()
        out[i, 0] = tile[(i + 2) % 4]
        out[i, 1] = scratch(i) + scratch(scratch(i))

    out = np.zeros((4, 2), np.int64)
    k[1, 4](out)
    value = lambda n: n + n % 4  # noqa: E731
    assert out.tolist() == [[10 + (i + 2) % 4, value(i) + value(value(i))] for i in range(4)]


def test_dynamic_arrays_of_several_types_share_their_memory():
    @cuda.jit
    def k(out):
        doubles = cuda.shared.array(0, np.float64)
        words = cuda.shared.array((0,), np.uint32)
        octets = cuda.shared.array(shape=0, dtype=np.uint8)
        if cuda.threadIdx.x == 0:
            doubles[1] = 1.0
            out[0], out[1], out[2] = doubles.size, words.size, len(octets)
            out[3], out[4] = words[3], octets[15]

    out = np.zeros(5, np.int64)
    k[1, 1, 0, 20](out)
    assert out.tolist() == [2, 5, 20, 0x3FF00000, 0x3F]


def test_an_array_without_axes():
    @cuda.jit
    def k(out):
        one = cuda.local.array((), np.float64)
        one[()] = 3
        one[()] += out[0]
        out[0] = one[()] + one.size + one.ndim

    out = np.array([2.0])
    k[1, 1](out)
    assert out[0] == 6
