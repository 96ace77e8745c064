"""A matrix with rows and columns exchanged: numba.cuda.kernels.transpose."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.memory.array_functions import device_array, is_cuda_ndarray, to_device

if TYPE_CHECKING:
    from typing import Any

    from cudasim.memory.device_array import DeviceNDArray


def transpose(a: Any, b: Any = None) -> DeviceNDArray:
    """The transpose of `a`, a host or device array of two dimensions, in device memory.

    :param b: a device array that receives it, or a host array whose copy on the device does; a new one unless said
    :raises ValueError: when `b` has another shape or dtype
    """
    stream = getattr(a, "stream", 0)
    device = a if is_cuda_ndarray(a) else to_device(a, stream=stream)
    if device.ndim != 2:
        raise NotImplementedError("only arrays of two dimensions can be transposed")
    if b is None:
        b = device_array(device.shape[::-1], device.dtype, stream=stream)
    elif not is_cuda_ndarray(b):
        b = to_device(b, stream=stream)
    if b.shape != device.shape[::-1] or b.dtype != device.dtype:
        raise ValueError(
            f"the result has shape {device.shape[::-1]} and dtype {device.dtype}, not {b.shape} and {b.dtype}"
        )
    b._write(device._read().T)
    return b
