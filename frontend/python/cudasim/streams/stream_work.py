"""The work in streams, as Python enqueues it. When it runs, on which thread and who is told of its errors is the driver's
business (simulator/driver/stream_work.h).

Calls are eager by default (rule V7): work runs when it is enqueued, on the thread that enqueues it. With the option
`deferred` it is kept until the host synchronises. What a task raises is raised by the call that synchronises.
"""

from __future__ import annotations

import atexit
import contextlib
import sys
import threading
import traceback
import warnings
from typing import TYPE_CHECKING

from cudasim import _native, options
from cudasim.device.current import check_calls_allowed, current_device
from cudasim.findings import from_native
from cudasim.reports import collecting, host_findings
from cudasim.reports.tracebacks import calling_frame, without_package_frames
from cudasim.streams import early_access

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: busy() -> bool: whether anything is enqueued that is not done. Launches ask: false is the usual case.
busy = _native.streams_are_busy

_at_exit_is_registered = False
_may_race = False  # whether there is more than the default stream, or memory that host and device share


def deferred() -> bool:
    """Whether work waits until the host synchronises."""
    return options.get("deferred")


def submit(
    key: tuple[int, int],
    function: Callable[..., Any],
    synchronous: bool = False,
    watch: Callable[..., Any] | None = None,
) -> None:
    """Runs function() when its turn in a stream has come: now, or later (deferred, and not `synchronous`).

    :param key: Stream.key of the stream
    :param watch: called with the place of the call when the function is kept, or races are looked for: the early_access.Watches
        of the host memory that it has to do with
    """
    if _native.runs_at_once(deferred()):
        function()
        return
    _before_enqueueing()
    if synchronous or not deferred():
        place = ""
        if _native.stream_order_is_kept():
            place = _calling_place() or ""
            early_access.forget_waited()
            if watch is not None and not synchronous:
                function = early_access.followed(function, watch, place)
        _native.submit_work(*key, function, synchronous, place)
        _report_races()
        return
    place = _calling_place()
    watches = [] if watch is None else watch(place)
    _native.submit_work(*key, early_access.watched(function, watches), synchronous, place or "")


def place_to_enqueue() -> str:
    """The user's line that is about to enqueue something by a call of the driver's own; empty where it runs at once."""
    if _native.runs_at_once(deferred()):
        return ""
    _before_enqueueing()
    return _calling_place() or ""


def wait_for(key: tuple[int, int], event: _native.StreamEvent) -> None:
    """What is enqueued in a stream from now on runs after the event's point as well."""
    if event.is_pending:
        _before_enqueueing()
        event.hold_up(*key)


def record(event: _native.StreamEvent, key: tuple[int, int]) -> None:
    """Puts an event at the end of what is in a stream now."""
    if not _native.runs_at_once(deferred()):
        _before_enqueueing()
    event.record(*key)


def add_callback(key: tuple[int, int], callback: Callable[[int], Any]) -> None:
    """Appends callback(status), which runs on the callback thread."""
    _before_enqueueing()
    _native.add_stream_callback(*key, callback)


def synchronize(key: tuple[int, int] | None = None, device: int | None = None) -> None:
    """Runs what is in a stream, on a device, or everywhere."""
    if key is None:
        _native.synchronize_device(device)
    else:
        _native.synchronize_stream(*key)
    _report_races()


def look_for_races() -> None:
    """From now on operations of the current device are compared with those in other streams, if the option check asks for races.
    To be called when there is more than the default stream, or memory that host and device share."""
    global _may_race
    _may_race = True
    if "races" in options.get("check"):
        _native.look_for_races_between_streams(current_device().with_engine())


@contextlib.contextmanager
def _block_of_checks():
    """Of cudasim.check(): the order of streams is kept in it."""
    was_kept = _native.stream_order_is_kept()
    if _may_race:
        look_for_races()
    try:
        yield
        _report_races()
    finally:
        if not was_kept:
            _native.forget_stream_order()
            early_access.forget_waited()


collecting.around(_block_of_checks)


def _report_races():
    if not _native.stream_order_is_kept():
        return
    found = _native.take_races_of_copies()
    if found and "races" in options.get("check"):
        host_findings.fail([(from_native(native), text) for native, text in found])


def drop(device: int | None = None) -> None:
    """Forgets the work that waits, of a device or all."""
    _native.drop_stream_work(device)


def callback_task(callback: Callable[..., Any], *arguments: Any) -> Callable[[int], None]:
    """What calls callback(stream, status, arg) on the callback thread. Its errors are warnings, as in numba.cuda."""
    stream, arg = arguments

    def call(status):
        try:
            callback(stream, status, arg)
        except Exception as error:  # noqa: BLE001 - nobody waits for it
            _warn_of(callback, error)
        except BaseException:  # noqa: BLE001 - sys.exit() in a callback ends nothing
            traceback.print_exc()

    return call


def finish() -> None:
    """What is enqueued runs before the interpreter, or a recording, ends; callbacks that do not end are left. Errors are reported as those that
    nobody catches, and the process fails: its exit status is 1 where it would be 0."""
    try:
        _native.finish_stream_work()
        _report_races()
    except Exception as error:  # noqa: BLE001 - nobody is left to catch it
        _native.fail_at_exit()
        error = error.with_traceback(without_package_frames(error.__traceback__))
        sys.excepthook(type(error), error, error.__traceback__)


def _before_enqueueing():
    """Checks that the program may call CUDA now, and sees to it that what is enqueued runs before it ends."""
    global _at_exit_is_registered
    check_calls_allowed()
    if not _at_exit_is_registered:
        _at_exit_is_registered = True
        atexit.register(finish)


def _calling_place():
    """The user's line that enqueues something now."""
    frame = calling_frame()
    return None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _warn_of(callback, error):
    code = getattr(callback, "__code__", None)
    place = (code.co_filename, code.co_firstlineno) if code is not None else ("<stream callback>", 0)
    try:
        warnings.warn_explicit(f"Exception in stream callback: {error}", UserWarning, *place)
    except Warning:  # a filter makes it an error, and there is nobody to raise it to
        traceback.print_exc()


class _Host:
    """What the driver asks this program (StreamHost in simulator/driver/stream_work.h)."""

    deferred = staticmethod(deferred)

    @staticmethod
    def order():
        """In which order streams get their turn: policy and seed."""
        return options.get("policy"), options.get("seed") % 2**64

    @staticmethod
    def status_of(error):
        """The CUresult that callbacks see of an exception."""
        code = getattr(error, "code", None)
        return code if isinstance(code, int) and code else 719

    @staticmethod
    def text_of(error):
        return f"{type(error).__name__}: {error}"

    @staticmethod
    def add_line(error, line):
        """Appends a line to an exception's message."""
        if error.args and isinstance(error.args[-1], str):
            error.args = (*error.args[:-1], f"{error.args[-1]}\n{line}")
            if getattr(error, "msg", None) is not None:
                error.msg = f"{error.msg}\n{line}"
        elif sys.version_info >= (3, 11):
            error.add_note(line)

    @staticmethod
    def start_callback_thread(serve):
        """:param serve: runs callbacks; returns only by raising"""

        def serve_for_ever():
            while True:
                try:
                    serve()
                except BaseException:  # noqa: BLE001 - work before a callback ended the run, and nobody waits for it
                    traceback.print_exc()

        threading.Thread(target=serve_for_ever, name="cudasim stream callbacks", daemon=True).start()


_native.set_stream_host(_Host)
