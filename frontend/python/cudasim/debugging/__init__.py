"""The debugged program's half of the debugger: the connection to the debug server's client, and Python's expressions for it.

The server itself is C++ (debugger/), in this process. What the option `debugger` asks for is done when `numba.cuda` is imported;
`python -m cudasim.debugging.debuggee script.py` does it before the script runs.

connect:PATH     a client listens at this socket and sets its breakpoints before the program goes on
cudasim          a client is started here, as a process of its own that has the same terminal (debugger_client/in_program.py)
listen           clients may come at any time (debug_sockets.py); with listen:wait the program waits for the first
"""

from __future__ import annotations

import atexit
import os
import socket
import subprocess
import sys

from cudasim import _native, debug_sockets, options
from cudasim.compile import debugger_calls
from cudasim.debugging.conditions import ConditionCompiler
from cudasim.debugging.evaluation import Evaluator

_CONNECT = "connect:"
#: Seconds that the client may take to say its last words.
_LAST_WORDS = 5.0


#: A process has one debugger at most, once.
_has_begun = False


def begin(program: str = "") -> None:
    """Begins what the option names, if anything. Returns when the program may go on.

    :param program: what the user knows the program by, where that is not what Python was started with
    :raises RuntimeError: when nobody listens at the socket, or none can be made
    """
    global _has_begun
    kind = options.get("debugger")
    # Not again: a client that has gone, before the program's import of numba.cuda, has let it go on alone.
    if not kind or _has_begun or _native.debugger_is_there():
        return
    _has_begun = True
    listens = kind.startswith("listen")
    if not listens:  # processes that this one starts have no debugger
        os.environ.pop("CUDASIM_DEBUGGER", None)
    client = None
    if listens:
        _native.debugger_listen(debug_sockets.make_path())
    elif kind == "cudasim":
        client = _start_client()
    else:
        _native.debugger_connect(kind[len(_CONNECT) :])
    _native.debugger_set_program(program or _program_name())
    _native.debugger_set_evaluator(Evaluator())
    _native.debugger_set_condition_compiler(ConditionCompiler())
    _native.debugger_keep_history(options.get("history"))
    debugger_calls.compile_breakpoints()
    atexit.register(_end, client, os.getpid())  # when the program's threads have ended, too
    if kind == "listen:wait":
        print(f"cudasim: waiting for `cudasim debug -p {os.getpid()}`", file=sys.stderr, flush=True)
    if kind != "listen":
        _native.debugger_wait_until_configured()


def _program_name():
    """What the user knows the program by: the script's path."""
    name = sys.argv[0] if sys.argv and sys.argv[0] not in ("", "-c") else ""
    return os.path.abspath(name) if os.path.exists(name) else name or "python"


def _start_client():
    """A client at this process's terminal, or with its standard input and output."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
    if sys.stdout is not None and not sys.stdout.isatty():  # whole lines, in order with the client's
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    # Not -m: the folder that the program runs in may have modules with the names of Python's own.
    code = f"import sys; sys.path[:1] = []; sys.path.append({folder!r}); from cudasim.debugger_client.in_program import main; sys.exit(main())"
    left_out = ("ENABLE_CUDASIM", "CUDASIM_DEBUGGER", "PYTHONINSPECT", "PYTHONSTARTUP")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    try:
        client = subprocess.Popen(
            [sys.executable, "-c", code, str(theirs.fileno()), str(os.getpid()), _program_name()],
            pass_fds=(theirs.fileno(),), env=environment)  # fmt: skip
    except OSError as error:
        raise RuntimeError(f"the debugger cannot be started: {error.strerror}") from None
    theirs.close()
    _native.debugger_serve(ours.detach())
    return client


def _end(client, process):
    if os.getpid() != process:  # a process that the program has forked
        return
    _native.debugger_end()
    if client is not None:
        try:
            client.wait(_LAST_WORDS)
        except subprocess.TimeoutExpired:
            client.kill()
