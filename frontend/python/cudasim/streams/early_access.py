"""The finding not-guaranteed-complete: with deferred execution the host touches pinned, mapped or managed memory while
enqueued work has still to do with it (rule V7). Reads give stale values, as they may on a GPU.

  copy to pinned memory         any access before the copy is done
  copy from pinned memory       a write before the copy is done
  launch with mapped or managed an access before the launch is done, if the kernel then writes other values there

With eager execution, where the option check asks for races, the same accesses are data races until the host has waited for the
work: they are errors at the line of the access. Of a launch only what it has accessed counts.

Accesses are seen by the pages they fault on (simulator/streams/page_watch.h), whoever makes them: NumPy, memoryview, C
code. A warning has the line of the access where the main thread makes it.
"""

from __future__ import annotations

import ctypes
import weakref
from typing import TYPE_CHECKING

import numpy as np

from cudasim import _native
from cudasim.device import host_visible
from cudasim.device.current import current_device
from cudasim.findings import RacingAccess, SourceLocation
from cudasim.reports import host_findings
from cudasim.reports.user_warnings import programs_frame, warn_at
from cudasim.type_system.array_layout import extent_in_bytes

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_ADVICE = "; synchronise first (stream.synchronize(), event.synchronize(), cuda.synchronize())"
_KIND = "not-guaranteed-complete"

_watches: weakref.WeakValueDictionary[int, Watch] = weakref.WeakValueDictionary()  # by number
_listening = False
_followed: list[Watch] = []  # of operations that the host may not have waited for


class Watch:
    """Memory that enqueued work has to do with, from its enqueueing to its end."""

    __slots__ = (
        "_number",
        "_own_pages",
        "_host",
        "_kind",
        "_work",
        "_work_place",
        "_place",
        "_before",
        "_writes",
        "_operation",
        "__weakref__",
    )

    def __init__(
        self, host: np.ndarray, memory: host_visible.HostRange, work: str, place: str, writes: bool = False
    ) -> None:
        """
        :param host: the array, which is kept
        :param memory: its HostRange
        :param work: what is to be done: "a copy to it", "a copy from it", "kernel f"
        :param place: where that was enqueued
        :param writes: whether reading is all right
        """
        self._host, self._kind, self._work, self._work_place = host, memory.kind, work, place
        self._place: tuple[str, int, dict[str, Any]] | None = None
        self._before: np.ndarray | None = None
        self._writes = writes
        self._operation = 0
        self._own_pages = not memory.registered
        self._number = -1
        self._watch()

    def _watch(self):
        address, size = _extent(self._host)
        self._number = _native.watch_pages(address, size, self._writes, self._own_pages)
        if self._number >= 0:
            _listen()
            _watches[self._number] = self

    def follow(self, operation: int) -> bool:
        """The work has run, as that operation, and an access is a race until the host has waited for it.

        :returns: whether there is anything to race with
        """
        self._operation = operation
        if not self._is_launch:
            return True
        read, written = self._touched_by_launch(*_extent(self._host))
        if read and not written:
            self._end()
            self._writes = True
            self._watch()
        return read or written

    def is_waited_for(self) -> bool:
        """Whether the host has waited for the work that is followed."""
        return _native.host_has_waited(self._operation)

    def _touched_by_launch(self, address, size):
        context = current_device().driver_context
        return _native.touched_by(context, self._operation, address, size)

    def _race(self, place):
        if self.is_waited_for():
            return
        address = _native.touched_page_at(self._number)
        if self._is_launch:
            read, written = self._touched_by_launch(address, 1)
            if not (read if self._writes else written):
                _native.watch_pages_again(self._number)
                return
        file, line, _ = place
        what = "written" if self._writes else "read or written"
        low, _ = _extent(self._host)
        message = (
            f"data race: {self._kind} memory is {what} by the host at byte {address - low} of {self._host.nbytes}, and {self._work}, "
            f"{'launched' if self._is_launch else 'enqueued'} at {self._work_place}, is not waited for{_ADVICE}"
        )
        work_file, _, work_line = self._work_place.rpartition(":")
        sides = [
            (self._work, SourceLocation(work_file, "", int(work_line or 0), 0)),
            (f"{what} by the host", SourceLocation(file, "", line, 0)),
        ]
        accesses = tuple(RacingAccess(name, (), (), "", (where,), "") for name, where in sides)
        finding = host_findings.host_finding(
            "data-race", message, sides[1][1], severity="error", accesses=accesses
        )
        text = f"error: data-race: {message}\n" + "".join(
            f"  {name}:\n    {where}\n" for name, where in sides
        )
        host_findings.fail([(finding, text)])

    def touched(self, place: tuple[str, int, dict[str, Any]]) -> None:
        """The main thread has touched the memory, at this place."""
        if self._operation:
            self._race(place)
            return
        self._place = place
        if not self._is_launch:
            self._warn()

    @property
    def _is_launch(self):
        return self._work.startswith("kernel ")

    def begin(self) -> None:
        """The work begins: from now on accesses are its own."""
        number, self._number = self._number, -1
        _watches.pop(number, None)
        touched = _native.unwatch_pages(number)
        if touched and self._is_launch:
            self._before = np.array(self._host, copy=True, subok=False)
        elif touched and self._place is None:
            self._warn()

    def end(self) -> None:
        """The work is done."""
        if self._before is not None and self._before.tobytes() != np.asarray(self._host).tobytes():
            self._warn()

    def _warn(self):
        what = "is written" if self._writes else "is read or written"
        message = (
            f"{self._kind} memory {what} before {self._work}, enqueued at {self._work_place}, is guaranteed "
            f"to be complete{_ADVICE}"
        )
        nowhere: tuple[str, int, dict[str, Any]] = ("<another thread>", 0, {})
        file, line, scope = self._place or nowhere
        if host_findings.are_gathered():
            host_findings.report(_KIND, message, SourceLocation(file, "", line, 0), scope)
        else:
            warn_at(_KIND, f"{_KIND}: {message}", file, line, scope)

    def _end(self):
        if self._number >= 0:
            _native.unwatch_pages(self._number)
            self._number = -1

    def __del__(self, unwatch: Callable[[int], bool] = _native.unwatch_pages) -> None:
        if self._number >= 0:  # the work was dropped, or is followed
            unwatch(self._number)


def _extent(host):
    """The lowest address and the bytes that an array spans."""
    low = host.__array_interface__["data"][0] + sum(
        min(0, stride * (count - 1)) for count, stride in zip(host.shape, host.strides)
    )
    return low, extent_in_bytes(host.shape, host.strides, host.itemsize)


def watches_of(arrays: list[np.ndarray], work: str, place: str, writes: bool = False) -> list[Watch]:
    """Watches of those arrays that lie in page-locked or managed memory."""
    found = []
    for array in arrays:
        memory = host_visible.find(array.__array_interface__["data"][0]) if array.nbytes else None
        if memory is not None:
            found.append(Watch(array, memory, work, place, writes))
    return found


def watches_of_launch(args: Any, name: Any, place: Any) -> Any:
    """Watches of what a kernel may write to: mapped and managed memory, page-locked arrays that are copied back."""
    found = []
    for value in _leaves(args):
        if isinstance(value, np.ndarray):
            memory = host_visible.find(value.__array_interface__["data"][0]) if value.nbytes else None
            pinned = memory is not None and memory.kind == "pinned"
            found += watches_of([value], "a copy to it" if pinned else f"kernel {name}", place)
        elif getattr(value, "__cuda_ndarray__", False) and value.nbytes:
            low = value._lowest_address()
            if host_visible.find(low) is not None:
                bytes_ = np.frombuffer((ctypes.c_char * value.alloc_size).from_address(low), np.uint8)
                found += watches_of([bytes_], f"kernel {name}", place)
    return found


def _leaves(values):
    for value in values:
        if isinstance(value, tuple):
            yield from _leaves(value)
        else:
            yield (
                getattr(value, "value", value)
                if type(value).__module__ == "cudasim.launch.arguments"
                else value
            )


def watched(function: Callable[..., Any], watches: list[Watch]) -> Callable[..., Any]:
    """The function, which begins and ends the watches."""
    if not watches:
        return function

    def work():
        for watch in watches:
            watch.begin()
        function()
        for watch in watches:
            watch.end()

    return work


def followed(
    function: Callable[..., Any], watch: Callable[[str], list[Watch]], place: str
) -> Callable[..., Any]:
    """The function, for an operation that runs now and that the host does not wait for: what it has to do with is watched until
    the host does.

    :param watch: makes the watches for work that was enqueued at a place
    """

    def work():
        function()
        operation = _native.running_operation()
        _followed.extend([each for each in watch(place) if each.follow(operation)])

    return work


def forget_waited() -> None:
    """Ends the watches of operations that the host has waited for."""
    _followed[:] = [each for each in _followed if not each.is_waited_for()]


def _listen():
    global _listening
    if not _listening:
        _listening = True
        _native.on_touched_pages(_touched)


def _touched(number):
    watch = _watches.get(number)
    if watch is not None:
        frame = programs_frame()
        watch.touched((frame.f_code.co_filename, frame.f_lineno, frame.f_globals))
