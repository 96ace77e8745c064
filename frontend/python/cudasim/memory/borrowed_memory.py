"""Host arrays that a kernel uses where they lie, for the length of one launch. It saves the copies where nobody can tell
the difference: inputs that the kernel only reads, results that nobody has seen yet.

Copies stay where they mean something: with deferred execution, with a memory manager of the user's, in memory that the
driver knows already, for more memory than the simulated device has left, and for small arrays, for which they are quicker.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim.device import host_visible
from cudasim.device.current import context_of, current_device
from cudasim.errors import CudaAPIError
from cudasim.memory import leaks
from cudasim.memory.array_functions import to_device
from cudasim.memory.device_array import DeviceNDArray
from cudasim.streams import stream_work

if TYPE_CHECKING:
    from typing import Any

    import numpy as np

    from cudasim.memory.device_contents import DeviceNDArrayBase

_SMALLEST = 64 << 10  # bytes


class BorrowedMemory:
    """A context manager: what view() has lent is the host's alone again behind it.

    :param total: bytes that all arrays of the launch have together
    """

    def __init__(self, total: int) -> None:
        self._device = current_device()
        self._views: dict[Any, Any] = {}  # address → device array
        self._lends = (
            total >= _SMALLEST
            and not stream_work.deferred()
            and not context_of(self._device).has_plug_in
            and total <= self._device.native.memory_info()[0]
        )

    def __enter__(self) -> BorrowedMemory:
        return self

    def __exit__(self, *_: object) -> None:
        for address in self._views:
            self._device.native.free(address, "cuMemHostUnregister")

    def on_device(self, host: np.ndarray, stream: Any) -> DeviceNDArrayBase:
        """A device array with what the host array holds: over its memory, or a copy."""
        lent = self.view(host)
        return to_device(host, stream) if lent is None else lent

    def view(self, host: np.ndarray) -> DeviceNDArray | None:
        """A device array over the memory of a host array, or None where it has to be copied."""
        if (
            not self._lends
            or host.nbytes < _SMALLEST
            or not host.flags.c_contiguous
            or not host.flags.aligned
        ):
            return None
        address = host.__array_interface__["data"][0]
        known = self._views.get(address)
        if known is not None and (known.shape, known.dtype) == (host.shape, host.dtype):
            return known
        if host_visible.overlapping(address, host.nbytes):
            return None
        try:
            with leaks.expected_failures():
                self._device.native.adopt(address, host.nbytes, "host array", "cuMemHostRegister")
        except CudaAPIError:  # overlaps what is lent already, here or by another thread
            return None
        lent = DeviceNDArray(
            host.shape, host.strides, host.dtype, 0, host, address=address, device=self._device
        )
        self._views[address] = lent
        return lent
