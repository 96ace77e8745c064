"""The process that runs launches on a real GPU (cudasim-gpu-run), one for this process."""

from __future__ import annotations

import os
import threading
from typing import Any

from cudasim import _native, options
from cudasim.recording.recorder import GPU_ARCHITECTURES

_lock = threading.Lock()
_runner: Any = None
_made_for: tuple[int, str, str] | None = None  # process, program, library


def runner() -> Any:
    """The `_native.GpuRunner` of this process. It starts its own process when it is first used."""
    global _runner, _made_for
    with _lock:
        wanted = (os.getpid(), _native.find_gpu_runner(), options.get("libcuda"))
        if _made_for != wanted:
            _runner, _made_for = _native.GpuRunner(*wanted[1:]), wanted
        return _runner


def architecture_of(capability: tuple[int, int]) -> str:
    """The newest architecture to make PTX for that a GPU of this compute capability runs: "sm_86"."""
    own = "sm_{}{}".format(*capability)
    known = [name for name in GPU_ARCHITECTURES if (len(name), name) <= (len(own), own)]
    return known[-1] if known else GPU_ARCHITECTURES[0]
