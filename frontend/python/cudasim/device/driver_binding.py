"""What numba.cuda code takes from NVIDIA's Python bindings of the driver (cuda.bindings.driver), in the little that
memory needs: pointers, IPC handles, result codes and flags, with the driver's values (CUDA Driver API, cuda.h).
"""

from __future__ import annotations

import enum
import operator
from typing import Any

from cudasim._native import cuda_results


class CUdeviceptr(int):
    """An address in device memory; `value` as ctypes pointers have it."""

    def __new__(cls, address: Any = 0) -> CUdeviceptr:
        return super().__new__(cls, address_of(address))

    @property
    def value(self) -> int:
        return int(self)

    def __repr__(self) -> str:
        return f"<CUdeviceptr {int(self):#x}>"


def address_of(pointer: Any) -> int:
    """An address given as an integer, a ctypes pointer or integer, or an object that converts to int.

    :raises TypeError: for anything else
    """
    try:
        return operator.index(pointer)
    except TypeError:
        pass
    if hasattr(pointer, "value"):
        return pointer.value or 0
    try:
        return int(pointer)
    except (TypeError, ValueError):
        raise TypeError(f"an address is an integer or a ctypes pointer, got {pointer!r}") from None


class CUipcMemHandle:
    """What names device memory for other processes: 64 bytes (`reserved`), which also iterate as integers."""

    def __init__(self, reserved: bytes = bytes(64)) -> None:
        self.reserved = reserved

    @property
    def reserved(self) -> bytes:
        return self._reserved

    @reserved.setter
    def reserved(self, content: bytes) -> None:
        content = bytes(content)
        if len(content) != 64:
            raise ValueError(f"an IPC handle has 64 bytes, got {len(content)}")
        self._reserved = content

    def __bytes__(self) -> bytes:
        return self._reserved

    def __iter__(self) -> Any:
        return iter(self._reserved)

    def __len__(self) -> int:
        return 64

    def __eq__(self, other: object) -> bool:
        return isinstance(other, CUipcMemHandle) and self._reserved == other._reserved

    def __hash__(self) -> int:
        return hash(self._reserved)


_make_enumeration: Any = enum.IntEnum  # not known to type checkers as one, because its members are a table's
CUresult: Any = _make_enumeration("CUresult", cuda_results(), module=__name__)


class CUmemAttach_flags(enum.IntEnum):
    """Who may use managed memory."""

    CU_MEM_ATTACH_GLOBAL = 1
    CU_MEM_ATTACH_HOST = 2
    CU_MEM_ATTACH_SINGLE = 4


class CUpointer_attribute(enum.IntEnum):
    """The attributes that cuPointerGetAttribute() knows here."""

    CU_POINTER_ATTRIBUTE_MEMORY_TYPE = 2
    CU_POINTER_ATTRIBUTE_DEVICE_POINTER = 3
    CU_POINTER_ATTRIBUTE_HOST_POINTER = 4
    CU_POINTER_ATTRIBUTE_IS_MANAGED = 8
    CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL = 9


class CUmemorytype(enum.IntEnum):
    """Kinds of memory that a pointer can be into."""

    CU_MEMORYTYPE_HOST = 1
    CU_MEMORYTYPE_DEVICE = 2


CU_MEMHOSTALLOC_PORTABLE = CU_MEMHOSTREGISTER_PORTABLE = 1
CU_MEMHOSTALLOC_DEVICEMAP = CU_MEMHOSTREGISTER_DEVICEMAP = 2
CU_MEMHOSTALLOC_WRITECOMBINED = 4
