"""The process that runs launches on a real GPU (cudasim-gpu-run), one for this process."""

from __future__ import annotations

import os
import threading
from typing import Any

from cudasim import _native, options

_lock = threading.Lock()
_runner: Any = None
_made_for: tuple[int, str, str] | None = None  # process, program, library

#: Those that LLVM writes PTX for. The driver compiles PTX of an older one for newer GPUs.
_ARCHITECTURES = ((7, 0), (7, 2), (7, 5), (8, 0), (8, 6), (8, 7), (8, 9), (9, 0))


def runner() -> Any:
    """The `_native.GpuRunner` of this process. It starts its own process when it is first used."""
    global _runner, _made_for
    with _lock:
        wanted = (os.getpid(), _native.find_gpu_runner(), options.get("libcuda"))
        if _made_for != wanted:
            _runner, _made_for = _native.GpuRunner(*wanted[1:]), wanted
        return _runner


def architecture_of(capability: tuple[int, int]) -> str:
    """The architecture to make PTX for, that a GPU of this compute capability runs: "sm_86"."""
    known = [architecture for architecture in _ARCHITECTURES if architecture <= tuple(capability)]
    return "sm_{}{}".format(*(known or _ARCHITECTURES[:1])[-1])
