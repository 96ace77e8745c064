"""numba.cuda.cudadrv's names that scripts import: driver, error, devicearray, devices."""

import importlib


def __getattr__(name):
    if name in ("driver", "error", "devicearray", "devices"):
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
