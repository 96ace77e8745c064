"""The CUDA array interface, version 3: what is exported, what is taken, streams
(Numba documentation, "CUDA Array Interface (Version 3)")."""

import numpy as np
import pytest
from cudasim import cuda, options
from cudasim.cuda.cudadrv import devicearray, driver
from cudasim.cuda.testing import ForeignArray
from cudasim.errors import CudaAPIError


@cuda.jit
def add_one(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1


class Library:
    """An array of another library."""

    def __init__(self, array, **changes):
        self.keeps = array
        self.description = {**array.__cuda_array_interface__, **changes}

    @property
    def __cuda_array_interface__(self):
        return self.description


@pytest.fixture
def synchronised(monkeypatch):
    """The streams that are waited for."""
    streams = []
    real = driver.Stream.synchronize
    monkeypatch.setattr(driver.Stream, "synchronize", lambda self: (streams.append(int(self)), real(self))[1])
    return streams


def test_other_librarys_arrays_are_arguments_without_a_copy():
    array = cuda.to_device(np.arange(10.0))
    add_one[1, 32](Library(array))
    add_one[1, 32](Library(array[::3]))
    assert array.copy_to_host().tolist() == [2, 2, 3, 5, 5, 6, 8, 8, 9, 11]
    for wrap in (cuda.In, cuda.Out, cuda.InOut):
        add_one[1, 32](wrap(Library(array)))
    assert array[0] == 5


@pytest.mark.parametrize("mode", ["native", "python"])
def test_kernels_capture_whatever_has_an_interface(mode):
    array = cuda.to_device(np.arange(4.0))

    class Anything:
        """It answers to names that its class does not have."""

        def __getattr__(self, name):
            if name == "__cuda_array_interface__":
                return array.__cuda_array_interface__
            raise AttributeError(name)

    by_class, by_instance, by_any_name = Library(array), ForeignArray(array), Anything()

    @cuda.jit(device=True)
    def last():
        return by_any_name[-1]

    @cuda.jit
    def kernel(out):
        out[0] = by_class[1] + by_instance[2] + last()
        by_instance[0] = 9

    out = np.zeros(1)
    with options.override(mode=mode):
        kernel[1, 1](out)
    assert out[0] == 6 and array[0] == 9


def test_other_librarys_arrays_are_taken_by_host_functions():
    array = cuda.to_device(np.arange(6, dtype=np.float32).reshape(2, 3))
    other = Library(array)
    assert cuda.to_device(other).device_ctypes_pointer.value == array.device_ctypes_pointer.value
    made, changed = devicearray.auto_device(other)
    assert not changed and made.dtype == np.float32
    target = cuda.device_array((2, 3), np.float32)
    target.copy_to_device(other)
    assert (target.copy_to_host() == array.copy_to_host()).all()
    for like in (cuda.device_array_like, cuda.mapped_array_like, cuda.pinned_array_like):
        made = like(other)
        assert made.shape == (2, 3) and made.dtype == np.float32
    target[0] = Library(array[1])
    assert target[0].copy_to_host().tolist() == [3, 4, 5]


def test_arrays_over_the_same_memory():
    array = cuda.to_device(np.arange(10))
    for form in (cuda.as_cuda_array(array), cuda.as_cuda_array(Library(array)),
                 cuda.from_cuda_array_interface(array.__cuda_array_interface__, owner=array)):  # fmt: skip
        assert isinstance(form, devicearray.DeviceNDArray) and form is not array
        form[0] += 1
    assert array[0] == 3
    assert cuda.as_cuda_array(Library(array[2:8:2])).copy_to_host().tolist() == [2, 4, 6]
    flat = cuda.to_device(np.arange(6, dtype=np.int16).reshape(2, 3, order="F"))
    assert cuda.as_cuda_array(Library(flat)).is_f_contiguous()


def test_the_owner_is_kept():
    released = []

    class Owner(Library):
        def __del__(self):
            released.append(True)

    owner = Owner(cuda.to_device(np.arange(3)))
    array = cuda.as_cuda_array(owner)
    view = array[1:]
    del owner, array
    assert not released and view[0] == 1
    del view
    assert released


def test_the_stream_of_an_interface_is_waited_for(synchronised):
    array, stream = cuda.to_device(np.arange(3)), cuda.stream()
    other = Library(array, stream=int(stream))
    assert int(cuda.as_cuda_array(other).stream) == int(stream)
    assert synchronised == [int(stream)]
    cuda.as_cuda_array(other, sync=False)
    cuda.from_cuda_array_interface(other.__cuda_array_interface__, sync=False)
    assert len(synchronised) == 1
    cuda.from_cuda_array_interface(other.__cuda_array_interface__)
    assert len(synchronised) == 2
    cuda.as_cuda_array(Library(array))
    cuda.as_cuda_array(array)
    assert len(synchronised) == 2


def test_a_launch_waits_for_the_streams_of_its_arguments(synchronised):
    array, one, two = cuda.to_device(np.arange(3)), cuda.stream(), cuda.stream()

    @cuda.jit
    def both(x, y):
        x[0] = y[0]

    both[1, 1](Library(array, stream=int(one)), Library(array, stream=int(two)))
    assert {int(one), int(two)} <= set(synchronised)


def test_waiting_is_switched_off_by_numbas_option(synchronised, monkeypatch):
    array, stream = cuda.to_device(np.arange(3)), cuda.stream()
    monkeypatch.setattr(cuda.config, "CUDA_ARRAY_INTERFACE_SYNC", 0)
    other = Library(array, stream=int(stream))
    assert int(cuda.as_cuda_array(other).stream) == int(stream)
    add_one[1, 1](other)
    assert not synchronised


def test_the_stream_is_exported():
    stream = cuda.stream()
    assert cuda.device_array(3, stream=stream).__cuda_array_interface__["stream"] == int(stream)
    assert cuda.device_array(3).bind(stream).__cuda_array_interface__["stream"] == int(stream)
    assert cuda.device_array(3).__cuda_array_interface__["stream"] is None
    assert cuda.mapped_array(3, stream=stream).__cuda_array_interface__["stream"] == int(stream)


def test_pointers_of_empty_arrays_are_null():
    for array in (cuda.device_array(0), cuda.device_array((3, 0)), cuda.device_array(5)[2:2]):
        interface = array.__cuda_array_interface__
        assert interface["data"] == (0, False) and interface["shape"] == array.shape
        again = cuda.as_cuda_array(Library(array))
        assert again.size == 0 and again.copy_to_host().shape == array.shape
        assert array.device_ctypes_pointer.value == 0
    add_one[1, 32](cuda.device_array(0))
    add_one[1, 32](Library(cuda.device_array(0), data=(None, False)))


def test_strides_are_given_where_they_are_needed():
    array = cuda.to_device(np.zeros((4, 6)))
    assert array.__cuda_array_interface__["strides"] is None
    assert array[:2].__cuda_array_interface__["strides"] is None
    assert array[:, :3].__cuda_array_interface__["strides"] == (48, 8)
    f = cuda.to_device(np.zeros((4, 6), order="F"))
    assert f.__cuda_array_interface__["strides"] == (8, 32)


def test_interfaces_that_say_too_little():
    good = cuda.to_device(np.zeros(3)).__cuda_array_interface__
    for key in ("shape", "typestr", "data", "version"):
        broken = {name: value for name, value in good.items() if name != key}
        with pytest.raises((ValueError, KeyError, TypeError), match=key):
            cuda.from_cuda_array_interface(broken)
    with pytest.raises(NotImplementedError, match="[Mm]asked"):
        cuda.from_cuda_array_interface({**good, "mask": cuda.to_device(np.zeros(3, bool))})
    cuda.from_cuda_array_interface({**good, "mask": None})
    with pytest.raises(ValueError, match="stream 0"):
        cuda.from_cuda_array_interface({**good, "stream": 0})
    for wrong in (np.zeros(3), [1, 2], None):
        with pytest.raises(TypeError, match="cuda array interface"):
            cuda.as_cuda_array(wrong)
        assert not cuda.is_cuda_array(wrong)


def test_records_keep_their_fields():
    kind = np.dtype([("a", np.int32), ("b", np.float64)])
    array = cuda.to_device(np.zeros(3, kind))
    assert cuda.as_cuda_array(array).dtype == kind
    assert cuda.as_cuda_array(Library(array)).dtype == kind
    padded = cuda.to_device(
        np.zeros(3, np.dtype([("a", np.int8), ("b", np.float64), ("c", np.int8)], align=True))
    )
    assert cuda.as_cuda_array(Library(padded)).dtype == padded.dtype
    plain = {key: value for key, value in array.__cuda_array_interface__.items() if key != "descr"}
    assert cuda.from_cuda_array_interface(plain).dtype == np.dtype("V12")


class FakeTensor:
    """What torch.Tensor looks like from here."""

    __cuda_array_interface__ = {
        "shape": (4,),
        "typestr": "<f4",
        "data": (0x7F0000000000, False),
        "strides": None,
        "version": 3,
    }


FakeTensor.__module__ = "torch"
FakeArray = type("ndarray", (FakeTensor,), {"__module__": "cupy._core.core"})


@pytest.mark.parametrize(
    "kind, advice", [(FakeTensor, r"t\.cpu\(\)\.numpy\(\)"), (FakeArray, r"cupy\.asnumpy\(a\)")]
)
def test_memory_of_a_real_gpu_is_named_as_such(kind, advice):
    with pytest.raises(CudaAPIError, match=f"memory of a real GPU.*{advice}") as caught:
        add_one[1, 32](kind())
    assert caught.value.code == 700 and "'x'" in str(caught.value)
    for action in (
        lambda: cuda.as_cuda_array(kind()).copy_to_host(),
        lambda: cuda.as_cuda_array(kind())[0],
        lambda: cuda.device_array(4, np.float32).copy_to_device(kind()),
        lambda: cuda.as_cuda_array(kind()).copy_to_device(np.zeros(4, np.float32)),
        lambda: cuda.device_array(4, np.float32).__setitem__(slice(None), kind()),
        lambda: cuda.as_cuda_array(kind()).__setitem__(0, 1),
    ):
        with pytest.raises(CudaAPIError, match=f"memory of a real GPU.*{advice}") as caught:
            action()
        assert caught.value.code == 1


def test_a_launch_waits_once_for_each_array_of_another_library():
    from unittest import mock

    @cuda.jit
    def nothing(x, y):
        pass

    first, second = (ForeignArray(cuda.device_array(4, stream=cuda.stream())) for _ in range(2))
    without_stream = ForeignArray(cuda.device_array(4))
    for arguments, waits in (((first, second), 2), ((first, without_stream), 1), ((without_stream,) * 2, 0)):
        with mock.patch.object(cuda.Stream, "synchronize") as synchronize:
            nothing[1, 1](*arguments)
        assert synchronize.call_count == waits
