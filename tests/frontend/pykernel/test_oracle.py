"""Random programs give the same bits and the same types as Numba's CPU compiler (rules V1 to V5).

Numba runs in a process of its own (numba_oracle.py), in the interpreter that CUDASIM_TEST_NUMBA_PYTHON
names. The seed is fixed; CUDASIM_ORACLE_EXAMPLES=5000 makes a long run with a new one.
"""

import linecache
import math
import os
import re
import warnings

import numba_oracle
import numpy as np
import pytest
from cudasim import cuda, errors
from cudasim.compile import compiler
from hypothesis import HealthCheck, given, note, settings
from oracle_programs import CELLS, PARAMETERS, programs

EXAMPLES = int(os.environ.get("CUDASIM_ORACLE_EXAMPLES", "0"))
_STORE = re.compile(r"^    ([^\s%$.]+)(?:\.\d+)? = %\d+ : (.+?)    # line \d+$", re.MULTILINE)
_SMALL = [0, 1, 2, 3, 7, -1, -2, -8, 100, 127, 128, 255, 32767, 65535, 2**31 - 1, 2**31, -(2**31), 2**38 + 5]
_LARGE = [2**62, 2**63 - 1, 2**64 - 3, 2**63, 2**40, -(2**62) - 1]
_INTERESTING_FLOATS = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    2.5,
    -3.75,
    1e-3,
    1e6,
    12345.678,
    1e20,
    -1e-20,
    7.0,
    3.0,
    1 / 3,
]


@pytest.fixture(scope="module")
def oracle():
    found = numba_oracle.start()
    if found is None:
        pytest.skip("CUDASIM_TEST_NUMBA_PYTHON names no interpreter with numba installed")
    return found


def rows_of(types, count=24):
    """Columns of argument values: the corners of each type, in another order for each parameter."""
    columns = []
    for position, name in enumerate(types):
        dtype = np.dtype(name)
        interesting = {"f": _INTERESTING_FLOATS, "u": _SMALL + _LARGE}.get(dtype.kind, _SMALL)
        values = [
            interesting[(row * (2 * position + 1) + position) % len(interesting)] for row in range(count)
        ]
        if dtype.kind in "iu":
            values = [value % 2 ** (8 * dtype.itemsize) for value in values]
            columns.append(np.array(values, f"uint{8 * dtype.itemsize}").astype(dtype))
        else:
            columns.append(np.array(values).astype(dtype))
    return columns


def results(program, count):
    integers = np.tile(np.arange(-3, CELLS - 3), (count, 1))
    floats = np.tile(np.arange(CELLS) / 4 - 0.5, (count, 1))
    return integers.astype(np.uint64) if program.unsigned else integers, floats


def define(source, **names):
    file = f"<oracle {abs(hash(source))}>"
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    namespace = {"math": math, "np": np, "cuda": cuda, "device": cuda.jit(device=True), **names}
    exec(compile(source, file, "exec"), namespace)
    return namespace


def simulated(program, columns):
    """Types of variables, and the result arrays."""
    function = cuda.jit(device=True)(define(program.source)["f"])
    names = ", ".join(PARAMETERS)
    cells = ", ".join(f"{name}[i]" for name in PARAMETERS)
    source = (
        f"def kernel({names}, ints, floats):\n    i = cuda.grid(1)\n    if i < ints.shape[0]:\n"
        f"        f({cells}, ints[i], floats[i])\n"
    )
    kernel = define(source, f=function)["kernel"]
    arrays = results(program, len(columns[0]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cuda.jit(kernel)[1, len(columns[0])](*columns, *arrays)
    argument_types = [f"array({name}, 1d, C)" for name in program.types]
    compiled = compiler.compile_kernel(
        kernel, [*argument_types, f"array({arrays[0].dtype.name}, 2d, C)", "array(float64, 2d, C)"]
    )
    text = compiled.typed_ir
    types = {}
    for name, its in _STORE.findall(text[text.index("\nf(") :]):
        types.setdefault(name, set()).add(its)
    return types, arrays


def plain(name):
    """The type's name without what is known while compiling."""
    name = re.sub(r"Literal\[int\]\(-?\d+\)", "int64", name)
    name = re.sub(r"Literal\[bool\]\(\w+\)", "bool", name)
    elements = re.fullmatch(r"Tuple\(([\w, ]+)\)", name)
    if elements and len(set(elements[1].split(", "))) == 1:
        parts = elements[1].split(", ")
        return f"UniTuple({parts[0]} x {len(parts)})"
    return name


def differences(ours, theirs):
    """Cells whose bits differ; one NaN is like another."""
    same = ours.view(np.uint64) == theirs.view(np.uint64)
    if ours.dtype.kind == "f":
        same |= np.isnan(ours) & np.isnan(theirs)
    return [
        f"row {row}, cell {cell}: {ours[row, cell]!r}, Numba {theirs[row, cell]!r}"
        for row, cell in np.argwhere(~same)
    ]


def check(oracle, program):
    note(f"{program.types}\n{program.source}")
    columns = rows_of(program.types)
    answer = oracle.run_rows(program.source, columns, results(program, len(columns[0])))
    if "complex128" in answer.error:  # CPython makes a complex literal of the root of a negative one
        with pytest.raises((errors.TypingError, NotImplementedError)):
            simulated(program, columns)
        return
    assert not answer.error, f"Numba refuses: {answer.error}"
    types, arrays = simulated(program, columns)
    for name, found in types.items():
        numbas = {plain(its) for its in answer.types.get(name, ())}
        ours = {plain(its) for its in found}
        assert not numbas or ours <= numbas, f"types of {name}: {ours}, Numba {numbas}"
    for ours, theirs in zip(arrays, answer.arguments):
        wrong = differences(ours, theirs)
        assert not wrong, "\n".join(wrong[:5])


@settings(
    max_examples=EXAMPLES or 80,
    derandomize=not EXAMPLES,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
@given(program=programs())
def test_random_programs_agree_with_numba(oracle, program):
    check(oracle, program)
