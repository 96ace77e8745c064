"""Kernel arguments: what of a value goes into the parameter buffer. Types: type_system/typeof.py.

Parameter layout: a scalar is one parameter of its own type; an n-dimensional array is its address, n extents and
n strides in bytes; a tuple is its elements in order. Offsets follow the C rule of natural alignment, so that
struct's native mode packs them.
"""

from __future__ import annotations

import enum
import struct
from typing import TYPE_CHECKING

import numpy as np

from cudasim import _native, types
from cudasim.device.current import context_of
from cudasim.device.host_visible import is_page_locked
from cudasim.launch import added_arguments
from cudasim.launch.performance_warnings import warn_of_host_copy
from cudasim.memory.array_functions import auto_device
from cudasim.memory.array_interface import as_cuda_array, is_cuda_array
from cudasim.memory.device_array import DeviceNDArray
from cudasim.memory.device_record import DeviceRecord
from cudasim.memory.host_visible_arrays import device_view
from cudasim.reports.host_findings import argument_error
from cudasim.streams import stream_work
from cudasim.type_system.array_compatibility import array_core
from cudasim.type_system.array_layout import is_aligned
from cudasim.type_system.typeof import typeof

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cudasim.types import Type

_FORMATS: dict[Type, str] = {
    types.boolean: "?",
    types.int8: "b",
    types.int16: "h",
    types.int32: "i",
    types.int64: "q",
    types.uint8: "B",
    types.uint16: "H",
    types.uint32: "I",
    types.uint64: "Q",
    types.float16: "e",
    types.float32: "f",
    types.float64: "d",
    types.complex64: "ff",
    types.complex128: "dd",
}


class Intent:
    """Wraps a host array to say in which directions it is copied."""

    copies_in = copies_out = True

    def __init__(self, value: Any) -> None:
        self.value = value

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.value!r})"

    @property
    def _numba_type_(self):
        return types.public(typeof(self.value))

    def __cudasim_typeof__(self) -> Type:
        return typeof(self.value)

    def to_device(self, retr: Any, stream: Any = 0) -> Any:
        """The array on the device, for argument extensions that make it themselves.

        :param retr: gets what copies the array back when the kernel has run, where that is wanted
        """
        on_device, is_copy = auto_device(self.value, stream, copy=self.copies_in)
        if is_copy and self.copies_out:
            retr.append(lambda: on_device.copy_to_host(self.value, stream))
        return on_device


class In(Intent):
    """Copied to the device only."""

    copies_out = False


class Out(Intent):
    """Copied back only."""

    copies_in = False


class InOut(Intent):
    """Copied both ways, as arrays are without a wrapper."""


class HostCopies:
    """The device copies of one launch's host arrays: one per argument, written back in argument order."""

    def __init__(self, device: Any) -> None:
        self.device = device
        self._later: list[
            Any
        ] = []  # (address, page-locked array): what such an array holds when the launch begins
        self._copies: list[Any] = []  # (host array, what keeps the memory, its address, what becomes of it)
        self._records: list[Any] = []  # (record, the host array that stands for it)
        self._on_gpu: Any = None  # GpuArrays, where there are any

    def add(self, host: Any, label: Any, copies_in: bool = True, copies_out: bool = True) -> tuple[Any, ...]:
        """Copies the array in and returns the parameters that the kernel gets for it. Of an array that repeats
        itself (np.broadcast_to) the memory is copied once."""
        warn_of_host_copy()
        layout = (*host.shape, *host.strides)
        if not host.flags.forc:
            host = array_core(host)
        device = self.device.native
        memory, address = context_of(self.device).memory_for_copy(max(host.nbytes, 1), label, not copies_in)
        if copies_in and host.nbytes:
            if stream_work.deferred() and is_page_locked(host):
                self._later.append((address, host))
            else:
                device.copy_to_new_memory(address, host)
        writable = host.flags.writeable
        self._copies.append((host, memory, address, label, copies_out and writable, writable))
        return (address, *layout)

    def add_record(self, record: Any, label: Any, copies_in: bool = True, copies_out: bool = True) -> Any:
        """Copies a structured scalar in and returns the address that the kernel gets for it."""
        host = np.zeros((), record.dtype)
        host[()] = record
        if copies_out:
            self._records.append((record, host))
        return self.add(host, label, copies_in, copies_out)[0]

    def add_on_gpu(self, array: Any, position: int, label: Any) -> None:
        """Notes a device array that is in no simulated device's memory, but in a real GPU's. place() puts the address of a copy at this
        position of the numbers."""
        if self._on_gpu is None:
            from cudasim.memory.gpu_arrays import GpuArrays  # most programs have none

            self._on_gpu = GpuArrays(self.device)
        self._on_gpu.add(array, position, label)

    def place(self, numbers: list[Any]) -> None:
        """Copies what add_on_gpu() has noted in, now that all of it is known: parts of it may overlap."""
        if self._on_gpu is not None:
            self._on_gpu.copy_in(numbers)

    def copy_in(self) -> None:
        """What add() has left for the launch."""
        for address, host in self._later:
            self.device.native.copy_to_new_memory(address, host)

    def waits(self, stream: Any) -> bool:
        """Whether the host waits for the launch: for results in pageable memory or a real GPU's, and for all copies that
        name no stream."""
        return self._on_gpu is not None or any(
            not stream or not is_page_locked(host) for host, *_ in self._copies
        )

    def write_back(self) -> None:
        """Copies results to the host arrays."""
        context = self.device.driver_context
        for host, _, address, label, copies_out, writable in self._copies:
            if not host.nbytes:
                continue
            if copies_out:
                _native.memcpy_dtoh_buffer(context, host, address)
            elif not writable:
                self._check_unwritten(context, host, address, label)
        for record, host in self._records:
            for name in record.dtype.names:
                record[name] = host[name]
        if self._on_gpu is not None:
            self._on_gpu.write_back()

    @staticmethod
    def _check_unwritten(context, host, address, label):
        result = np.empty_like(host)
        _native.memcpy_dtoh_buffer(context, result, address)
        if result.tobytes("A") != host.tobytes("A"):
            raise ValueError(
                f"the kernel wrote to '{label}', but the array passed for it is read-only "
                "(writeable=False); pass a writable array"
            )


_DATES = (np.datetime64, np.timedelta64)
_COMPLEX = (complex, np.complex64, np.complex128)


def struct_format(kinds: Iterable[Type]) -> str:
    """The struct format of a parameter buffer for arguments of these types."""
    return "".join(map(_format_of, kinds))


def _format_of(kind):
    if kind in _FORMATS:
        return _FORMATS[kind]
    if isinstance(kind, (types.NPDatetime, types.NPTimedelta)):
        return "q"
    if isinstance(kind, types.Array):
        return "Q" + "q" * (2 * kind.ndim)
    if isinstance(kind, types.Record):
        return "Q"
    if isinstance(kind, types.EnumMember):
        return _FORMATS[kind.dtype]
    if isinstance(kind, types.BaseTuple):
        return struct_format(kind.types)
    if isinstance(kind, types.AddedType):
        return added_arguments.format_of(kind, _FORMATS)
    if isinstance(kind, types.Bfloat16):
        raise NotImplementedError("a bfloat16 cannot be passed to a kernel; pass its bits, as int16")
    raise ValueError(f"a kernel cannot take an argument of type {kind}")


def _rounded_to_float16(value):
    """struct refuses what becomes infinite."""
    with np.errstate(over="ignore"):
        return float(np.float16(value))


def converter(kind: Type) -> Any:
    """value → number that struct packs for a declared scalar type, or None when it needs no conversion."""
    if isinstance(kind, types.Integer):
        bits, signed = kind.bitwidth, kind.signed
        mask, sign = (1 << bits) - 1, 1 << (bits - 1)

        def wrap(value):
            value = int(value) & mask
            return value - (1 << bits) if signed and value & sign else value

        return wrap
    if kind is types.float16:
        return _rounded_to_float16
    if isinstance(kind, types.Float):
        return float
    if isinstance(kind, types.Complex):
        return complex
    if isinstance(kind, types.AddedType):

        def refuse(value):
            raise added_arguments.unknown(kind, value)

        return refuse
    return bool if kind is types.boolean else None


def convertible(given: Type, declared: Type) -> int | None:
    """Whether an argument of one type may be passed for a parameter declared with another; smaller is better,
    None is no."""
    if given.compiler_name == declared.compiler_name:
        return 0
    if isinstance(given, types.Array) and isinstance(declared, types.Array):
        same = (given.dtype, given.ndim) == (declared.dtype, declared.ndim)
        return 1 if same and declared.layout == "A" else None
    if isinstance(given, types.Scalar) and isinstance(declared, types.Scalar):
        if given.dtype.kind == "c" and declared.dtype.kind != "c":
            return None
        return 1 if np.can_cast(given.dtype, declared.dtype, "safe") else 10
    return None


class Flattener:
    """Makes numbers of arguments of known types: an array is its address, extents and strides."""

    def __init__(self, kinds: tuple[Type, ...], parameter_names: Any, converts: bool) -> None:
        """
        :param kinds: the parameters' types
        :param converts: whether arguments may have other types (explicit signatures)
        """
        self.converts = converts
        self._labels = parameter_names
        self._converters = [
            converter(kind) if converts or isinstance(kind, types.AddedType) else None for kind in kinds
        ]

    def flatten(self, args: Any, copies: Any) -> Any:
        """The numbers; host arrays are copied to the device on the way."""
        values: list[Any] = []
        for index, value in enumerate(args):
            self._flatten_one(value, index, copies, values)
        copies.place(values)
        return values

    def _flatten_one(self, value, index, copies, values):
        if isinstance(value, (DeviceNDArray, DeviceRecord)):
            self._check_memory(value, index, copies, len(values))
            values += value.parameters
        elif isinstance(value, np.ndarray):
            mapped = None if type(value) is np.ndarray else device_view(value)
            values += copies.add(value, self._labels[index]) if mapped is None else mapped.parameters
        elif isinstance(value, np.void):
            values.append(copies.add_record(value, self._labels[index]))
        elif isinstance(value, Intent):
            if isinstance(value.value, np.ndarray) and device_view(value.value) is None:
                values += copies.add(value.value, self._labels[index], value.copies_in, value.copies_out)
            elif isinstance(value.value, np.void):
                values.append(
                    copies.add_record(value.value, self._labels[index], value.copies_in, value.copies_out)
                )
            else:
                self._flatten_one(value.value, index, copies, values)
        elif isinstance(value, tuple):
            for element in value:
                self._flatten_one(element, index, copies, values)
        elif isinstance(value, enum.Enum):
            values.append(value.value)
        elif isinstance(value, added_arguments.AddedArray):
            self._flatten_one(value.array, index, copies, values)
        elif isinstance(value, added_arguments.AddedArgument):
            values += value.numbers(lambda array: self._parameters_of(array, index, copies))
        elif is_cuda_array(value):
            self._flatten_one(as_cuda_array(value), index, copies, values)
        else:
            convert = self._converters[index]
            value = value if convert is None else convert(value)
            if isinstance(value, _COMPLEX):
                values += (value.real, value.imag)
            elif isinstance(value, _DATES):
                values.append(int(value.view(np.int64)))
            else:
                values.append(value)

    def _parameters_of(self, array, index, copies):
        """Of an array that is part of a value of a program's own type."""
        values: list[Any] = []
        self._flatten_one(array, index, copies, values)
        return values

    def _check_memory(self, array, index, copies, position):
        """A kernel reaches its own device's memory only, unless peer access is enabled; a GPU would fault. Memory of a real GPU
        is copied."""
        device = copies.device
        if array.foreign and not array.lies_in_device_memory():
            copies.add_on_gpu(array, position, self._labels[index])
        elif array.device is not device and not context_of(device).may_use_memory_of(array.device):
            raise argument_error(
                "out-of-bounds-global",
                f"the array passed for '{self._labels[index]}' is in the memory of device {array.device.id} "
                f"({array.device.name}), the kernel runs on device {device.id} ({device.name}): a GPU reports "
                "CUDA_ERROR_ILLEGAL_ADDRESS (700). Make the array's device current (with cuda.gpus[n]:), or copy it",
                700,
            )
        if array.kernel_type is not None:
            return
        if not is_aligned(array.parameters[0], array.strides, array.dtype):
            raise argument_error(
                "misaligned-access",
                f"the elements of the array passed for '{self._labels[index]}' are not aligned (address "
                f"{array.parameters[0]:#x}, strides {array.strides}, dtype {array.dtype}): a GPU reports "
                "CUDA_ERROR_MISALIGNED_ADDRESS (716)",
                716,
            )


class Packer(Flattener):
    """Makes the parameter buffer for arguments of known types."""

    def __init__(self, kinds: tuple[Type, ...], parameter_names: tuple[str, ...], converts: bool) -> None:
        super().__init__(kinds, parameter_names, converts)
        self._struct = struct.Struct("@" + struct_format(kinds))
        self.size = self._struct.size
        self.pack = self._struct.pack
