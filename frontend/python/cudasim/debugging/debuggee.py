"""Runs a program under a debugger: `python -m cudasim.debugging.debuggee script.py | -m module [arguments]`. The script may be a program in
CUDA C++, as `cudasim run` takes it.

The option `debugger` says where the debugger listens: CUDASIM_DEBUGGER=connect:PATH. The program runs as `python script.py` runs it, and
the exit status is its own.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from cudasim import debugging, options, script_runner
from cudasim.cuda_cpp import commands as cuda_cpp_commands

if TYPE_CHECKING:
    from collections.abc import Sequence


def main(arguments: Sequence[str]) -> int:
    """Runs the program to its end; its exit status, and 2 where it cannot be run at all."""
    if not arguments or arguments == ["-m"]:
        print(
            "usage: python -m cudasim.debugging.debuggee script.py | -m module [arguments]", file=sys.stderr
        )
        return 2
    if cuda_cpp_commands.takes(arguments):
        return cuda_cpp_commands.run(arguments)  # the program connects by itself
    try:
        debugging.begin(arguments[1] if arguments[0] == "-m" else os.path.abspath(arguments[0]))
    except (RuntimeError, options.OptionError) as error:
        print(f"cudasim: {error}", file=sys.stderr)
        return 2
    if not sys.stdout.isatty():  # whole lines, in order with what the debugger writes
        sys.stdout.reconfigure(line_buffering=True)  # type: ignore[union-attr]
    return script_runner.run(list(arguments))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
