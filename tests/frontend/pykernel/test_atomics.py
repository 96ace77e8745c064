"""cuda.atomic.*: element types, kinds of memory and index, results, NaN, errors, PTX. Both modes (conftest.py)."""

import math

import numpy as np
import pytest
from cudasim import _native, cuda, errors
from cudasim.compile import compiler
from kernel_checks import kernel_of_source, refusal

NUMBERS = ["int32", "uint32", "int64", "uint64", "float32", "float64"]
INTEGERS = NUMBERS[:4]
#: What Numba's CUDA target has (its documentation, "Supported Atomic Operations").
ELEMENTS = {
    **{name: NUMBERS for name in ("add", "sub", "max", "min", "nanmax", "nanmin")},
    **{name: INTEGERS for name in ("and_", "or_", "xor", "exch")},
    **{name: ["uint32", "uint64"] for name in ("inc", "dec")},
}
PYTHON = {
    "add": lambda old, x: old + x, "sub": lambda old, x: old - x, "max": max, "min": min, "nanmax": max, "nanmin": min,
    "and_": lambda old, x: old & x, "or_": lambda old, x: old | x, "xor": lambda old, x: old ^ x,
    "exch": lambda old, x: x, "inc": lambda old, x: 0 if old >= x else old + 1,
    "dec": lambda old, x: x if old == 0 or old > x else old - 1,
}  # fmt: skip


def kernel_of(body, parameters):
    return cuda.jit(kernel_of_source(body, parameters, cuda=cuda, np=np))


@pytest.mark.parametrize("operation", sorted(ELEMENTS))
def test_every_element_type_gives_the_old_value(operation):
    for name in ELEMENTS[operation]:
        kernel = kernel_of(f"old[0] = cuda.atomic.{operation}(a, 1, x)", "a, old, x")
        for before in (0, 6, 100):
            for value in (5, 7):
                a, old = np.array([1, before, 1], name), np.zeros(1, name)
                kernel[1, 1](a, old, np.dtype(name).type(value))
                wanted = np.array([PYTHON[operation](before, value)]).astype(name)
                assert (list(a), old[0]) == ([1, wanted[0], 1], before), (name, before, value)


@pytest.mark.parametrize("operation", sorted(ELEMENTS))
def test_other_element_types_are_refused(operation):
    every = ["bool", "int8", "uint8", "int16", "uint16", *NUMBERS]
    for name in set(every) - set(ELEMENTS[operation]):
        kernel = kernel_of_source(f"cuda.atomic.{operation}(a, 0, 1)", "a", cuda=cuda)
        assert name in refusal(errors.TypingError, kernel, f"array({name}, 1d, C)")


@pytest.mark.parametrize("name", sorted(set(NUMBERS) - {"float32", "float64"}))
def test_integers_wrap(name):
    kernel = kernel_of("cuda.atomic.add(a, 0, 1)\n    cuda.atomic.sub(a, 1, 1)", "a")
    info = np.iinfo(name)
    a = np.array([info.max, info.min], name)
    kernel[1, 1](a)
    assert list(a) == [info.min, info.max]


@pytest.mark.parametrize("index", ["np.int8(1)", "np.uint8(1)", "np.uint32(1)", "np.uint64(1)", "np.int16(-2)", "-2",
                                   "cuda.threadIdx.x + 1", "True", "1.9"])  # fmt: skip
def test_indices_of_any_type_of_number(index):
    kernel = kernel_of(f"cuda.atomic.add(a, {index}, 5)", "a")
    a = np.zeros(3, np.int32)
    kernel[1, 1](a)
    assert list(a) == [0, 5, 0]


def test_tuples_of_mixed_integers_index_several_axes():
    @cuda.jit
    def kernel(a, old):
        i, j = cuda.threadIdx.x, cuda.threadIdx.y
        old[i, j] = cuda.atomic.add(a, (i, np.uint64(j), -1.0), 2.5)
        where = i, j, 0
        cuda.atomic.max(a, where, 7)

    a, old = np.zeros((2, 3, 4), np.float32), np.full((2, 3), -1.0)
    kernel[1, (2, 3)](a, old)
    assert (
        (a[:, :, 3] == 2.5).all()
        and (a[:, :, 0] == 7).all()
        and (a[:, :, 1:3] == 0).all()
        and (old == 0).all()
    )


@pytest.mark.parametrize("order", ["C", "F"])
def test_views_and_slices_of_global_arrays(order):
    @cuda.jit
    def kernel(a, v):
        i = cuda.threadIdx.x
        cuda.atomic.add(a[1:, ::2], (i, 1), 1)
        cuda.atomic.add(a[0], 1.0, 10)
        cuda.atomic.add(a.T, (3, i), 100)
        cuda.atomic.sub(v, i, 1)

    a, v = np.zeros((3, 4), np.int64, order=order), np.zeros(8, np.int64)
    held = cuda.to_device(v)
    kernel[1, 2](a, held[::4])
    held.copy_to_host(v)
    assert a.tolist() == [[0, 20, 0, 100], [0, 0, 1, 100], [0, 0, 1, 0]]
    assert list(v) == [-1, 0, 0, 0, -1, 0, 0, 0]


@pytest.mark.parametrize("name", NUMBERS)
def test_shared_memory_of_one_and_two_axes(name):
    body = f"""flat = cuda.shared.array(4, np.{name})
    grid = cuda.shared.array((2, 2), np.{name})
    i = cuda.threadIdx.x
    if i < 4:
        flat[i] = 0
        grid[i // 2, i % 2] = 1
    cuda.syncthreads()
    cuda.atomic.add(flat, i % 4, i)
    cuda.atomic.max(grid, (i % 2, 1), i)
    cuda.syncthreads()
    if i < 4:
        out[i] = flat[i]
        out[4 + i] = grid[i // 2, i % 2]"""
    out = np.zeros(8, name)
    kernel_of(body, "out")[1, 64](out)
    assert list(out) == [sum(range(k, 64, 4)) for k in range(4)] + [1, 62, 1, 63]


def test_dynamic_shared_memory():
    @cuda.jit
    def kernel(out):
        counts = cuda.shared.array(0, np.uint32)
        i = cuda.threadIdx.x
        if i < 2:
            counts[i] = 0
        cuda.syncthreads()
        cuda.atomic.inc(counts, i % 2, 9)
        cuda.syncthreads()
        if i < 2:
            out[i] = counts[i]

    out = np.zeros(2, np.uint32)
    kernel[1, 64, 0, 8](out)
    assert list(out) == [2, 2]


NAN = math.nan


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_nan_is_never_written_and_gives_way_to_the_nan_forms_only(name):
    """Numba's CUDA target's own functions do the same (numba.cuda.cudadrv.nvvm)."""
    body = "\n    ".join(f"old[{k}] = cuda.atomic.{operation}(a, {k}, x)"
                         for k, operation in enumerate(("max", "min", "nanmax", "nanmin")))  # fmt: skip
    kernel = kernel_of(body, "a, old, x")
    for before, value, after in ((1.0, NAN, [1.0] * 4), (NAN, 2.0, [NAN, NAN, 2.0, 2.0]), (NAN, NAN, [NAN] * 4),
                                 (1.0, 2.0, [2.0, 1.0, 2.0, 1.0])):  # fmt: skip
        a, old = np.full(4, before, name), np.zeros(4, name)
        kernel[1, 1](a, old, np.dtype(name).type(value))
        assert np.array_equal(a, np.array(after, name), equal_nan=True), (before, value)
        assert np.array_equal(old, np.full(4, before, name), equal_nan=True)


def test_values_take_the_elements_type_first():
    @cuda.jit
    def kernel(whole, real):
        cuda.atomic.add(whole, 0, 2.9)
        cuda.atomic.max(whole, 1, -1)
        cuda.atomic.add(real, 0, 0.1)

    whole, real = np.zeros(2, np.uint32), np.zeros(1, np.float32)
    kernel[1, 1](whole, real)
    assert list(whole) == [2, 2**32 - 1] and real[0] == np.float32(0.1)


@pytest.mark.parametrize("name", INTEGERS)
def test_compare_and_swap(name):
    @cuda.jit
    def kernel(a, b, old):
        old[0] = cuda.atomic.cas(a, (0, 1), 5, 7)
        old[1] = cuda.atomic.cas(a, (0, -1), 5, 9)
        old[2] = cuda.atomic.compare_and_swap(b, 1, 3)
        old[3] = cuda.atomic.compare_and_swap(b[1:], 2, 4)
        old[4] = cuda.atomic.cas(b, cuda.threadIdx.x, 3, 8)

    a, b, old = np.array([[1, 5], [2, 2]], name), np.array([1, 2], name), np.zeros(5, name)
    kernel[1, 1](a, b, old)
    assert a.tolist() == [[1, 7], [2, 2]] and list(b) == [8, 4] and list(old) == [5, 7, 1, 2, 3]


@pytest.mark.parametrize("name", ["float32", "float64", "int8", "bool"])
def test_compare_and_swap_is_for_integers_of_32_and_64_bits(name):
    for call in ("cas(a, 0, 1, 2)", "compare_and_swap(a, 1, 2)"):
        kernel = kernel_of_source(f"cuda.atomic.{call}", "a", cuda=cuda)
        assert name in refusal(errors.TypingError, kernel, f"array({name}, 1d, C)")


def test_a_lock_of_compare_and_swap_and_exchange():
    @cuda.jit
    def kernel(lock, total):
        done = False
        while not done:
            if cuda.atomic.cas(lock, 0, 0, 1) == 0:
                total[0] += 1
                cuda.threadfence()
                cuda.atomic.exch(lock, 0, 0)
                done = True

    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int64)
    kernel[4, 64](lock, total)
    assert total[0] == 256 and lock[0] == 0


@pytest.mark.parametrize(
    "call", ["add(a, (i, 1), 1)", "cas(a, (i, 1), 1, 2)", "max(a, (i, 1), 1)", "exch(a, (i, 1), 1)"]
)
@pytest.mark.parametrize("name", ["int32", "uint64"])
def test_an_index_out_of_bounds_names_thread_and_axis(call, name):
    kernel = kernel_of(f"i = cuda.threadIdx.x\n    cuda.atomic.{call}", "a")
    with pytest.raises(
        IndexError,
        match=r"tid=\[3, 0, 0\] ctaid=\[0, 0, 0\]: index 3 is out of bounds for axis 0 with size 3",
    ):
        kernel[1, 4](np.zeros((3, 2), name))


def test_an_index_out_of_bounds_of_shared_memory_and_of_the_second_axis():
    @cuda.jit
    def shared(out):
        tile = cuda.shared.array(4, np.float32)
        cuda.atomic.max(tile, cuda.threadIdx.x + 2, 1.0)

    @cuda.jit
    def second(a):
        cuda.atomic.add(a, (0, -3), 1.0)

    with pytest.raises(IndexError, match=r"tid=\[2, 0, 0\].*axis 0 with size 4"):
        shared[1, 3](np.zeros(1))
    with pytest.raises(IndexError, match=r"index -3 is out of bounds for axis 1 with size 2"):
        second[1, 1](np.zeros((1, 2)))


def test_wrong_calls_are_typing_errors():
    for call in ("add(a, 0)", "add(a, 0, 1, 2)", "add(1, 0, 1)", "add(a, 0, a)", "add(a, (0, 0), 1)", "add(a, (0,), 1)",
                 "compare_and_swap(a, 0, 1, 2)", "nosuch(a, 0, 1)"):  # fmt: skip
        refusal(
            errors.TypingError, kernel_of_source(f"cuda.atomic.{call}", "a", cuda=cuda), "array(int32, 1d, C)"
        )
    refusal(
        errors.TypingError,
        kernel_of_source("cuda.atomic.add(a, 0, 1)", "a", cuda=cuda),
        "array(int32, 2d, C)",
    )


@pytest.mark.parametrize("operation", [*sorted(ELEMENTS), "cas"])
def test_ptx_has_atomic_instructions(operation):
    lines, parameters = [], []
    for name in ELEMENTS.get(operation, INTEGERS):
        values = "1, 2" if operation == "cas" else "3"
        lines += [f"{name}_tile = cuda.shared.array(2, np.{name})", f"{name}_tile[0] = 1",
                  f"{name}_[0] = cuda.atomic.{operation}({name}_, 1, {values})",
                  f"{name}_[1] = cuda.atomic.{operation}({name}_tile, 0, {values})"]  # fmt: skip
        parameters.append(name)
    kernel = kernel_of_source("\n    ".join(lines), ", ".join(f"{p}_" for p in parameters), cuda=cuda, np=np)
    compiled = compiler.compile_kernel(kernel, tuple(f"array({p}, 1d, C)" for p in parameters))
    ptx = _native.ptx(compiled.image, compiled.kernel_name, "sm_80")
    assert "atom.global" in ptx and "atom.shared" in ptx
