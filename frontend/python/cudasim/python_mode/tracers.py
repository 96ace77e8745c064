"""Trace functions that keep a tracer for each threading.Thread: coverage.py's and pydevd's, which debugpy is.

They start one when a new thread calls the function given to threading.settrace(), and ask which thread that is. All
simulated threads of a launch run in one thread of the host. For pydevd each gets a threading.Thread of its own, so that
an editor lists it by name, and steps in it alone.
"""

from __future__ import annotations

import _thread
import functools
import itertools
import os
import sys
import threading
import types as python_types
from typing import TYPE_CHECKING

from cudasim import _pyfiber
from cudasim.launch import tracing

if TYPE_CHECKING:
    from typing import Any

_own = threading.local()  # of a simulated thread; gone when it ends
_identities = itertools.count(1 << 62)  # no pthread_t is that large
_threads: dict[int, threading.Thread] = vars(threading)["_active"]  # what threading.enumerate() lists


def for_simulated_threads(start: Any) -> tuple[Any, ...]:
    """(what starts a tracer in a simulated thread, whether it must in each of them rather than in each thread state).

    :param start: threading.settrace()'s function
    """
    if start is None:
        return None, False
    debugger = pydevd_of(start)
    if debugger is None:
        return _starting_as(start, threading.Thread(name="simulated CUDA thread")), False
    # threading.current_thread() goes by the one, the debugger's first event of a thread by the other.
    threading.get_ident = debugger.threading_get_ident = _identity
    return _starting_as_registered(start), True


def _registered_thread():
    """The threading.Thread of the simulated thread that calls."""
    if not hasattr(_own, "registration"):
        _own.registration = _Registration()
    return _own.registration.thread


def give_threads_identities() -> None:
    """Makes threading.current_thread() give each simulated thread a Thread of its own from now on.

    pydevd asks at the first event of a thread, where it uses sys.monitoring: its callbacks are called in every thread.
    """
    threading.get_ident = _identity_of_any


def _identity_of_any():
    return _thread.get_ident() if _pyfiber.position() is None else _registered_thread().ident


def monitoring_pydevd() -> Any:
    """pydevd's PyDB where it uses sys.monitoring (debugpy on CPython 3.12 and later), else None."""
    if tracing.monitoring_debugger() != "pydevd":
        return None
    constants = sys.modules.get("_pydevd_bundle.pydevd_constants")
    return None if constants is None else constants.get_global_debugger()


def pydevd_of(start: Any) -> Any:
    """pydevd's PyDB behind threading.settrace()'s function, None for another one's."""
    if not isinstance(start, functools.partial) or not start.args:
        return None
    return start.args[0] if "pydevd" in (getattr(start.func, "__module__", None) or "") else None


#: pydevd_comm_constants: none; step over and return, in all code and in the user's.
_COMMANDS_THAT_STAY = {-1, 108, 109, 159, 160}


def pydevd_breaks_in(debugger: Any, code_objects: Any) -> bool:
    """Whether pydevd would stop in one of these functions, as far as is known before they run."""
    info = getattr(threading.current_thread(), "additional_info", None)
    if getattr(info, "pydev_step_cmd", -1) not in _COMMANDS_THAT_STAY:
        return True
    names = getattr(debugger, "function_breakpoint_name_to_breakpoint", None) or {}
    for code in code_objects:
        lines = debugger.breakpoints.get(os.path.realpath(code.co_filename)) or {}
        if code.co_name in names or any(line in lines for line in lines_of(code)):
            return True
    return False


def lines_of(code: Any) -> Any:
    """The lines of a function and of those defined in it."""
    # Breakpoints on functions are on their first line, which has no code before CPython 3.11.
    lines = {line for _, _, line in code.co_lines() if line} | {code.co_firstlineno}
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            lines |= lines_of(constant)
    return lines


def _starting_as_registered(start):
    """A function that calls start() when the simulated thread has a Thread of its own.

    The host's thread stays among threading.enumerate() meanwhile: pydevd's other threads look there every few
    hundredths of a second, and end the session when no user's thread is left.
    """

    def start_tracer(frame, event, arg):
        _registered_thread()
        return start(frame, event, arg)

    return start_tracer


def _starting_as(start, thread):
    """A function that calls start() while another Thread stands for the host's thread. (coverage.py's Python
    tracer takes itself for the host's, and warns when that one is lost.)"""

    def start_tracer(frame, event, arg):
        identity = _thread.get_ident()
        host = _threads.get(identity)
        _threads[identity] = thread
        try:
            return start(frame, event, arg)
        finally:
            if host is None:  # a thread that others than the threading module started
                del _threads[identity]
            else:
                _threads[identity] = host

    return start_tracer


def _identity():
    registration = getattr(_own, "registration", None)
    return _thread.get_ident() if registration is None else registration.thread.ident


def below_a_threads_frame(function: Any) -> Any:
    """The function, called by what looks like a Thread's own frame: pydevd looks there for the thread, at steps."""

    def _bootstrap_inner(*arguments):
        self = threading.current_thread()  # noqa: F841 - read through f_locals
        function(*arguments)

    _bootstrap_inner.__code__ = _bootstrap_inner.__code__.replace(co_filename=threading.__file__)
    return _bootstrap_inner


class _SimulatedThread(threading.Thread):
    """A simulated thread as debuggers list it: with a name, alive while it is registered."""

    def __init__(self):
        super().__init__(name=where(), daemon=True)
        self._ident = self._native_id = next(_identities)
        self._started.set()  # type: ignore[attr-defined]  # private to threading.Thread
        self._ended = False
        for name in ("_handle", "_os_thread_handle"):  # CPython 3.13; 3.14
            if hasattr(self, name):
                setattr(self, name, self)
        _threads[self._ident] = self

    def end(self) -> None:
        """Marks the thread as no longer alive."""
        self._ended = self._is_stopped = True

    def is_done(self) -> bool:
        """Whether the thread has ended. A method of handles of OS threads, for which this object stands,
        too."""
        return self._ended

    def join(self, timeout=None):
        """Refuses: it ends with its launch."""
        raise RuntimeError("a simulated CUDA thread cannot be joined")


class _Registration:
    """Registers a Thread for as long as the simulated thread lives."""

    def __init__(self):
        self.thread = _SimulatedThread()

    def __del__(self):
        self.thread.end()
        _threads.pop(self.thread._ident, None)


def where() -> str | None:
    """ "kernel tid=[10, 0, 0] ctaid=[0, 0, 0]" on a simulated thread, else None."""
    position = _pyfiber.position()
    if position is None:
        return None
    tid, ctaid = position
    return f"{_pyfiber.kernel_name()} tid={list(tid)} ctaid={list(ctaid)}"
