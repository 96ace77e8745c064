"""bdb's two ways to watch lines from CPython 3.14 on: sys.settrace() and sys.monitoring.

The first belongs to a thread state, of which each simulated thread has its own. The second is shared by all threads: bdb
tells them apart by threading.current_thread(), which is the same for all simulated threads of a launch, and switches an
event off for all of them where one does not need it. So debuggers use sys.settrace() while they are in kernels:
those that a kernel calls, and those that were there before the launch for as long as it runs.
"""

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

from cudasim import _pyfiber
from cudasim.launch import tracing

#: The name under which bdb registers at sys.monitoring.
_TOOL = "bdbtracer"


def uses_monitoring() -> bool:
    """Whether a bdb.Bdb, on whichever thread, uses sys.monitoring."""
    return tracing.monitoring_debugger() == _TOOL


def monitoring_debugger() -> Any | None:
    """The bdb.Bdb that watches the lines of this thread of the host with sys.monitoring, None without one."""
    if not uses_monitoring():
        return None
    tracer = getattr(tracing.debuggers_callback(), "__self__", None)
    debugger = getattr(getattr(tracer, "_tracefunc", None), "__self__", None)
    own = getattr(tracer, "_tracing_thread", None) is threading.current_thread()
    return debugger if own and getattr(debugger, "monitoring_tracer", None) is tracer else None


@contextlib.contextmanager
def using_settrace(debugger: Any) -> Iterator[None]:
    """Makes a debugger that uses sys.monitoring use sys.settrace() instead, for the length of a launch."""
    tracer = debugger.monitoring_tracer
    debugger.stop_trace()
    debugger.backend, debugger.monitoring_tracer = "settrace", None
    debugger.start_trace()
    try:
        yield
    finally:
        watches = sys.gettrace() is not None
        debugger.stop_trace()
        debugger.backend, debugger.monitoring_tracer = "monitoring", tracer
        if watches:
            debugger.start_trace()


@contextlib.contextmanager
def hosts_debugger_kept(pdb_class: Any) -> Iterator[None]:
    """Keeps breakpoints in kernels from taking the host's pdb.Pdb, and those of the host from taking a
    kernel's, for the length of a launch.

    From CPython 3.14 on breakpoints go on with the pdb.Pdb that was used last.

    :param pdb_class: pdb.Pdb; its attributes that CPython does not document are changed
    """
    if not hasattr(pdb_class, "_last_pdb_instance"):
        yield
        return
    last, pdb_class._last_pdb_instance = pdb_class._last_pdb_instance, None
    try:
        yield
    finally:
        pdb_class._last_pdb_instance = last


def prepare_set_trace(pdb_class: Any) -> None:
    """Makes pdb.Pdb.set_trace() use sys.settrace() in simulated threads, and gives each breakpoint there its
    own pdb.Pdb.

    What the user is about to do in one thread, a step or `until`, outlasts another thread's breakpoint that way.
    """
    if not hasattr(pdb_class, "_last_pdb_instance"):
        return
    begins = pdb_class.set_trace

    def set_trace(debugger: Any, frame: Any = None, **options: Any) -> None:
        frame = sys._getframe().f_back if frame is None else frame
        if _pyfiber.position() is None:
            return begins(debugger, frame, **options)
        debugger.backend, debugger.monitoring_tracer = "settrace", None
        begins(debugger, frame, **options)
        pdb_class._last_pdb_instance = None  # no call from here on: it would be stepped into

    pdb_class.set_trace = set_trace
