"""Kernels that give modules, cuda.atomic and enumerations names of their own, as numba-cuda compiles them."""

import enum
import math

import numpy as np
import pytest
from cudasim import cuda, errors
from cudasim.compile import compiler
from kernel_checks import evaluate, refusal


class Level(enum.IntEnum):
    low = 1
    high = 7


@cuda.jit(device=True)
def halved_sine(v):
    m = math
    return m.sin(v) / 2


def test_modules_atomics_shared_memory_and_enumerations_have_local_names():
    def kernel(out):
        m = math
        api = cuda
        level = Level
        atomic = api.atomic
        memory = api.shared
        thread = api.threadIdx
        shared = memory.array(4, np.float64)
        shared[thread.x] = level.high
        atomic.add(out, 0, shared[thread.x])
        library = np
        out[1] = library.float32(m.pi) + halved_sine(0.5)
        for _ in range(2):
            out[2] = api.grid(1) + m.sqrt(4.0)

    out = evaluate(kernel, size=3)
    assert list(out) == [7, float(np.float32(math.pi)) + math.sin(0.5) / 2, 2]


def test_names_that_are_assigned_too_late_are_refused():
    def too_late(a):
        for _ in range(2):
            a[0] = m.sin(1.0)  # noqa: F821
        m = math  # noqa: F841

    float_array = "array(float64, 1d, C)"
    assert "'m' is not defined" in refusal(errors.NumbaError, too_late, float_array)


def test_errors_are_at_the_names_that_the_user_wrote():
    def kernel(a):
        atomic = cuda.atomic
        atomic.nand(a, 0, 1.0)

    message = refusal(errors.TypingError, kernel, "array(float64, 1d, C)")
    assert "Unknown attribute 'nand'" in message and message.endswith(
        "    atomic.nand(a, 0, 1.0)\n        ^^^^^^^^^^^"
    )


def test_a_fault_is_at_the_line_of_the_call():
    @cuda.jit
    def kernel(a):
        atomic = cuda.atomic
        atomic.add(a, 9, 1.0)

    with pytest.raises(IndexError, match="index 9 is out of bounds") as caught:
        kernel[1, 1](np.zeros(4))
    assert caught.traceback[-1].lineno + 1 == kernel.py_func.__code__.co_firstlineno + 3


def test_a_kernel_without_such_names_is_not_copied():
    def kernel(a):
        add = cuda.atomic.add
        add(a, 0, math.sqrt(4.0))

    from cudasim.compile import kernel_source, namespace_names

    source = kernel_source.source_of(kernel)
    assert namespace_names.with_namespaces_in_place(kernel, source) is source
    compiler.compile_kernel(kernel, ("array(float64, 1d, C)",))
