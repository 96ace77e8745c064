"""numba.cuda.core: config and errors, which are numba.core's wherever numba has been imported."""

from __future__ import annotations

import importlib as _importlib
import sys as _sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any


def __getattr__(name: str) -> Any:
    if name not in ("config", "errors"):
        raise AttributeError(f"module 'numba.cuda.core' has no attribute {name!r}")
    return _sys.modules.get(f"numba.core.{name}") or _importlib.import_module(f"cudasim.cuda.core.{name}")
