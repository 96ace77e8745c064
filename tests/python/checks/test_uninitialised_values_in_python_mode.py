"""Uninitialised values in Python mode: the same verdict as of the compiled kernel."""

import inspect

import cudasim
import init_kernels
import init_kernels_of_both_modes as more
import numpy as np
import pytest
from cudasim import cuda, errors, options
from cudasim.types import float32, int32
from test_uninitialised_values import MARK, arguments_of

_pyfiber = pytest.importorskip("cudasim._pyfiber")
CASES = {**init_kernels.CASES, **more.CASES}
MODES = ["native", "python"]


def lines_of(name):
    """The marked lines of the kernel, and of the functions that it calls."""
    functions = [CASES[name][0].py_func]
    if name == "passed_to_a_function":
        functions.append(more.doubled.py_func)
    found = set()
    for function in functions:
        lines, start = inspect.getsourcelines(function)
        found |= {number for number, line in enumerate(lines, start) if MARK in line}
    return found


def findings_of(name, mode, **chosen):
    kernel, grid, block, arguments = CASES[name]
    kernel = cuda.jit(
        kernel.py_func
    )  # one that Python mode has run stays there under mode=auto, in other tests
    dynamic = 64 if name == "dynamic_shared_memory" else 0
    with options.override(mode=mode, **chosen), cudasim.check("init") as found:
        kernel[grid, block, 0, dynamic](*arguments_of(arguments))
    assert {finding.kind for finding in found} <= {"uninitialised-value"}, "\n".join(map(str, found))
    return found


def lines_found(name, mode, **chosen):
    return {finding.place.line for finding in findings_of(name, mode, **chosen)}


@pytest.mark.filterwarnings("ignore::cudasim.errors.NotGpuCodeWarning")
@pytest.mark.parametrize(
    "name, mode",
    [
        (name, mode)
        for name in more.CASES
        for mode in MODES
        if mode == "python" or name not in more.PYTHON_ONLY
    ],
)
def test_uses_are_found_at_their_lines(name, mode):
    assert lines_found(name, mode) == lines_of(name)


@pytest.mark.parametrize("chosen", [{}, {"policy": "reverse"}, {"policy": "random", "seed": 3}], ids=str)
@pytest.mark.parametrize("name", init_kernels.CASES)
def test_uses_that_compiled_kernels_have_are_found_in_python_mode(name, chosen):
    assert lines_found(name, "python", **chosen) == lines_of(name)


@pytest.mark.parametrize(
    "name",
    [
        "a_tile_with_a_hole",
        "carried_to_its_use",
        "a_local_array",
        "shuffled_and_used",
        "bytes_of_a_word",
        "an_operand",
        "a_flag",
        "through_views",
    ],
)
def test_the_report_is_the_same(name):
    """Message with element and use, lowest thread and count."""
    native, python = (
        [
            (each.message, each.tid, each.ctaid, each.count, each.place.line)
            for each in findings_of(name, mode)
        ]
        for mode in MODES
    )
    assert python == native != []


@cuda.jit
def uses_of_one_value(a, out):
    x = a[0]
    out[0] = x
    out[1] = x + 1
    out[2] = x + 2
    out[3] = out[0] + 3


@pytest.mark.parametrize("dtype, offsets", [("float32", [4, 6]), ("int64", [4, 6]), ("uint8", [4, 5, 6])])
@pytest.mark.parametrize("mode", MODES)
def test_a_value_is_told_where_it_is_first_used(mode, dtype, offsets):
    """Integers of less than 64 bits at each place: they are extended there."""
    start = inspect.getsourcelines(uses_of_one_value.py_func)[1]
    with options.override(mode=mode), cudasim.check("init") as found:
        cuda.jit(uses_of_one_value.py_func)[1, 1](
            cuda.device_array(1, dtype), cuda.to_device(np.zeros(4, dtype))
        )
    assert [(each.place.line, each.count) for each in found] == [(start + offset, 1) for offset in offsets]


@pytest.mark.parametrize("written", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_printing_is_a_use(mode, written, capfd):
    @cuda.jit
    def show(a):
        print(a[0])

    a = cuda.to_device(np.zeros(1, np.int64)) if written else cuda.device_array(1, np.int64)
    with options.override(mode=mode), cudasim.check("init") as found:
        show[1, 1](a)
    assert ["is printed" in each.message for each in found] == [True] * (not written)


def test_what_python_does_with_a_value_is_a_use():
    """What only CPython's own code does with numbers, each at its line."""

    @cuda.jit
    def kernel(a, b, out):
        out[0] = len(f"{a[0]:5}")
        out[1] = len(repr(a[1]))
        out[2] = len({a[2]: 1})
        out[3] = [5, 6][a[3] & 1]
        out[4] = a[4].bit_length() > 70
        out[5] = np.maximum(b[0], 3)

    start = inspect.getsourcelines(kernel.py_func)[1] + 2
    arrays = [
        cuda.device_array(8, np.int32),
        cuda.device_array(1, np.float32),
        cuda.to_device(np.zeros(8, np.int32)),
    ]
    clean = [cuda.to_device(np.zeros(8, np.int32)), cuda.to_device(np.zeros(1, np.float32)), arrays[2]]
    with options.override(mode="python"):
        with cudasim.check("init") as found:
            kernel[1, 1](*clean)
        assert [each for each in found if each.kind == "uninitialised-value"] == []
        with cudasim.check("init") as found:
            kernel[1, 1](*arrays)
    lines = [each.place.line for each in found if each.kind == "uninitialised-value"]
    assert sorted(lines) == list(range(start, start + 6))


def test_values_keep_their_classes_and_types():
    seen = []

    @cuda.jit
    def kernel(a, b, c):
        for x in (a[0], b[0], c[0]):
            seen.append((type(x), x.__class__, x.dtype))

    arrays = [cuda.device_array(1, dtype) for dtype in (np.int16, np.float32, np.bool_)]
    classes = [_pyfiber.int16, _pyfiber.float32, bool]
    dtypes = [np.dtype(kind) for kind in ("int16", "float32", "bool")]
    with options.override(mode="python"), cudasim.check("init") as found:
        kernel[1, 1](*arrays)
    assert seen == [(_pyfiber.UnwrittenValue, *each) for each in zip(classes, dtypes)]
    assert found == []


def test_without_the_check_there_are_no_such_values():
    seen = []

    @cuda.jit
    def kernel(a):
        tile = cuda.shared.array(1, int32)
        seen.extend([type(a[0]), type(tile[0])])

    with options.override(mode="python"):
        kernel[1, 1](cuda.device_array(1, np.int32))
        with cudasim.check("races"):
            kernel[1, 1](cuda.device_array(1, np.int32))
    assert set(seen) == {_pyfiber.int32}


def test_a_value_may_outlive_its_launch():
    kept = []

    @cuda.jit
    def kernel(a):
        kept.append(a[0])

    with options.override(mode="python"), cudasim.check("init") as found:
        kernel[1, 1](cuda.device_array(1, np.int32))
    assert isinstance(kept[0] + 1, int) and found == []


@pytest.mark.parametrize("mode", MODES)
def test_where_a_race_is_found_its_values_are_left_out(mode):
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(64, float32)
        t = cuda.threadIdx.x
        out[t] = tile[63 - t] + 1
        tile[t] = t

    with options.override(mode=mode), cudasim.check("init,races") as found:
        kernel[1, 64](np.zeros(64, np.float32))
    assert {each.kind for each in found} == {"data-race"}


def test_memory_of_a_local_array_that_has_ended_may_be_used_again():
    constants = [np.full(64 + i, i, np.float32) for i in range(40)]

    @cuda.jit
    def unwritten_locals(n):
        values = cuda.local.array(64, float32)
        return values[n]

    @cuda.jit
    def kernel(out):
        for i in range(40):
            unwritten_locals(i)
            out[i] = cuda.const.array_like(constants[i])[3] + 1

    with options.override(mode="python"), cudasim.check("init") as found:
        kernel[1, 4](np.zeros(40, np.float32))
    assert [each for each in found if each.kind == "uninitialised-value"] == []


def test_faults_come_all_the_same():
    @cuda.jit
    def beyond(a, out):
        out[a[0] + 64] = 1

    with options.override(check="all", mode="python"), pytest.raises(IndexError) as raised:
        beyond[1, 1](cuda.to_device(np.zeros(3, np.int64)), cuda.to_device(np.zeros(3, np.int64)))
    assert "uninitialised" not in str(raised.value)
    with (
        options.override(check="all", mode="python"),
        pytest.raises((IndexError, errors.KernelError)) as raised,
    ):
        beyond[1, 1](cuda.device_array(3, np.int64), cuda.to_device(np.zeros(3, np.int64)))
    kinds = {each.kind for each in getattr(raised.value, "findings", [])} | {str(raised.value)}
    assert any("uninitialised" in kind for kind in kinds)
