"""Host memory that the simulated driver knows: page-locked (pinned), mapped and managed (simulator/driver/host_ranges.h). The
one place to ask whether host code looks at memory that copies or kernels may still be working on.

Addresses are the same for the host and for kernels.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim import _native
from cudasim.device.device import by_context

if TYPE_CHECKING:
    import numpy as np

    from cudasim._native import HostRange
    from cudasim.device.device import Device


def starting_at(address: int) -> HostRange | None:
    """The range that starts at the address, or None."""
    return _native.host_range_at(address)


def find(address: int) -> HostRange | None:
    """The range that contains the address, or None."""
    return _native.find_host_range(address)


def overlapping(address: int, size: int) -> bool:
    """Whether a range shares a byte with [address, address + size)."""
    return _native.host_ranges_overlap(address, size)


def device_of(memory: HostRange) -> Device:
    """The device that was current when the memory was made."""
    return by_context[memory.context.id]


def is_page_locked(array: np.ndarray) -> bool:
    """Whether a host array lies in memory from which and to which copies may be asynchronous."""
    return _native.any_host_ranges() and _native.is_page_locked(array.__array_interface__["data"][0])
