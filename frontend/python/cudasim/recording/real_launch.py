"""A launch on a real GPU, as a recorder sees it: what was launched, what it left, and the same launch on the simulator.

real_cuda.py makes RealLaunches of numba-cuda's; real_recorder.py records them. Tests make some without a GPU.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from cudasim.device.current import context_of, current_device
from cudasim.launch.arguments import Intent
from cudasim.memory.device_array import DeviceNDArray
from cudasim.memory.device_record import DeviceRecord
from cudasim.type_system.array_layout import contiguous_strides, extent_in_bytes, lowest_offset


class CannotRecord(Exception):
    """The launch cannot be recorded; says why."""


class RealGpu(Protocol):
    """The GPU that the launches of the program run on."""

    @property
    def description(self) -> tuple[str, tuple[int, int], tuple[int, int]]:
        """Its name, its compute capability, and the version of CUDA that the driver supports."""

    def synchronize(self) -> None:
        """Waits for everything that the program has launched."""

    def read(self, address: int, count: int) -> bytes:
        """`count` bytes of device memory, when nothing runs."""


@dataclass
class RealLaunch:
    """One launch. Its arguments are those of the program, but for host arrays in cuda.In and its like, which are this package's."""

    function: Callable[..., Any]  #: of which the kernel was made
    options: dict[str, Any]  #: of @cuda.jit, for cudasim.cuda.jit
    signatures: list[
        tuple[Any, ...]
    ]  #: argument types of a kernel that was declared with them; empty: of the arguments
    grid: tuple[int, ...]
    block: tuple[int, ...]
    dynamic_shared_bytes: int
    arguments: tuple[Any, ...]
    run: Callable[[], Any]  #: launches on the GPU, and copies host arrays back
    gpu: RealGpu
    refusal: str = ""  #: why it cannot be recorded, where that is known already


class ArrayOnGpu(NamedTuple):
    """An array or a record that the kernel gets, where the real GPU has it; a host array where the program has it."""

    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  #: in bytes
    dtype: np.dtype
    is_record: bool

    @property
    def extent(self) -> tuple[int, int]:
        """Where its bytes begin and end."""
        begin = self.address + lowest_offset(self.shape, self.strides)
        return begin, begin + extent_in_bytes(self.shape, self.strides, self.dtype.itemsize)


def array_on_gpu(value: Any) -> ArrayOnGpu | None:
    """An argument that is in device memory; None for any other.

    :raises CannotRecord: for arrays whose elements have no NumPy type
    """
    interface = getattr(value, "__cuda_array_interface__", None)
    if not isinstance(interface, dict):
        return None
    dtype = getattr(value, "dtype", None)
    if not isinstance(dtype, np.dtype):
        try:
            fields, code = interface.get("descr"), interface["typestr"]
            dtype = np.dtype(code if fields in (None, [("", code)]) else fields)
        except TypeError as error:
            raise CannotRecord(f"the elements of an array have no type that NumPy knows: {error}") from None
    shape = tuple(interface["shape"])
    strides = interface.get("strides")
    if (
        strides is None
        and isinstance(own := getattr(value, "strides", None), tuple)
        and len(own) == len(shape)
    ):
        strides = own  # numba-cuda's ufuncs repeat scalars by strides of 0, and the interface does not say so
    strides = contiguous_strides(shape, dtype.itemsize, "C") if strides is None else tuple(strides)
    is_record = type(value).__name__ == "DeviceRecord" and dtype.names is not None
    return ArrayOnGpu(interface["data"][0] or 0, shape, strides, dtype, is_record)


class _Allocation:
    """Memory on the simulator for bytes that one or more arrays of the program have.

    :param begin: the address of the first byte, on the real GPU or, for host arrays, in the program
    :param before: what they held before the launch; None: nothing that the kernel may rely on (cuda.Out)
    """

    def __init__(self, label: str, begin: int, end: int, before: bytes | None) -> None:
        self.begin, self.end = begin, end
        self.after: bytes | None = None  #: what the GPU left; None: not known
        lead = begin % _ALIGNMENT
        content = bytes(lead) + (bytes(end - begin) if before is None else before)
        device = current_device()
        self.memory, address = context_of(device).memory_for_copy(len(content), label, before is None)
        if before is not None:
            device.native.copy_to_new_memory(address, np.frombuffer(content, np.uint8))
        self.address = address + lead  #: of `begin`, on the simulator


#: Addresses here are those of the real GPU modulo this, so that what is aligned there is aligned here.
_ALIGNMENT = 256


class MovedArguments:
    """The arguments of a launch for the simulator, with what they hold now, before the launch.

    Arrays that overlap on the GPU overlap on the simulator, too. Host arrays have memory of their own for each argument,
    as numba.cuda makes it. Pointers that lie in an array are not followed.

    :param names: of the kernel's parameters
    :raises CannotRecord: for arguments that cannot be moved
    """

    def __init__(self, launch: RealLaunch, names: tuple[str, ...]) -> None:
        self._gpu = launch.gpu
        self._host: list[tuple[Any, _Allocation]] = []  # those that are copied back
        extents: list[tuple[int, int, str]] = []
        for name, value in zip(names, launch.arguments):
            _collect_extents(name, value, extents)
        self._device = [
            _Allocation(name, begin, end, launch.gpu.read(begin, end - begin))
            for begin, end, name in _merged(extents)
        ]
        self.arguments = [self._moved(value, name) for name, value in zip(names, launch.arguments)]

    def read_results(self) -> None:
        """What the GPU left, when the launch is over."""
        for each in self._device:
            each.after = self._gpu.read(each.begin, each.end - each.begin)
        for host, allocation in self._host:
            allocation.after = host.tobytes("A")

    def results(self) -> list[tuple[int, bytes]]:
        """(Address on the simulator, bytes that the GPU left there), where that is known."""
        every = [*self._device, *(allocation for _, allocation in self._host)]
        return [(each.address, each.after) for each in every if each.after is not None]

    def _moved(self, value, name, intent=None):
        array = array_on_gpu(value)
        if array is not None:
            begin, end = array.extent
            held = next((each for each in self._device if each.begin <= begin and end <= each.end), None)
            return _on_simulator(array, held)
        if isinstance(value, Intent):
            return self._moved(value.value, name, value)
        if isinstance(value, (np.ndarray, np.void)):
            return self._moved_host(value, name, intent)
        if isinstance(value, tuple):
            elements = [self._moved(element, name) for element in value]
            return type(value)(*elements) if hasattr(value, "_fields") else tuple(elements)
        return value

    def _moved_host(self, value, name, intent):
        if not (value.flags.c_contiguous or value.flags.f_contiguous):
            raise CannotRecord(f"the host array passed for '{name}' is not contiguous")
        address = value.__array_interface__["data"][0]
        strides = () if isinstance(value, np.void) else value.strides
        array = ArrayOnGpu(address, value.shape, strides, value.dtype, isinstance(value, np.void))
        if value.nbytes == 0:
            return _on_simulator(array, None)
        before = value.tobytes("A") if intent is None or intent.copies_in else None
        begin = address // _ALIGNMENT * _ALIGNMENT  # numba.cuda's copy is aligned
        allocation = _Allocation(name, begin, begin + value.nbytes, before)
        if intent is None or intent.copies_out:
            self._host.append((value, allocation))
        return _on_simulator(array._replace(address=begin), allocation)


def _collect_extents(name, value, extents):
    array = array_on_gpu(value)
    if array is not None:
        begin, end = array.extent
        if begin != end:
            extents.append((begin, end, name))
    elif isinstance(value, tuple):
        for element in value:
            _collect_extents(name, element, extents)
    elif isinstance(value, Intent):
        _collect_extents(name, value.value, extents)


def _merged(extents):
    """Those that overlap as one, under the first one's name."""
    result: list[tuple[int, int, str]] = []
    for begin, end, name in sorted(extents, key=lambda each: (each[0], -each[1])):
        if result and begin < result[-1][1]:
            first, last, known = result[-1]
            result[-1] = (first, max(last, end), known)
        else:
            result.append((begin, end, name))
    return result


def _on_simulator(array, held):
    """The array in the memory of an allocation; in new memory where it has no elements."""
    where: dict[str, Any] = {}
    if held is not None:
        where = {
            "gpu_data": held.memory,
            "address": held.address + array.address - held.begin,
            "foreign": True,
        }
    if array.is_record:
        return DeviceRecord(array.dtype, **where)
    return DeviceNDArray(array.shape, array.strides, array.dtype, **where)


@contextmanager
def printed_by_gpu() -> Iterator[Callable[[], str]]:
    """What the driver writes to standard output inside, which is how kernels print; it is written there afterwards.

    The driver writes when somebody waits for the GPU. Gives a function that returns the text, for afterwards.
    """
    text = ""
    sys.stdout.flush()
    try:
        before = os.dup(1)
    except OSError:  # the program has closed it
        yield lambda: ""
        return
    with tempfile.TemporaryFile() as file:
        os.dup2(file.fileno(), 1)
        try:
            yield lambda: text
        finally:
            sys.stdout.flush()
            _flush_c()
            os.dup2(before, 1)
            os.close(before)
            file.seek(0)
            written = file.read()
            text = written.decode(errors="replace")
            while written:
                written = written[os.write(1, written) :]


def _flush_c():
    """Writes what the driver has left in C's buffer."""
    import ctypes  # only where a real GPU is

    ctypes.CDLL(None).fflush(None)
