"""cudasim: runs, checks and debugs CUDA kernels on a machine without a GPU.

    from cudasim import cuda            the numba.cuda-compatible API, without any switch
    ENABLE_CUDASIM=1 python script.py   an unchanged numba.cuda script (cudasim.switch)
    cudasim run | info | ir             the command-line program (cudasim.command_line)

What is cudasim's own lives here (errors, findings, options, types); `cudasim.cuda` holds numba.cuda's names only.
Nothing is imported before it is used: `import cudasim` costs next to nothing.
"""

from __future__ import annotations

import importlib
import os as _os
import sys as _sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

__version__ = "0.1.0"

_SUBMODULES = ("cuda", "errors", "findings", "options", "switch", "types")
_CLASSES = {
    "CudasimWarning": "errors",
    "GpuDifference": "errors",
    "check": "reports.collecting",
    "compare": "comparing.api",
    "compare_with_gpu": "comparing.api",
}

__all__ = [*_SUBMODULES, *_CLASSES, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _SUBMODULES:
        if name == "cuda" and _os.environ.get("CUDASIM_DEBUGGER"):
            importlib.import_module("cudasim.debugging").begin()
        return importlib.import_module(f"cudasim.{name}")
    if name in _CLASSES:
        return getattr(importlib.import_module(f"cudasim.{_CLASSES[name]}"), name)
    raise AttributeError(f"module 'cudasim' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)


if _os.environ.get("ENABLE_CUDASIM", "") not in ("", "0"):
    # Usually the .pth file has done this at the start; not under python -S or from a folder on PYTHONPATH.
    from cudasim import switch as _switch

    _switch.install()
    if "numba.cuda" in _sys.modules:
        _switch.check_real_cuda_absent()
