"""Device arrays: copies, views and what is refused, each compared with NumPy."""

import gc

import numpy as np
import pytest
from cudasim import cuda
from cudasim.errors import CudaAPIError
from hypothesis import given, settings
from hypothesis import strategies as st


def test_device_memory_is_a_copy():
    host = np.arange(5)
    device = cuda.to_device(host)
    host[:] = 0
    assert device.copy_to_host().tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("dtype", ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16", "M8[s]"])
@pytest.mark.parametrize("order", "CF")
def test_round_trip_keeps_dtype_and_layout(dtype, order):
    host = np.asarray(np.arange(12).reshape(3, 4).astype(dtype), order=order)
    device = cuda.to_device(host)
    result = device.copy_to_host()
    assert result.dtype == host.dtype and result.strides == host.strides
    assert (result == host).all()


def test_attributes_are_numpys():
    host = np.zeros((3, 4), np.float32)
    device = cuda.to_device(host)
    for name in ("shape", "strides", "dtype", "size", "ndim", "nbytes"):
        assert getattr(device, name) == getattr(host, name), name
    assert len(device) == 3 and device.is_c_contiguous() and not device.is_f_contiguous()
    interface = device.__cuda_array_interface__
    assert interface["shape"] == (3, 4) and interface["typestr"] == "<f4" and interface["strides"] is None
    assert interface["data"][0] != 0 and interface["version"] == 3


INDEX = st.one_of(st.integers(-4, 3), st.slices(4))


@settings(max_examples=150, deadline=None)
@given(index=st.tuples(INDEX, INDEX), order=st.sampled_from("CF"))
def test_indexing_is_numpys(index, order):
    host = np.asarray(np.arange(16.0).reshape(4, 4), order=order)
    device = cuda.to_device(host)
    expected, got = host[index], device[index]
    if np.ndim(expected) == 0:
        assert got == expected and isinstance(got, np.float64)
    else:
        assert got.shape == expected.shape
        np.testing.assert_array_equal(got.copy_to_host(), expected)


@settings(max_examples=100, deadline=None)
@given(index=st.tuples(INDEX, INDEX), order=st.sampled_from("CF"))
def test_assignment_is_numpys(index, order):
    host = np.asarray(np.arange(16.0).reshape(4, 4), order=order)
    device = cuda.to_device(host)
    host[index] = -1
    device[index] = -1
    np.testing.assert_array_equal(device.copy_to_host(), host)


def test_assignment_broadcasts_and_takes_device_arrays():
    device = cuda.to_device(np.zeros((2, 3)))
    device[:, 1:] = np.array([1.0, 2.0])
    device[0] = cuda.to_device(np.full(3, 9.0))
    np.testing.assert_array_equal(device.copy_to_host(), [[9, 9, 9], [0, 1, 2]])


def test_views_share_memory():
    device = cuda.to_device(np.zeros((4, 4)))
    device.T[1, :] = 5
    assert device.copy_to_host()[:, 1].tolist() == [5] * 4
    device.reshape(16)[0] = 7
    device.ravel()[1] = 8
    assert device[0, 0] == 7 and device[0, 1] == 8
    assert device.reshape(2, -1).shape == (2, 8)
    assert device.view(np.int64)[0, 0] == np.float64(7).view(np.int64)
    assert device.view(np.int32).shape == (4, 8)


def test_split_gives_views():
    device = cuda.to_device(np.arange(10))
    assert [part.copy_to_host().tolist() for part in device.split(4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


@pytest.mark.parametrize(
    "action, error",
    [
        (lambda d: d[4], IndexError),
        (lambda d: d[0, 0, 0], IndexError),
        (lambda d: d[..., ...], IndexError),
        (lambda d: d[[0, 1]], NotImplementedError),
        (lambda d: d.reshape(5), ValueError),
        (lambda d: d[:, ::2].reshape(8), NotImplementedError),
        (lambda d: d.transpose((0, 0)), ValueError),
        (lambda d: d.copy_to_host(np.zeros((4, 4), np.float32)), TypeError),
        (lambda d: d.copy_to_host(np.zeros(16)), ValueError),
        (lambda d: d.copy_to_host([1]), TypeError),
        (lambda d: d.copy_to_device(np.zeros((4, 4), np.int64)), TypeError),
        (lambda d: d.copy_to_device(np.zeros(3)), ValueError),
        (lambda d: d.__setitem__(0, np.zeros(3)), ValueError),
        (lambda d: cuda.to_device(np.zeros(10)[::2]), ValueError),
        (lambda d: cuda.to_device(np.array([object()])), TypeError),
        (lambda d: cuda.device_array(-1), ValueError),
        (lambda d: cuda.device_array(3, order="K"), ValueError),
        (lambda d: cuda.as_cuda_array(np.zeros(3)), TypeError),
    ],
)
def test_wrong_use_is_refused(action, error):
    device = cuda.to_device(np.zeros((4, 4)))
    with pytest.raises(error):
        action(device)
    assert (device.copy_to_host() == 0).all()


def test_copy_to_host_fills_the_given_array():
    device = cuda.to_device(np.arange(6.0).reshape(2, 3))
    for target in (np.empty((2, 3)), np.empty((2, 3), order="F"), np.empty((4, 3))[::2]):
        assert device.copy_to_host(target) is target
        np.testing.assert_array_equal(target, np.arange(6.0).reshape(2, 3))


def test_copy_to_device_takes_host_and_device_arrays():
    device = cuda.device_array((2, 3))
    device.copy_to_device(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    other = cuda.device_array((2, 3), order="F")
    other.copy_to_device(device)
    np.testing.assert_array_equal(other.copy_to_host(), np.arange(6.0).reshape(2, 3))
    assert cuda.to_device(np.ones((2, 3)), to=device) is device
    assert (device.copy_to_host() == 1).all()


def test_fresh_memory_holds_a_poison_pattern():
    assert np.isnan(cuda.device_array(100).copy_to_host()).all()
    assert np.isnan(cuda.device_array(100, np.float32).copy_to_host()).all()
    assert (cuda.device_array(100, np.int32).copy_to_host() != 0).all()


def test_like_keeps_shape_dtype_and_order():
    made = cuda.device_array_like(np.zeros((2, 3), np.int16, order="F"))
    assert (made.shape, made.dtype, made.layout) == ((2, 3), np.int16, "F")
    assert cuda.device_array_like(cuda.device_array(5, np.int8)).dtype == np.int8


def test_empty_arrays():
    device = cuda.to_device(np.zeros((0, 3)))
    assert device.size == 0 and device.copy_to_host().shape == (0, 3)
    device[:] = 1
    assert cuda.device_array(0).copy_to_host().shape == (0,)


def test_memory_is_freed_with_the_last_view():
    gc.collect()
    before = cuda.current_context().get_memory_info().free
    device = cuda.device_array(1 << 20, np.uint8)
    view = device[10:20]
    del device
    gc.collect()
    assert cuda.current_context().get_memory_info().free < before
    view[0] = 1
    del view
    gc.collect()
    assert cuda.current_context().get_memory_info().free == before


def test_out_of_memory_names_the_limit():
    with pytest.raises(CudaAPIError) as caught:
        cuda.device_array(1 << 42, np.uint8)
    assert caught.value.code == 2
    assert "cuMemAlloc" in str(caught.value) and "CUDA_ERROR_OUT_OF_MEMORY" in str(caught.value)
    assert "free" in str(caught.value)


def test_arrays_convert_to_numpy():
    device = cuda.to_device(np.arange(3))
    assert np.asarray(device).tolist() == [0, 1, 2]
    assert np.asarray(device, dtype=np.float64).dtype == np.float64
    assert list(device) == [0, 1, 2]


def test_wrapping_the_array_interface_shares_memory():
    class Foreign:
        def __init__(self, array):
            self.keeps = array
            self.__cuda_array_interface__ = array.__cuda_array_interface__

    device = cuda.to_device(np.arange(4))
    cuda.as_cuda_array(Foreign(device))[0] = 42
    assert device[0] == 42 and cuda.is_cuda_array(device) and not cuda.is_cuda_array(np.zeros(1))
