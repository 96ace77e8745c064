"""Dispatchers: signatures, options of jit, overloads, inspection."""

import functools
import pickle
import re

import numpy as np
import pytest
from cudasim import cuda, options, types


@cuda.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


def test_signatures_convert_arguments():
    @cuda.jit("void(float64[:], int32, float32)")
    def store(out, a, b):
        out[0] = a
        out[1] = b

    out = np.zeros(2)
    store[1, 1](out, 3.9, 7)
    assert out.tolist() == [3, 7]
    assert store.signatures == [("array(float64, 1d, A)", "int32", "float32")]
    with pytest.raises(TypeError, match="no declaration fits"):
        store[1, 1](np.zeros(2, np.float32), 1, 1)


@pytest.mark.parametrize(
    "signature",
    [
        "void(int64[:])",
        "(int64[:],)",
        (types.int64[:],),
        types.void(types.int64[:]),
        ["void(float64[:])", "void(int64[:])"],
    ],
)
def test_signatures_in_every_form(signature):
    @cuda.jit(signature)
    def add(x):
        x[0] += 1

    x = np.zeros(1, np.int64)
    add[1, 1](x)
    assert x[0] == 1


def test_signatures_compile_at_once():
    from cudasim import errors

    with pytest.raises(errors.NumbaError):

        @cuda.jit("void(int64)")
        def wrong(x):
            x[0] = 1


def test_kernels_return_nothing():
    with pytest.raises(TypeError, match="returns nothing"):
        cuda.jit("int32(int32)")(lambda x: x)


@pytest.mark.parametrize(
    "arguments, error",
    [
        ({"link": "a.ptx"}, NotImplementedError),
        ({"boundscheck": True}, NotImplementedError),
        ({"argtypes": ()}, None),
        ({"nosuchoption": 1}, TypeError),
    ],
)
def test_options_of_jit_that_cannot_be_had_are_refused(arguments, error):
    if error is None:
        cuda.jit(**arguments)
    else:
        with pytest.raises(error):
            cuda.jit(**arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"debug": True, "opt": False},
        {"fastmath": True},
        {"lineinfo": True},
        {"max_registers": 32},
        {"inline": "always"},
        {"cache": True},
    ],
)
def test_options_of_jit_that_are_accepted(arguments):
    x = np.zeros(4)
    cuda.jit(**arguments)(increment.py_func)[1, 4](x)
    assert (x == 1).all()


def test_jit_decorates_functions_only():
    with pytest.raises(TypeError):
        cuda.jit(3)
    with pytest.raises(TypeError):
        cuda.jit(len)


def test_dispatchers_look_like_the_function():
    assert increment.__name__ == "increment" and increment.__module__ == __name__
    assert increment.py_func.__code__.co_varnames[0] == "x"
    functools.update_wrapper(lambda: 0, increment)


def test_dispatchers_are_pickled_by_name():
    assert pickle.loads(pickle.dumps(increment)) is increment


def test_one_overload_per_tuple_of_types():
    kernel = cuda.jit(increment.py_func)
    for dtype in (np.float32, np.float64, np.float32):
        kernel[1, 1](np.zeros(1, dtype))
    assert list(kernel.overloads) == [("array(float32, 1d, C)",), ("array(float64, 1d, C)",)]


def test_specialize_has_one_overload():
    kernel = increment.specialize(np.zeros(1, np.int8))
    assert kernel.specialized and list(kernel.overloads) == [("array(int8, 1d, C)",)]
    x = np.zeros(2, np.int8)
    kernel[1, 2](x)
    assert x.tolist() == [1, 1]


def test_stages_can_be_inspected(capsys):
    kernel = cuda.jit(increment.py_func)
    kernel[1, 1](np.zeros(1))
    (ir,), (ptx,) = kernel.inspect_llvm().values(), kernel.inspect_asm().values()
    assert re.search(r'define void @"?increment', ir) and re.search(r"\.visible \.entry increment", ptx)
    kernel.inspect_types()
    assert "increment" in capsys.readouterr().out


def test_options_in_force_at_the_launch_count():
    @cuda.jit
    def divide(x):
        x[0] = 1 / x[0]

    divide[1, 1](np.ones(1))
    with options.override(raise_float_division=True), pytest.raises(ZeroDivisionError):
        divide[1, 1](np.zeros(1))
