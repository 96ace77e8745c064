"""Host memory that the simulated driver knows: page-locked (pinned), mapped and managed. The one place to ask
whether host code looks at memory that copies or kernels may still be working on.

Who makes such memory (memory_calls.py) registers it here and forgets it when it is freed or unlocked. Ranges never
overlap. Addresses are the same for the host and for kernels.
"""

from __future__ import annotations

import bisect
import threading
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from typing import Any

    import numpy as np


class HostRange(NamedTuple):
    """A range of host memory. `kind`: "pinned" (copied to and from), "mapped" or "managed" (kernels use it too);
    `device`: the device that was current when it was made; `registered`: whether the memory is somebody else's, who
    had it page-locked or mapped for a while."""

    address: int
    size: int
    kind: str
    device: object
    registered: bool = False

    @property
    def end(self) -> int:
        return self.address + self.size


_lock = threading.RLock()
_starts: list[Any] = []  # ascending
_ranges: dict[Any, Any] = {}  # start → HostRange


def register(host_range: HostRange) -> None:
    with _lock:
        bisect.insort(_starts, host_range.address)
        _ranges[host_range.address] = host_range


def forget(address: int) -> HostRange | None:
    """Removes and returns the range that starts at the address; None when there is none."""
    with _lock:
        found = _ranges.pop(address, None)
        if found is not None:
            _starts.remove(address)
        return found


def starting_at(address: int) -> HostRange | None:
    return _ranges.get(address)


def find(address: int) -> HostRange | None:
    """The range that contains the address, or None."""
    with _lock:
        at = bisect.bisect_right(_starts, address)
        found = _ranges[_starts[at - 1]] if at else None
    return found if found is not None and address < found.end else None


def overlapping(address: int, size: int) -> list[HostRange]:
    """Every range that shares a byte with [address, address + size)."""
    with _lock:
        first = max(bisect.bisect_right(_starts, address) - 1, 0)
        last = bisect.bisect_left(_starts, address + size)
        return [_ranges[start] for start in _starts[first:last] if _ranges[start].end > address]


def is_page_locked(array: np.ndarray) -> bool | None:
    """Whether a host array lies in memory from which and to which copies may be asynchronous."""
    return bool(_starts) and find(array.__array_interface__["data"][0]) is not None
