"""Arguments in the memory of a real GPU: arrays of PyTorch, CuPy and other libraries in a process that uses a GPU itself.

A launch gets copies in the simulated device's memory, and what the kernel has changed goes back to the GPU, as with host arrays. The
copies are made by the driver that the other library has loaded; cudasim loads none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cudasim import _native
from cudasim.device.current import context_of
from cudasim.memory.array_interface import check_reachable

if TYPE_CHECKING:
    from typing import Any

    from cudasim.device.device import Device
    from cudasim.memory.device_contents import DeviceContents

#: Copies lie at addresses that are the same modulo this, in bytes: the alignment of the widest access.
_ALIGNMENT = 16

_driver: Any = None


def _loaded_driver() -> Any:
    """The driver of this process, None where no library has loaded one."""
    global _driver
    if _driver is None:
        _driver = _native.LoadedDriver.find()
    return _driver


class _Argument(NamedTuple):
    array: DeviceContents
    position: int  #: of the address among the numbers that the kernel gets
    label: str
    begin: int
    end: int
    is_read_only: bool


class _Copy(NamedTuple):
    begin: int  #: on the GPU
    address: int  #: in the simulated device's memory
    memory: Any  #: what keeps that
    before: np.ndarray
    label: str
    is_read_only: bool


class GpuArrays:
    """The arguments of one launch that are in a real GPU's memory."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._arguments: list[_Argument] = []
        self._copies: list[_Copy] = []

    def add(self, array: DeviceContents, position: int, label: str) -> None:
        """Notes an array whose address copy_in() is to replace.

        :param position: of the address among the numbers that the kernel gets
        :raises KernelMemoryError: where the memory is not a GPU's that this process uses
        :raises CudaAPIError: where the driver fails, with its code
        """
        what = f"the array passed for '{label}'"
        begin = array._lowest_address()
        driver = _loaded_driver()
        if driver is None:
            check_reachable(
                array,
                what,
                "If it is in the memory of a real GPU, pass a copy on the host: no library has loaded a CUDA driver into this process",
            )
        elif not 0 <= begin < 1 << 64 or not driver.knows(begin, what):
            check_reachable(
                array, what, f"The CUDA driver of this process ({driver.path}) does not know the address"
            )
        end = begin + array.alloc_size
        self._arguments.append(_Argument(array, position, label, begin, end, _is_read_only(array)))

    def copy_in(self, numbers: list[Any]) -> None:
        """Copies the arrays, those that overlap together, and puts the addresses of the copies into the numbers.

        :raises CudaAPIError: where the driver fails, with its code
        """
        driver = _loaded_driver()
        for group in _overlapping(self._arguments):
            begin, end = min(each.begin for each in group), max(each.end for each in group)
            label = ", ".join(dict.fromkeys(each.label for each in group))
            streams = [_stream_of(each.array) for each in group]
            before = np.empty(end - begin, np.uint8)
            driver.read(before, begin, [] if None in streams else streams, _of_arrays(label))
            gap = begin % _ALIGNMENT
            memory, address = context_of(self._device).memory_for_copy(gap + before.nbytes, label, gap > 0)
            address += gap
            self._device.native.copy_to_new_memory(address, before)
            is_read_only = all(each.is_read_only for each in group)
            self._copies.append(_Copy(begin, address, memory, before, label, is_read_only))
            for each in group:
                numbers[each.position] += address - begin

    def write_back(self) -> None:
        """Copies what the kernel has changed back.

        :raises ValueError: where that is memory of arrays that say they are read-only
        :raises CudaAPIError: where the driver fails, with its code
        """
        for copy in self._copies:
            after = np.empty_like(copy.before)
            _native.memcpy_dtoh_buffer(self._device.driver_context, after, copy.address)
            if np.array_equal(copy.before, after):
                continue
            if copy.is_read_only:
                raise ValueError(
                    f"the kernel wrote to '{copy.label}', but the array passed for it is read-only (its "
                    "__cuda_array_interface__ says so); pass a writable array"
                )
            _loaded_driver().write(copy.begin, after, _of_arrays(copy.label))


def _of_arrays(label):
    return f"copying the memory of '{label}' between the GPU and the simulated device"


def _overlapping(arguments: list[_Argument]) -> list[list[_Argument]]:
    """The arguments in groups, in the order of the first of each; no byte is in two groups."""
    groups: list[list[_Argument]] = []
    end = 0
    for each in sorted(arguments, key=lambda argument: argument.begin):
        if not groups or each.begin >= end:
            groups.append([])
        groups[-1].append(each)
        end = max(end, each.end)
    groups = [sorted(group, key=lambda argument: argument.position) for group in groups]
    return sorted(groups, key=lambda group: group[0].position)


def _stream_of(array):
    """The handle of the GPU's stream that the array's interface names, or None. Other streams are the simulator's."""
    return int(array.stream) if getattr(array.stream, "external", False) else None


def _is_read_only(array):
    owner = array._allocation
    interface = owner if isinstance(owner, dict) else getattr(owner, "__cuda_array_interface__", None)
    return bool(interface and interface["data"][1])
