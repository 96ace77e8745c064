"""Random programs over views, loops and assignments: the same text under Numba's CPU compiler gives the same
memory, bit for bit, the same types and the same errors. Needs CUDASIM_TEST_NUMBA_PYTHON."""

import re

import numba_oracle
import numpy as np
import pytest
from cudasim import cuda
from cudasim.compile import compiler
from hypothesis import HealthCheck, example, given, note, settings
from hypothesis import strategies as st

ORACLE = numba_oracle.start()
pytestmark = pytest.mark.skipif(
    ORACLE is None, reason="CUDASIM_TEST_NUMBA_PYTHON names no interpreter with numba"
)

ROOM = 64
DTYPES = [np.int8, np.uint16, np.int32, np.int64, np.float32, np.float64, np.bool_]
BOUND = st.one_of(st.just(""), st.integers(-6, 6).map(str), st.sampled_from(["i", "j", "-i", "i + j", "n"]))
INTEGER = st.one_of(st.integers(-2, 2).map(str), st.sampled_from(["i", "j", "-j", "i % 2"]))


@st.composite
def slices(draw):
    text = f"{draw(BOUND)}:{draw(BOUND)}"
    return text + draw(st.sampled_from(["", "", "", ":-1", ":2", ":-3", ":i | 1", ":1"]))


@st.composite
def indices(draw, dimensions):
    """An index for so many dimensions, and the dimensions of what it gives."""
    parts, left, result = [], dimensions, 0
    ellipsis = False
    for _ in range(draw(st.integers(1, dimensions + 1))):
        kind = draw(st.sampled_from(["slice", "slice", "integer", "none", "ellipsis"]))
        if kind == "ellipsis" and not ellipsis:
            ellipsis = True
            parts.append("...")
        elif kind == "none" and result < 3:
            result += 1
            parts.append("None")
        elif kind == "slice" and left:
            left, result = left - 1, result + 1
            parts.append(draw(slices()))
        elif kind == "integer" and left:
            left -= 1
            parts.append(draw(INTEGER))
    if not parts or parts in (["..."], ["None"]):
        parts.append(":") if left else parts.insert(0, "None")
        result += 1
        left -= left > 0
    return ", ".join(parts), result + left


class Program:
    """A body that grows; knows the dimensions of its array variables."""

    def __init__(self, draw, dimensions):
        self.draw = draw
        self.lines = ["n = 0"]
        self.arrays = dict(dimensions)

    def pick(self, at_least=0):
        return self.draw(st.sampled_from([name for name, d in self.arrays.items() if d >= at_least] or ["a"]))

    def view(self):
        name = self.pick(1)
        if self.arrays[name] == 0:
            return
        if self.draw(st.integers(0, 5)) == 0:
            return self.define(f"{name}.T", self.arrays[name])
        text, dimensions = self.draw(indices(self.arrays[name]))
        if dimensions == 0:
            self.lines.append(f"out[n % {ROOM}] = {name}[{text}]")
            self.lines.append("n += 1")
        elif dimensions <= 4:
            self.define(f"{name}[{text}]", dimensions)

    def define(self, expression, dimensions):
        name = f"v{len(self.arrays)}"
        self.lines.append(f"{name} = {expression}")
        self.arrays[name] = dimensions

    def loop(self):
        first, second = self.pick(1), self.pick(1)
        over, target, value = self.draw(
            st.sampled_from(
                [
                    (f"{first}.flat", "x", "x"),
                    (f"enumerate({first}.flat, i)", "k, x", "x + k"),
                    (f"zip({first}.flat, {second}.flat)", "x, y", "x + y * 3"),
                    (f"zip(range(j, i, -1), {first}.flat)", "k, x", "x * k"),
                    (f"range({first}.shape[-1])", "k", f"k - {second}.ndim"),
                    (f"np.ndindex({first}.shape)", "index", f"{first}[index]"),
                    (f"np.ndenumerate({first})", "index, x", "x + index[0]"),
                ]
            )
        )
        end = self.draw(
            st.sampled_from(
                ["", "", f"    if n > 20:\n        break\nelse:\n    out[n % {ROOM}] = -1\n    n += 1"]
            )
        )
        self.lines += [
            f"for {target} in {over}:",
            f"    out[n % {ROOM}] = {value}",
            "    n += 1",
            *end.splitlines(),
        ]

    def rows(self):
        name = self.pick(2)
        if self.arrays[name] < 2:
            return
        self.lines += [
            f"for row in {name}:",
            f"    out[n % {ROOM}] = row.size",
            "    n += 1",
            "    for x in row.flat:",
            f"        out[n % {ROOM}] += x",
        ]

    def write(self):
        name = self.pick(1)
        if self.arrays[name] == 0:
            return
        value = self.draw(st.sampled_from(["3", "i", "2.75", "True", "n", "-j"]))
        text, dimensions = self.draw(indices(self.arrays[name]))
        self.lines.append(f"{name}[{text}] = {value}")

    def facts(self):
        name = self.pick()
        expression = self.draw(
            st.sampled_from(
                [
                    f"{name}.size",
                    f"{name}.ndim",
                    f"{name}.nbytes + {name}.itemsize",
                    f"len({name}.shape)",
                    f"{name}.size if {name}.size > j else -{name}.ndim",
                ]
            )
        )
        self.lines += [f"out[n % {ROOM}] = {expression}", "n += 1"]

    def reduction(self):
        name = self.pick()
        expression = self.draw(
            st.sampled_from(
                [
                    f"{name}.sum()",
                    f"{name}.prod()",
                    f"{name}.mean()",
                    f"{name}.var()",
                    f"{name}.std()",
                    f"{name}.any()",
                    f"{name}.all()",
                    f"{name}.argmin()",
                    f"{name}.argmax()",
                    f"np.nansum({name})",
                    f"np.nanmean({name})",
                    f"np.sum({name})",
                    f"np.count_nonzero({name})",
                    f"min({name}.flat)",
                    f"max({name}.flat)",
                    f"3 in {name}",
                    f"i not in {name}",
                    f"sum({name}.shape)",
                ]
            )
        )
        self.lines += [f"out[n % {ROOM}] = {expression}", "n += 1"]

    def source(self):
        return "def kernel(out, a, b, i, j):\n" + "".join(f"    {line}\n" for line in self.lines)


@st.composite
def programs(draw):
    shapes = [
        tuple(draw(st.lists(st.integers(0, 4), min_size=d, max_size=d)))
        for d in draw(st.lists(st.integers(1, 3), min_size=2, max_size=2))
    ]
    program = Program(draw, zip("ab", map(len, shapes)))
    for _ in range(draw(st.integers(1, 7))):
        draw(
            st.sampled_from(
                [
                    program.view,
                    program.view,
                    program.view,
                    program.loop,
                    program.loop,
                    program.rows,
                    program.write,
                    program.facts,
                    program.reduction,
                    program.reduction,
                ]
            )
        )()
    arrays = []
    for shape in shapes:
        dtype = draw(st.sampled_from(DTYPES))
        array = np.arange(1, 1 + int(np.prod(shape))).reshape(shape).astype(dtype)
        layout = draw(st.sampled_from([np.ascontiguousarray, np.asfortranarray, numba_oracle.spread]))
        arrays.append(layout(array))
    return program.source(), [np.zeros(ROOM), *arrays, draw(st.integers(-3, 5)), draw(st.integers(-3, 5))]


STORE = re.compile(r"^    (v\d+)(?:\.\d+)? = %\d+ : (.+?)    # line \d+$", re.MULTILINE)


def to_device(array):
    if array.flags.c_contiguous or array.flags.f_contiguous:
        return cuda.to_device(array)
    return cuda.to_device(array.base)[..., ::2][..., : array.shape[-1]]


def run_here(source, arguments):
    """Arrays as the kernel left them, types of the views, error class."""
    kernel = cuda.jit(numba_oracle.function_from(source))
    device = [to_device(each) if isinstance(each, np.ndarray) else each for each in arguments]
    try:
        kernel[1, 1](*device)
    except (IndexError, ValueError, StopIteration) as error:
        return None, None, type(error).__name__
    types = {}
    names = [str(signature) for signature in kernel.overloads.popitem()[1].argument_types]
    for name, view_type in STORE.findall(compiler.compile_kernel(kernel.py_func, names).typed_ir):
        types.setdefault(name, set()).add(view_type)
    return [each.copy_to_host() if hasattr(each, "copy_to_host") else each for each in device], types, ""


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(programs())
@example(
    (
        "def kernel(out, a, b, i, j):\n    v2 = a[::-1, 1:].T\n    out[0] = v2[0, 0]\n",
        [np.zeros(ROOM), np.arange(6.0).reshape(2, 3), np.zeros(1), 1, 2],
    )
)
def test_random_programs_behave_as_numbas(program):
    source, arguments = program
    note(source)
    note([getattr(each, "shape", each) for each in arguments])
    answer = ORACLE.run(source, arguments)
    arrays, types, error = run_here(source, arguments)
    if answer.error:
        assert answer.error.startswith(error or "no error"), answer.error
        return
    assert error == ""
    for ours, theirs in zip(arrays, answer.arguments):
        if isinstance(theirs, np.ndarray):
            assert ours.tobytes() == theirs.tobytes()
    for name, expected in answer.types.items():
        # With a new axis the CPU target keeps layouts that the CUDA target does not.
        if name.startswith("v") and "None" not in source:
            assert types[name] == expected, name
