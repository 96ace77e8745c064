"""Races in Python kernels: found at the right two lines, and nothing else, compiled and in Python mode."""

import inspect

import cudasim
import numpy as np
import pytest
import race_kernels
from cudasim import cuda, options, types
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


@pytest.mark.parametrize("chosen", [{}, {"carrier": "fiber"}, {"policy": "reverse"}], ids=str)
@pytest.mark.parametrize("name", race_kernels.COMPILED)
def test_plain_accesses_beside_atomic_ones_that_are_meant_so(name, chosen):
    kernel, grid, block, shapes = race_kernels.COMPILED[name]
    pairs, found = found_by(kernel, grid, block, shapes, mode="native", **chosen)
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


@pytest.mark.parametrize("make", ["mapped_array", "managed_array", "device_array"])
def test_races_in_memory_of_every_kind(make):
    """Also in memory that was there before races were looked for."""
    kernel, grid, block, (shape,) = race_kernels.CASES["blocks_share_a_cell"]
    array = getattr(cuda, make)(*shape)
    kernel[1, 32](array)
    for _ in range(2):
        with cudasim.check("races") as found:
            kernel[grid, block](array)
        assert {finding.kind for finding in found} == {"data-race"}
        with cudasim.check("races") as found:
            kernel[1, block](array)
        assert found == []


def test_parts_of_one_allocation():
    """What the kernel only reads through one parameter it may write through another."""

    @cuda.jit
    def shift(target, source):
        i = cuda.grid(1)
        if i < target.size:
            target[i] = source[i]

    memory = cuda.to_device(np.arange(64, dtype=np.int32))
    for target, source, racy in ((memory[:32], memory[32:], False), (memory[1:], memory[:-1], True)):
        with cudasim.check("races") as found:
            shift[1, 64](target, source)
        assert bool(found) == racy
    other = cuda.to_device(np.arange(64, dtype=np.int32))
    with cudasim.check("races") as found:
        shift[1, 64](other, memory)
    assert found == []


def test_values_and_elements_are_those_of_the_source():
    @cuda.jit
    def neighbours(x, out):
        tile = cuda.shared.array((4, 8), types.float32)
        t = cuda.threadIdx.x
        tile[t // 8, t % 8] = t + 0.5
        out[t] = tile[(t + 1) % 32 // 8, (t + 1) % 8] + x[t]

    with cudasim.check("races") as found:
        neighbours[1, 32](np.zeros(32), np.zeros(32))
    (wrote,) = [each for each in found if each.accesses[1].what == "write"]
    assert wrote.object.element == "tile[0, 1]" and wrote.object.element_type == "float32"
    assert wrote.accesses[1].value == "1.5"
    assert "tile[0, 1] in shared memory" in wrote.message


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


def test_a_block_within_another_has_a_list_of_its_own():
    kernel, grid, block, shapes = race_kernels.CASES["blocks_share_a_cell"]
    arrays = [np.zeros(shape, dtype) for shape, dtype in shapes]
    with cudasim.check("races") as outer:
        with cudasim.check("memory") as inner:
            kernel[grid, block](*arrays)
        kernel[grid, block](*arrays)
    assert inner == [] and outer


def test_unknown_checks_are_refused():
    with pytest.raises(options.OptionError, match="Did you mean 'races'"), cudasim.check("race"):
        pass


@cuda.jit
def neighbours(out):
    tile = cuda.shared.array((2, 32), types.int32)
    t = cuda.threadIdx.x
    tile[1, t] = t
    out[t] = tile[1, (t + 1) % 32]


@pytest.mark.parametrize("mode", ["native", "python"])
def test_elements_of_shared_arrays_are_named(mode):
    _, found = found_by(neighbours, 1, 32, [((32,), np.int32)], mode=mode)
    assert {each.object.element for each in found} == {"tile[1, 1]", "tile[1, 0]"}
    assert {each.object.space for each in found} == {"shared"}
    assert all(access.value.isdecimal() for each in found for access in each.accesses if access.value)


@cuda.jit
def published_without_a_barrier(data, flag, out):
    t = cuda.threadIdx.x
    if cuda.blockIdx.x == 0:
        data[t] = t
        if t == 0:
            cuda.threadfence()
            cuda.atomic.exch(flag, 0, 1)
    elif t == 0:
        while cuda.atomic.add(flag, 0, 0) == 0:
            pass
        cuda.threadfence()
        out[0] = data[1]


@cuda.jit
def last_block_without_a_fence(sums, count, out):
    last = cuda.shared.array(1, types.int32)
    t = cuda.threadIdx.x
    if t == 0:
        sums[cuda.blockIdx.x] = 1
        last[0] = cuda.atomic.add(count, 0, 1)
    cuda.syncthreads()
    if last[0] == cuda.gridDim.x - 1 and t < 2:
        out[t] = sums[t]


@cuda.jit
def a_counter_that_is_read(count, items, out):
    i = cuda.atomic.add(count, 0, 1)
    if i < 64:
        items[i] = i
    out[cuda.grid(1) % 64] = count[0]


@pytest.mark.parametrize("mode", ["native", "python"])
@pytest.mark.parametrize(
    "kernel, cure",
    [
        (published_without_a_barrier, "no barrier of the block between the first and the fence"),
        (last_block_without_a_fence, "a fence is missing in front of the atomic operation"),
        (a_counter_that_is_read, "one of the two is an atomic operation"),
    ],
)
def test_the_cure_is_the_one_that_is_missing(kernel, cure, mode):
    _, found = found_by(kernel, 2, 32, [((64,), np.int32)] * 3, mode=mode)
    messages = [each.message for each in found if each.kind == "data-race"]
    assert messages and all(cure in message for message in messages), messages
