"""The arguments of `cudasim debug`. What carries it out is imported when it is used."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from cudasim import options
from cudasim.debugger_client import core

USAGE = "cudasim debug [options] [-x FILE] [-ex COMMAND]... [-batch] [-q] [--tui] [--args] script.py|-m module [arguments]|-p PROCESS"
CORE_USAGE = (
    "cudasim debug [options] [-x FILE] [-ex COMMAND]... [-batch] [-q] [--tui] --core FILE [--launch N]"
)

_FILE = ("-x", "-command", "--command")
_COMMAND = ("-ex", "-eval-command", "--ex")
_PROCESS = ("-p", "-pid", "--attach", "--pid")
#: The arguments that a value follows.
VALUED = (*_FILE, *_COMMAND, *_PROCESS, "--core", "-core", "-c", "--launch")


def add_to(commands: Any) -> None:
    """Adds the command to the program's.

    :param commands: what ArgumentParser.add_subparsers() gave
    """
    debug = commands.add_parser(
        "debug",
        help="debug the kernels of a script",
        usage=f"{USAGE}\n       {CORE_USAGE}",
        allow_abbrev=False,
        description="Debugs the kernels of a script (or -m module), compiled as they are: stops, steps and looks at any thread of a "
        "launch. With --core it is a recorded launch that is debugged: a core file, or one of `cudasim record`. Commands are those of gdb and CUDA's debugger; docs/debugging.md shows a session. With -batch the exit status is the "
        "program's where it ended, else 1 when a command failed.",
    )
    for flags, kind, metavar, sentence in (
        (_FILE, "file", "FILE", "run the commands in a file, before others are read"),
        (_COMMAND, "command", "COMMAND", "run a command; -x and -ex run in their order"),
    ):
        debug.add_argument(
            *flags, dest="commands", action="append", type=_of_kind(kind), metavar=metavar, help=sentence
        )
    debug.add_argument(
        "-batch", "--batch", action="store_true", help="ask for no commands: end after those given"
    )
    debug.add_argument(
        "-q", "-quiet", "--quiet", action="store_true", dest="quiet", help="without the first line"
    )
    debug.add_argument(
        "--tui", "-tui", action="store_true", help="fill the screen: source, variables, threads, output"
    )
    debug.add_argument(
        "--args", "-args", action="store_true", help="the script and its arguments follow, as without it"
    )
    debug.add_argument(
        *_PROCESS, dest="process", type=int, metavar="PROCESS",
        help="debug a process that waits for debuggers (CUDASIM_DEBUGGER=listen)",
    )  # fmt: skip
    debug.add_argument(
        "--core",
        "-core",
        "-c",
        metavar="FILE",
        help="debug the launch in a core file (option core), or in a file of `cudasim record`",
    )
    debug.add_argument(
        "--launch",
        type=int,
        metavar="N",
        help="with --core: which launch of the file; else the first that failed",
    )
    options.add_arguments(debug, without=("core",))
    debug.add_argument(
        "-m",
        dest="module",
        nargs=argparse.REMAINDER,
        metavar="module [arguments]",
        help="debug a module instead of a script",
    )
    debug.add_argument("script", nargs=argparse.REMAINDER, metavar="script.py [arguments]")
    debug.set_defaults(command=_debug, runs_script=True)


def add_adapter_to(commands: Any) -> None:
    """Adds the command `dap`."""
    adapter = commands.add_parser(
        "dap",
        help="debug kernels from an editor (Debug Adapter Protocol)",
        description="Starts programs for an editor that speaks the Debug Adapter Protocol: on standard input and output, or on a "
        "port. docs/debugging.md says how editors are set up.",
    )
    adapter.add_argument(
        "--port",
        type=int,
        metavar="N",
        help="listen on this port of 127.0.0.1, 0 for any; the launch request then needs the token that is printed",
    )
    adapter.set_defaults(command=_adapt, runs_script=True)


def _adapt(parsed: argparse.Namespace) -> int:
    from cudasim.debugger_client import adapter_server  # other commands start without it

    return adapter_server.serve_stdio() if parsed.port is None else adapter_server.serve_port(parsed.port)


def _of_kind(kind: str) -> Any:
    def take(text: str) -> tuple[str, str]:
        return kind, text

    return take


def _debug(parsed: argparse.Namespace) -> int:
    script = parsed.script[1:] if parsed.script[:1] == ["--"] else parsed.script
    if parsed.module:
        script = ["-m", *parsed.module]
    problem = ""
    if parsed.core is not None:
        problem = (
            f"--core debugs a recorded launch, and takes no script; write: {CORE_USAGE}" if script else ""
        )
        problem = problem or core.problem_of(parsed.core)
        script = core.script_for(parsed.core, parsed.launch)
    elif parsed.launch is not None:
        problem = f"--launch needs --core; write: {CORE_USAGE}"
    elif not script and parsed.process is None:
        problem = f"no script given; write: {USAGE}"
    if problem:
        print(f"cudasim debug: {problem}", file=sys.stderr)
        return 2
    options.take_arguments(parsed)
    from cudasim.debugger_client import client  # other commands start without it

    return client.run(parsed, script)
