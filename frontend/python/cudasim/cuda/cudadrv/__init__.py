"""numba.cuda.cudadrv: the driver's side of the API; its modules are there without being imported."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

_MODULES = (
    "devicearray", "devices", "driver", "drvapi", "enums", "error", "libs", "linkable_code", "nvrtc", "nvvm",
    "runtime",
)  # fmt: skip


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
