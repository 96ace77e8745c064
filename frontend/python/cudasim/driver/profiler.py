"""cuda.profile_start and its kin: a region for profilers such as Nsight Systems. The simulator has none to switch; the
calls are checked as the driver checks them and do nothing else.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from cudasim.device.current import current_device

if TYPE_CHECKING:
    from collections.abc import Iterator


def profile_start() -> None:
    """Begins the region; as with the driver, nothing happens when it has begun already."""
    current_device()


def profile_stop() -> None:
    """Ends the region; as with the driver, nothing happens when it has not begun."""
    current_device()


@contextlib.contextmanager
def profiling() -> Iterator[None]:
    """`with cuda.profiling():` a region."""
    profile_start()
    try:
        yield
    finally:
        profile_stop()
