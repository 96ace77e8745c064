"""`python -m cudasim script.py args…` and `python -m cudasim -m module args…`: Python with the switch on. A command of the
command-line program does what it does there: `python -m cudasim info`."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from cudasim import script_runner

if TYPE_CHECKING:
    from typing import Any

_USAGE = """usage: python -m cudasim script.py [arguments]
       python -m cudasim -m module [arguments]

       python -m cudasim run|check|debug|dap|info|ir|record|replay|show|cache|toolkit|env|nvcc ...

Runs a script or module with numba.cuda simulated by cudasim, or a command of the program `cudasim`. For options see
`python -m cudasim run --help`.
"""
_COMMANDS = (
    "run",
    "check",
    "compare",
    "diff",
    "debug",
    "dap",
    "info",
    "ir",
    "record",
    "replay",
    "show",
    "cache",
    "toolkit",
    "env",
    "nvcc",
)


def main() -> Any:
    arguments = sys.argv[1:]
    if (
        arguments[:1] == ["--version"]
        or arguments
        and arguments[0] in _COMMANDS
        and not os.path.exists(arguments[0])
    ):
        from cudasim import command_line  # most calls run a script and need no argparse

        return command_line.main(arguments)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE, end="")
        return 0 if arguments else 2
    if arguments[0] == "-m" and len(arguments) == 1 or arguments[0].startswith("-") and arguments[0] != "-m":
        print(
            f"python -m cudasim: expected a script or -m module, got {arguments[0]}; options go behind `run`: "
            f"python -m cudasim run {arguments[0]} ...\n\n{_USAGE}",
            end="",
            file=sys.stderr,
        )
        return 2
    return script_runner.run(arguments)


if __name__ == "__main__":
    sys.exit(main())
