"""cuda.ldca … cuda.stwt: values, index checks, types, PTX. Both modes (conftest.py)."""

import numpy as np
import pytest
from cudasim import _native, cuda, errors
from cudasim.compile import compiler
from kernel_checks import kernel_of_source, refusal

LOADS = ["ldca", "ldcg", "ldcs", "ldlu", "ldcv"]
STORES = ["stcg", "stcs", "stwb", "stwt"]
TYPES = ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64"]


def kernel_of(body, parameters):
    return cuda.jit(kernel_of_source(body, parameters, cuda=cuda, np=np))


@pytest.mark.parametrize("name", LOADS)
def test_loads_of_every_element_type(name):
    kernel = kernel_of(f"i = cuda.grid(1)\n    out[i] = cuda.{name}(a, i)", "out, a")
    for element in TYPES:
        a, out = np.array([1, 0, 100, 7], element), np.zeros(4)
        kernel[1, 4](out, a)
        assert list(out) == list(a), element


@pytest.mark.parametrize("name", STORES)
def test_stores_of_every_element_type(name):
    kernel = kernel_of(f"i = cuda.grid(1)\n    cuda.{name}(out, i, a[i])", "out, a")
    for element in TYPES:
        a, out = np.array([1.0, 0.0, 100.0, 7.0]), np.zeros(4, element)
        kernel[1, 4](out, a)
        assert list(out) == list(a), element


def test_several_axes_negative_indices_views_and_keywords():
    @cuda.jit
    def kernel(out, a):
        i, j = cuda.grid(2)
        cuda.stcg(out, (i, j), cuda.ldcg(a, (i, -1)) + cuda.ldca(a[:, 0], i) + cuda.ldcs(a.T, (j, i)))
        cuda.stwt(array=out, i=(0, 0), value=cuda.ldlu(array=a, i=(0, 0)))

    a, out = np.arange(6.0).reshape(2, 3), np.zeros((2, 3), np.float32)
    kernel[1, (2, 3)](out, a)
    wanted = a[:, -1:] + a[:, :1] + a
    wanted[0, 0] = 0
    assert np.array_equal(out, wanted)


@pytest.mark.parametrize(
    "call", [*(f"{name}(a, i)" for name in LOADS), *(f"{name}(a, i, 1)" for name in STORES)]
)
def test_indices_are_checked(call):
    kernel = kernel_of(f"i = cuda.threadIdx.x\n    cuda.{call}", "a")
    with pytest.raises(IndexError, match=r"tid=\[4, 0, 0\].*index 4 is out of bounds for axis 0 with size 4"):
        kernel[1, 5](np.zeros(4, np.int32))


def test_a_thread_may_wait_for_what_it_loads():
    @cuda.jit
    def kernel(flag, out):
        if cuda.threadIdx.x == 0:
            while cuda.ldcv(flag, 0) == 0:
                pass
            while cuda.ldcg(flag, 1) == 0:
                pass
            out[0] = 1
        else:
            cuda.stcg(flag, 1, 1)
            cuda.stwt(flag, 0, 1)

    flag, out = np.zeros(2, np.int32), np.zeros(1)
    kernel[1, 2](flag, out)
    assert out[0] == 1


@pytest.mark.parametrize("call, words", [
    ("ldca(x, 0)", "ldca operates on arrays or pointers. Got type float64"),
    ("stcg(x, 0, 1)", "stcg operates on arrays or pointers. Got type float64"),
    ("ldcg(b, 0)", "Expected 2 indices, got a scalar"),
    ("ldcg(b, (0, 0, 0))", "Expected 2 indices, got 3"),
    ("ldcg(a, (0, 0))", "Expected 1 indices, got 2"),
    ("stwb(b, (0, 0, 0), 1)", "Expected 2 indices, got 3"),
    ("ldcs(a, 1.0)", "is not a valid index"),
    ("ldcs(b, (1.0, 2.0))", "is not a valid index"),
    ("ldcv(b, (np.int32(0), 1))", "is not a valid index"),
    ("ldcs(a, True)", "is not a valid index"),
    ("ldcv(flags, 0)", "ldcv requires array of integer or float type, got bool"),
    ("stcs(a, 0, a)", "Cannot convert"),
    ("ldca(cuda.shared.array(4, np.float32), 0)", "global memory"),
    ("ldca(a)", ""),
])  # fmt: skip
def test_wrong_calls_are_refused_in_numba_s_words(call, words):
    kernel = kernel_of_source(f"cuda.{call}", "a, b, x, flags", cuda=cuda, np=np)
    arrays = ("array(float32, 1d, C)", "array(float32, 2d, C)", "float64", "array(bool, 1d, C)")
    assert words in refusal(errors.TypingError, kernel, *arrays)


@pytest.mark.parametrize(
    "element, bits", [("int8", 8), ("float32", 32), ("uint16", 16), ("float64", 64), ("int64", 64)]
)
def test_ptx_has_the_cache_operators(element, bits):
    lines = [f"a[{i}] = cuda.{name}(a, i)" for i, name in enumerate(LOADS)]
    lines += [f"cuda.{name}(a, i, a[{i}])" for i, name in enumerate(STORES)]
    kernel = kernel_of_source("\n    ".join(lines), "a, i", cuda=cuda)
    compiled = compiler.compile_kernel(kernel, (f"array({element}, 1d, C)", "int64"))
    ptx = _native.ptx(compiled.image, compiled.kernel_name, "sm_80")
    for name in (*LOADS, *STORES):
        assert f"{name[:2]}.global.{name[2:]}.b{bits} " in ptx, name
