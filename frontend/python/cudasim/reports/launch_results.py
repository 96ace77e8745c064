"""What launches leave in device memory, under one schedule and another."""

from __future__ import annotations

import ctypes
import mmap
import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from typing import Any

#: Device memory of more bytes is not compared, nor are more kept for all schedules of a launch.
MOST_BYTES, MOST_BYTES_OF_ALL = 256 << 20, 1 << 30


class Difference(NamedTuple):
    """The first element that differs."""

    element: str  #: "out[3]"
    value: str  #: under the schedule
    own: str  #: in the program itself


class Results:
    """Room for the contents of a device's memory, which a child process fills and its parent compares.

    :param plan: a _native.LaunchPlan or HostPlan
    :param schedules: under how many the launch is repeated
    """

    def __init__(self, plan: Any, schedules: int = 1) -> None:
        self._layout = plan.live_memory()
        self._size = sum(size for _, size, _ in self._layout)
        self.is_comparable = 0 < self._size <= min(MOST_BYTES, MOST_BYTES_OF_ALL // schedules)
        self._file = os.memfd_create("cudasim results") if self.is_comparable else -1

    def fill(self) -> None:
        """Copies the device's memory as it is now."""
        offset = 0
        for address, size, _ in self._layout if self.is_comparable else ():
            contents = memoryview(_bytes_at(address, size))
            written = 0
            while written < size:
                written += os.pwrite(self._file, contents[written:], offset + written)
            offset += size

    def close(self) -> None:
        """Gives the room back."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def difference(self, plan: Any, parameters: Any) -> Difference | None:
        """The first element that the device's memory has now and that differs from what fill() has copied."""
        if os.fstat(self._file).st_size < self._size:
            return None
        with mmap.mmap(self._file, self._size, prot=mmap.PROT_READ) as whole:
            kept = np.frombuffer(whole, np.uint8)
            offset = 0
            try:
                for address, size, label in self._layout:
                    here, there = _bytes_at(address, size), kept[offset : offset + size]
                    if not np.array_equal(here, there):
                        first = int(np.argmax(here != there))
                        return _describe(plan, parameters, address, first, label, here, there)
                    offset += size
            finally:
                del kept, here, there
        return None


def _bytes_at(address, size):
    return np.ctypeslib.as_array((ctypes.c_uint8 * size).from_address(address))


def _describe(plan, parameters, address, first, label, here, there):
    named = plan.element_at(parameters, address + first) if parameters is not None else None
    name, type_name = named or (f"{label or 'device memory'} at byte {first}", "uint8")
    try:
        dtype = np.dtype(type_name)
    except TypeError:
        dtype = np.dtype(np.uint8)
    start = first - first % dtype.itemsize
    values = [str(part[start : start + dtype.itemsize].copy().view(dtype)[0]) for part in (there, here)]
    return Difference(name, *values)
