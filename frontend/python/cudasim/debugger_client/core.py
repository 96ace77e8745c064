"""Core files: what the client needs to know of them. The debugged process reads them (cudasim.debugging.core_file)."""

from __future__ import annotations

import os

#: What a file of recorded launches begins with (docs/recording.md).
_MAGIC = b"CUDASIM RECORD\r\n"


def problem_of(path: str) -> str:
    """Why a file cannot be debugged as a core file, empty where it may be one."""
    try:
        with open(path, "rb") as file:
            begin = file.read(len(_MAGIC))
    except OSError as error:
        return f"cannot read the core file {path}: {error.strerror}"
    if begin != _MAGIC:
        return f"{path} is no core file of cudasim's: option core and `cudasim record` make them"
    return ""


def script_for(path: str, launch: int | None) -> list[str]:
    """What runs a recorded launch, as the script of a debugger: ["-m", module, arguments…]."""
    chosen = [] if launch is None else ["--launch", str(launch)]
    return ["-m", "cudasim.debugging.core_file", os.path.abspath(path), *chosen]
