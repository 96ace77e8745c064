"""Mapped, managed and page-locked memory: who sees what without a copy, and what is refused
(Numba documentation, "Memory Management"; CUDA Driver API, "Memory Management")."""

import gc

import numpy as np
import pytest
from cudasim import cuda
from cudasim.cuda.cudadrv import devicearray, driver
from cudasim.device import host_visible
from cudasim.errors import CudaAPIError


@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


@cuda.jit
def write_at(x, i):
    x[i] = 7


@pytest.fixture(params=["native", "python"])
def mode(request):
    from cudasim import options

    with options.override(mode=request.param):
        yield request.param


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array])
def test_kernel_writes_are_seen_without_a_copy(make, mode):
    array = make(10, np.int32)
    array[:] = range(10)
    add_one[1, 32](array)
    assert isinstance(array, np.ndarray) and array.tolist() == list(range(1, 11))
    array[3] = 50
    add_one[1, 32](array)
    assert array.tolist() == [2, 3, 4, 51, 6, 7, 8, 9, 10, 11]


def test_classes_are_numba_cudas():
    mapped, managed = cuda.mapped_array(3), cuda.managed_array(3)
    assert type(mapped) is devicearray.MappedNDArray and type(managed) is devicearray.ManagedNDArray
    for array in (mapped, managed):
        assert isinstance(array, devicearray.DeviceNDArrayBase) and isinstance(array, np.ndarray)
        assert devicearray.is_cuda_ndarray(array) and driver.is_device_memory(array)
        assert cuda.is_cuda_array(array) and array.dtype == np.float64
        assert array.device_ctypes_pointer.value == array.ctypes.data
        assert array.__cuda_array_interface__["data"] == (array.ctypes.data, False)
        assert cuda.to_device(array) is array  # it is on the device
    assert not driver.is_device_memory(cuda.pinned_array(3))
    assert type(cuda.pinned_array(3)) is np.ndarray


@pytest.mark.parametrize(
    "make", [cuda.mapped_array, cuda.managed_array, cuda.pinned_array, cuda.device_array]
)
def test_shapes_orders_and_strides(make):
    assert make((2, 3), np.int16).strides == (6, 2)
    assert make((2, 3), np.int16, order="F").strides == (2, 4)
    assert make(4, np.int16, strides=6).strides == (6,)
    assert make((2, 2), np.int16, strides=(8, 2)).strides == (8, 2)
    assert make((), np.float32).shape == () and make((0, 3)).size == 0
    assert make(np.int64(3)).shape == (3,) and make([2, 2]).shape == (2, 2)
    for wrong in (2.0, np.float32(1), np.array([1.5, 2.0])):
        with pytest.raises(TypeError):
            make(wrong)
    with pytest.raises(ValueError, match="order"):
        make(3, order="X")
    with pytest.raises(TypeError, match="Python objects"):
        make(3, dtype=object)


@pytest.mark.parametrize("like", [cuda.mapped_array_like, cuda.pinned_array_like, cuda.device_array_like])
def test_like_takes_shape_dtype_and_layout(like):
    for model in (
        np.zeros((2, 3), np.int16),
        np.zeros((2, 3), np.int16, order="F"),
        np.zeros((4, 6, 2))[::2, ::3],
        np.zeros((2, 3, 4)).transpose(2, 0, 1),
        np.broadcast_to(np.zeros(3), (2, 3)),
        cuda.device_array((3, 4), np.float32, order="F"),
        np.zeros(()),
    ):
        made = like(model)
        assert made.shape == model.shape and made.dtype == model.dtype
        expected = np.empty_like(
            np.empty(model.shape) if isinstance(model, devicearray.DeviceNDArray) else model
        )
        if isinstance(model, np.ndarray):
            assert made.strides == expected.strides
        else:
            assert made.strides == model.strides


def test_views_of_mapped_memory_are_mapped(mode):
    array = cuda.mapped_array((4, 4), np.int64)
    array[:] = 0
    row = array[2]
    add_one[1, 32](row)
    add_one[1, 32](array[0, ::2])
    assert isinstance(row, devicearray.MappedNDArray)
    np.testing.assert_array_equal(np.array(array), [[1, 0, 1, 0], [0] * 4, [1] * 4, [0] * 4])


def test_what_numpy_makes_of_mapped_memory_is_copied_as_any_host_array(mode):
    array = cuda.mapped_array(4, np.int64)
    array[:] = 1
    other = array * 2  # of the same class, in memory of its own
    add_one[1, 32](other)
    assert other.tolist() == [3] * 4 and array.tolist() == [1] * 4


def test_device_arrays_over_mapped_memory():
    array = cuda.mapped_array((2, 3), np.int32)
    array[:] = np.arange(6).reshape(2, 3)
    device = array.view(np.int16)
    assert isinstance(device, devicearray.DeviceNDArray) and device.shape == (2, 6)
    device[0, 0] = 99
    assert array[0, 0] == 99
    assert array.T.copy_to_host().tolist() == [[99, 3], [1, 4], [2, 5]]
    assert type(array.view(np.ndarray)) is np.ndarray
    flat = cuda.mapped_array(5)
    flat[:] = range(5)
    assert [part.copy_to_host().tolist() for part in flat.split(2)] == [[0, 1], [2, 3], [4]]
    assert array[:1].squeeze().shape == (3,)
    host = array.copy_to_host()
    assert type(host) is np.ndarray and host.tolist() == array.tolist()
    array.copy_to_device(np.zeros((2, 3), np.int32))
    assert not array.any()


def test_mapping_host_arrays_for_a_while(mode):
    a, b = np.zeros(5), np.arange(6, dtype=np.int32).reshape(2, 3)
    with cuda.mapped(a) as on_device:
        assert isinstance(on_device, devicearray.DeviceNDArray)
        add_one[1, 32](on_device)
        assert a.tolist() == [1] * 5
    with cuda.mapped(a, b, stream=cuda.stream()) as (first, second):
        add_one[1, 32](first)
        add_one[1, 32](second[1])
    assert a.tolist() == [2] * 5 and b.tolist() == [[0, 1, 2], [4, 5, 6]]


def test_unmapped_memory_is_host_memory_again(mode):
    a = np.zeros(5)
    with cuda.mapped(a) as on_device:
        pass
    with pytest.raises(CudaAPIError, match="not in device memory") as caught:
        add_one[1, 32](on_device)
    assert caught.value.code == 700 and not a.any()
    with cuda.mapped(a) as again:  # the memory can be mapped another time
        add_one[1, 32](again)
    assert a.tolist() == [1] * 5


def test_mapping_ends_with_an_exception():
    a = np.zeros(5)
    with pytest.raises(KeyError), cuda.mapped(a):
        raise KeyError
    with cuda.mapped(a):
        pass


def test_memory_is_locked_once_at_a_time():
    a = np.zeros(8)
    for first in (cuda.pinned, cuda.mapped):
        for second in (cuda.pinned, cuda.mapped):
            with first(a), pytest.raises(CudaAPIError) as caught:
                second(a[2:4]).__enter__()
            assert caught.value.code == 712 and "ALREADY_REGISTERED" in str(caught.value)
    with cuda.pinned(a, np.zeros(3)), cuda.pinned(np.zeros(2)):
        pass
    assert not host_visible.overlapping(a.ctypes.data, a.nbytes)


def test_page_locked_memory_is_not_mapped():
    a = cuda.pinned_array(4, np.int64)
    a[:] = 1
    assert host_visible.find(a.ctypes.data + 8).kind == "pinned"
    add_one[1, 32](a)  # copied
    assert a.tolist() == [2] * 4
    with pytest.raises(CudaAPIError, match="not mapped"):
        driver.driver.cuMemHostGetDevicePointer(a.ctypes.data, 0)
    only_the_class = np.ndarray.view(a, devicearray.MappedNDArray)
    add_one[1, 32](only_the_class)
    assert a.tolist() == [3] * 4 and not cuda.is_cuda_array(only_the_class)
    mapped = cuda.mapped_array(4)
    assert int(driver.driver.cuMemHostGetDevicePointer(mapped.ctypes.data, 0)) == mapped.ctypes.data


def test_accesses_beyond_mapped_memory_are_faults():
    @cuda.jit
    def beyond(x, n):
        cuda.atomic.add(x, 0, 1)
        y = x[:n]
        y[n - 1] = 1

    a = np.zeros(6)
    with cuda.mapped(a[:4]) as part:
        wider = cuda.from_cuda_array_interface({**part.__cuda_array_interface__, "shape": (6,)}, owner=part)
        with pytest.raises(CudaAPIError, match="not in device memory"):
            beyond[1, 1](wider, 6)
    assert not a.any()


@pytest.mark.parametrize("make", [cuda.mapped_array, cuda.managed_array])
def test_the_array_keeps_its_memory(make):
    array = make(1000, np.int32)
    address = array.ctypes.data
    part = array[10:20]
    part[:] = 5
    del array
    gc.collect()
    cuda.current_context().memory_manager.deallocations.clear()
    assert part.tolist() == [5] * 10 and host_visible.find(address) is not None
    add_one[1, 32](part)
    assert part.tolist() == [6] * 10
    on_device = part.view(np.int32)
    del part
    gc.collect()
    cuda.current_context().memory_manager.deallocations.clear()
    assert on_device[0] == 6
    del on_device
    gc.collect()
    cuda.current_context().memory_manager.deallocations.clear()
    assert host_visible.find(address) is None


def test_host_memory_does_not_count_as_the_devices():
    free = cuda.current_context().get_memory_info().free
    kept = cuda.mapped_array(1 << 16), cuda.managed_array(1 << 16), cuda.pinned_array(1 << 16)
    assert cuda.current_context().get_memory_info().free == free
    del kept


def test_fresh_memory_is_poisoned():
    for make in (cuda.mapped_array, cuda.managed_array):
        assert np.isnan(np.asarray(make(4))).all()


def test_buffers_of_the_context():
    context = cuda.current_context()
    mapped = context.memhostalloc(40, mapped=True)
    view = np.ndarray(shape=10, dtype=np.int32, buffer=mapped)
    driver.device_memset(mapped, 1, 40)
    assert (view == 0x01010101).all() and mapped.host_pointer == mapped.device_ctypes_pointer.value
    managed = context.memallocmanaged(16)
    bytes_of_it = np.ndarray(16, np.uint8, buffer=managed)
    bytes_of_it[:] = range(16)
    copy = np.zeros(16, np.uint8)
    driver.device_to_host(copy, managed, 16)
    assert copy.tolist() == list(range(16))
    pinned = context.memhostalloc(8)
    assert np.ndarray(8, np.uint8, buffer=pinned).ctypes.data == pinned.host_pointer
    host = np.arange(4.0)
    registered = context.mempin(host, host.ctypes.data, host.nbytes, mapped=True)
    assert np.ndarray(4, buffer=registered).tolist() == [0, 1, 2, 3]
    context.memunpin(host.ctypes.data)
    with pytest.raises(CudaAPIError) as caught:
        context.memunpin(host.ctypes.data)
    assert caught.value.code == 713


def test_too_much_host_memory():
    for make, call in (
        (cuda.mapped_array, "cuMemHostAlloc"),
        (cuda.managed_array, "cuMemAllocManaged"),
        (cuda.pinned_array, "cuMemHostAlloc"),
    ):
        with pytest.raises(CudaAPIError) as caught:
            make(1 << 50)
        assert caught.value.code == 2 and call in str(caught.value) and "OUT_OF_MEMORY" in str(caught.value)


def test_read_only_memory_cannot_be_mapped():
    host = np.zeros(3)
    host.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"), cuda.mapped(host):
        pass
    with pytest.raises(TypeError, match="NumPy arrays"), cuda.pinned([1, 2]):
        pass


def test_in_out_and_streams_take_mapped_arrays():
    array = cuda.mapped_array(3, np.int64, stream=cuda.stream())
    array[:] = 0
    for wrap in (cuda.In, cuda.Out, cuda.InOut):
        add_one[1, 32](wrap(array))
    assert array.tolist() == [3] * 3 and int(array[:2].stream) == int(array.stream) != 0
    assert int(array.bind(0).stream) == 0


def test_mapped_records():
    array = cuda.mapped_array(2, np.dtype([("a", np.int32), ("b", np.float64)]))
    array["a"] = 3
    add_one[1, 32](array["a"])
    assert array["a"].tolist() == [4, 4]
    assert cuda.as_cuda_array(array)[1]["a"] == 4
