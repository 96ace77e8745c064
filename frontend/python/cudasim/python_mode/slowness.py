"""How much slower a kernel is in Python mode, and how long its launch will take: one warning for each kernel.

The run time is estimated from the launch's own first blocks; the factor is measured once per process, with a small
kernel that runs in both modes.
"""

from __future__ import annotations

import time
import types as python_types
from typing import TYPE_CHECKING

import numpy as np

from cudasim.device.current import current_device
from cudasim.launch.kernel import CompiledKernel
from cudasim.memory.array_functions import to_device
from cudasim.reports import check_session
from cudasim.reports.user_warnings import warn_at
from cudasim.types import float64, int64

if TYPE_CHECKING:
    from typing import Any

#: An estimate needs this many seconds of a launch, or all of it.
_SECONDS_OF_LAUNCH = 0.1
_factor = None


class Estimate:
    """Called after each block until it has warned."""

    def __init__(self, kernel: Any, blocks: Any, threads_per_block: Any) -> None:
        self._kernel, self._blocks, self._threads = kernel, blocks, threads_per_block
        self._start = time.perf_counter()

    @classmethod
    def of(cls, kernel: Any, blocks: Any) -> Any:
        """An Estimate for a kernel that could be faster, None for others and when it has warned before."""
        if kernel.warned_of_slowness or kernel.reason is None or not kernel.reason.not_yet:
            return None
        factor()  # measured here: inside of the launch it would wait for it
        return cls(kernel, *blocks)

    def __call__(self, done: Any) -> bool:
        seconds = time.perf_counter() - self._start
        if done < self._blocks and seconds < _SECONDS_OF_LAUNCH:
            return True
        self._kernel.warned_of_slowness = True
        per_thread = seconds / done / self._threads
        warn_at("python-mode", self._message(per_thread), *self._place())
        return False

    def _place(self):
        return self._kernel.reason.file, self._kernel.reason.line

    def _message(self, per_thread):
        threads = self._blocks * self._threads
        return (
            f"{self._kernel.name}() runs in Python mode, about {factor():,.0f} times slower than compiled (measured "
            f"here with a small kernel in both modes): {self._kernel.reason}. {per_thread * 1e6:,.1f} µs per thread "
            f"measured, so this launch of {threads:,} threads takes about {_duration(per_thread * threads)}. "
            "CUDASIM_MODE=native refuses such kernels instead"
        )


def _duration(seconds):
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 120:
        return f"{seconds:.1f} seconds" if seconds < 10 else f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 7200 else f"{seconds / 3600:.1f} hours"


def factor() -> Any:
    """Python mode's time by native mode's, for a small kernel on this machine; measured once."""
    global _factor
    if _factor is None:
        _factor = _measured()
    return _factor


def _reference(x, y, rounds):
    i = cuda.grid(1)  # type: ignore[name-defined]  # noqa: F821 - a name of the kernel's globals
    total = 0.0
    for _ in range(rounds):
        total += x[i] * y[i]
    y[i] = total


def _measured(rounds=20):
    # These launches are not the program's: `cudasim check` neither repeats nor counts them.
    session, check_session.session = check_session.session, None
    try:
        return _measured_launches(rounds)
    finally:
        check_session.session = session


def _measured_launches(rounds):
    from cudasim.launch.cuda_module import cuda_module  # most kernels are not slow
    from cudasim.python_mode.kernel import PythonKernel  # which imports this module

    function = python_types.FunctionType(
        _reference.__code__, {"cuda": cuda_module(), "range": range}, "reference"
    )
    argument_types = (float64[::1], float64[::1], int64)
    seconds = {}
    for kind, blocks in ((CompiledKernel, 512), (PythonKernel, 1)):
        x = to_device(np.zeros(blocks * 128))
        entry = kind(function, argument_types, {}).entry(current_device(), (blocks, 1, 1), (128, 1, 1), 0)
        entry.run((x, x, rounds))
        seconds[kind] = min(_seconds(entry, (x, x, rounds)) for _ in range(3)) / blocks
    return seconds[PythonKernel] / seconds[CompiledKernel]


def _seconds(entry, args):
    start = time.perf_counter()
    entry.run(args)
    return time.perf_counter() - start
