"""The programs `cudasim-debug-server` and `cudasim-gpu-run`, which are C++ (debugger/program, gpu_backend/runner/program) and lie beside the
extensions: this finds and becomes them. And what an executable is.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import NoReturn


def path(name: str) -> str | None:
    """Where a program lies; None where it was not built."""
    extension = importlib.util.find_spec("cudasim._native")
    if extension is None or extension.origin is None:
        return None
    program = os.path.join(os.path.dirname(extension.origin), name)
    return program if os.access(program, os.X_OK) else None


def _become(name: str) -> NoReturn:
    program = path(name)
    if program is None:
        sys.exit(f"{name} is not in this installation: it was built where CLI11 was missing")
    os.execv(program, [program, *sys.argv[1:]])


def debug_server() -> NoReturn:
    """Runs cudasim-debug-server in the place of this process."""
    _become("cudasim-debug-server")


def gpu_run() -> NoReturn:
    """Runs cudasim-gpu-run in the place of this process."""
    _become("cudasim-gpu-run")


def is_program(path: str) -> bool:
    """Whether the file is an executable of this system, and not a script. That it may be executed is not looked at."""
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x7fELF"
    except OSError:
        return False
