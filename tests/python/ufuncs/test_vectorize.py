"""@vectorize for the CUDA target: dtypes, broadcasting, arrays of any order, where results lie, out=.

The rules are numba.cuda's (https://numba.readthedocs.io/en/stable/cuda/ufunc.html); values are NumPy's. Functions, types
of elements, errors and reduce: test_vectorize_functions.py.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from cudasim import cuda, errors, options


@pytest.fixture(autouse=True, params=["auto", "python"])
def mode(request):
    with options.override(mode=request.param):
        yield request.param


@cuda.vectorize(["float32(float32, float32)", "float64(float64, float64)"])
def multiply_add(a, b):
    return a * b + a


A32 = np.arange(12, dtype=np.float32)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_host_arrays_give_a_host_array_of_the_signature_that_fits(dtype):
    a = np.arange(1000).astype(dtype) / 7
    result = multiply_add(a, a[::-1].copy())
    assert type(result) is np.ndarray and result.dtype == dtype
    np.testing.assert_array_equal(result, a * a[::-1] + a)


def test_device_arrays_give_a_device_array():
    device = cuda.to_device(A32)
    result = multiply_add(device, device)
    assert cuda.is_cuda_array(result) and result.shape == (12,) and result.dtype == np.float32
    np.testing.assert_array_equal(result.copy_to_host(), A32 * A32 + A32)


def test_one_device_array_among_host_arrays_keeps_the_result_on_the_device():
    result = multiply_add(cuda.to_device(A32), A32)
    assert cuda.is_cuda_array(result)
    np.testing.assert_array_equal(result.copy_to_host(), A32 * A32 + A32)


@pytest.mark.parametrize("scalar", [3, 3.0, np.float32(3), True])
def test_a_number_takes_the_dtype_that_the_signature_wants(scalar):
    result = multiply_add(A32, scalar)
    assert result.dtype == np.float32
    np.testing.assert_array_equal(result, A32 * np.float32(scalar) + A32)
    assert multiply_add(scalar, A32.astype(np.float64)).dtype == np.float64


def test_numbers_alone_give_an_array_of_one_element():
    result = multiply_add(np.float64(2), np.float64(3))
    assert result.shape == (1,) and result[0] == 8.0


def test_numbers_that_fit_no_signature_exactly_are_ambiguous():
    with pytest.raises(TypeError, match="ambiguous"):
        multiply_add(2, 3)


def test_sequences_become_arrays():
    np.testing.assert_array_equal(multiply_add([1.0, 2.0], [3.0, 4.0]), [4.0, 10.0])


@pytest.mark.parametrize(
    "shapes", [((3, 4), (4,)), ((4,), (3, 4)), ((3, 1), (1, 4)), ((2, 3, 4), (3, 1)), ((1,), (5,))]
)
@pytest.mark.parametrize("on_device", [(False, False), (True, False), (True, True)])
def test_arguments_are_broadcast(shapes, on_device):
    a, b = (np.random.default_rng(len(shape)).random(shape, dtype=np.float32) for shape in shapes)
    given = [cuda.to_device(array) if there else array for array, there in zip((a, b), on_device)]
    result = multiply_add(*given)
    expected = a * b + a
    assert result.shape == expected.shape
    np.testing.assert_array_equal(np.asarray(result), expected)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("place", [np.asarray, cuda.to_device])
def test_arrays_of_any_order_are_taken_element_by_element(order, place):
    a = np.arange(60, dtype=np.float64).reshape(3, 4, 5)
    b = np.array(a[::-1], order=order)
    np.testing.assert_array_equal(np.asarray(multiply_add(place(a), place(b))), a * b + a)


def test_strided_arrays_of_several_dimensions():
    a = np.arange(80, dtype=np.float64).reshape(8, 10)
    np.testing.assert_array_equal(multiply_add(a[::2, 1::3], a[1::2, ::-3][:, :3]), a[::2, 1::3] * a[1::2, ::-3][:, :3] + a[::2, 1::3])  # fmt: skip
    device = cuda.to_device(a)
    np.testing.assert_array_equal(multiply_add(device[::2, 1:4], device[::2, 1:4]).copy_to_host(), a[::2, 1:4] ** 2 + a[::2, 1:4])  # fmt: skip


def test_a_strided_device_array_of_one_dimension():
    device = cuda.to_device(A32)
    np.testing.assert_array_equal(
        multiply_add(device[::3], device[1::3]).copy_to_host(), A32[::3] * A32[1::3] + A32[::3]
    )


def test_a_strided_host_array_of_one_dimension_is_refused_as_by_numba():
    with pytest.raises(ValueError, match="contiguous"):
        multiply_add(A32[::2], A32[::2])


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_empty_arrays(shape):
    empty = np.empty(shape, np.float32)
    assert multiply_add(empty, empty).shape == shape
    assert multiply_add(cuda.to_device(empty), 1).shape == shape


def test_arrays_that_do_not_broadcast_are_refused():
    with pytest.raises(ValueError, match=r"failed to broadcast.*\(12,\), \(5,\)"):
        multiply_add(A32, A32[:5].copy())


@pytest.mark.parametrize("other", [np.int32, np.float64, np.complex64])
def test_arrays_are_not_cast(other):
    with pytest.raises(TypeError, match="No matching version"):
        multiply_add(A32, A32.astype(other))


def test_another_number_of_arguments_is_refused():
    for arguments in ((A32,), (A32, A32, A32)):
        with pytest.raises(TypeError, match="No matching version"):
            multiply_add(*arguments)


# -- out= --------------------------------------------------------------------------------------------------


def test_out_on_the_host_is_written_and_returned():
    out = np.zeros_like(A32)
    result = multiply_add(A32, A32, out=out)
    np.testing.assert_array_equal(out, A32 * A32 + A32)
    assert np.shares_memory(result, out)


@pytest.mark.parametrize("shape", [(12,), (3, 4), (2, 3, 2)])
def test_out_on_the_device_is_written_and_returned(shape):
    a = A32.reshape(shape)
    out = cuda.device_array(shape, np.float32)
    result = multiply_add(a, a, out=out)
    np.testing.assert_array_equal(out.copy_to_host(), a * a + a)
    np.testing.assert_array_equal(result.copy_to_host(), a * a + a)


def test_out_in_column_order():
    a = A32.reshape(3, 4)
    out = cuda.device_array((3, 4), np.float32, order="F")
    multiply_add(a, a, out=out)
    np.testing.assert_array_equal(out.copy_to_host(), a * a + a)


def test_out_of_several_dimensions_on_the_host_warns_that_numba_refuses_it():
    a, out = A32.reshape(3, 4), np.zeros((3, 4), np.float32)
    with pytest.warns(errors.CudasimWarning, match="numba.cuda refuses"):
        multiply_add(a, a, out=out)
    np.testing.assert_array_equal(out, a * a + a)


@pytest.mark.parametrize("out", [np.zeros(11, np.float32), np.zeros(12, np.float64)])
def test_out_of_another_shape_or_dtype_is_refused(out):
    with pytest.raises(AssertionError, match="out="):
        multiply_add(A32, A32, out=out)


def test_out_may_be_an_argument():
    device = cuda.to_device(A32)
    multiply_add(device, device, out=device)
    np.testing.assert_array_equal(device.copy_to_host(), A32 * A32 + A32)


def test_streams_and_unknown_keywords():
    stream = cuda.stream()
    device = cuda.to_device(A32, stream=stream)
    result = multiply_add(device, device, stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(result.copy_to_host(stream=stream), A32 * A32 + A32)
    with pytest.warns(UserWarning, match="unrecognized keywords: where"):
        multiply_add(A32, A32, where=True)


LARGE = np.random.default_rng(1).random(100_000)  # host arrays of this size are not copied


@pytest.mark.parametrize("b", [LARGE, LARGE.copy(), LARGE[::-1].copy()], ids=["same", "equal", "other"])
def test_large_host_arrays(b):
    before = LARGE.copy()
    np.testing.assert_array_equal(multiply_add(LARGE, b), LARGE * b + LARGE)
    np.testing.assert_array_equal(LARGE, before)


def test_large_host_arrays_that_overlap_or_are_page_locked():
    np.testing.assert_array_equal(multiply_add(LARGE[1:], LARGE[:-1]), LARGE[1:] * LARGE[:-1] + LARGE[1:])
    own = LARGE.copy()
    with cuda.mapped(own), cuda.pinned(pinned := LARGE.copy()):
        np.testing.assert_array_equal(multiply_add(own, pinned), own * pinned + own)
    halves = LARGE.reshape(2, -1)
    np.testing.assert_array_equal(multiply_add(halves, halves[0]), halves * halves[0] + halves)


def test_host_arrays_are_the_hosts_alone_after_a_fault():
    @cuda.vectorize(["int64(int64, int64)"])
    def quotient(a, b):
        return a // b

    a, b = np.arange(100_000), np.ones(100_000, np.int64)
    b[77] = 0
    with pytest.raises(ZeroDivisionError, match="tid="):
        quotient(a, b)
    b[77] = 1
    with cuda.mapped(a), cuda.mapped(b):  # refused for memory that kernels use
        pass
    np.testing.assert_array_equal(quotient(a, b), a)


def test_large_host_arrays_in_several_threads():
    with ThreadPoolExecutor(4) as threads:
        for result in threads.map(lambda _: multiply_add(LARGE, LARGE), range(8)):
            np.testing.assert_array_equal(result, LARGE * LARGE + LARGE)


def test_host_arrays_must_fit_into_the_simulated_device(run):
    done = run.script(
        """
        import numpy as np
        from cudasim import cuda, errors

        @cuda.vectorize(["float64(float64)"])
        def twice(x):
            return 2 * x

        try:
            twice(np.ones(1 << 17))
        except errors.CudaAPIError as error:
            print(error.code, twice(np.ones(1 << 14)).sum())
        """,
        CUDASIM_DEVICE_MEMORY="1048576",
    )
    assert done.stdout == f"2 {2 << 14}.0\n", done.stdout + done.stderr
