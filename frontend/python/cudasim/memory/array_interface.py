"""Arrays of other libraries: the CUDA array interface, version 3, both ways
(https://numba.readthedocs.io/en/stable/cuda/cuda_array_interface.html).

What an interface points to is believed here and checked where it is used: a launch or a copy refuses memory that is
not the simulated device's, naming the library that it came from.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cudasim import _numba_config
from cudasim.memory.device_array import DeviceNDArray
from cudasim.memory.device_contents import DeviceContents, origin, register_foreign_arrays
from cudasim.reports.host_findings import argument_error
from cudasim.streams.stream import external_stream
from cudasim.type_system.array_compatibility import check_contiguous
from cudasim.type_system.array_layout import contiguous_strides, extent_in_bytes, shape_tuple
from cudasim.type_system.typeof import register_protocol, typeof

if TYPE_CHECKING:
    from typing import Any

#: Bytes from address 0 on where no memory is.
_NULL_PAGE = 4096


def is_cuda_array(obj: Any) -> bool:
    """Whether the object says it is an array in device memory."""
    return hasattr(obj, "__cuda_array_interface__")


def as_cuda_array(obj: Any, sync: bool = True) -> DeviceNDArray:
    """A device array over the memory of an object with __cuda_array_interface__."""
    interface = getattr(obj, "__cuda_array_interface__", None)
    if interface is None:
        raise TypeError(f"*obj* doesn't implement the cuda array interface: it is a {type(obj).__name__}")
    if isinstance(obj, DeviceContents) and not obj.foreign:
        _synchronise(interface, sync)
        return obj._view(obj.shape, obj.strides, obj._address)
    return from_cuda_array_interface(interface, owner=obj, sync=sync)


def as_device_array(obj: Any) -> Any:
    """The object itself if it is a device array, else a device array over its memory."""
    return obj if isinstance(obj, DeviceNDArray) else as_cuda_array(obj)


def as_device_or_contiguous(obj: Any) -> DeviceNDArray | np.ndarray:
    """What can be assigned to a part of a device array: a device array, or a contiguous host array."""
    if isinstance(obj, DeviceNDArray):
        return obj
    if is_cuda_array(obj):
        return as_cuda_array(obj)
    host = np.asanyarray(obj)
    check_contiguous(host)
    return host


def from_cuda_array_interface(desc: dict[str, Any], owner: Any = None, sync: bool = True) -> DeviceNDArray:
    """A device array over the memory that a __cuda_array_interface__ dictionary describes.

    :param owner: what keeps the memory
    :param sync: whether to wait for the stream that the interface names, unless Numba's option
        CUDA_ARRAY_INTERFACE_SYNC is 0
    """
    if desc.get("mask") is not None:
        raise NotImplementedError("Masked arrays are not supported")
    missing = [key for key in ("shape", "typestr", "data", "version") if key not in desc]
    if missing:
        raise ValueError(
            f"a __cuda_array_interface__ needs {', '.join(map(repr, missing))}; it has {', '.join(desc)}"
        )
    dtype = np.dtype(desc["typestr"])
    if dtype.kind == "V" and desc.get("descr"):
        described = np.lib.format.descr_to_dtype([tuple(field) for field in desc["descr"]])
        if described.names and described.itemsize == dtype.itemsize:
            dtype = described
    shape = shape_tuple(desc["shape"])
    strides = desc.get("strides")
    strides = contiguous_strides(shape, dtype.itemsize, "C") if strides is None else tuple(strides)
    keeper = desc if owner is None else owner
    return DeviceNDArray(
        shape, strides, dtype, _synchronise(desc, sync), keeper, address=desc["data"][0] or 0, foreign=True
    )


def _synchronise(desc, sync):
    """The stream that an interface names, 0 for none; its work is done then if that is asked for."""
    pointer = desc.get("stream")
    if pointer is None:
        return 0

    if pointer == 0:
        raise ValueError(
            "a __cuda_array_interface__ has no stream 0: None says that there is none to wait for, 1 is the legacy "
            "default stream"
        )
    stream = external_stream(pointer)
    if sync and _numba_config.setting("CUDA_ARRAY_INTERFACE_SYNC"):
        stream.synchronize()
    return stream


def check_reachable(array: Any, what: Any, why: str = "") -> None:
    """
    :param why: a sentence for the message, why it is not copied from a real GPU
    :raises KernelMemoryError: for a foreign array that is not in a simulated device's memory
    """
    if array.foreign and not array.lies_in_device_memory():
        address, size = array.parameters[0], extent_in_bytes(array.shape, array.strides, array.dtype.itemsize)
        raise argument_error(
            _kind_of(address, array.device),
            f"{what} is not in device memory that is allocated ({size} bytes at address {address:#x}): a GPU reports "
            f"CUDA_ERROR_ILLEGAL_ADDRESS (700){origin(array)}{why and '. ' + why}",
            700,
        )


def _kind_of(address, device):
    """What an access to that address would be, as the engine tells them apart (access_report.cpp)."""
    if address < _NULL_PAGE:
        return "null-pointer"
    return "out-of-bounds-global" if device.native.owns(address) else "host-pointer"


register_protocol(is_cuda_array, lambda array: typeof(as_cuda_array(array, sync=False)))
register_foreign_arrays(as_cuda_array)
