"""Operators, joins and functions give the types that Numba's CUDA target gives (rule V1).

numba_cuda_types.json was read off the typing context of Numba's CUDA target (`source` says which release): the
result type for every pair of scalar types, null where Numba refuses.
"""

import json
import math
import pathlib

import numpy as np
import pytest
from cudasim import errors
from cudasim.compile import compiler
from kernel_checks import kernel_of_source, types_of

pytestmark = pytest.mark.like_images
FACTS = json.loads((pathlib.Path(__file__).parent / "numba_cuda_types.json").read_text())
TYPES = FACTS["types"]
FUNCTIONS = {
    "min": min,
    "max": max,
    "pow": pow,
    "divmod": divmod,
    "abs": abs,
    "int": int,
    "bool": bool,
    "round": round,
}


def result_type(body, *types):
    parameters = ["a", "b"][: len(types)]
    try:
        return types_of(kernel_of_source(body, ", ".join(parameters), math=math, np=np), *types)["r"]
    except errors.TypingError:
        return None


def differences(table, body):
    """Pairs of types whose result is not the fact's."""
    wrong = []
    for left, row in zip(TYPES, table):
        for right, expected in zip(TYPES, row):
            actual = result_type(body, left, right)
            if actual != expected:
                wrong.append(f"{left}, {right}: {actual}, Numba says {expected}")
    return wrong


@pytest.mark.parametrize("operator", FACTS["binary"])
def test_binary_operator(operator):
    assert differences(FACTS["binary"][operator], f"r = a {operator} b") == []


@pytest.mark.parametrize("function", FACTS["call2"])
def test_function_of_two_numbers(function):
    assert differences(FACTS["call2"][function], f"r = {function}(a, b)") == []


@pytest.mark.parametrize("function", FACTS["math2"])
def test_math_function_of_two_numbers(function):
    assert differences(FACTS["math2"][function], f"r = math.{function}(a, b)") == []


def test_range_of_two_numbers():
    assert differences(FACTS["range"], "r = range(a, b)") == []


@pytest.mark.parametrize("operator", FACTS["unary"])
def test_unary_operator(operator):
    assert [result_type(f"r = {operator}a", t) for t in TYPES] == FACTS["unary"][operator]


@pytest.mark.parametrize("function", FACTS["call1"])
def test_function_of_one_number(function):
    assert [result_type(f"r = {function}(a)", t) for t in TYPES] == FACTS["call1"][function]


@pytest.mark.parametrize("function", FACTS["math1"])
def test_math_function_of_one_number(function):
    assert [result_type(f"r = math.{function}(a)", t) for t in TYPES] == FACTS["math1"][function]


@pytest.mark.parametrize("ufuncs, expected", FACTS["ufunc1"], ids=lambda value: value[0])
def test_ufunc_of_one_number(ufuncs, expected):
    for ufunc in filter(np.__dict__.__contains__, ufuncs):
        assert [result_type(f"r = np.{ufunc}(a)", t) for t in TYPES] == expected, ufunc


@pytest.mark.parametrize("ufuncs, expected", FACTS["ufunc2"], ids=lambda value: value[0])
def test_ufunc_of_two_numbers(ufuncs, expected):
    for ufunc in filter(np.__dict__.__contains__, ufuncs):
        assert differences(expected, f"r = np.{ufunc}(a, b)") == [], ufunc


def test_join_of_two_numbers():
    def joined(left, right):
        return result_type("r = a if a > b else b", left, right)

    wrong = [
        f"{left}, {right}: {joined(left, right)}, Numba says {expected}"
        for left, row in zip(TYPES, FACTS["join"])
        for right, expected in zip(TYPES, row)
        if joined(left, right) != expected
    ]
    assert wrong == []


def test_a_variable_given_another_type_is_another_version():
    def k(a):
        r = a
        s = r
        r = 1.5
        t = r
        return

    assert {**types_of(k, "int32"), "r": None} == {"a": "int32", "r": None, "s": "int32", "t": "float64"}


def test_a_choice_in_a_condition_branches_by_its_sides():
    assert result_type("r = a\n    if not (1.0 if b else 1.0): r = 1.5", "int8", "float32") == "int8"


def test_a_loop_widens_its_variables():
    def k(a, n):
        total = 0
        for i in range(n):
            total += a[i]
        r = total
        j = i

    types = types_of(k, "array(float32, 1d, C)", "int32")
    assert (types["r"], types["j"]) == ("float64", "int32")


def test_thread_indices_are_int32_and_grid_positions_int64():
    from cudasim import cuda

    def k():
        r = cuda.threadIdx.x
        s = cuda.grid(1)
        t = cuda.grid(2)
        u = cuda.blockDim.y
        v = cuda.gridsize(1)

    assert types_of(k) == {"r": "int32", "s": "int64", "t": "UniTuple(int64 x 2)", "u": "int32", "v": "int64"}


def test_compiling_a_small_kernel_takes_milliseconds():
    import time

    source = "\n    ".join(f"a[{i}] = a[{i}] * b + {i}" for i in range(20))
    function = kernel_of_source(source, "a, b")
    best = min(
        _timed(lambda: compiler.compile_kernel(function, ("array(float64, 1d, C)", "float64")), time)
        for _ in range(5)
    )
    assert best < 0.05  # about 0.005 s alone on a core; the first launch of a kernel has 0.08 s in all


def _timed(action, time):
    start = time.perf_counter()
    action()
    return time.perf_counter() - start
