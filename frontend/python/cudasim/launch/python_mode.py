"""The way from launches to Python mode, which is a room further up. cudasim.cuda registers it; it is imported when the first kernel
is made, for `import numba.cuda` is to be quick.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

_load: Any = None


def register(load: Callable[[], ModuleType]) -> None:
    """:param load: gives cudasim.python_mode"""
    global _load
    _load = load


def module() -> ModuleType:
    """cudasim.python_mode: choose_kernel, kernel_for_tracer."""
    return _load()
