"""pdb and its kin in kernels: prompts that name the thread, and which lines a trace function wants to see.

A debugger that a kernel calls (`breakpoint()`) sets its trace function for the simulated thread that called it: the
engine gives each thread a PyThreadState, and a trace function belongs to one. A debugger that was there before the
launch (`python -m pdb script.py`) traces all simulated threads: cudasim._pyfiber hands its trace function on.
"""

import contextlib
import sys
import threading
import types as python_types

from cudasim import _progress, _pyfiber
from cudasim.python_mode.reach import reachable_functions


@contextlib.contextmanager
def attached():
    """Around a launch in Python mode; gives the trace function for each simulated thread, None for this thread's."""
    _name_threads_in_prompts()
    try:
        with _trace_handed_on() as thread_tracer:
            yield thread_tracer
    finally:
        _progress.hand_to_debugger(False)


@contextlib.contextmanager
def _trace_handed_on():
    trace = sys.gettrace()
    if trace is None:
        yield None
        return
    debugger = getattr(trace, "__self__", None)
    if not _is_bdb(debugger):
        yield _as_thread_of_its_own(threading.gettrace())
        return
    debugger.trace_dispatch = _Focus(debugger)
    sys.settrace(debugger.trace_dispatch)
    try:
        yield None
    finally:
        del debugger.trace_dispatch
        if sys.gettrace() is not None:
            sys.settrace(debugger.trace_dispatch)


def _as_thread_of_its_own(start):
    """coverage.py's function that starts a tracer in a new thread, for simulated threads.

    Its tracers remember their threading.Thread, and the one in Python takes those of simulated threads for the
    launching thread's, and warns that they lost it. So they get one that never ran.
    """
    if start is None:
        return None
    never_started = threading.Thread(name="simulated CUDA thread")

    def start_tracer(frame, event, arg):
        identity, known = threading.get_ident(), threading._active
        host, known[identity] = known.get(identity), never_started
        try:
            return start(frame, event, arg)
        finally:
            known[identity] = host

    return start_tracer


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


def where():
    """"kernel tid=[10, 0, 0] ctaid=[0, 0, 0]" on a simulated thread, else None."""
    position = _pyfiber.position()
    if position is None:
        return None
    tid, ctaid = position
    return f"{_pyfiber.kernel_name()} tid={list(tid)} ctaid={list(ctaid)}"


def _prompt(debugger):
    prompt = vars(debugger).get("prompt", "(Pdb) ")
    # IPython asks for it in a thread made for the terminal.
    place = where() or vars(debugger).get("_cudasim_place")
    if place is None or place in prompt:
        return prompt
    _progress.hand_to_debugger(True)
    body = prompt.rstrip()
    if body.endswith(")"):
        return f"{body[:-1]} {place}) "
    return f"{body[:-1]} {place}> " if body.endswith(">") else f"{place} {prompt}"


def _set_prompt(debugger, prompt):
    vars(debugger)["prompt"] = prompt


def _name_threads_in_prompts():
    """pdb.Pdb.prompt becomes a property, for its subclasses (pytest's, IPython's) too."""
    import pdb

    if isinstance(vars(pdb.Pdb).get("prompt"), property):
        return
    stops = pdb.Pdb.setup

    def setup(debugger, *args):
        vars(debugger)["_cudasim_place"] = where()
        return stops(debugger, *args)

    pdb.Pdb.setup = setup
    pdb.Pdb.prompt = property(_prompt, _set_prompt, doc="The prompt; in a kernel it names the thread.")


def wants_lines_of(function):
    """Whether the trace function that is set wants to see the lines of a kernel."""
    debugger = getattr(sys.gettrace(), "__self__", None)
    if not _is_bdb(debugger):
        return True
    if _steps(debugger):
        return True  # into the kernel
    return any(_breaks_in(debugger, known.__code__) for known in reachable_functions(function) if hasattr(known, "__code__"))


def _is_bdb(debugger):
    bdb = sys.modules.get("bdb")
    return bdb is not None and isinstance(debugger, bdb.Bdb)


def _breaks_in(debugger, code):
    lines = debugger.get_file_breaks(debugger.canonic(code.co_filename))
    if not lines:
        return False
    own = _lines_of(code)
    return any(line in own for line in lines)


def _lines_of(code):
    """Of a function and of those defined in it."""
    lines = {line for _, _, line in code.co_lines() if line}
    for constant in code.co_consts:
        if isinstance(constant, python_types.CodeType):
            lines |= _lines_of(constant)
    return lines
