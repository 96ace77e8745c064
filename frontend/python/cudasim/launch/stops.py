"""Stops: what is told where threads of launches stop, looks at them and says who goes on (design.md, E13).

For debuggers and searches for schedules; no part of the public interface. A handler works on the launching thread, while all
simulated threads hold. What it raises ends the launch, which raises it. It must not launch kernels on the same device.
"""

from __future__ import annotations

import contextlib
import struct
from typing import TYPE_CHECKING, Protocol

from cudasim import _native
from cudasim.findings import SourceLocation
from cudasim.reports.captured_variables import values_in_frame
from cudasim.type_system.array_layout import extent_in_bytes, lowest_offset

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    #: Linear indices: of the block, and of the thread in it.
    Thread = tuple[int, int]


class StopHandler(Protocol):
    """What launches are stopped by."""

    def launch_begins(self, launch: _native.StoppedLaunch) -> None:
        """Called when nothing of a launch has run. Says where it is to stop: without that, nowhere."""

    def stopped(self, launch: _native.StoppedLaunch) -> None:
        """Called when a thread has come to a statement at which it is to stop.

        When it returns that thread goes on, then those that it has moved, then the rest in the policy's order.
        """


@contextlib.contextmanager
def attached(handler: StopHandler) -> Iterator[None]:
    """Launches that begin inside have this handler, in every thread of the host and in both modes."""
    before = _native.set_stop_handler(handler)
    try:
        yield
    finally:
        _native.set_stop_handler(before)


def location(launch: _native.StoppedLaunch, thread: Thread) -> list[SourceLocation]:
    """Where a thread is, innermost function first; empty where it has not started, is over, or nobody knows."""
    return [SourceLocation(*place) for place in launch.location(thread)]


def values(launch: _native.StoppedLaunch, thread: Thread) -> list[dict[str, Any]]:
    """The variables of a thread by name, for each function of `location(launch, thread)`.

    Arrays are NumPy arrays, copies of what the thread would read.
    """
    variables = launch.variables(thread)
    for variable in variables:
        _read_elements(launch, thread, variable)
    return [values_of(variables, frame) for frame in range(len(launch.location(thread)))]


def variables_in(
    launch: _native.StoppedLaunch, thread: Thread, frame: int, names: set[str]
) -> list[dict[str, Any]]:
    """Those variables of one function that have these names, with copies of the memory that they refer to, which may be written.

    Of several with one name the last.
    """
    found = {
        variable["name"]: variable
        for variable in launch.variables(thread)
        if variable["frame"] == frame and variable["name"] in names
    }
    for variable in found.values():
        _read_elements(launch, thread, variable)
        if variable["contents"] is not None:
            variable["contents"] = bytearray(variable["contents"])
    return list(found.values())


def values_of(variables: list[dict[str, Any]], frame: int) -> dict[str, Any]:
    """{name: value} of variables with their memory. Arrays are views of the copies."""
    return dict(values_in_frame(tuple(variables), frame))


def _read_elements(launch, thread, variable):
    """Completes a variable that refers to global memory."""
    if variable["contents"] is not None or variable["value"] is None or not variable["element_bytes"]:
        return
    (address,) = struct.unpack_from("<Q", variable["value"])
    dimensions = variable["dimensions"]
    words = struct.unpack_from(f"<{2 * dimensions}q", variable["value"], 8)
    shape, strides = words[:dimensions], words[dimensions:]
    if size := extent_in_bytes(shape, strides, variable["element_bytes"]):
        variable["contents_address"] = address + lowest_offset(shape, strides)
        variable["contents"] = launch.read(thread, variable["contents_address"], size)
