"""Races in Python kernels: found at the right two lines, and nothing else, compiled and in Python mode."""

import inspect

import cudasim
import numpy as np
import pytest
import race_kernels
from cudasim import cuda, options
from race_expectations import expected_in


def expected_of(function):
    return expected_in(*inspect.getsourcelines(function), "#")


def found_by(kernel, grid, block, shapes, **chosen):
    arrays = [np.zeros(shape, dtype) for shape, dtype in shapes]
    with options.override(**chosen), cudasim.check("races") as found:
        kernel[grid, block](*arrays)
    pairs = set()
    for finding in found:
        lines = sorted(access.place.line for access in finding.accesses)
        pairs.add((finding.kind, *lines))
    return pairs, found


@pytest.mark.parametrize("mode", ["native", "python"])
@pytest.mark.parametrize("name", race_kernels.CASES)
def test_races_are_found_at_their_lines(name, mode):
    kernel, grid, block, shapes = race_kernels.CASES[name]
    pairs, found = found_by(kernel, grid, block, shapes, mode=mode)
    assert pairs == expected_of(kernel.py_func), "\n".join(map(str, found))


@pytest.mark.parametrize(
    "chosen", [{"carrier": "fiber"}, {"policy": "reverse"}, {"policy": "random", "seed": 3}], ids=str
)
@pytest.mark.parametrize("name", race_kernels.CASES)
def test_races_are_the_same_on_every_carrier_and_under_every_policy(name, chosen):
    kernel, grid, block, shapes = race_kernels.CASES[name]
    pairs, found = found_by(kernel, grid, block, shapes, **chosen)
    assert pairs == expected_of(kernel.py_func), "\n".join(map(str, found))


def test_a_race_is_raised_with_both_accesses():
    kernel, grid, block, shapes = race_kernels.CASES["sum_without_barrier"]
    arrays = [np.zeros(shape, dtype) for shape, dtype in shapes]
    with options.override(check="races"), pytest.raises(cudasim.errors.KernelError) as raised:
        kernel[grid, block](*arrays)
    text = "\n".join([str(raised.value), *raised.value.__notes__])
    assert "127 pairs, 508 bytes" in text and "no barrier of the block between them" in text
    assert "tile[t] = t" in text and "total += tile[i]" in text
    (finding,) = raised.value.findings
    assert finding.kind == "data-race" and finding.count == 127
    assert [access.what for access in finding.accesses] == ["read", "write"]


def test_default_checks_say_nothing_of_races():
    kernel, grid, block, shapes = race_kernels.CASES["sum_without_barrier"]
    kernel[grid, block](*(np.zeros(shape, dtype) for shape, dtype in shapes))


@pytest.mark.parametrize(
    "name, cure",
    [
        ("neighbours_in_a_warp", "no barrier of the block or the warp between them"),
        ("blocks_share_a_cell", "nothing orders the blocks"),
        ("last_block_without_fence", "a fence is missing in front of the atomic operation"),
        ("last_block_with_a_fence_of_the_block", "the fence is too narrow"),
        ("lock_taken_without_fence", "the lock is taken without a fence"),
        ("lock_released_without_fence", "a fence is missing in front of the atomic operation"),
    ],
)
def test_the_report_says_what_is_missing(name, cure):
    kernel, grid, block, shapes = race_kernels.CASES[name]
    _, found = found_by(kernel, grid, block, shapes)
    assert any(cure in finding.message for finding in found), "\n".join(map(str, found))


def test_checks_collect_what_launches_find():
    @cuda.jit
    def out_of_bounds(x):
        x[cuda.threadIdx.x] = 1

    x = np.zeros(4, np.int32)
    with cudasim.check("memory") as found:
        out_of_bounds[1, 8](x)
    assert [finding.kind for finding in found] == ["out-of-bounds-index"]
    assert not x.any()
    with cudasim.check("memory") as found:
        out_of_bounds[1, 4](x)
    assert found == [] and x.all()


def test_unknown_checks_are_refused():
    with pytest.raises(options.OptionError, match="Did you mean 'races'"), cudasim.check("race"):
        pass
