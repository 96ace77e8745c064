"""Copies to the host of elements that nobody wrote, where the option check looks for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cudasim import _native, options
from cudasim.device.current import current_device
from cudasim.reports import host_findings

if TYPE_CHECKING:
    from typing import Any


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


def report_unused() -> None:
    """A finding for each allocation of the current device that nobody has written, where launches look for such memory."""
    if "init" not in options.get("check"):
        return
    for label, size in _native.unused_memory(current_device().with_engine()):
        host_findings.report(
            "unused-allocation", f"{size} bytes are allocated and never written: {label or 'device memory'}"
        )


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
