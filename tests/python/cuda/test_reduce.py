"""cuda.reduce: every form of the call, and the order in which numba-cuda's kernels combine elements."""

import functools

import numpy as np
import pytest
from cudasim import cuda, options

DTYPES = [
    np.int8,
    np.int16,
    np.int32,
    np.int64,
    np.uint8,
    np.uint16,
    np.uint32,
    np.uint64,
    np.float32,
    np.float64,
]
SIZES = [1, 2, 31, 32, 33, 64, 65, 127, 128, 129, 1000, 128 * 64, 128 * 64 + 1, 128 * 200 + 77]


@cuda.reduce
def total(a, b):
    return a + b


def in_numbas_order(values, combine, init):
    """The elements combined as numba-cuda's kernels do: blocks of 128 threads, each with every so-many-th element."""
    dtype = values.dtype.type

    def halved(lanes):
        lanes, width = list(lanes), 16
        while width:
            lanes[:width] = [dtype(combine(lanes[i], lanes[i + width])) for i in range(width)]
            width //= 2
        return lanes[0]

    def rest(part):
        warps = [part[i : i + 32] for i in range(0, len(part), 32)]
        full = [halved(warp) for warp in warps[:-1]]
        return functools.reduce(
            combine, [*full, functools.reduce(lambda a, b: dtype(combine(a, b)), warps[-1])]
        )

    whole = len(values) // 128 * 128
    blocks = min(whole // 128, 64)
    partials = []
    for block in range(blocks):
        columns = [
            functools.reduce(combine, values[block * 128 + i : whole : blocks * 128]) for i in range(128)
        ]
        a, b, c, d = [halved(map(dtype, columns[warp : warp + 32])) for warp in range(0, 128, 32)]
        partials.append(dtype(combine(dtype(combine(a, c)), dtype(combine(b, d)))))
    if blocks:
        partials[0] = dtype(combine(partials[0], init))
    if whole < len(values):
        last = dtype(rest(list(values[whole:])))
        partials.append(last if blocks else dtype(combine(last, init)))
    return partials[0] if len(partials) == 1 else dtype(rest(partials))


@pytest.mark.parametrize("size", SIZES)
def test_sums_of_every_size(size):
    values = np.random.default_rng(size).integers(-1000, 1000, size)
    assert total(values) == values.sum()
    assert total(cuda.to_device(values), init=5) == values.sum() + 5


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_type(dtype):
    values = np.arange(700).astype(dtype)
    result = total(values)
    assert type(result) is dtype
    assert result == values.sum(dtype=dtype)
    largest = cuda.reduce(lambda a, b: max(a, b))
    assert largest(values) == values.max()


def test_bools():
    anything = cuda.reduce(lambda a, b: a or b)
    values = np.zeros(1000, np.bool_)
    assert not anything(values)
    values[777] = True
    assert anything(values)


@pytest.mark.parametrize("size", SIZES)
def test_floats_are_added_in_numbas_order(size):
    values = np.random.default_rng(size).random(size, np.float32) - np.float32(0.3)
    assert total(values, init=1.5) == in_numbas_order(values, np.add, np.float32(1.5))


@pytest.mark.parametrize("size", [5, 40, 100, 128, 500])
def test_functions_that_do_not_commute(size):
    first = cuda.reduce(lambda a, b: a * 3 - b)
    values = np.random.default_rng(size).integers(-9, 9, size)
    with np.errstate(over="ignore"):
        assert first(values, init=2) == in_numbas_order(values, lambda a, b: a * np.int64(3) - b, np.int64(2))


def test_reduce_is_the_class_and_a_decorator():
    from cudasim.cuda.kernels.reduction import Reduce

    assert cuda.reduce is cuda.Reduce is Reduce
    assert cuda.Reduce(lambda a, b: a * b)(np.full(20, 2.0), init=1) == 2.0**20
    assert isinstance(total, Reduce)


def test_device_functions_are_functors():
    @cuda.jit(device=True)
    def smaller(a, b):
        return a if a < b else b

    assert cuda.reduce(smaller)(np.arange(300.0)[::-1], init=99.0) == 0.0


def test_part_of_an_array():
    values = np.arange(1000)
    assert total(values, size=10) == 45
    assert total(cuda.to_device(values), 500) == 499 * 250
    assert total(values, size=0) == 0 and total(values, size=0, init=7) == 7
    assert total(values, size=5000) == values.sum()


def test_an_empty_array_gives_init_with_the_arrays_type():
    result = total(np.zeros(0, np.float32), init=3)
    assert result == 3 and type(result) is np.float32


def test_the_result_can_stay_on_the_device():
    res = cuda.to_device(np.full(3, -1, np.int64))
    assert total(np.arange(1000), res=res, stream=cuda.stream()) is None
    assert list(res.copy_to_host()) == [499500, -1, -1]


def test_strided_and_read_only_arrays():
    values = np.arange(2000)
    assert total(values[::2]) == values[::2].sum()
    assert total(cuda.to_device(values)[::3]) == values[::3].sum()
    values.flags.writeable = False
    assert total(values) == values.sum()
    assert np.array_equal(values, np.arange(2000))


def test_arguments_that_are_refused():
    with pytest.raises(TypeError, match="only support 1D array"):
        total(np.zeros((2, 2)))
    with pytest.raises(TypeError, match="only support 1D array"):
        total(np.float64(3.0))
    with pytest.raises(AttributeError):
        total([1, 2, 3])


def test_a_fault_in_the_function_is_raised():
    divide = cuda.reduce(lambda a, b: a // b)
    with pytest.raises(ZeroDivisionError):
        divide(np.zeros(200, np.int64))


def test_kernels_are_compiled_once_per_type():
    add = cuda.reduce(lambda a, b: a + b)
    add(np.arange(200.0))
    kernels = add._kernels[np.dtype(np.float64)]
    add(np.arange(500.0))
    assert add._kernels[np.dtype(np.float64)] is kernels
    assert [len(kernel.overloads) for kernel in kernels] == [1, 1]


def test_python_mode_gives_the_same():
    values = np.random.default_rng(1).random(300, np.float32)
    with options.override(mode="python"):
        assert total(values) == in_numbas_order(values, np.add, np.float32(0))


def test_forall_takes_a_sensible_block():
    @cuda.jit
    def double(x):
        i = cuda.grid(1)
        if i < x.size:
            x[i] *= 2 * cuda.blockDim.x // cuda.blockDim.x

    for count in (1, 5, 1000, 100_000):
        x = np.arange(float(count))
        double.forall(count)(x)
        assert np.array_equal(x, 2 * np.arange(float(count)))
        double.forall(count, tpb=64, stream=cuda.stream(), sharedmem=16)(x)
    double.forall(0)(x)
    assert np.array_equal(x, 4 * np.arange(float(count)))
    with pytest.raises(ValueError, match="negative"):
        double.forall(-1)
