"""CUDA's vector types: cuda.float32x4, cuda.float4 and their kind. Both modes (conftest.py)."""

import numpy as np
import pytest
from cudasim import cuda, errors
from cudasim.compile.intrinsics import VECTOR_ALIASES, VECTOR_TYPES
from kernel_checks import evaluate, kernel_of_source, refusal, types_of


@pytest.mark.parametrize("name", sorted(VECTOR_TYPES))
def test_every_type_holds_its_components(name):
    base, count = VECTOR_TYPES[name]
    values = ", ".join(f"a[{i}]" for i in range(count))
    stores = [f"out[{i}] = v.{axis}" for i, axis in enumerate("xyzw"[:count])]
    kernel = kernel_of_source("\n    ".join([f"v = cuda.{name}({values})", *stores]), "out, a", cuda=cuda)
    a = np.array([1.75, 200.0, 40000.25, 7.0])
    out = evaluate(kernel, a, size=4, dtype=base)
    wanted = evaluate(
        kernel_of_source("for i in range(4):\n        out[i] = a[i]", "out, a"), a, size=4, dtype=base
    )
    assert list(out) == list(wanted[:count]) + [0] * (4 - count)  # converted as a store converts


def test_names_of_cuda_c():
    assert len(VECTOR_TYPES) == 40 and len(VECTOR_ALIASES) == 48
    assert cuda.float4 is cuda.float32x4 and cuda.uchar2 is cuda.uint8x2 and cuda.double3 is cuda.float64x3
    assert cuda.longlong1 is cuda.long1 is cuda.int64x1 and cuda.float4.aliases == ["float4"]


def test_components_come_in_smaller_vectors_too():
    @cuda.jit
    def kernel(out, x):
        pair = cuda.float2(x, 2)
        three = cuda.float32x3(pair, 3.5)
        for_all = (
            cuda.float4(pair, pair),
            cuda.float4(0, pair, 9),
            cuda.float4(three, True),
            cuda.float4(7, three),
            cuda.float4(cuda.float1(1), 2, cuda.float32x2(3, 4)),
            cuda.float4(cuda.float4(1, 2, 3, 4)),
        )
        for i in range(6):
            v = for_all[i]
            out[i, 0], out[i, 1], out[i, 2], out[i, 3] = v.x, v.y, v.z, v.w

    out = np.zeros((6, 4))
    kernel[1, 1](out, 0.1)
    x = np.float32(0.1)
    assert out.tolist() == [
        [x, 2, x, 2],
        [0, x, 2, 9],
        [x, 2, 3.5, 1],
        [7, x, 2, 3.5],
        [1, 2, 3, 4],
        [1, 2, 3, 4],
    ]


def test_components_convert_as_numbers_do():
    @cuda.jit
    def kernel(out, big):
        small = cuda.uchar4(300, -1, 2.9, True)
        out[0], out[1], out[2], out[3] = small.x, small.y, small.z, small.w
        whole = cuda.int2(big, 2.7)
        out[4], out[5] = whole.x, whole.y

    out = np.zeros(6)
    kernel[1, 1](out, 2**32 + 5)
    assert list(out) == [44, 255, 2, 1, 5, 2]


def test_they_are_values_of_variables_functions_and_tuples():
    @cuda.jit(device=True)
    def swapped(v):
        return cuda.double2(v.y, v.x)

    @cuda.jit
    def kernel(out, n):
        v = cuda.double2(1, 2)
        for i in range(n):
            v = swapped(v)
        w = v if n > 2 else cuda.double2(-1, -2)
        make = cuda.float64x2
        out[0], out[1], out[2] = v.x, w.y, make(w.x, 0).x

    assert list(evaluate(kernel.py_func, 3, size=3)) == [2, 1, 2]
    assert list(evaluate(kernel.py_func, 2, size=3)) == [1, -2, -1]


def test_names_imported_by_themselves():
    float4, int2 = cuda.float4, cuda.int2

    def kernel(out):
        v = float4(1, 2, 3, 4)
        out[0] = v.w + int2(5, 6).y

    assert evaluate(kernel) == 10


def test_across_a_barrier():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        v = cuda.int4(i, i + 1, i + 2, i + 3)
        cuda.syncthreads()
        out[i] = v.x * v.w + v.y * v.z

    out = np.zeros(40, np.int64)
    kernel[1, 40](out)
    i = np.arange(40)
    assert np.array_equal(out, i * (i + 3) + (i + 1) * (i + 2))


def test_types_are_named_as_numba_names_them():
    def kernel(x):
        v = cuda.float4(x, x, x, x)
        r = v.x
        t = (v, 1.0)

    types = types_of(kernel, "int64")
    assert types == {"x": "int64", "v": "float32x4", "r": "float32", "t": "Tuple(float32x4, float64)"} or {
        k: types[k] for k in "vrt"
    } == {"v": "float32x4", "r": "float32", "t": "Tuple(float32x4, float64)"}


@pytest.mark.parametrize("expression", [
    "cuda.float2(1)", "cuda.float2(1, 2, 3)", "cuda.float2()", "cuda.float2((1, 2))", "cuda.float2(a, 1)",
    "cuda.int2(cuda.float2(1, 2))", "cuda.float2(cuda.double2(1, 2))", "cuda.float4(cuda.float3(1, 2, 3), cuda.float2(1, 2))",
    "cuda.float2(x=1, y=2)", "cuda.float2(1, 2)[0]", "len(cuda.float2(1, 2))", "cuda.float2(1, 2) + cuda.float2(1, 2)",
    "cuda.float2(1, 2) == cuda.float2(1, 2)", "cuda.float2(1, 2).z", "cuda.float2(1, 2).real", "-cuda.float2(1, 2)",
])  # fmt: skip
def test_what_numba_refuses_is_refused(expression):
    refusal(
        errors.TypingError, kernel_of_source(f"r = {expression}", "a", cuda=cuda), "array(float64, 1d, C)"
    )


def test_unpacking_is_refused():
    refusal(errors.TypingError, kernel_of_source("x, y = cuda.float2(1, 2)", "a", cuda=cuda), "float64")
