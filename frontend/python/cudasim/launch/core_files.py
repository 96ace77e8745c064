"""Core files: records of launches that fail. The engine writes them (simulator/driver/core_files.h); here the options become its
settings. `apply()` is called before a launch is prepared.
"""

from __future__ import annotations

import os

import cudasim
from cudasim import _native, options

_applied = None  # options.generation for which the engine was told


def apply() -> None:
    """Tells the engine what the options say, where that has changed."""
    global _applied
    if _applied == options.generation:
        return
    _applied = options.generation
    folder = os.path.expanduser(options.get("core"))
    most_files, most_bytes = options.get("core_files"), options.get("core_memory")
    _native.write_cores(folder, most_files, most_bytes, cudasim.__version__)
