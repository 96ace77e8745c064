"""The program `cudasim-debug-server`, which is C++ (debugger/program) and lies beside the extensions: this finds and becomes it."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import NoReturn


def path() -> str | None:
    """Where the program lies; None where it was not built."""
    extension = importlib.util.find_spec("cudasim._native")
    if extension is None or extension.origin is None:
        return None
    program = os.path.join(os.path.dirname(extension.origin), "cudasim-debug-server")
    return program if os.access(program, os.X_OK) else None


def main() -> NoReturn:
    """Runs the program in the place of this process."""
    program = path()
    if program is None:
        sys.exit("cudasim-debug-server is not in this installation: it was built where CLI11 was missing")
    os.execv(program, [program, *sys.argv[1:]])
