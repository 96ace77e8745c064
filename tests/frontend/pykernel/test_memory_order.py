"""Orders and scopes of atomics, fences and volatile accesses of Python kernels, behind all instrumentation and in PTX."""

import re

import numpy as np
import pytest
from cudasim import cuda
from cudasim.kernel_stages import text_of


def stage(kernel, name):
    (compiled,) = kernel.overloads.values()
    return text_of(compiled, name)


def words(pattern, text):
    return [match.group(0) for match in re.finditer(pattern, text)]


def test_fences_keep_their_scope():
    @cuda.jit
    def kernel(x):
        cuda.threadfence_block()
        cuda.threadfence()
        cuda.threadfence_system()
        x[0] = 1

    kernel[1, 1](np.zeros(1, np.int32))
    fences = words(r'fence (syncscope\("\w+"\) )?seq_cst', stage(kernel, "instrumented"))
    assert fences == [
        'fence syncscope("block") seq_cst',
        'fence syncscope("device") seq_cst',
        "fence seq_cst",
    ]
    assert words(r"membar\.\w+", stage(kernel, "ptx")) == ["membar.cta", "membar.gl", "membar.sys"]


@pytest.mark.parametrize("name", ["add", "sub", "max", "min", "and_", "or_", "xor", "inc", "dec", "exch"])
def test_atomic_updates_are_relaxed_and_the_devices(name):
    operation = getattr(cuda.atomic, name)

    @cuda.jit
    def kernel(x):
        operation(x, 0, 3)

    kernel[1, 1](np.ones(1, np.uint32))
    (update,) = words(r"atomicrmw .*", stage(kernel, "instrumented"))
    assert 'syncscope("device") monotonic' in update
    assert re.search(r"(atom|red)\.global\.\w+\.\w+", stage(kernel, "ptx"))


def test_compare_and_swap_and_float_maximum_are_relaxed_and_the_devices():
    @cuda.jit
    def kernel(x, y):
        cuda.atomic.cas(x, 0, 1, 2)
        cuda.atomic.max(y, 0, 2.5)

    kernel[1, 1](np.ones(1, np.int32), np.ones(1))
    text = stage(kernel, "instrumented")
    assert words(r'cmpxchg .* syncscope\("\w+"\) \w+ \w+', text) and not words(
        r"cmpxchg [^\n]* seq_cst", text
    )
    for operation in words(r"(cmpxchg|load atomic) .*", text):
        assert 'syncscope("device") monotonic' in operation
    assert words(r"atom\.\S*cas\.\w+", stage(kernel, "ptx")) == ["atom.global.cas.b32", "atom.global.cas.b64"]


def test_loads_past_the_first_cache_are_volatile():
    @cuda.jit
    def kernel(x, out):
        out[0] = cuda.ldcv(x, 0) + x[1]

    kernel[1, 1](np.ones(2, np.int32), np.zeros(1, np.int32))
    assert len(words(r"load volatile i32", stage(kernel, "instrumented"))) == 1
