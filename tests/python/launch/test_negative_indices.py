"""CUDASIM_WRAP: negative indices that count from the end, in both modes."""

import warnings

import numpy as np
import pytest
from cudasim import cuda, options
from cudasim.errors import CudasimWarning


@pytest.fixture(params=["native", "python"], autouse=True)
def mode(request):
    with options.override(mode=request.param):
        yield request.param


@cuda.jit
def shift(v, u):
    i = cuda.grid(1)
    if i < v.size:
        v[i] = u[i - 1]


@cuda.jit
def shift_rows(v, u):
    i, j = cuda.grid(2)
    v[i, j] = u[i, j - 2]


def test_by_default_nothing_is_said():
    u, v = np.arange(4.0), np.zeros(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        shift[1, 4](v, u)
    assert v.tolist() == [3, 0, 1, 2]


def test_warn_names_line_threads_and_element_and_the_result_stands():
    u, v = np.arange(4.0), np.zeros((3, 4))
    with options.override(wrap="warn"), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        shift[1, 4](v[0], u)
        shift_rows[(1, 1), (3, 4)](v, np.ones((3, 4)))
    assert v.tolist() == np.ones((3, 4)).tolist()
    first, second = caught
    assert issubclass(first.category, CudasimWarning)
    assert str(first.message).endswith(
        "tid=[0, 0, 0] ctaid=[0, 0, 0]: index -1 wraps around to element 3 of axis 0 with size 4"
    )
    assert (first.filename, first.lineno) == (__file__, shift.py_func.__code__.co_firstlineno + 4)
    assert "index -2 wraps around to element 2 of axis 1 with size 4 (6 times, by 6 threads)" in str(
        second.message
    )


def test_error_ends_the_thread_with_its_coordinates():
    u, v = np.arange(4.0), np.zeros(4)
    with options.override(wrap="error"), pytest.raises(IndexError) as caught:
        shift[1, 4](v, u)
    assert str(caught.value).startswith(
        "tid=[0, 0, 0] ctaid=[0, 0, 0]: index -1 wraps around to element 3 of axis 0 with size 4"
    )
    (finding,) = caught.value.findings
    assert (finding.kind, finding.severity, finding.count) == ("negative-index", "error", 1)
    assert finding.location[0].line == shift.py_func.__code__.co_firstlineno + 4
    assert v.tolist() == [0] * 4


def test_indices_beyond_the_axis_stay_errors_of_their_own_kind():
    with (
        options.override(wrap="error"),
        pytest.raises(IndexError, match="index -5 is out of bounds for axis 0 with size 4") as caught,
    ):
        index_with[1, 1](np.zeros(4), -5)
    assert caught.value.findings[0].kind == "out-of-bounds-index"


@cuda.jit
def index_with(x, i):
    x[i] = 1


@cuda.jit
def literals(x, y):
    x[-1] = y[-1, -2]
    x[-2:] = 7


@cuda.jit
def places(x, i, which):
    shared, local = cuda.shared.array(4, np.float64), cuda.local.array(4, np.float64)
    shared[0] = local[0] = 0
    if which == 0:
        shared[i] = 1
    elif which == 1:
        local[i] = 1
    elif which == 2:
        cuda.atomic.add(x, i, 1)
    elif which == 3:
        x[i:]  # noqa: B018
        x[0] = x[i]


def test_literals_and_slices_are_meant():
    x = np.zeros(4)
    with options.override(wrap="error"):
        literals[1, 1](x, np.ones((2, 3)))
    assert x.tolist() == [0, 0, 7, 7]


@pytest.mark.parametrize("which", range(4))
def test_all_kinds_of_arrays_and_atomic_operations_are_checked(which):
    places[1, 1](np.zeros(4), np.int32(-1), which)
    with (
        options.override(wrap="error"),
        pytest.raises(IndexError, match="index -1 wraps around to element 3"),
    ):
        places[1, 1](np.zeros(4), np.int32(-1), which)


def test_debug_does_not_change_it():
    checked = cuda.jit(debug=True, opt=False)(shift.py_func)
    u, v = np.arange(4.0), np.zeros(4)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        checked[1, 4](v, u)
    assert v.tolist() == [3, 0, 1, 2]
    with options.override(wrap="error"), pytest.raises(IndexError, match="wraps around"):
        checked[1, 4](v, u)


def test_ptx_has_no_trace_of_it(mode):
    if mode == "python":
        pytest.skip("there is no PTX of Python mode")
    plain = cuda.compile_ptx(shift.py_func, "void(float64[:], float64[:])")
    with options.override(wrap="error"):
        assert cuda.compile_ptx(shift.py_func, "void(float64[:], float64[:])") == plain


@pytest.mark.parametrize("i, shown", [
    (np.uint64(2**64 - 1), "18446744073709551615"), (np.uint64(2**63), "9223372036854775808"), (np.int64(-5), "-5"),
    (np.uint8(255), "255"),
])  # fmt: skip
def test_indices_are_shown_as_the_kernel_has_them(i, shown):
    with pytest.raises(IndexError, match=f": index {shown} is out of bounds for axis 0 with size 4"):
        index_with[1, 1](np.zeros(4), i)
