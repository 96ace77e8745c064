"""How reads of variables are written for debuggers (simulator/image/variable_reads.h) costs nothing where nobody debugs: the
IR of each kernel and its PTX are those of a compilation that uses stored values themselves."""

import contextlib

import numpy as np
import pytest
from cudasim import _native, cuda
from cudasim.compile import compiler
from hypothesis import HealthCheck, given, settings
from oracle_programs import programs
from test_oracle import rows_of, simulated

MARK = "@__cudasim_variable."


class Compilations:
    """Stands for _native in the compiler: keeps each kernel's image, and one that was made without such reads."""

    def __init__(self):
        self.pairs = []

    def __getattr__(self, name):
        return getattr(_native, name)

    def compile_python(self, *arguments, **named):
        result = _native.compile_python(*arguments, **named)
        without = _native.compile_python(*arguments, **named, variable_reads=False)
        self.pairs.append((result["image"], without["image"], result["kernel_name"]))
        return result

    def check(self):
        """The number of reads for debuggers."""
        reads = 0
        for image, without, name in self.pairs:
            assert MARK not in without.ir_text()
            reads += image.ir_text().count("call") - without.ir_text().count("call")
            for check in ("default", "none"):
                assert _native.instrumented_ir(image, name, check) == _native.instrumented_ir(
                    without, name, check
                )
            assert _native.ptx(image, name, "sm_80") == _native.ptx(without, name, "sm_80")
        return reads


@contextlib.contextmanager
def compilations():
    recorded = Compilations()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compiler, "_native", recorded)
        yield recorded


def numbers(out, a, given, flag):
    n, x, on, k = 4, 2.5, True, 3
    out[0] = n * 0.5 + given // n + given % n
    out[1] = n if flag else given
    for i in range(0, n, 1):
        out[2] += i
    for i in range(n, 0, -1):
        out[2] += i
    for i in range(0, 12, n):
        out[3] += i
    for i, value in enumerate(a[k:]):
        out[4] += value * i
    if on and not flag:
        out[5] = a[k] / x
    if given > 0:
        both = 1
    else:
        both = 1.5
    while both > n:
        both -= x
    out[6] = both**2
    z = given + 1j
    w = z * z
    out[7] = w.real + np.int8(n) + np.float16(n) + np.float32(x)
    out[8] = n == 4
    negative = -4
    out[9] = given // negative
    third = on
    out[10] = third


def shapes(out, a, given):
    rows, columns = 2, 4
    whole = a.reshape(rows, columns)
    local = cuda.local.array((2, 3), np.float64)
    step = 2
    size = 3
    part = whole[:, 0:size:step]
    for i in range(rows):
        for j in range(part.shape[1]):
            local[i, j] = part[i, j]
            out[0] += local[i, j]
    for row in whole:
        out[1] += row[given]
    extent = given + 1
    out[2] = a.reshape(extent, 4)[0, 1]


def waits(out, given):
    i = cuda.grid(1)
    mine = given + i
    cuda.syncthreads()
    other = cuda.shfl_sync(-1, mine, 0)
    lower = min(other, mine)
    out[i] = lower


@pytest.mark.parametrize(
    "kernel, types",
    [
        (numbers, ("array(float64, 1d, C)", "array(float64, 1d, C)", "int64", "bool")),
        (shapes, ("array(float64, 1d, C)", "array(float64, 1d, C)", "int64")),
        (waits, ("array(int64, 1d, C)", "int64")),
    ],
    ids=["numbers", "shapes", "waits"],
)
def test_code_for_nobody_who_debugs_is_the_same(kernel, types):
    with compilations() as recorded:
        compiler.compile_kernel(kernel, types)
    assert recorded.check() > 5


@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(program=programs())
def test_code_of_random_programs_is_the_same(program):
    with compilations() as recorded:
        simulated(program, rows_of(program.types))
    assert len(recorded.pairs) > 0
    recorded.check()
