"""Views of arrays: slices, new axes, `...`, rows, and what may be assigned to them. NumPy says what comes out."""

import itertools
import random

import numpy as np
import pytest
from cudasim import cuda
from kernel_checks import evaluate, types_of

FROZEN = np.arange(12.0).reshape(3, 4)
EXTREMES = [-(2**63), 2**63 - 1, -(2**62), 2**62]


@cuda.jit
def bounds_and_step(out, shape, a, start, stop, step):
    v = a[start:stop:step]
    shape[0] = v.shape[0]
    for i in range(len(v)):
        out[i] = v[i]


@cuda.jit
def bounds(out, shape, a, start, stop, step):
    v = a[start:stop]
    shape[0] = v.size
    for i in range(v.size):
        out[i] = v[i]


@cuda.jit
def backwards(out, shape, a, start, stop, step):
    v = a[start:stop:-1]
    shape[0] = len(v)
    i = 0
    for x in v:
        out[i] = x
        i += 1


@cuda.jit
def open_ended(out, shape, a, start, stop, step):
    n = 0
    for x in a[start::step]:
        out[n] = x
        n += 1
    for x in a[:stop:step]:
        out[n] = x
        n += 1
    for x in a[:start]:
        out[n] = x
        n += 1
    for x in a[stop:]:
        out[n] = x
        n += 1
    shape[0] = n


EXPECTED = {
    bounds_and_step: lambda a, i, j, k: a[i:j:k],
    bounds: lambda a, i, j, k: a[i:j],
    backwards: lambda a, i, j, k: a[i:j:-1],
    open_ended: lambda a, i, j, k: np.concatenate([a[i::k], a[:j:k], a[:i], a[j:]]),
}


@pytest.mark.parametrize("kernel", EXPECTED, ids=lambda k: k.py_func.__name__)
def test_slices_clamp_as_pythons(kernel):
    random.seed(1)
    number = lambda: random.choice(EXTREMES) if random.random() < 0.1 else random.randint(-9, 9)  # noqa: E731
    for _ in range(150):
        a = np.arange(1.0, random.randint(1, 8))
        start, stop, step = number(), number(), random.choice([-3, -2, -1, 1, 2, 3, *EXTREMES])
        out, shape = np.zeros(40), np.zeros(1, np.int64)
        kernel[1, 1](out, shape, a, start, stop, step)
        expected = EXPECTED[kernel](a, start, stop, step)
        assert shape[0] == len(expected), (a, start, stop, step)
        assert np.array_equal(out[: len(expected)], expected), (a, start, stop, step)


def test_a_step_of_zero_is_an_error():
    with pytest.raises(ValueError, match=r"tid=\[0, 0, 0\] ctaid=\[0, 0, 0\]: slice step cannot be zero"):
        bounds_and_step[1, 1](np.zeros(1), np.zeros(1, np.int64), np.zeros(3), 0, 3, 0)


def run_on_views(kernel, dimensions, *more):
    """The kernel's output for a C, F and A array of that many dimensions must be NumPy's for the same array."""
    base = np.arange(1.0, 2 * 3 * 4 * 5 + 1).reshape(2, 3, 4, 5)[tuple([1] * (4 - dimensions))]
    arrays = [
        base,
        np.asfortranarray(base),
        base[tuple([slice(None, None, -1)] * dimensions)],
        base[..., ::2],
        base[1:],
        base.T,
        np.broadcast_to(base[:1], base.shape),
    ]
    for host in arrays:
        out = cuda.to_device(np.zeros(300))
        expected = np.zeros(300)
        kernel[1, 1](out, strided_device_array(host), *more)
        kernel.py_func(expected, strided_copy(host)[1], *more)
        assert np.array_equal(out.copy_to_host(), expected), host.strides


def strided_copy(host):
    """New memory, an array in it with the values and strides of `host`, and how far in that begins, in bytes."""
    lowest = sum((n - 1) * s for n, s in zip(host.shape, host.strides) if s < 0)
    span = sum((n - 1) * abs(s) for n, s in zip(host.shape, host.strides)) // 8 + 1
    memory = np.zeros(span)
    window = np.lib.stride_tricks.as_strided(memory[-lowest // 8 :], host.shape, host.strides)
    window[...] = host
    return memory, window, -lowest


def strided_device_array(host):
    """A device array with the host array's strides: negative and zero ones too."""
    memory, _, begin = strided_copy(host)
    device = cuda.to_device(memory)

    class Interface:
        keep = device
        __cuda_array_interface__ = {
            "shape": host.shape,
            "strides": host.strides,
            "typestr": "<f8",
            "version": 3,
            "data": (device.__cuda_array_interface__["data"][0] + begin, False),
        }

    return cuda.as_cuda_array(Interface())


def test_views_of_views_of_every_layout():
    @cuda.jit
    def kernel(out, a):
        n = 0
        v = a[::-1, 1:]
        for row in v[:, ::2].T:
            for x in row[::-1]:
                out[n] = x
                n += 1
        out[n] = v.shape[0] * 100 + v.shape[1] * 10 + v.ndim
        out[n + 1] = v[1:][-1][0] + a[-1, :][1] + a[:, -1][0] + a[(1, 1)]

    run_on_views(kernel, 2)


def test_new_axes_and_ellipsis():
    @cuda.jit
    def kernel(out, a):
        v = a[None, ..., 1]
        w = a[:, None, 0, :, None]
        x = a[..., 1:2, None, :]
        n = 0
        for i in range(v.shape[1]):
            for j in range(v.shape[2]):
                out[n] = v[0, i, j] + w[i, 0, 0, 0]
                n += 1
        for i in range(3):
            out[n + i] = w.shape[i]
            out[n + 3 + i] = x.shape[i]
        out[n + 6] = x[1, 0, 0, -1] + a[0, ..., 0, 0] + a[..., 0, 1, 1] + a[()][1, 1, 1]
        out[n + 7] = v.ndim + 10 * w.ndim + 100 * x.ndim

    run_on_views(kernel, 3)


def test_rows_are_views():
    @cuda.jit
    def kernel(out, a):
        row = a[1]
        row[0] = 70
        a[0][-1] = 71
        n = 0
        for plane in a:
            plane[0] += 1
            for x in plane:
                out[n] = x
                n += 1

    run_on_views(kernel, 2)


@pytest.mark.parametrize("layout", [np.ascontiguousarray, np.asfortranarray])
def test_numbers_and_tuples_are_assigned_to_views(layout):
    @cuda.jit
    def kernel(a, b, j, x):
        a[:, j] = x
        a[0] = 3
        a[-1, ::2] = (10, 20.5, True)
        a[2, 1:1] = 99
        b[...] = 1.75
        b[1:, None, 2:] = j

    a, b = layout(np.zeros((4, 5))), layout(np.zeros((3, 4), np.int32))
    expected_a, expected_b = a.copy(), b.copy()
    kernel[1, 1](a, b, 2, 0.5)
    kernel.py_func(expected_a, expected_b, 2, 0.5)
    assert np.array_equal(a, expected_a) and np.array_equal(b, expected_b)


def test_a_number_is_assigned_to_what_an_index_array_or_a_mask_selects():
    @cuda.jit
    def kernel(a, b, indices, mask):
        a[indices] = 7
        b[mask] = 2.5
        b[indices[::2]] = -1

    a, b = np.zeros(6), np.zeros((5, 2))
    indices, mask = np.array([4, -6, 1]), np.array([True, False, True, True, False])
    expected_a, expected_b = a.copy(), b.copy()
    kernel[1, 1](a, b, indices + [0, 0, 1], mask)
    kernel.py_func(expected_a, expected_b, indices + [0, 0, 1], mask)
    assert np.array_equal(a, expected_a) and np.array_equal(b, expected_b)
    with pytest.raises(IndexError, match="index 6 is out of bounds for axis 0 with size 6"):
        kernel[1, 1](a, b, np.array([6]), mask)


def test_a_tuple_of_another_length_than_the_view_is_an_error():
    @cuda.jit
    def kernel(a, n):
        a[:n] = (1, 2)

    kernel[1, 1](np.zeros(3), 2)
    with pytest.raises(ValueError, match="cannot assign slice from input of different size"):
        kernel[1, 1](np.zeros(3), 3)


def test_a_view_checks_indices_against_its_own_shape():
    @cuda.jit
    def kernel(a, i, j):
        a[1:, 2:4][i, j] = 1

    kernel[1, 1](np.zeros((5, 6)), 3, 1)
    with pytest.raises(IndexError, match="index 4 is out of bounds for axis 0 with size 4"):
        kernel[1, 1](np.zeros((5, 6)), 4, 0)
    with pytest.raises(IndexError, match="index -3 is out of bounds for axis 1 with size 2"):
        kernel[1, 1](np.zeros((5, 6)), 0, -3)


def test_the_integers_of_a_mixed_index_are_checked():
    @cuda.jit
    def kernel(out, a, j):
        out[0] = a[1:, j][0]

    with pytest.raises(IndexError, match="index 6 is out of bounds for axis 1 with size 6"):
        kernel[1, 1](np.zeros(1), np.zeros((5, 6)), 6)


def test_views_of_shared_local_and_constant_arrays():
    @cuda.jit(device=True)
    def total(v):
        result = 0.0
        for x in v:
            result += x
        return result

    @cuda.jit
    def kernel(out):
        shared = cuda.shared.array((4, 4), np.float64)
        local = cuda.local.array(6, np.float64)
        i = cuda.threadIdx.x
        shared[i] = i
        cuda.syncthreads()
        local[:] = 2
        local[::2] = i
        out[i, 0] = total(shared[:, i])
        out[i, 1] = total(local[i:])
        out[i, 2] = total(cuda.const.array_like(FROZEN)[1:, i])
        out[i, 3] = total(FROZEN[1][::-2]) + total(shared[1:3, ::2].T[0])

    out = np.zeros((4, 4))
    kernel[1, 4](out)
    local = [[i, 2] * 3 for i in range(4)]
    assert np.array_equal(
        out, [[6, sum(local[i][i:]), FROZEN[1:, i].sum(), FROZEN[1][::-2].sum() + 3] for i in range(4)]
    )


def test_dynamic_shared_memory_is_split_by_slices():
    @cuda.jit
    def kernel(out):
        floats = cuda.shared.array(0, np.float32)[:4]
        ints = cuda.shared.array(0, np.int32)[4:8]
        i = cuda.threadIdx.x
        floats[i] = 0.5 + i
        ints[i] = 10 * i
        cuda.syncthreads()
        out[i] = floats[3 - i] + ints[3 - i] + ints.shape[0]

    out = np.zeros(4)
    kernel[1, 4, 0, 32](out)
    assert list(out) == [3.5 + 30 + 4, 2.5 + 20 + 4, 1.5 + 10 + 4, 0.5 + 4]


def test_slice_objects():
    @cuda.jit
    def kernel(out, a, i):
        s = slice(i, None, 2)
        t = slice(i)
        out[0] = len(a[s])
        out[1] = len(a[t])
        out[2] = s.start * 100 + s.step
        u = slice(1, 3) if i > 1 else slice(0, i)
        out[3] = len(a[u])

    out = np.zeros(4)
    kernel[1, 1](out, np.zeros(9), 2)
    assert list(out) == [4, 2, 202, 2]


LAYOUTS = {
    ("C", 1): {"a[1:]": "C", "a[::2]": "A", "a[:]": "C", "a[0:3:1]": "A", "a[:, None]": "A", "a[()]": "C"},
    ("C", 2): {
        "a[0]": "C",
        "a[:]": "C",
        "a[1:]": "C",
        "a[:, 0]": "A",
        "a[0, :]": "C",
        "a[:, :]": "A",
        "a[..., 0]": "A",
        "a[0, ...]": "C",
        "a[..., :]": "A",
        "a[:, ...]": "C",
        "a.T": "F",
        "a.T[:, 0]": "F",
        "a.T[0]": "A",
        "a.real": "C",
        "a.reshape(6)": "C",
        "a.transpose()": "F",
    },
    ("F", 2): {"a[0]": "A", "a[:]": "A", "a[:, 0]": "F", "a[0, :]": "A", "a[..., 0]": "F", "a.T": "C"},
    ("C", 3): {
        "a[0, 1:]": "C",
        "a[0, :, 1]": "A",
        "a[0, ..., 0]": "A",
        "a[0, 1, ..., 1:]": "C",
        "a[0, ..., 1:]": "A",
    },
    ("F", 3): {
        "a[:, 0, 0]": "F",
        "a[..., 1:, 0]": "F",
        "a[1:, ..., 0]": "A",
        "a[:, 1, ...]": "A",
        "a[..., 0]": "F",
    },
    ("A", 2): {"a[0]": "A", "a[:, 0]": "A", "a.T": "A"},
}


@pytest.mark.parametrize("array, expression", [(key, e) for key, row in LAYOUTS.items() for e in row])
def test_views_have_the_layout_that_numba_infers(array, expression):
    """Read off Numba 0.68's CUDA typing context."""
    from kernel_checks import kernel_of_source as kernel

    layout, dimensions = array
    inferred = types_of(kernel(f"r = {expression}", "a"), f"array(float64, {dimensions}d, {layout})")["r"]
    assert inferred.endswith(f"d, {LAYOUTS[array][expression]})")


def test_rows_in_a_loop_have_layout_a():
    def kernel(a):
        for row in a:
            row[0] = 1

    assert types_of(kernel, "array(float64, 2d, C)")["row"] == "array(float64, 1d, A)"


def test_flat_reshape_fill_and_item():
    @cuda.jit
    def kernel(out, a):
        n = 0
        for x in a.flat:
            out[n] = x
            n += 1
        a.flat[-1] = 50
        out[n] = a.flat[2] + len(a.flat)
        m = a.reshape(-1, 2)
        out[n + 1] = m.shape[0] * 100 + m[1, 1]
        out[n + 2] = np.size(a) + np.shape(a)[1] + np.asarray(a)[0, 0]
        out[n + 3] = a[1:2, 1:2].item()
        a.fill(4.5)
        out[n + 4] = a[1, 0]

    a = np.arange(6.0).reshape(2, 3)
    out = np.zeros(12)
    kernel[1, 1](out, a)
    assert list(out) == [0, 1, 2, 3, 4, 5, 8, 303, 9, 4, 4.5, 0]


@pytest.mark.parametrize(
    "shape, reason",
    [
        ((2, 2), "total size of new array must be unchanged"),
        ((-1, -1), "can only specify one unknown dimension"),
        ((-1, 4), "total size of new array must be unchanged"),
    ],
)
def test_reshape_refuses_other_sizes(shape, reason):
    @cuda.jit
    def kernel(a, n, m):
        a.reshape(n, m)[0, 0] = 1

    with pytest.raises(ValueError, match=reason):
        kernel[1, 1](np.zeros(6), *shape)


def test_joined_views_take_layout_a():
    @cuda.jit
    def kernel(out, a, flag):
        v = a
        if flag:
            v = a[::-1]
        w = v[:3]
        for _ in range(2):
            w = w[1:]
        out[0] = v[0] + 10 * w[0]

    for flag in (0, 1):
        out = np.zeros(1)
        kernel[1, 1](out, np.arange(1.0, 5), flag)
        assert out[0] == (1 + 30, 4 + 20)[flag]


def test_all_combinations_of_index_kinds_match_numpy():
    """Every index of up to three parts out of: an integer, a slice, a strided slice, None and `...`."""
    from kernel_checks import kernel_of_source as kernel

    a = np.arange(24.0).reshape(2, 3, 4)
    parts = ["1", "1:", "::-1", "None", "..."]
    indices = [p for n in (1, 2, 3) for p in itertools.product(parts, repeat=n) if p.count("...") < 2]
    random.seed(3)
    for index in random.sample([i for i in indices if i not in (("None",), ("...",))], 40):
        text = ", ".join(index)
        expected = eval(f"a[{text}]", {"a": a})
        body = f"r = a[{text}]\n    n = 0\n    for d in r.shape:\n        s[n] = d\n        n += 1\n"
        body += "    n = 0\n    for i, x in np.ndenumerate(r):\n        out[n] = x\n        n += 1"
        out, shape = np.zeros(24), np.zeros(6, np.int64)
        if expected.ndim == 0:
            body = f"out[0] = a[{text}]"
        cuda.jit(kernel(body, "out, s, a", np=np))[1, 1](out, shape, a)
        assert tuple(shape[: expected.ndim]) == expected.shape, text
        assert np.array_equal(out[: expected.size], expected.ravel()), text


def test_column_major_arrays_take_shapes_that_need_no_copy():
    def kernel(out, a, one):
        b = a.reshape(2, 2, 1, 3)
        out[0], out[1], out[2] = b[1, 1, 0, 2], b[0, 1, 0, 0], b.shape[1]
        b[1, 0, 0, 1] = 77.0
        c = one.reshape(3, 2)
        out[3] = c[2, 1]
        out[4] = a.reshape((4, 1, -1))[3, 0, 1]

    a = np.asfortranarray(np.arange(12.0).reshape(4, 3))
    one = np.arange(6.0).reshape(6, 1, order="F")
    assert list(evaluate(kernel, a, np.asfortranarray(one), size=5)) == [11, 3, 2, 5, 10]
    assert a[2, 1] == 77.0


def test_column_major_arrays_are_not_copied():
    @cuda.jit
    def kernel(a):
        a.reshape(12)[0] = 1

    with pytest.raises(NotImplementedError, match="incompatible shape for array"):
        kernel[1, 1](np.asfortranarray(np.zeros((4, 3))))
