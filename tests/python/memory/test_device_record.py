"""Records in device memory, as host code sees them: each compared with NumPy."""

import numpy as np
import pytest
from cudasim import cuda
from cudasim.cuda.cudadrv import devicearray

RECORD = np.dtype(
    [
        ("count", np.int32),
        ("place", np.float64, (3,)),
        ("inner", [("x", np.float32), ("deep", [("flag", "?")])]),
        ("when", "M8[s]"),
        ("name", "S5"),
    ]
)


def filled(shape=4):
    host = np.zeros(shape, RECORD)
    host["count"] = np.arange(host.size).reshape(host.shape)
    host["place"] = 1.5
    host["inner"]["x"] = 2.5
    host["when"] = 1000
    host["name"] = b"abc"
    return host


@pytest.mark.parametrize("host", [filled(), filled((2, 3)), filled((2, 3)).T.copy(), filled(0), filled(())])
def test_arrays_of_records_make_the_round_trip(host):
    device = cuda.to_device(host)
    assert device.dtype == host.dtype and (device.copy_to_host() == host).all()
    again = np.zeros_like(host)
    device.copy_to_host(again)
    assert (again == host).all()


def test_an_element_is_a_record_on_the_device():
    host = filled()
    device = cuda.to_device(host)
    record = device[2]
    assert isinstance(record, devicearray.DeviceRecord) and record.shape == () and record.dtype == RECORD
    assert record["count"] == 2 and isinstance(record["count"], np.int32)
    assert record["inner"]["x"] == 2.5 and not record["inner"]["deep"]["flag"]
    assert isinstance(record["inner"], devicearray.DeviceRecord)
    assert record["place"].copy_to_host().tolist() == [1.5] * 3
    assert record["when"] == np.datetime64(1000, "s") and record["name"] == b"abc"
    assert record.copy_to_host() == host[2] and record.nbytes == RECORD.itemsize
    assert cuda.to_device(filled((2, 2)))[1, 0]["count"] == 2


def test_fields_are_assigned_in_place():
    host, device = filled(), cuda.to_device(filled())
    stream = cuda.stream()
    for array in (host, device):
        array[1]["count"] = 70
        array[1]["inner"]["x"] = -1
        array[1]["inner"]["deep"]["flag"] = True
        array[1]["place"][1] = 9
        array[2]["when"] = np.datetime64(5, "s")
        array[3]["name"] = b"xyz"
    device[3].setitem("count", 5, stream=stream)
    host[3]["count"] = 5
    device[0]["place"] = [7, 8, 9]
    host[0]["place"] = [7, 8, 9]
    assert device[3].getitem("count", stream=stream) == 5
    assert (device.copy_to_host() == host).all()


def test_one_record_goes_to_the_device():
    host = filled()[1]
    device = cuda.to_device(host)
    assert isinstance(device, devicearray.DeviceRecord) and device["count"] == 1
    device["count"] = 8
    back = device.copy_to_host()
    assert back.shape == () and back["count"] == 8
    target = np.zeros(2, RECORD)
    device.copy_to_host(target[0])
    assert target[0]["count"] == 8 and target[1]["count"] == 0
    device.copy_to_device(filled()[3])
    assert device["count"] == 3
    assert cuda.to_device(device) is device


def test_whole_elements_are_assigned():
    device, host = cuda.to_device(filled()), filled()
    device[0] = host[3]
    device[1] = device[3]
    host[0] = host[3]
    host[1] = host[3]
    assert (device.copy_to_host() == host).all()


def test_unknown_fields_say_which_there_are():
    with pytest.raises(KeyError, match="count, place, inner"):
        cuda.to_device(filled())[0]["nothing"]
    with pytest.raises(KeyError):
        cuda.to_device(filled())[0]["nothing"] = 1


def test_record_is_a_view_that_keeps_the_memory():
    device = cuda.to_device(filled())
    record = device[3]
    del device
    cuda.current_context().memory_manager.deallocations.clear()
    assert record["count"] == 3
    bound = record.bind(cuda.stream())
    assert isinstance(bound, devicearray.DeviceRecord) and bound["count"] == 3 and int(bound.stream)
    assert cuda.as_cuda_array(record).dtype == RECORD
