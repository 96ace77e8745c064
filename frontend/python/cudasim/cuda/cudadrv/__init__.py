"""numba.cuda.cudadrv: the driver's side of the API; its modules are there without being imported."""

import importlib

_MODULES = (
    "devicearray", "devices", "driver", "drvapi", "enums", "error", "libs", "linkable_code", "nvrtc", "nvvm",
    "runtime",
)  # fmt: skip


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
