"""cuda.* inside kernels: indices, memory spaces, barriers, atomics."""

from fractions import Fraction

import numpy as np
import pytest
from cudasim import cuda, errors, options, types
from kernel_checks import evaluate

SIZE, SHAPE = 8, (2, 4)
WEIGHTS = np.array([[1, 2, 3], [4, 5, 6]], dtype=np.float32)


def test_indices_in_three_dimensions():
    @cuda.jit
    def kernel(out):
        x, y, z = cuda.grid(3)
        width, height, depth = cuda.gridsize(3)
        out[x, y, z] = 1 + x + width * (y + height * z)
        assert x == cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        assert y == cuda.blockIdx.y * cuda.blockDim.y + cuda.threadIdx.y
        assert z == cuda.blockIdx.z * cuda.blockDim.z + cuda.threadIdx.z
        assert depth == cuda.gridDim.z * cuda.blockDim.z

    out = np.zeros((4, 6, 4), np.int64)
    kernel[(2, 3, 2), (2, 2, 2)](out)
    x, y, z = np.indices(out.shape)
    assert np.array_equal(out, 1 + x + 4 * (y + 6 * z))


def test_lane_and_warp_size():
    @cuda.jit
    def kernel(out):
        out[cuda.threadIdx.x] = cuda.laneid * 100 + cuda.warpsize

    out = np.zeros(40, np.int32)
    kernel[1, 40](out)
    assert list(out) == [i % 32 * 100 + 32 for i in range(40)]


@pytest.mark.parametrize("dtype", [np.float32, types.float32, "float32", np.dtype("float32"), "f4"])
def test_shared_memory_with_every_way_to_say_float32(dtype):
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(SIZE, dtype)
        i = cuda.threadIdx.x
        tile[i] = i + 0.1
        cuda.syncthreads()
        out[i] = tile[SIZE - 1 - i]

    out = np.zeros(SIZE)
    kernel[1, SIZE](out)
    assert list(out) == [np.float32(SIZE - 1 - i + 0.1) for i in range(SIZE)]


def test_shared_memory_of_two_dimensions_is_one_per_block():
    @cuda.jit
    def kernel(out):
        tile = cuda.shared.array(shape=SHAPE, dtype=np.int64, alignment=64)
        i, j = cuda.threadIdx.x, cuda.threadIdx.y
        tile[i, j] = cuda.blockIdx.x * 100 + i * 10 + j
        cuda.syncthreads()
        out[cuda.blockIdx.x, i, j] = tile[1 - i, 3 - j]

    out = np.zeros((3, 2, 4), np.int64)
    kernel[3, (2, 4)](out)
    b, i, j = np.indices(out.shape)
    assert np.array_equal(out, b * 100 + (1 - i) * 10 + 3 - j)


def test_shared_and_local_arrays_are_checked():
    def shared(out, i):
        tile = cuda.shared.array(SHAPE, np.float32)
        tile[0, i] = 1

    def local(out, i):
        scratch = cuda.local.array(4, np.float32)
        out[0] = scratch[i]

    def constant(out, i):
        out[0] = cuda.const.array_like(WEIGHTS)[1, i]

    for kernel, message in [
        (shared, "index 4 is out of bounds for axis 1 with size 4"),
        (local, "index 4 is out of bounds for axis 0 with size 4"),
        (constant, "index 4 is out of bounds for axis 1 with size 3"),
    ]:
        with pytest.raises(IndexError, match=message):
            evaluate(kernel, 4)


def test_dynamic_shared_memory_has_the_size_of_the_launch():
    @cuda.jit
    def kernel(out):
        floats = cuda.shared.array(0, np.float32)
        bytes_ = cuda.shared.array(shape=0, dtype=np.uint8)
        i = cuda.threadIdx.x
        floats[i] = i
        cuda.syncthreads()
        out[i] = floats[floats.size - 1 - i] + 1000 * floats.size + 100000 * bytes_.size

    out = np.zeros(8)
    kernel[1, 8, 0, 32](out)
    assert list(out) == [7 - i + 8000 + 3200000 for i in range(8)]
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
        kernel[1, 8, 0, 16](out)


def test_local_arrays_belong_to_their_thread():
    @cuda.jit
    def kernel(out):
        scratch = cuda.local.array((2, 2), dtype=np.float64)
        i = cuda.threadIdx.x
        for j in range(4):
            scratch[j // 2, j % 2] = i * j
        cuda.syncthreads()
        out[i] = scratch[1, 1] + scratch[0, 1]

    out = np.zeros(64)
    kernel[1, 64](out)
    assert np.array_equal(out, np.arange(64) * 4)


def test_constant_memory():
    @cuda.jit
    def kernel(out):
        weights = cuda.const.array_like(WEIGHTS)
        i, j = cuda.threadIdx.x, cuda.threadIdx.y
        out[i, j] = weights[i, j] * WEIGHTS[-1, j]

    out = np.zeros((2, 3))
    kernel[1, (2, 3)](out)
    assert np.array_equal(out, WEIGHTS * WEIGHTS[-1])


def test_barriers_that_count_and_combine():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        out[i, 0] = cuda.syncthreads_count(int(i < 5))
        out[i, 1] = cuda.syncthreads_and(int(i >= 0))
        out[i, 2] = cuda.syncthreads_and(i)
        out[i, 3] = cuda.syncthreads_or(int(i == 7))
        out[i, 4] = cuda.syncthreads_or(int(i > 100))
        cuda.threadfence()
        cuda.threadfence_block()
        cuda.threadfence_system()

    out = np.zeros((40, 5), np.int64)
    kernel[1, 40](out)
    assert (out[:, 0] == 5).all() and (out[:, 4] == 0).all() and (out[:, 2] == 0).all()
    assert (out[:, 1] != 0).all() and (out[:, 3] != 0).all()


ATOMIC_TYPES = [np.int32, np.int64, np.uint32, np.uint64, np.float32, np.float64]


@pytest.mark.parametrize("dtype", ATOMIC_TYPES)
def test_atomic_add_and_sub_return_the_old_value(dtype):
    @cuda.jit
    def kernel(a, old):
        i = cuda.grid(1)
        old[i] = cuda.atomic.add(a, 0, 2)
        cuda.atomic.sub(a, 1, 1)

    a, old = np.array([0, 1000], dtype), np.zeros(100, dtype)
    kernel[4, 25](a, old)
    assert list(a) == [200, 900]
    assert sorted(old) == list(range(0, 200, 2))


@pytest.mark.parametrize("dtype", ATOMIC_TYPES)
def test_atomic_max_and_min(dtype):
    @cuda.jit
    def kernel(a, values):
        i = cuda.grid(1)
        cuda.atomic.max(a, 0, values[i])
        cuda.atomic.min(a, 1, values[i])

    values = np.random.default_rng(1).permutation(1000).astype(dtype)
    a = np.array([5, 500], dtype)
    kernel[10, 100](a, values)
    assert list(a) == [999, 0]


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint32, np.uint64])
def test_atomic_compare_and_swap_and_exchange(dtype):
    @cuda.jit
    def kernel(a, old):
        old[0] = cuda.atomic.cas(a, 1, 5, 7)
        old[1] = cuda.atomic.cas(a, 1, 5, 9)
        old[2] = cuda.atomic.exch(a, 2, 11)
        old[3] = cuda.atomic.compare_and_swap(a, 3, 13)

    a, old = np.array([3, 5, 6], dtype), np.zeros(4, dtype)
    kernel[1, 1](a, old)
    assert list(a) == [13, 7, 11] and list(old) == [5, 7, 6, 3]


def test_atomic_compare_and_swap_takes_arrays_of_one_dimension_only_as_in_numba():
    @cuda.jit
    def kernel(a):
        cuda.atomic.compare_and_swap(a, 3, 13)

    with pytest.raises(errors.TypingError):
        kernel[1, 1](np.zeros((2, 2), np.int32))


def test_atomic_bit_operations_and_wrapping_counters():
    @cuda.jit
    def kernel(a):
        cuda.atomic.and_(a, 0, 6)
        cuda.atomic.or_(a, 1, 6)
        cuda.atomic.xor(a, 2, 6)
        for i in range(5):
            cuda.atomic.inc(a, 3, 3)
            cuda.atomic.dec(a, 4, 3)

    a = np.array([3, 3, 3, 0, 0], np.uint32)
    kernel[1, 1](a)
    assert list(a) == [2, 7, 5, 1, 3]


def test_atomics_on_shared_memory_and_several_axes():
    @cuda.jit
    def kernel(out):
        counts = cuda.shared.array((2, 2), np.int32)
        i = cuda.threadIdx.x
        if i < 4:
            counts[i // 2, i % 2] = 0
        cuda.syncthreads()
        cuda.atomic.add(counts, (i % 2, 1), 1)
        cuda.syncthreads()
        if i == 0:
            out[0], out[1], out[2], out[3] = counts[0, 0], counts[0, 1], counts[1, 0], counts[1, 1]

    out = np.zeros(4, np.int64)
    kernel[1, 64](out)
    assert list(out) == [0, 32, 0, 32]


def test_atomic_indices_are_checked():
    def kernel(out, i):
        cuda.atomic.add(out, i, 1)

    with pytest.raises(IndexError, match="index 1 is out of bounds for axis 0 with size 1"):
        evaluate(kernel, 1)


def test_one_shared_array_per_place_in_loops_too():
    @cuda.jit
    def kernel(out):
        for round_ in range(3):
            tile = cuda.shared.array(1, np.int64)
            if round_ == 0:
                tile[0] = 5
            out[round_] = tile[0]

    out = np.zeros(3, np.int64)
    kernel[1, 1](out)
    assert list(out) == [5, 5, 5]


def test_bit_instructions():
    @cuda.jit
    def kernel(out, x, y):
        out[0], out[1], out[2] = cuda.popc(x), cuda.clz(x), cuda.ffs(x)
        out[3], out[4], out[5] = cuda.popc(y), cuda.clz(y), cuda.ffs(y)
        out[6], out[7] = cuda.brev(x), cuda.ffs(0)

    out = np.zeros(8, np.uint64)
    kernel[1, 1](out, np.uint32(40), np.int64(2**40))
    assert list(out) == [2, 26, 4, 1, 23, 41, int(f"{40:032b}"[::-1], 2), 0]


def test_selp_fma_cbrt_and_nanosleep():
    @cuda.jit
    def kernel(out, x):
        out[0] = cuda.selp(x > 2, x, 7.0)
        out[1] = cuda.fma(x, x, -x * x)
        out[2] = cuda.cbrt(x)
        cuda.nanosleep(10)

    out = np.zeros(3)
    kernel[1, 1](out, 0.1)
    once_rounded = float(Fraction(0.1) ** 2 - Fraction(0.1 * 0.1))
    assert out[0] == 7 and out[1] == once_rounded != 0
    assert out[2] == pytest.approx(np.cbrt(0.1))


def test_bit_operations_of_floats_and_bools_as_numba_converts_them():
    @cuda.jit
    def kernel(x, narrow, flags, out):
        out[0] = cuda.popc(x[0])
        out[1] = cuda.clz(narrow[0])
        out[2] = cuda.brev(x[0])
        out[3] = cuda.popc(flags[0])
        out[4] = cuda.brev(flags[0])
        cuda.nanosleep(x[0])
        cuda.syncwarp(1)

    out = np.zeros(5, np.int64)
    kernel[1, 1](np.array([7.9]), np.array([16.5], np.float32), np.array([True]), out)
    assert list(out) == [3, 3, 0xE0000000, 1, 0x80000000]


def test_counting_barriers_refuse_bools_as_numba_does():
    def kernel(x):
        x[0] = cuda.syncthreads_count(x[0] > 0)

    with options.override(mode="native"), pytest.raises(errors.TypingError, match="has to be an integer"):
        cuda.jit(kernel)[1, 1](np.zeros(1))
