"""Rules V3, V4 and V5 of the execution model: fresh memory, where arrays lie, fused multiply-add.

V1: test_types_follow_numba.py, test_oracle.py. V2: test_ptx_corner_values.py. V6: the tests of print.
"""

import numpy as np
import pytest
from cudasim import cuda, options
from kernel_checks import evaluate


@pytest.mark.parametrize("space", ["shared", "local"])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "int32", "int64", "uint8", "bool"])
def test_fresh_arrays_hold_no_zeros(space, dtype):
    make = cuda.shared.array if space == "shared" else cuda.local.array

    def kernel(out):
        fresh = make(4, dtype)
        for i in range(4):
            out[i] = fresh[i]

    result = evaluate(kernel, dtype=dtype, size=4)
    if result.dtype.kind == "f":
        assert np.isnan(result).all()
    else:
        assert result.all()


def test_fresh_global_memory_holds_no_zeros():
    assert np.isnan(cuda.device_array(8, np.float64).copy_to_host()).all()
    assert cuda.device_array(8, np.int32).copy_to_host().all()


def test_an_array_in_a_loop_is_one_array():
    def kernel(out):
        for i in range(3):
            shared, local = cuda.shared.array(1, np.int64), cuda.local.array(1, np.int64)
            if i == 0:
                shared[0], local[0] = 5, 7
            out[i] = shared[0] + 10 * local[0]

    assert list(evaluate(kernel, dtype=np.int64, size=3)) == [75, 75, 75]


def test_arrays_of_two_places_are_two_arrays():
    def kernel(out):
        a = cuda.shared.array(2, np.int64)
        b = cuda.shared.array(2, np.int64)
        a[0], b[0] = 1, 2
        out[0], out[1] = a[0], b[0]

    assert list(evaluate(kernel, dtype=np.int64, size=2)) == [1, 2]


def test_dynamic_shared_arrays_are_all_the_same_memory():
    @cuda.jit
    def kernel(out):
        words, bytes_ = cuda.shared.array(0, np.uint32), cuda.shared.array(0, np.uint8)
        words[0] = 0x01020304
        out[0], out[1], out[2] = bytes_[0], len(words), len(bytes_)

    out = np.zeros(3, np.int64)
    kernel[1, 1, 0, 16](out)
    assert list(out) == [4, 4, 16]


@cuda.jit
def multiply_add(out, values):
    a, b, c = values[0], values[1], values[2]
    out[0] = a * b + c
    out[1] = cuda.fma(a, b, c)


def test_multiply_and_add_round_twice_unless_asked():
    values = np.array([1 + 2**-30, 1 - 2**-30, -1.0])
    out = np.zeros(2)
    multiply_add[1, 1](out, values)
    assert list(out) == [0, -(2.0**-60)]
    with options.override(fma=True):
        multiply_add[1, 1](out, values)
    assert list(out) == [-(2.0**-60), -(2.0**-60)]
