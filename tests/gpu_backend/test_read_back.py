"""What PTX of kernels in Python means: it is read back and simulated, and gives what a GPU gave (docs/gpu_results.md)."""

import cudasim
import numpy as np
import pytest
from cudasim import _native, cuda, options
from cudasim.compile import compiler
from cudasim.cuda.cudadrv import driver


@pytest.fixture(autouse=True)
def native_mode():
    with options.override(mode="native"):
        yield


def ptx_of(kernel, *types, architecture="sm_75"):
    """:return: the name of the entry, PTX"""
    compiled = compiler.compile_kernel(kernel, types)
    return compiled.kernel_name, _native.ptx(compiled.image, compiled.kernel_name, architecture)


def run(ptx, grid, block, *arrays):
    """The kernel's only parameters are arrays of one dimension: address, extent, stride."""
    module = cuda.current_context().create_module_ptx(ptx)
    (entry,) = (kernel["name"] for kernel in module.image.kernels)
    given = [cuda.to_device(array) for array in arrays]
    arguments = [
        part
        for one in given
        for part in (one.device_ctypes_pointer, np.int64(one.size), np.int64(one.dtype.itemsize))
    ]
    driver.launch_kernel(module.get_function(entry).handle, grid, 1, 1, block, 1, 1, 0, 0, arguments)
    return [array.copy_to_host() for array in given]


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"])
def test_divisions_by_a_zero_that_is_known_give_all_ones(kind):
    """Of which // makes -2 where there is a sign: the remainder of -1 is below zero, and the divisor is not."""
    number = getattr(np, kind)

    def kernel(out, x):
        zero = number(0)
        out[0] = x[0] // zero
        out[1] = x[0] % zero
        out[2] = number(7) // zero

    array = f"array({kind}, 1d, C)"
    found, _ = run(ptx_of(kernel, array, array)[1], 1, 1, np.zeros(4, kind), np.full(1, 9, kind))
    ones = -1 if kind.startswith("i") else int(np.iinfo(kind).max)
    quotient = -2 if kind.startswith("i") else ones
    assert found.tolist() == [quotient, ones, quotient, 0]


def test_the_grid_s_barrier_has_no_races():
    def kernel(out, other):
        i = cuda.grid(1)
        for step in range(3):
            out[i] = i + step
            cuda.cg.this_grid().sync()
            other[i] = out[out.size - 1 - i]
            cuda.cg.this_grid().sync()

    array = "array(int32, 1d, C)"
    text = ptx_of(kernel, array, array)[1]
    for policy in ("forward", "reverse", "random"):
        with options.override(policy=policy), cudasim.check("races,init") as found:
            _, other = run(text, 4, 16, np.zeros(64, np.int32), np.zeros(64, np.int32))
        assert [finding.headline() for finding in found] == []
        assert other.tolist() == [65 - i for i in range(64)]


def test_a_grid_barrier_with_one_side_only_has_races():
    """The test above can fail."""

    def kernel(out, other):
        i = cuda.grid(1)
        out[i] = i
        other[i] = out[out.size - 1 - i]

    array = "array(int32, 1d, C)"
    with cudasim.check("races") as found:
        run(ptx_of(kernel, array, array)[1], 4, 16, np.zeros(64, np.int32), np.zeros(64, np.int32))
    assert {finding.kind for finding in found} == {"data-race"}
