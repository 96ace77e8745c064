"""Copies to the host of elements that nobody wrote, where the option check looks for them."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from cudasim import _native, options
from cudasim.device.current import current_device
from cudasim.reports import host_findings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from cudasim.findings import SourceLocation


def check_copy(context: Any, address: int, size: int, dtype: Any = np.uint8, name: str = "") -> None:
    """Warns of elements of device memory that are about to be copied to the host and that nobody wrote.

    :param size: in bytes
    :param dtype: of the elements; what lies between the fields of a record does not count
    :param name: of the array; may be empty
    """
    if "init" not in options.get("check") or not size:
        return
    dtype = np.dtype(dtype)
    holes = _holes(dtype)
    elements, first = _native.unwritten_elements(
        context, address, size, dtype.itemsize, holes if any(holes) else []
    )
    if not elements:
        return
    what, are = ("element", "is") if elements == 1 else ("elements", "are")
    host_findings.report(
        "uninitialised-copy",
        f"{elements} {what} of {size // dtype.itemsize} {are} copied to the host that nobody wrote, the first has the index "
        f"{first}: what the copy has there is not defined",
    )


def track_unused() -> None:
    """From now on report_unused() knows of memory that the program frees, too."""
    _native.track_unused_memory(current_device().with_engine())


#: Label of an allocation → the line that has made it.
places: dict[str, SourceLocation] = {}


def report_unused() -> None:
    """A finding for each line whose memory on the current device nobody has written, where launches look for such memory."""
    if "init" not in options.get("check"):
        return
    sizes: dict[str, list[int]] = {}
    for label, size in _native.unused_memory(current_device().with_engine()):
        sizes.setdefault(label, []).append(size)
    for label, each in sizes.items():
        what = f"{sum(each)} bytes" if len(each) == 1 else f"{sum(each)} bytes, in {len(each)} allocations,"
        host_findings.report(
            "unused-allocation",
            f"{what} are allocated and never written: {label or 'device memory'}",
            places.get(label, host_findings.NOWHERE),
            count=len(each),
        )


#: More ranges of memory that nobody wrote are not listed.
_MOST_RANGES = 10_000


def unwritten_ranges(context: Any, memory: Iterable[tuple[int, int]]) -> list[tuple[int, int]] | None:
    """(address, bytes) of what nobody has written, where the option check looks for it.

    A byte of which a bit was not written counts as a whole. None: there are too many pieces.

    :param memory: (address, bytes) of allocations
    """
    ranges: list[tuple[int, int]] = []
    if "init" not in options.get("check"):
        return ranges
    halves = [each for each in memory if each[1]]
    halves.reverse()
    while halves:
        address, size = halves.pop()
        count, _ = _native.unwritten_elements(context, address, size, 1, [])
        if count == size:
            if ranges and sum(ranges[-1]) == address:
                ranges[-1] = (ranges[-1][0], ranges[-1][1] + size)
            else:
                ranges.append((address, size))
            if len(ranges) > _MOST_RANGES:
                return None
        elif count:
            half = size // 2
            halves += [(address + half, size - half), (address, half)]
    return ranges


def forget_writes(context: Any, ranges: list[tuple[int, int]]) -> None:
    """From now on the ranges count as never written. What is in them stays."""
    if not ranges:
        return
    # A copy within the device takes along what is known of its source. Nobody is told of writes by ctypes.
    most = min(max(size for _, size in ranges), 1 << 20)
    source = _native.mem_alloc(context, most, "", False)
    _native.unwritten_elements(context, source, 1, 1, [])  # only from here on copies are followed
    for address, size in ranges:
        for offset in range(0, size, most):
            part = min(most, size - offset)
            ctypes.memmove(source, address + offset, part)
            _native.memcpy_dtod(context, address + offset, source, part)
    _native.mem_free(context, source)


def _holes(dtype):
    """For each byte of an element, whether no field has it."""
    holes = np.ones(dtype.itemsize, bool)
    _fill(dtype, 0, holes)
    return holes.tolist()


def _fill(dtype, offset, holes):
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        for index in range(int(np.prod(shape))):
            _fill(base, offset + index * base.itemsize, holes)
    elif dtype.fields is not None:
        for field, at, *_ in dtype.fields.values():
            _fill(field, offset + at, holes)
    else:
        holes[offset : offset + dtype.itemsize] = False
