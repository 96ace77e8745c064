"""pdb and its kin in kernels: prompts that name the thread, and which lines a trace function wants to see.

A debugger that a kernel calls (`breakpoint()`) sets its trace function for the simulated thread that called it: the
engine gives each thread a PyThreadState, and a trace function belongs to one. A debugger that was there before the
launch (`python -m pdb script.py`) traces all simulated threads: cudasim._pyfiber hands its trace function on.
"""

from __future__ import annotations

import bdb
import contextlib
import pdb
import sys
import threading
from typing import TYPE_CHECKING

from cudasim import _pyfiber
from cudasim.launch import tracing
from cudasim.python_mode import bdb_backends, tracers
from cudasim.python_mode.reach import reachable_functions
from cudasim.reports import progress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any


@contextlib.contextmanager
def attached() -> Iterator[Any]:
    """A context manager around a launch in Python mode. Gives the trace function for simulated threads and
    whether each starts it anew.

    None for the launching thread's trace function.
    """
    _prepare_pdb()
    try:
        with bdb_backends.hosts_debugger_kept(pdb.Pdb), _trace_handed_on() as thread_tracer:
            yield thread_tracer
    finally:
        progress.hand_to_debugger(False)


@contextlib.contextmanager
def _trace_handed_on():
    debugger = bdb_backends.monitoring_debugger()
    if debugger is not None:
        with bdb_backends.using_settrace(debugger), _focused(debugger):
            yield None, False
        return
    trace = sys.gettrace()
    if trace is None:
        if tracers.monitoring_pydevd() is not None:
            tracers.give_threads_identities()
        yield None, False
        return
    debugger = getattr(trace, "__self__", None)
    if not isinstance(debugger, bdb.Bdb):
        yield tracers.for_simulated_threads(threading.gettrace())
        return
    with _focused(debugger):
        yield None, False


@contextlib.contextmanager
def _focused(debugger):
    """The debugger steps in one simulated thread at a time."""
    debugger.trace_dispatch = _Focus(debugger)
    sys.settrace(debugger.trace_dispatch)
    try:
        yield
    finally:
        del debugger.trace_dispatch
        if sys.gettrace() is not None:
            sys.settrace(debugger.trace_dispatch)


class _Focus:
    """The trace function of a debugger that traces all simulated threads: it steps in one of them.

    "step" means the next line that is run. While the thread that the user steps in waits, that would be another
    thread's, so those see the debugger as one that runs to the next breakpoint.
    """

    def __init__(self, debugger):
        self._debugger = debugger
        self._dispatch = debugger.trace_dispatch
        self._thread = None

    def __call__(self, frame, event, arg):
        debugger, thread = self._debugger, _pyfiber.position()
        if thread is None:
            return self._dispatch(frame, event, arg)
        if not _steps(debugger) or self._thread in (None, thread):
            result = self._dispatch(frame, event, arg)
            if _steps(debugger):
                self._thread = thread
            return result
        stop = debugger.stopframe, debugger.returnframe, debugger.stoplineno
        running = debugger.botframe, None, -1
        debugger.stopframe, debugger.returnframe, debugger.stoplineno = running
        result = self._dispatch(frame, event, arg)
        if (debugger.stopframe, debugger.returnframe, debugger.stoplineno) == running:
            debugger.stopframe, debugger.returnframe, debugger.stoplineno = stop
        else:
            self._thread = thread  # a breakpoint, and the user went on from there
        return result


def _steps(debugger):
    """Whether the debugger stops at the next line, whichever it is (bdb.Bdb.set_step)."""
    return debugger.stopframe is None and debugger.stoplineno != -1


def _prompt(debugger):
    prompt = vars(debugger).get("prompt", "(Pdb) ")
    # IPython asks for it in a thread made for the terminal.
    place = tracers.where() or vars(debugger).get("_cudasim_place")
    if place is None or place in prompt:
        return prompt
    body = prompt.rstrip()
    if body.endswith(")"):
        return f"{body[:-1]} {place}) "
    return f"{body[:-1]} {place}> " if body.endswith(">") else f"{place} {prompt}"


def _set_prompt(debugger, prompt):
    vars(debugger)["prompt"] = prompt


def _prepare_pdb():
    """pdb.Pdb.prompt becomes a property, for its subclasses (pytest's, IPython's) too; `return` and breakpoints work in
    kernels."""
    if isinstance(vars(pdb.Pdb).get("prompt"), property):
        return
    stops, returns = pdb.Pdb.setup, bdb.Bdb.set_return

    def setup(debugger, *args):
        vars(debugger)["_cudasim_place"] = place = tracers.where()
        if place is not None:
            progress.hand_to_debugger(True)
        return stops(debugger, *args)

    def set_return(debugger, frame):
        returns(debugger, frame)
        if debugger.stopframe is None and debugger.returnframe is frame and frame.f_back is None:
            # bdb stops in the calling frame; without one it would at the next line.
            debugger._set_stopinfo(frame, frame, -1)

    pdb.Pdb.setup = setup  # type: ignore[method-assign]  # pdb.Pdb is changed for the whole process
    bdb.Bdb.set_return = set_return  # type: ignore[method-assign]  # as above
    bdb_backends.prepare_set_trace(pdb.Pdb)
    prompt: Any = property(_prompt, _set_prompt, doc="The prompt; in a kernel it names the thread.")
    pdb.Pdb.prompt = prompt


def wants_lines_of(function: Any) -> Any:
    """Whether the debugger or tool that watches lines (cudasim.launch.tracing) wants to see those of a kernel."""
    codes = [known.__code__ for known in reachable_functions(function) if hasattr(known, "__code__")]
    debugger = bdb_backends.monitoring_debugger() or getattr(sys.gettrace(), "__self__", None)
    if isinstance(debugger, bdb.Bdb):
        return _steps(debugger) or any(
            _breaks_in(debugger, code) for code in codes
        )  # a step goes into the kernel
    others_watch = sys.gettrace() is not None or tracing.monitoring_tools()
    if not others_watch and bdb_backends.uses_monitoring():
        return False  # a debugger of another thread of the host
    pydevd = tracers.pydevd_of(threading.gettrace()) if others_watch else tracers.monitoring_pydevd()
    return pydevd is None or tracers.pydevd_breaks_in(pydevd, codes)


def _breaks_in(debugger, code):
    lines = debugger.get_file_breaks(debugger.canonic(code.co_filename))
    return bool(lines) and not tracers.lines_of(code).isdisjoint(lines)
