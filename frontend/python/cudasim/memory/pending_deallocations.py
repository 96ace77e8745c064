"""Memory that nothing uses any more and that is still to be given back: numba.cuda's deferred deallocation.

Giving device memory back makes a GPU wait for its kernels, so numba.cuda collects what is to be freed and frees it
together: when more than NUMBA_CUDA_MAX_PENDING_DEALLOCS_COUNT (10) things wait, when they take more than
NUMBA_CUDA_MAX_PENDING_DEALLOCS_RATIO (0.2) of the device's memory, when memory runs out, or on clear(). Nothing is
freed inside `with cuda.defer_cleanup():`. (Numba documentation, "Memory Management", "Deallocation Behavior".)
"""

from __future__ import annotations

import collections
import contextlib
from typing import TYPE_CHECKING

from cudasim import _numba_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


#: Simulated device memory is the host's, which has other uses for it: more than this never waits.
#: Bytes. Memory that is handed out again has its pages already; faults for fresh ones cost as much
#: as a ufunc that writes them.
MOST_PENDING = 32 << 20


class UnknownSize(int):
    """The size of what has none that is known: 0, printed as "?"."""

    def __str__(self) -> str:
        return "?"


UNKNOWN_SIZE = UnknownSize(0)


class PendingDeallocations:
    """The queue of one memory manager. Finalizers add to it at any moment, in any thread."""

    def __init__(self, capacity: Any = UNKNOWN_SIZE) -> None:
        self._pending: collections.deque[Any] = collections.deque()  # (destructor, handle, bytes)
        self._disabled = 0
        self._size = 0
        #: bytes of the device's memory; set when it is known
        self.memory_capacity = capacity

    @property
    def _max_pending_bytes(self):
        limit = int(self.memory_capacity * _numba_config.setting("CUDA_DEALLOCS_RATIO"))
        return min(limit, MOST_PENDING)

    def add_item(self, dtor: Callable[..., Any], handle: Any, size: Any = UNKNOWN_SIZE) -> None:
        """Will call dtor(handle), which gives back so many bytes."""
        self._pending.append((dtor, handle, size))
        self._size += int(size)
        if self._size > self._max_pending_bytes or len(self._pending) > _numba_config.setting(
            "CUDA_DEALLOCS_COUNT"
        ):
            self.clear()

    def clear(self) -> None:
        """Gives back all that waits, unless that is switched off."""
        if self.is_disabled:
            return
        while True:
            try:
                destructor, handle, size = self._pending.popleft()
            except IndexError:
                return
            self._size -= int(size)
            destructor(handle)

    @contextlib.contextmanager
    def disable(self) -> Iterator[None]:
        """Nothing is given back inside; may be nested."""
        self._disabled += 1
        try:
            yield
        finally:
            self._disabled -= 1

    @property
    def is_disabled(self) -> bool:
        return self._disabled > 0

    def __len__(self) -> int:
        return len(self._pending)
