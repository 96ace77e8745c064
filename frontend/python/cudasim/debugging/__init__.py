"""The debugged program's half of the debugger: the connection to the debug server's client, and Python's expressions for it.

The server itself is C++ (debugger/), in this process. Where the option `debugger` names a socket, it is connected to when `cudasim.cuda`
is imported; `python -m cudasim.debugging.debuggee script.py` connects before the script runs.
"""

from __future__ import annotations

import atexit
import os

from cudasim import _native, options
from cudasim.debugging.evaluation import Evaluator

_CONNECT = "connect:"


def begin() -> None:
    """Connects to the debugger that the option names, if any, and waits until it has set its breakpoints.

    Processes that this one starts have no debugger.

    :raises RuntimeError: when nobody listens there
    """
    place = options.get("debugger")
    if not place or _native.debugger_is_there():
        return
    os.environ.pop("CUDASIM_DEBUGGER", None)
    _native.debugger_connect(place[len(_CONNECT) :])
    _native.debugger_set_evaluator(Evaluator())
    atexit.register(_native.debugger_end)  # when the program's threads have ended, too
    _native.debugger_wait_until_configured()
