"""Libraries in CUDA C++ that are loaded into this process, with ctypes or as extensions (simulator/driver/host_language.h): they have Python's
devices and memory, what their kernels print goes to sys.stdout, and errors of their kernels are raised as those of Python kernels when
the program synchronises next.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from cudasim import _native
from cudasim.device.device import devices
from cudasim.reports import reporting

if TYPE_CHECKING:
    from typing import Any


class _Host:
    """What the engine calls, with the GIL."""

    @staticmethod
    def make_device(ordinal: int) -> None:
        """Makes the devices, and the engine of this one, if there is one of the number."""
        seen = devices()
        if 0 <= ordinal < len(seen):
            seen[ordinal].with_engine()

    @staticmethod
    def launched(report: Any) -> None:
        """Raises what a launch has found."""
        reporting.deliver(report, {}, lambda: None)

    @staticmethod
    def printed(text: str) -> None:
        """Writes lines of a kernel."""
        sys.stdout.write(text)


_native.set_host_language(_Host)
