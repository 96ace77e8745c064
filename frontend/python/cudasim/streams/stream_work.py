"""The work in streams: when it runs, on which thread, and what becomes of its errors.

Calls are eager by default (rule V7): work runs when it is enqueued, on the thread that enqueues it, and nothing is kept
here. With the option `deferred` it is kept until the host synchronises: Stream.synchronize, Event.synchronize and query,
cuda.synchronize, every copy from or to pageable memory, the end of the interpreter. In both modes host callbacks
wait here for their thread. The order is the engine's business (simulator/streams/timeline.h).

What a task raises is raised by the call that synchronises. What depends on a failed task does not run; what is
enqueued after that does.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import traceback
import warnings
from typing import TYPE_CHECKING

from cudasim import _native, options
from cudasim.device.current import calls_forbidden, check_calls_allowed
from cudasim.reports.tracebacks import calling_frame, without_package_frames
from cudasim.streams import early_access

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

#: Whether there may be work that waits. Launches read it without a lock: false is the usual case.
busy = False

#: Seconds after which a callback that no call waits for runs, with what is before it in its stream. A GPU would not
#: wait; deferred execution gives the host that time to make its mistakes.
_CALLBACK_AFTER_SECONDS = 0.02
#: Seconds that the end of the interpreter waits for callbacks.
_AT_EXIT_SECONDS = 5.0

_timeline = _native.Timeline()
_lock = threading.RLock()
_failures: list[Any] = []  # of tasks, not yet raised
_kept: Any = None  # of the process that was forked; see _after_fork_in_child()
_callback_thread = None
_at_exit_is_registered = False


class _ThreadState(threading.local):
    def __init__(self):
        self.in_task = False  # what a task does is done at once
        self.in_run = False


_thread = _ThreadState()


def _tell_the_driver():
    """Copies and fills without a stream wait for what is enqueued on their devices (simulator/driver/enqueued_work.h)."""
    _native.wait_for_enqueued_work(_timeline, lambda device: synchronize(device=device))


def deferred() -> bool:
    """Whether work waits until the host synchronises."""
    return options.get("deferred")


def submit(
    key: tuple[int, ...],
    function: Callable[..., Any],
    synchronous: bool = False,
    watch: Callable[..., Any] | None = None,
) -> list[Any] | None:
    """Runs function() when its turn in a stream has come: now, or later (deferred, and not `synchronous`).

    :param key: Stream.key of the stream
    :param watch: called with the place of the call when the function is kept: the early_access.Watches of the host memory
        that it has to do with
    :returns: what the function returned, None when it has not run
    """
    if _thread.in_task or not (busy or deferred()):
        return function()
    check_calls_allowed()
    if synchronous or not deferred():
        result = []
        run([_enqueue(key, _task(lambda: result.append(function())))])
        return result[0] if result else None
    place = _calling_place()
    watches = [] if watch is None else watch(place)
    _enqueue(key, _task(early_access.watched(function, watches), place))
    early_access.protect()
    return None


def wait_for(key: tuple[int, int], operation: Any) -> None:
    """What is enqueued in a stream from now on runs after the operation as well."""
    _enqueue(key, None, [operation])


def record(event: Any, key: tuple[int, int]) -> None:
    """Puts a _native.StreamEvent at the end of what is in a stream now."""
    global busy
    if not (busy or deferred()):
        event.record(_timeline, *key, True)
        return
    check_calls_allowed()
    with _lock:
        event.record(_timeline, *key, False)
        busy = True
        _register_at_exit()


def add_callback(key: tuple[int, ...], callback: Callable[..., Any]) -> None:
    """Appends callback(status), which runs on the callback thread."""
    delay = _CALLBACK_AFTER_SECONDS if deferred() else 0.0
    with _lock:
        _enqueue(key, lambda status: callback(status) or 0, callback_after_seconds=delay)
        _start_callback_thread()


def synchronize(key: Any = None, device: int | None = None) -> None:
    """Runs what is in a stream, on a device, or everywhere."""
    if not (busy or _failures) or _thread.in_task:
        return
    run([_timeline.tail(*key)] if key is not None else _timeline.tails(device))


def run(operations: list[Any]) -> None:
    """Runs these and what they wait for; raises what tasks raised.

    :raises RuntimeError: in a signal handler that interrupts another run of this thread
    """
    if _thread.in_task:
        return
    check_calls_allowed()
    if _thread.in_run:
        raise RuntimeError(
            "a stream cannot be synchronised by a signal handler that interrupts a synchronisation: it would wait for "
            "itself"
        )
    _thread.in_run = True
    early_access.allow()
    try:
        _timeline.run([each for each in operations if each is not None], *_order())
    finally:
        _thread.in_run = False
        _note_idleness()
        early_access.protect()
    raise_failures()


def is_complete(operation: Any) -> bool:
    """Whether an operation is done, after running what can be run without waiting for a callback."""
    if not operation.done and not _timeline.waits_for_callback(operation):
        run([operation])
    return operation.done


def drop(device: int | None = None) -> None:
    """Forgets the work that waits, of a device or all."""
    if busy:
        _timeline.drop(device)
        _note_idleness()


def raise_failures() -> None:
    """Raises the first error that is still to be told, naming the others."""
    if not _failures:
        return
    with _lock:
        failures, _failures[:] = _failures[:], []
    if failures:
        first, *others = failures
        for other in others:
            _append(first, f"also: {type(other).__name__}: {other}")
        raise first


def _calling_place():
    """The user's line that enqueues something now."""
    frame = calling_frame()
    return None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def _order():
    return options.get("policy"), options.get("seed") % 2**64


def _enqueue(key, task, after=(), callback_after_seconds=None):
    device, stream = key
    global busy
    check_calls_allowed()
    with _lock:
        busy = True
        _register_at_exit()
        return _timeline.enqueue(
            device, stream, task, callback_after_seconds=callback_after_seconds, after=list(after)
        )


def _note_idleness():
    global busy
    with _lock:
        busy = not _timeline.idle


def _task(function, place=None):
    def task(_status):
        _thread.in_task = True
        try:
            function()
            return 0
        except Exception as error:  # noqa: BLE001 - raised where the host synchronises
            if place is not None:
                _append(error, f"launched at {place}")
            _failures.append(error)
            code = getattr(error, "code", None)
            return code if isinstance(code, int) and code else 719
        finally:
            _thread.in_task = False

    return task


def _append(error, line):
    """Appends a line to an exception's message."""
    if error.args and isinstance(error.args[-1], str):
        error.args = (*error.args[:-1], f"{error.args[-1]}\n{line}")
        if getattr(error, "msg", None) is not None:
            error.msg = f"{error.msg}\n{line}"
    elif sys.version_info >= (3, 11):
        error.add_note(line)


# -- callbacks ------------------------------------------------------------------------------------------------


def callback_task(callback: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
    """What calls callback(stream, status, arg) on the callback thread. Its errors are warnings, as in numba.cuda."""
    stream, arg = arguments

    def call(status):
        try:
            with calls_forbidden():
                callback(stream, status, arg)
        except Exception as error:  # noqa: BLE001 - nobody waits for it
            _warn_of(callback, error)
        except BaseException:  # noqa: BLE001 - sys.exit() in a callback ends nothing
            traceback.print_exc()

    return call


def _warn_of(callback, error):
    code = getattr(callback, "__code__", None)
    place = (code.co_filename, code.co_firstlineno) if code is not None else ("<stream callback>", 0)
    try:
        warnings.warn_explicit(f"Exception in stream callback: {error}", UserWarning, *place)
    except Warning:  # a filter makes it an error, and there is nobody to raise it to
        traceback.print_exc()


def _start_callback_thread():
    global _callback_thread
    if _callback_thread is None or not _callback_thread.is_alive():
        _callback_thread = threading.Thread(
            target=_serve_callbacks, name="cudasim stream callbacks", daemon=True
        )
        _callback_thread.start()


def _serve_callbacks():
    while True:
        callback = _timeline.next_callback(3600.0)
        if callback is not None:
            _thread.in_run = True
            early_access.allow()
            _timeline.run_callback(callback, *_order())
            _thread.in_run = False
            _note_idleness()
            early_access.protect()


# -- the end, and fork() ----------------------------------------------------------------------------------------


def _register_at_exit():
    global _at_exit_is_registered
    if not _at_exit_is_registered:
        _at_exit_is_registered = True
        atexit.register(finish)


def finish() -> None:
    """What is enqueued runs before the interpreter, or a recording, ends; callbacks that do not end are left. Errors are reported as those that
    nobody catches, and the process fails: its exit status is 1 where it would be 0."""
    if not (busy or _failures) or _thread.in_run:
        return
    early_access.allow()
    policy, seed = _order()
    _timeline.run(_timeline.tails(), policy, seed, most_idle_seconds=_AT_EXIT_SECONDS)
    try:
        raise_failures()
    except Exception as error:  # noqa: BLE001 - nobody is left to catch it
        _native.fail_at_exit()
        error = error.with_traceback(without_package_frames(error.__traceback__))
        sys.excepthook(type(error), error, error.__traceback__)


def _after_fork_in_child():
    """The parent's work is the parent's; its callback thread is not here."""
    global _timeline, _lock, busy, _callback_thread, _kept
    _kept = _timeline  # never destroyed: another thread may have had its locks
    _timeline, _lock, busy, _callback_thread = _native.Timeline(), threading.RLock(), False, None
    _thread.in_task = _thread.in_run = False
    early_access.allow()
    _failures.clear()
    _tell_the_driver()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


_tell_the_driver()
