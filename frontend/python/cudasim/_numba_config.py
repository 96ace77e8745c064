"""The values of numba.core.config that cudasim's numba.cuda has or obeys, read from Numba's own variables.

`config()` is the module whose values count: Numba's own where numba (or its stand-in) has been imported, because
programs set `numba.config.CUDA_LOW_OCCUPANCY_WARNINGS = 0` there, else cudasim.cuda.core.config.
"""

from __future__ import annotations

import importlib
import os
import sys
from typing import TYPE_CHECKING

from cudasim import options

if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any


def _number(variable, default):
    try:
        return type(default)(os.environ.get(variable, "") or default)
    except ValueError:
        return default


def _capability(variable, default):
    """A compute capability such as 8.6, as (8, 6)."""
    major, _, minor = os.environ.get(variable, "").partition(".")
    return (int(major), int(minor)) if major.isdigit() and minor.isdigit() else default


def values() -> dict[str, Any]:
    """Name → value, as Numba's documentation of its environment variables has them."""
    threads = os.cpu_count() or 1
    return {
        "ENABLE_CUDASIM": int(options.get("report_as_simulator")),
        "DISABLE_JIT": _number("NUMBA_DISABLE_JIT", 0),
        "NUMBA_DEFAULT_NUM_THREADS": threads,
        "NUMBA_NUM_THREADS": _number("NUMBA_NUM_THREADS", threads),
        "THREADING_LAYER": os.environ.get("NUMBA_THREADING_LAYER", "default"),
        "OPT": _number("NUMBA_OPT", 3),
        "DEBUG": _number("NUMBA_DEBUG", 0),
        "FULL_TRACEBACKS": _number("NUMBA_FULL_TRACEBACKS", 0),
        "BOUNDSCHECK": None,
        "DISABLE_PERFORMANCE_WARNINGS": _number("NUMBA_DISABLE_PERFORMANCE_WARNINGS", 0),
        "CUDA_LOW_OCCUPANCY_WARNINGS": _number("NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS", 1),
        "CUDA_WARN_ON_IMPLICIT_COPY": _number("NUMBA_CUDA_WARN_ON_IMPLICIT_COPY", 1),
        "CUDA_DEBUGINFO_DEFAULT": _number("NUMBA_CUDA_DEBUGINFO", 0),
        "CACHE_DIR": os.environ.get("NUMBA_CACHE_DIR", ""),
        "CUDA_DEFAULT_PTX_CC": _capability("NUMBA_CUDA_DEFAULT_PTX_CC", (5, 0)),
        "FORCE_CUDA_CC": _capability("NUMBA_FORCE_CUDA_CC", None),
        "CUDA_ARRAY_INTERFACE_SYNC": _number("NUMBA_CUDA_ARRAY_INTERFACE_SYNC", 1),
        "CUDA_MEMORY_MANAGER": os.environ.get("NUMBA_CUDA_MEMORY_MANAGER", "default"),
        "CUDA_PER_THREAD_DEFAULT_STREAM": _number("NUMBA_CUDA_PER_THREAD_DEFAULT_STREAM", 0),
        "CUDA_USE_NVIDIA_BINDING": False,
        "CUDA_ENABLE_MINOR_VERSION_COMPATIBILITY": 0,
        "CUDA_LOG_LEVEL": os.environ.get("NUMBA_CUDA_LOG_LEVEL", ""),
        "CUDA_LOG_SIZE": 1024,
        "CUDA_DEALLOCS_COUNT": _number("NUMBA_CUDA_MAX_PENDING_DEALLOCS_COUNT", 10),
        "CUDA_DEALLOCS_RATIO": _number("NUMBA_CUDA_MAX_PENDING_DEALLOCS_RATIO", 0.2),
        "DISABLE_CUDA": _number("NUMBA_DISABLE_CUDA", 0),
    }


def config() -> ModuleType:
    """The configuration module in force."""
    there = sys.modules.get("numba.core.config") or sys.modules.get("cudasim.cuda.core.config")
    return there or importlib.import_module("cudasim.cuda.core.config")


def poses_as_gpu() -> bool:
    """Whether programs are told that this is a GPU: numba.config.ENABLE_CUDASIM reads false in a program whose numba.cuda
    is cudasim's, because option report_as_simulator says so or because the program has set it so."""
    if not options.get("report_as_simulator"):
        return True
    cuda, numbas = sys.modules.get("numba.cuda"), sys.modules.get("numba.core.config")
    if cuda is None or numbas is None or cuda is not sys.modules.get("cudasim.cuda"):
        return False
    return not getattr(numbas, "ENABLE_CUDASIM", 1)


def setting(name: str) -> Any:
    """One of its values; Numba's default where it has none."""
    now = config()
    return getattr(now, name) if hasattr(now, name) else values()[name]


#: Switch → the variable that turns it on even where cudasim reports itself as a simulator.
_WARNINGS = {
    "CUDA_LOW_OCCUPANCY_WARNINGS": "NUMBA_CUDA_LOW_OCCUPANCY_WARNINGS",
    "CUDA_WARN_ON_IMPLICIT_COPY": "NUMBA_CUDA_WARN_ON_IMPLICIT_COPY",
}


def warns_about(switch: str) -> bool:
    """Whether a performance warning is wanted: Numba's switch is on and cudasim does not report itself as a simulator
    (Numba's simulator says nothing about performance), or its variable asks for it."""
    now = config()
    if not getattr(now, switch, True) or getattr(now, "DISABLE_PERFORMANCE_WARNINGS", False):
        return False
    asked_for = os.environ.get(_WARNINGS[switch], "0") not in ("", "0")
    return asked_for or not getattr(now, "ENABLE_CUDASIM", False)
