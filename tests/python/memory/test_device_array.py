"""Device arrays: copies, views and what is refused, each compared with NumPy."""

import gc
import pickle

import numpy as np
import pytest
from cudasim import cuda
from cudasim.cuda import cudadrv
from cudasim.errors import CudaAPIError, TypingError
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
        if any(stride < 0 for stride in got.strides):
            with pytest.raises(NotImplementedError, match="negative strides"):  # as numba.cuda
                got.copy_to_host()
            got = got[tuple(slice(None, None, -1 if stride < 0 else 1) for stride in got.strides)]
            expected = expected[tuple(slice(None, None, -1 if s < 0 else 1) for s in expected.strides)]
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


def test_assignment_wants_a_shape_that_fits():
    device = cuda.to_device(np.zeros((2, 3)))
    with pytest.raises(ValueError, match="Can't assign 2-D array to 1-D self"):
        device[0] = np.zeros((1, 3))
    with pytest.raises(ValueError, match="Can't copy sequence with size 2 to array axis 1 with dimension 3"):
        device[:] = np.zeros(2)
    with pytest.raises(ValueError, match="ascontiguousarray"):
        device[0] = np.zeros(6)[::2]
    assert (device.copy_to_host() == 0).all()


def test_assignment_converts_as_a_kernel_would():
    device = cuda.to_device(np.zeros(3, np.int32))
    device[:] = np.array([1.9, -1.9, 3.0])
    assert device.copy_to_host().tolist() == [1, -1, 3]
    device[1] = cuda.to_device(np.array(7.5))
    assert device[1] == 7


def test_views_share_memory():
    device = cuda.to_device(np.zeros((4, 4)))
    device.reshape(16)[0] = 7
    device.ravel()[1] = 8
    device[:, 1:3][2, 1] = 9
    assert device[0, 0] == 7 and device[0, 1] == 8 and device[2, 2] == 9
    assert device.reshape(2, -1).shape == (2, 8)
    assert device.view(np.int64)[0, 0] == np.float64(7).view(np.int64)
    assert device.view(np.int32).shape == (4, 8)
    device.bind(cuda.stream())[3, 3] = 1
    assert device[3, 3] == 1


def test_transposing_copies_two_dimensions():
    # As in numba.cuda a kernel writes a new C-contiguous array.
    host = np.arange(6.0).reshape(2, 3)
    device = cuda.to_device(host)
    transposed = device.T
    assert transposed.is_c_contiguous() and device.transpose((0, 1)) is device
    np.testing.assert_array_equal(transposed.copy_to_host(), host.T)
    transposed[0, 0] = 100
    assert device[0, 0] == 0
    np.testing.assert_array_equal(device[:, 1:].T.copy_to_host(), host[:, 1:].T)


def test_squeeze_drops_axes_of_one():
    device = cuda.to_device(np.arange(6.0).reshape(1, 2, 1, 3))
    assert device.squeeze().shape == (2, 3)
    assert device.squeeze(0).shape == (2, 1, 3) and device.squeeze((0, -2)).shape == (2, 3)
    device.squeeze()[1, 2] = 50
    assert device[0, 1, 0, 2] == 50


SHAPES = [(12,), (3, 4), (4, 3), (2, 6), (2, 3, 2), (1, 12), (12, 1), (2, 1, 6), (3, 2, 2), (6, 2)]


@settings(max_examples=200, deadline=None)
@given(
    old=st.sampled_from(SHAPES),
    new=st.sampled_from(SHAPES),
    padding=st.lists(st.integers(0, 1), min_size=3, max_size=3),
    order=st.sampled_from("CF"),
)
def test_a_strided_array_is_reshaped_where_numpy_needs_no_copy(old, new, padding, order):
    big = np.arange(np.prod([extent + pad for extent, pad in zip(old, padding)]), dtype=float)
    big = big.reshape([extent + pad for extent, pad in zip(old, padding)])
    index = tuple(slice(0, extent) for extent in old)
    host, device = big[index], cuda.to_device(big)[index]
    if device.layout != "A":
        return  # elements of a contiguous array are taken in the order of memory
    expected = host.reshape(new, order=order)
    if np.shares_memory(expected, host):
        np.testing.assert_array_equal(device.reshape(new, order=order).copy_to_host(), expected)
    else:
        with pytest.raises(NotImplementedError, match="require copy"):
            device.reshape(new, order=order)


def test_reshaping_a_contiguous_array_keeps_the_order_of_memory():
    device = cuda.to_device(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    assert device.reshape(6).copy_to_host().tolist() == [0, 3, 1, 4, 2, 5]
    assert device.ravel("F").copy_to_host().tolist() == [0, 3, 1, 4, 2, 5]
    with pytest.raises(NotImplementedError, match="ravel on non-contiguous"):
        device.ravel()


def test_split_gives_views():
    device = cuda.to_device(np.arange(10))
    assert [part.copy_to_host().tolist() for part in device.split(4)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


@pytest.mark.parametrize(
    "action, error",
    [
        (lambda d: d[4], IndexError),
        (lambda d: d[0, 0, 0], IndexError),
        (lambda d: d[..., ...], IndexError),
        (lambda d: d[[0, 1]], TypeError),
        (lambda d: d[None], TypeError),
        (lambda d: d[1.0], TypeError),
        (lambda d: d.reshape(5), ValueError),
        (lambda d: d[:, :3].reshape(12), NotImplementedError),
        (lambda d: d.reshape(16, order="K"), ValueError),
        (lambda d: d.transpose((0, 0)), ValueError),
        (lambda d: d.reshape(16).T, NotImplementedError),
        (lambda d: d.squeeze(0), ValueError),
        (lambda d: d.view("V3"), ValueError),
        (lambda d: d[:, ::2].view(np.int32), ValueError),
        (lambda d: list(d.split(2)), ValueError),
        (lambda d: list(d.reshape(16)[::2].split(2)), ValueError),
        (lambda d: d.copy_to_host(np.zeros((4, 4), order="F")), ValueError),
        (lambda d: d[::2].copy_to_device(np.ones((2, 4))), ValueError),
        (lambda d: d.copy_to_device(cuda.to_device(np.ones((4, 4), order="F"))), ValueError),
        (lambda d: pickle.dumps(d), TypeError),
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
        (lambda d: cuda.device_array(3.0), TypeError),
        (lambda d: cuda.device_array("3"), TypeError),
        (lambda d: cuda.device_array(np.array([3.0])), TypeError),
        (lambda d: cuda.device_array((1 << 40, 1 << 40)), CudaAPIError),
        (lambda d: d.__setitem__((0, 0), None), TypingError),
        (lambda d: d.__setitem__((0, 0), 1j), TypingError),
        (lambda d: d.__setitem__((0, 0), "a"), ValueError),
        (lambda d: cuda.device_array((3, 4), strides=(8,)), ValueError),
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
    target = np.empty((2, 3))
    assert device.copy_to_host(target, stream=cuda.stream()) is target
    np.testing.assert_array_equal(target, np.arange(6.0).reshape(2, 3))
    target = np.empty((1, 2, 3))
    device.copy_to_host(ary=target)
    np.testing.assert_array_equal(target[0], np.arange(6.0).reshape(2, 3))


def test_copy_to_host_of_a_strided_view_takes_its_elements_only():
    device = cuda.to_device(np.arange(10))
    assert device[2:10:2].copy_to_host().tolist() == [2, 4, 6, 8]
    target = np.full(8, -1)[::2]
    device[2:10:2].copy_to_host(target)
    assert target.base.tolist() == [2, -1, 4, -1, 6, -1, 8, -1]


@pytest.mark.parametrize(
    "other, error, words",
    [
        (np.zeros((2, 3), np.float32), TypeError, "incompatible dtype: float64 vs. float32"),
        (np.zeros((3, 2)), ValueError, r"incompatible shape: \(2, 3\) vs. \(3, 2\)"),
        (np.zeros((2, 3), order="F"), ValueError, "incompatible strides"),
    ],
)
def test_incompatible_arrays_are_refused_in_numbas_words(other, error, words):
    device = cuda.to_device(np.zeros((2, 3)))
    with pytest.raises(error, match=words):
        device.copy_to_host(other)
    with pytest.raises(error, match=words):
        device.copy_to_device(cuda.to_device(other))


def test_copy_to_device_takes_host_and_device_arrays():
    device = cuda.device_array((2, 3))
    device.copy_to_device(np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    other = cuda.device_array((2, 3))
    other.copy_to_device(device)
    np.testing.assert_array_equal(other.copy_to_host(), np.arange(6.0).reshape(2, 3))
    other.copy_to_device(np.arange(12.0).reshape(2, 6)[:, ::2], stream=cuda.stream())
    np.testing.assert_array_equal(other.copy_to_host(), [[0, 2, 4], [6, 8, 10]])
    assert cuda.to_device(np.ones((2, 3)), to=device) is device
    assert (device.copy_to_host() == 1).all()
    assert (cuda.to_device(np.zeros((2, 3)), to=device, copy=False).copy_to_host() == 1).all()
    assert cuda.to_device(np.zeros(2), copy=False).shape == (2,)


def test_arrays_that_repeat_themselves_are_copied_once():
    device = cuda.to_device(np.broadcast_to(np.arange(3.0), (4, 3)))
    assert device.strides == (0, 8) and device.alloc_size == 24
    assert device.copy_to_host().tolist() == [[0, 1, 2]] * 4


def test_strides_can_be_given():
    device = cuda.device_array((2, 3), np.int32, strides=(24, 8))
    device[:] = np.arange(6).reshape(2, 3)
    assert device.layout == "A" and device.alloc_size == 44 and device.nbytes == 24
    assert device.copy_to_host().tolist() == [[0, 1, 2], [3, 4, 5]]
    assert cuda.device_array(3, strides=16).strides == (16,)
    assert cuda.device_array(np.array([2, 3])).shape == cuda.device_array(range(2, 4)).shape == (2, 3)


def test_arrays_without_dimensions():
    device = cuda.to_device(np.float32(2.5))
    assert device.shape == () and device[()] == 2.5 and device.copy_to_host() == 2.5
    device[()] = 3
    assert device[()] == 3 and cuda.to_device(7).dtype == np.int64


def test_sequences_and_subclasses_become_arrays():
    assert cuda.to_device([[1, 2], [3, 4]]).copy_to_host().tolist() == [[1, 2], [3, 4]]
    assert cuda.to_device(np.matrix([[1, 2]])).shape == (1, 2)
    assert cuda.to_device(range(3)).copy_to_host().tolist() == [0, 1, 2]
    assert cuda.to_device(memoryview(b"ab")).dtype == np.uint8


def test_structured_arrays_can_be_copied():
    host = np.array([(1, 2.5), (3, 4.5)], dtype=[("a", "i4"), ("b", "f8")])
    device = cuda.to_device(host)
    assert (device.copy_to_host() == host).all() and device[1]["b"] == 4.5


def test_device_memory_as_a_pointer():
    pointer = cuda.current_context().memalloc(16)
    pointer.memset(0)
    device = cudadrv.devicearray.DeviceNDArray((4,), (4,), np.int32, gpu_data=pointer)
    device[1] = 5
    assert device.copy_to_host().tolist() == [0, 5, 0, 0]
    assert device.gpu_data is pointer and device.device_ctypes_pointer.value == int(pointer)
    pointer.view(8).memset(255)
    assert device[2] == -1
    with pytest.raises(RuntimeError, match="not inside"):
        pointer.view(8, 17)
    with pytest.raises(CudaAPIError):
        cuda.MemoryPointer(cuda.current_context(), int(pointer), 1 << 20).memset(0)


def test_fresh_memory_holds_a_poison_pattern():
    assert np.isnan(cuda.device_array(100).copy_to_host()).all()
    assert np.isnan(cuda.device_array(100, np.float32).copy_to_host()).all()
    assert (cuda.device_array(100, np.int32).copy_to_host() != 0).all()


def test_like_keeps_shape_dtype_and_order():
    made = cuda.device_array_like(np.zeros((2, 3), np.int16, order="F"))
    assert (made.shape, made.dtype, made.layout) == ((2, 3), np.int16, "F")
    assert cuda.device_array_like(cuda.device_array(5, np.int8)).dtype == np.int8
    assert cuda.pinned_array_like(np.zeros((2, 3), np.int16, order="F")).flags.f_contiguous


@pytest.mark.parametrize("axes", [(0, 1, 2), (2, 0, 1), (1, 2, 0), (2, 1, 0), (0, 2, 1)])
def test_like_keeps_the_order_of_axes(axes):
    host = np.zeros((2, 3, 4), np.float32).transpose(axes)
    assert cuda.device_array_like(host).strides == np.empty_like(host).strides
    strided = np.zeros((4, 6, 8), np.float32)[::2, ::2, ::2].transpose(axes)
    assert cuda.device_array_like(strided).strides == np.empty_like(strided).strides
    assert cuda.pinned_array_like(strided).strides == np.empty_like(strided).strides


def test_empty_arrays():
    device = cuda.to_device(np.zeros((0, 3)))
    assert device.size == 0 and device.copy_to_host().shape == (0, 3)
    device[:] = 1
    assert cuda.device_array(0).copy_to_host().shape == (0,)


def free_memory():
    gc.collect()
    cuda.current_context().memory_manager.deallocations.clear()
    return cuda.current_context().get_memory_info().free


def test_memory_is_freed_with_the_last_view():
    before = free_memory()
    device = cuda.device_array(1 << 20, np.uint8)
    view = device[10:20]
    del device
    assert free_memory() < before
    view[0] = 1
    del view
    assert free_memory() == before


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
    assert cuda.to_device(Foreign(device[1::2])).strides == (16,)
    device[2:] = Foreign(device[:2])
    device.copy_to_device(Foreign(cuda.to_device(device.copy_to_host() + 1)))
    assert device.copy_to_host().tolist() == [43, 2, 43, 2]


def test_the_array_interface_says_what_version_3_asks():
    stream = cuda.stream()
    device = cuda.to_device(np.zeros((2, 3), np.int16), stream=stream)
    interface = device[:, ::2].__cuda_array_interface__
    assert interface["strides"] == (6, 4) and interface["data"] == (int(device.gpu_data), False)
    assert interface["typestr"] == "<i2" and interface["version"] == 3 and interface["stream"] == int(stream)
    assert device[0:0].__cuda_array_interface__["data"] == (0, False)
    for default in (0, cuda.default_stream()):  # 0 is not allowed
        assert cuda.to_device(np.zeros(1), default).__cuda_array_interface__["stream"] is None


def test_interfaces_with_a_mask_are_refused_and_empty_ones_accepted():
    device = cuda.to_device(np.zeros(4))
    interface = {**device.__cuda_array_interface__, "mask": device}
    with pytest.raises(NotImplementedError, match="[Mm]ask"):
        cuda.from_cuda_array_interface(interface)
    empty = {"shape": (0, 3), "typestr": "<f4", "data": (0, True), "version": 3}
    assert cuda.from_cuda_array_interface(empty).copy_to_host().shape == (0, 3)
    negative = {**device.__cuda_array_interface__, "strides": (-8,)}
    negative["data"] = (int(device.gpu_data) + 24, False)
    device[3] = 9
    assert cuda.from_cuda_array_interface(negative, owner=device)[0] == 9


@cuda.jit
def store(x):
    x[0] = 1


class Described:
    def __init__(self, address, dtype="<f8", shape=(2,), **more):
        self.__cuda_array_interface__ = {
            "shape": shape,
            "typestr": dtype,
            "data": (address, False),
            "version": 3,
            **more,
        }


def test_foreign_memory_must_be_device_memory_when_a_kernel_gets_it():
    host, device = np.zeros(2), cuda.to_device(np.zeros(2))
    address = int(device.gpu_data)
    for wrong in (host.ctypes.data, 0, 12345, address + 8, address - 8):
        for form in (
            Described(wrong),
            cuda.as_cuda_array(Described(wrong)),
            cuda.as_cuda_array(Described(wrong))[:],
        ):
            with pytest.raises(CudaAPIError, match="passed for 'x' is not in device memory") as caught:
                store[1, 1](form)
            assert caught.value.code == 700 and isinstance(caught.value, MemoryError)
    assert (host == 0).all()
    store[1, 1](Described(address, strides=(8,)))
    store[1, 1](Described(address + 8, shape=(1,)))
    assert device.copy_to_host().tolist() == [1, 1]
    foreign = cuda.as_cuda_array(Described(address))
    del device
    free_memory()
    with pytest.raises(CudaAPIError, match="not in device memory"):
        store[1, 1](foreign)


def test_misaligned_elements_are_reported():
    memory = cuda.to_device(np.zeros(40, np.uint8))
    for wrong in (
        memory[4:12].view(np.float64),
        memory[1:3].view(np.int16),
        Described(int(memory.gpu_data) + 4),
    ):
        with pytest.raises(CudaAPIError, match="not aligned") as caught:
            store[1, 1](wrong)
        assert caught.value.code == 716
    store[1, 1](memory[8:16].view(np.float64))
    assert memory.view(np.float64)[1] == 1


def test_numbers_that_no_memory_can_have_are_refused():
    for action in (
        lambda: cuda.as_cuda_array(Described(0, shape=(1 << 70,))),
        lambda: cuda.device_array(3, strides=(1 << 70,)),
        lambda: cuda.current_context().memalloc(-1),
        lambda: cuda.as_cuda_array(Described(0, shape=(-1,))),
    ):
        with pytest.raises(ValueError):
            action()
    with pytest.raises(TypeError):
        cuda.device_array(3, strides=(8.5,))
    reverse = cuda.device_array(3, strides=-8)
    reverse[:] = np.arange(3.0)
    assert reverse[::-1].copy_to_host().tolist() == [2, 1, 0]
