"""carray() and farray() in kernels: arrays made of C pointers, whose shape is the kernel's claim about memory."""

import numpy as np
import pytest
from cudasim import cuda, errors, options
from cudasim.cuda import types
from cudasim.cuda.np.numpy_support import carray, farray
from python_mode_required import needs_python_mode

cffi = pytest.importorskip("cffi")
ffi = cffi.FFI()


@pytest.fixture(autouse=True)
def compiled():
    with options.override(mode="native"):
        yield


def test_elements_rows_and_attributes():
    @cuda.jit
    def kernel(x, rows, columns, out):
        a = carray(ffi.from_buffer(x), (rows, columns))
        b = farray(ffi.from_buffer(x), (rows, columns), np.float32)
        out[0] = a[1, 2]
        out[1] = b[1, 2]
        out[2] = a.sum()
        out[3] = a[1][-1] + b[:, 1][1]
        out[4] = a.shape[1] * 100 + b.ndim * 10 + (b.strides[1] == 8)
        carray(ffi.from_buffer(x), rows * columns)[-1] = 77

    x, out = np.arange(10, dtype=np.float32), np.zeros(5)
    kernel[1, 1](x, 2, 5, out)
    assert x[9] == 77
    assert out.tolist() == [7, 5, 45, 9 + 3, 500 + 20 + 1]


def test_an_index_beyond_the_shape_is_an_index_error():
    @cuda.jit
    def kernel(x, i):
        carray(ffi.from_buffer(x), (4,))[i] = 1

    x = np.zeros(8)
    kernel[1, 1](x, 3)
    with pytest.raises(IndexError, match="tid="):
        kernel[1, 1](x, 4)


KINDS = ["load", "store", "atomic", "row", "fill", "device function", "either array", "element of a record"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_shape_larger_than_the_memory_is_found_at_the_access(kind):
    """The pointer's memory ends at x.size; nothing is wrong until a thread goes beyond."""

    @cuda.jit(device=True)
    def take(a, i):
        return a[i]

    pair = np.dtype([("a", np.float64), ("b", np.float64)])

    @cuda.jit
    def kernel(x, other, i, out):
        a = carray(ffi.from_buffer(x), (1000,))
        if kind == "load":
            out[0] = a[i]
        elif kind == "store":
            a[i] = 1
        elif kind == "atomic":
            cuda.atomic.add(a, i, 1)
        elif kind == "row":
            out[0] = carray(ffi.from_buffer(x), (500, 2))[i // 2][i % 2]
        elif kind == "fill":
            a[: i + 1] = 3
        elif kind == "device function":
            out[0] = take(a, i)
        elif kind == "either array":
            either = a if i > 5 else other
            out[0] = either[i]
        elif kind == "element of a record":
            out[0] = x.view(pair).size and a[i]

    x, other, out = np.arange(16.0), np.zeros(2000), np.zeros(1)
    kernel[1, 1](x, other, 15, out)
    with pytest.raises(errors.KernelMemoryError, match="tid="):
        kernel[1, 1](x, other, 16, out)


def test_records():
    pair = np.dtype([("a", np.int32), ("b", np.float64)], align=True)

    @cuda.jit
    def kernel(x, i, out):
        a = carray(ffi.from_buffer(x), (9,))
        out[0] = a[i].b
        a[i].a = 4

    x, out = np.zeros(3, pair), np.zeros(1)
    x["b"] = [1, 2, 3]
    kernel[1, 1](x, 2, out)
    assert out[0] == 3 and x[2]["a"] == 4
    with pytest.raises(errors.KernelMemoryError, match="tid="):
        kernel[1, 1](x, 3, out)


def refusal(function, *arguments):
    with pytest.raises(errors.TypingError) as caught:
        cuda.jit(function)[1, 1](*arguments)
    return str(caught.value)


def test_what_does_not_fit_is_refused():
    def other_type(x):
        carray(ffi.from_buffer(x), (4,), np.int32)[0] = 1

    def no_pointer(x):
        carray(x, (4,))[0] = 1

    def no_shape(x):
        carray(ffi.from_buffer(x), (2.5,))[0] = 1

    x = np.zeros(4)
    assert "mismatching dtype 'int32' for pointer type 'float64*'" in refusal(other_type, x)
    assert "carray" in refusal(no_pointer, x)
    assert "integer or a tuple of integers" in refusal(no_shape, x)


def test_functions_for_other_languages_get_pointers():
    def total(p, n):
        s = types.float32(0)
        for value in carray(p, (n,)):
            s += value
        return s

    def first(p):
        return farray(p, (2, 2), np.int16)[1, 0]

    def untyped(p):
        return carray(p, (2, 2))[1, 0]

    text, result = cuda.compile_ptx(total, (types.CPointer(types.float32), types.int32), device=True, abi="c")
    assert result == types.float32 and "ld.f32" in text
    assert cuda.compile_ptx(first, (types.voidptr,), device=True, abi="c")[1] == types.int16
    with pytest.raises(errors.TypingError, match="explicit dtype required for void"):
        cuda.compile_ptx(untyped, (types.voidptr,), device=True, abi="c")


def test_numbas_names(run):
    script = """
        import ctypes
        from numba import carray, cuda, farray
        import numba.cuda.np.numpy_support as support
        print(carray is support.carray and farray is support.farray)
        x = (ctypes.c_float * 4)(1, 2, 3, 4)
        print(farray(ctypes.cast(x, ctypes.POINTER(ctypes.c_float)), (2, 2)).tolist())
    """
    done = run(run.write(script), ENABLE_CUDASIM="1")
    assert done.stdout == "True\n[[1.0, 3.0], [2.0, 4.0]]\n", done.stderr


@needs_python_mode
def test_python_mode_refuses_pointers_by_name():
    @cuda.jit
    def kernel(x):
        x[0] = carray(ffi.from_buffer(x), (2,))[1]

    with (
        options.override(mode="python"),
        pytest.raises(NotImplementedError, match="from_buffer.. makes a C pointer: only compiled"),
    ):
        kernel[1, 1](np.zeros(2))
