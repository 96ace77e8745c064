"""pdb and its kin in kernels: prompts that name the thread, and which lines a trace function wants to see.

A debugger that a kernel calls (`breakpoint()`) sets its trace function for the simulated thread that called it: the
engine gives each thread a PyThreadState, and a trace function belongs to one. A debugger that was there before the
launch (`python -m pdb script.py`) traces all simulated threads: cudasim._pyfiber hands its trace function on.
"""

import contextlib
import sys

from cudasim import _pyfiber
from cudasim.python_mode.reach import reachable_functions


@contextlib.contextmanager
def attached():
    """Around a launch in Python mode."""
    _name_threads_in_prompts()
    yield


def where():
    """"kernel tid=[10, 0, 0] ctaid=[0, 0, 0]" on a simulated thread, else None."""
    position = _pyfiber.position()
    if position is None:
        return None
    tid, ctaid = position
    return f"{_pyfiber.kernel_name()} tid={list(tid)} ctaid={list(ctaid)}"


def _prompt(debugger):
    prompt = vars(debugger).get("prompt", "(Pdb) ")
    place = where()
    if place is None:
        return prompt
    body = prompt.rstrip()
    return f"{body[:-1]} {place}) " if body.endswith(")") else f"{place} {prompt}"


def _set_prompt(debugger, prompt):
    vars(debugger)["prompt"] = prompt


def _name_threads_in_prompts():
    """pdb.Pdb.prompt becomes a property, for its subclasses (pytest's, IPython's) too."""
    import pdb

    if not isinstance(vars(pdb.Pdb).get("prompt"), property):
        pdb.Pdb.prompt = property(_prompt, _set_prompt, doc="The prompt; in a kernel it names the thread.")


def wants_lines_of(function):
    """Whether the trace function that is set wants to see the lines of a kernel."""
    debugger = getattr(sys.gettrace(), "__self__", None)
    if not _is_bdb(debugger):
        return True
    if debugger.stopframe is None and debugger.stoplineno != -1:
        return True  # stepping: into the kernel
    return any(_breaks_in(debugger, known.__code__) for known in reachable_functions(function) if hasattr(known, "__code__"))


def _is_bdb(debugger):
    bdb = sys.modules.get("bdb")
    return bdb is not None and isinstance(debugger, bdb.Bdb)


def _breaks_in(debugger, code):
    lines = debugger.get_file_breaks(debugger.canonic(code.co_filename))
    if not lines:
        return False
    own = {line for _, _, line in code.co_lines() if line}
    return any(line in own for line in lines)
