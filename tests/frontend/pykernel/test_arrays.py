"""Arrays in kernels: layouts, indices and their checks, attributes, views, element types."""

import numpy as np
import pytest
from cudasim import cuda
from kernel_checks import evaluate, types_of

LAYOUTS = {"C": np.ascontiguousarray, "F": np.asfortranarray}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_elements_of_a_3d_array_in_both_layouts(layout):
    @cuda.jit
    def kernel(out, a):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                for k in range(a.shape[2]):
                    out[i, j, k] = a[i, j, k] * 10 + i + j + k

    a = LAYOUTS[layout](np.arange(24.0).reshape(2, 3, 4))
    out = LAYOUTS[layout](np.zeros((2, 3, 4)))
    kernel[1, 1](out, a)
    i, j, k = np.indices(a.shape)
    assert np.array_equal(out, a * 10 + i + j + k)


def test_negative_indices_wrap():
    def kernel(out, a):
        out[0], out[1], out[-1] = a[-1], a[-2, -3] if False else a[-2], 7

    assert list(evaluate(kernel, np.arange(5), dtype=np.int64, size=4)) == [4, 3, 0, 7]


@pytest.mark.parametrize(
    "index, message",
    [
        ((2, 0), "index 2 is out of bounds for axis 0 with size 2"),
        ((0, 3), "index 3 is out of bounds for axis 1 with size 3"),
        ((-3, 0), "index -3 is out of bounds for axis 0 with size 2"),
        ((0, -4), "index -4 is out of bounds for axis 1 with size 3"),
    ],
)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_each_axis_is_checked(index, message, layout):
    def read(out, a, i, j):
        out[0] = a[i, j]

    def write(out, a, i, j):
        a[i, j] = 1

    a = LAYOUTS[layout](np.zeros((2, 3)))
    for kernel in (read, write):
        with pytest.raises(IndexError) as caught:
            evaluate(kernel, a, *index)
        assert str(caught.value) == f"tid=[0, 0, 0] ctaid=[0, 0, 0]: {message}"


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]
)
def test_indices_of_every_integer_type(dtype):
    def kernel(out, a, i):
        out[0] = a[i]

    assert evaluate(kernel, np.arange(10.0), dtype(3)) == 3
    with pytest.raises(IndexError, match="index 100 is out of bounds"):
        evaluate(kernel, np.arange(10.0), dtype(100))


def test_a_huge_unsigned_index_is_out_of_bounds():
    def kernel(out, a, i):
        out[0] = a[i]

    with pytest.raises(IndexError):
        evaluate(kernel, np.arange(10.0), np.uint64(2**64 - 1))


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint16, np.int32, np.uint64, np.float32, np.float64])
def test_element_types_are_read_and_written(dtype):
    @cuda.jit
    def kernel(out, a):
        for i in range(len(a)):
            out[i] = a[i]

    a = np.array([0, 1, 1, 0, 1]).astype(dtype) if dtype is np.bool_ else np.array([1, 2, 100]).astype(dtype)
    out = np.zeros_like(a)
    kernel[1, 1](out, a)
    assert np.array_equal(out, a)


def test_stores_convert_to_the_element_type():
    @cuda.jit
    def kernel(ints, bools, floats):
        ints[0] = -2.9
        ints[1] = True
        bools[0] = 2.5
        bools[1] = 0
        floats[0] = 1 / 3

    ints, bools, floats = np.zeros(2, np.int16), np.ones(2, np.bool_), np.zeros(1, np.float32)
    kernel[1, 1](ints, bools, floats)
    assert list(ints) == [-2, 1] and list(bools) == [True, False] and floats[0] == np.float32(1 / 3)


def test_attributes():
    def kernel(out, a):
        n, m = a.shape
        out[0], out[1], out[2], out[3] = n, m, a.size, a.ndim
        out[4], out[5], out[6] = len(a), a.itemsize, a.nbytes
        out[7], out[8] = a.strides
        out[9] = a.T.shape[0] + a.T[2, 1]

    a = np.arange(12, dtype=np.float32).reshape(3, 4)
    assert list(evaluate(kernel, a, dtype=np.int64, size=10)) == [3, 4, 12, 2, 3, 4, 48, 16, 4, 4 + 6]


def test_rows_are_views():
    @cuda.jit
    def kernel(a):
        row = a[1]
        row[2] = 5
        a[0][1] = row[2] + len(row)
        for line in a:
            line[3] = 9

    for layout in LAYOUTS.values():
        a = layout(np.zeros((2, 4)))
        kernel[1, 1](a)
        assert a.tolist() == [[0, 9, 0, 9], [0, 0, 5, 9]]


def test_loops_over_arrays():
    def kernel(out, a):
        for value in a:
            out[0] += value

    assert evaluate(kernel, np.arange(5.0)) == 10


def test_augmented_assignment_evaluates_its_index_once():
    @cuda.jit
    def kernel(a, counter):
        a[cuda.atomic.add(counter, 0, 1)] += 5

    a, counter = np.arange(3.0), np.zeros(1, np.int64)
    kernel[1, 1](a, counter)
    assert list(a) == [5, 1, 2] and counter[0] == 1


def test_an_array_chosen_at_run_time():
    @cuda.jit
    def kernel(a, which):
        tile = cuda.shared.array(4, np.float64)
        tile[2] = 3
        chosen = a if which else tile
        chosen[2] += 1
        a[0] = tile[2]

    a = np.zeros(4)
    kernel[1, 1](a, 1)
    assert list(a) == [3, 0, 1, 0]
    kernel[1, 1](a, 0)
    assert list(a) == [4, 0, 1, 0]


def test_layouts_join_to_any():
    def kernel(a, b, c):
        chosen = a if c else b
        r = chosen

    types = types_of(kernel, "array(float64, 2d, C)", "array(float64, 2d, F)", "bool")
    assert types["r"] == "array(float64, 2d, A)"


def test_arrays_of_any_layout_use_their_strides():
    @cuda.jit
    def kernel(a, b, which):
        chosen = a if which else b
        chosen[1, 2] = 7

    a, b = np.zeros((2, 3)), np.asfortranarray(np.zeros((2, 3)))
    kernel[1, 1](a, b, True)
    kernel[1, 1](a, b, False)
    assert a[1, 2] == b[1, 2] == 7 and a.sum() == b.sum() == 7


def test_hasattr_asks_the_type_while_compiling():
    @cuda.jit(device=True)
    def extent(value):
        if hasattr(value, "shape"):
            return value.shape[0]
        return 1

    def kernel(out, a):
        out[0] = extent(a)
        out[1] = extent((5, 6))

    assert list(evaluate(kernel, np.ones(7), size=2)) == [7, 1]
