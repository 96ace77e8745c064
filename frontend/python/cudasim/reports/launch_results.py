"""What launches leave in device memory, under one schedule and another."""

from __future__ import annotations

import ctypes
import functools
import mmap
import os
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

#: Device memory of more bytes is not compared, nor are more kept here for all schedules of a launch.
MOST_BYTES, MOST_BYTES_OF_ALL = 256 << 20, 1 << 30


class Difference(NamedTuple):
    """The first element that differs."""

    element: str  #: "out[3]"
    value: str  #: under the schedule
    own: str  #: in the program itself


class DifferingBytes(NamedTuple):
    """The first byte that differs, with its neighbours: all that describe() needs."""

    address: int  #: where the allocation begins in the program
    label: str  #: of the allocation
    first: int  #: the byte's offset in the allocation
    begin: int  #: the offset at which the following bytes begin
    value: bytes  #: under the schedule
    own: bytes  #: in the program itself


#: How many bytes before and behind the first that differs are kept.
_AROUND = 256
#: Bytes of a number: a complex128.
_LONGEST_NUMBER = 16


def first_difference(
    contents: Iterable[tuple[int, str, np.ndarray, np.ndarray]],
) -> DifferingBytes | None:
    """Where a launch under a schedule has left something else than in the program itself.

    :param contents: of each allocation: its address in the program, label, bytes under the schedule and own bytes
    """
    for address, label, value, own in contents:
        if np.array_equal(value, own):
            continue
        first = int(np.argmax(value != own))
        begin, end = max(0, first - _AROUND), first + _AROUND
        return DifferingBytes(
            address, label, first, begin, value[begin:end].tobytes(), own[begin:end].tobytes()
        )
    return None


def describe(plan: Any, parameters: bytes | None, differing: DifferingBytes) -> Difference:
    """The element that the bytes belong to, and its values.

    :param plan: of the launch in the program; None: bytes are told by their place in the allocation
    :param parameters: of compiled kernels
    """
    named = None if plan is None else _element(plan, parameters, differing.address + differing.first)
    first = differing.first
    if named is None:
        name, dtype = f"{differing.label or 'device memory'} at byte {first}", np.dtype(np.uint8)
    else:
        name, dtype, offset = named
        first -= offset
    start = first - differing.begin
    values = [
        str(np.frombuffer(part[start : start + dtype.itemsize], dtype)[0])
        for part in (differing.value, differing.own)
    ]
    return Difference(name, *values)


def _element(plan, parameters, address):
    """The element that a byte lies in: its name, type, and how many bytes before it it begins. None for none."""
    at = functools.partial(plan.element_at, parameters)
    # Of an array's last element the plan knows the first byte only; of the others it knows any byte.
    offset = next((offset for offset in range(_LONGEST_NUMBER) if at(address - offset)), None)
    if offset is None:
        return None
    named = at(address - offset)
    while offset + 1 < _LONGEST_NUMBER and at(address - offset - 1) == named:
        offset += 1
    try:
        dtype = np.dtype(named[1])
    except TypeError:
        return None
    return (named[0], dtype, offset) if offset < dtype.itemsize <= _AROUND else None


def is_comparable(plan: Any, schedules: int = 1) -> bool:
    """Whether the device has memory to compare, and not too much of it.

    :param schedules: under how many the contents are kept at the same time
    """
    size = sum(size for _, size, _ in plan.live_memory())
    return 0 < size <= min(MOST_BYTES, MOST_BYTES_OF_ALL // schedules)


def bytes_at(address: int, size: int) -> np.ndarray:
    """A view of device memory."""
    # Not np.ctypeslib, which NumPy imports when it is used: that would be in each child.
    return np.frombuffer(memoryview((ctypes.c_uint8 * size).from_address(address)), np.uint8)


class Results:
    """Room for the contents of a device's memory, which a child process fills and its parent compares.

    :param plan: a _native.LaunchPlan or HostPlan
    :param schedules: under how many the launch is repeated
    """

    def __init__(self, plan: Any, schedules: int = 1) -> None:
        self._layout = plan.live_memory()
        self._size = sum(size for _, size, _ in self._layout)
        self.is_comparable = is_comparable(plan, schedules)
        self._file = os.memfd_create("cudasim results") if self.is_comparable else -1

    def fill(self) -> None:
        """Copies the device's memory as it is now."""
        offset = 0
        for address, size, _ in self._layout if self.is_comparable else ():
            contents = bytes_at(address, size).data
            written = 0
            while written < size:
                written += os.pwrite(self._file, contents[written:], offset + written)
            offset += size

    def close(self) -> None:
        """Gives the room back."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def difference(self) -> DifferingBytes | None:
        """The first byte that the device's memory has now and that differs from what fill() has copied."""
        if os.fstat(self._file).st_size < self._size:
            return None
        with mmap.mmap(self._file, self._size, prot=mmap.PROT_READ) as whole:
            return first_difference(self._contents(whole))

    def _contents(self, whole):
        offset = 0
        for address, size, label in self._layout:
            kept = np.frombuffer(whole[offset : offset + size], np.uint8)
            yield address, label, kept, bytes_at(address, size)
            offset += size
