"""What `cudasim info` shows: versions, the simulated devices and real GPUs, options in force and where they come from."""

from __future__ import annotations

import importlib.metadata
import json
import platform
import sys
from typing import TYPE_CHECKING

import cudasim
from cudasim import _native, cache, options, switch
from cudasim.compile import libdevice
from cudasim.compile.libdevice_version import version as version_of_libdevice
from cudasim.device import real_gpu
from cudasim.device.device import devices
from cudasim.errors import CudaSupportError
from cudasim.options import OptionError

if TYPE_CHECKING:
    from typing import Any


def _version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def _simulated_devices():
    """(their profiles and memory, why the program sees none)"""
    try:
        seen = devices()
    except CudaSupportError as error:  # hidden by CUDA_VISIBLE_DEVICES or NUMBA_DISABLE_CUDA
        return [], str(error)
    memory = ("memory_free", "memory_total")
    return [{**device.profile, **dict(zip(memory, device.native.memory_info()))} for device in seen], ""


def _libdevice():
    """NVIDIA's library of maths functions that PTX is linked with, and whether compiled kernels run with it."""
    try:
        library = libdevice.found(libdevice.given_path())
    except (OptionError, ValueError) as error:
        return {"error": str(error)}
    if library is None:
        return {"error": 'not found; pip install "cudasim[gpu]" brings it'}
    used = options.get("libdevice") != "own"
    return {
        "path": library.path,
        "version": version_of_libdevice(library.path) or "unknown",
        "sha256": library.hash,
        "simulation": "uses it" if used else "uses its own functions (option libdevice)",
    }


def collect() -> Any:
    """Everything, as a dictionary that JSON can express."""
    simulated, hidden = _simulated_devices()
    return {
        "versions": {
            "cudasim": cudasim.__version__,
            "python": platform.python_version(),
            "llvm": _native.llvm_version,
            "numpy": _version_of("numpy"),
            "numba": _version_of("numba"),
            "numba-cuda": _version_of("numba-cuda"),
        },
        "installation": {
            "package": cudasim.__path__[0],
            "python": sys.executable,
            "machine": platform.machine(),
            "cudasim_gpu_run": _native.find_gpu_runner() or None,
            "switch": "on" if switch.is_on() else "off",
        },
        "devices": simulated,
        "no_devices": hidden,
        "gpu": real_gpu.query(),
        "libdevice": _libdevice(),
        "cache": cache.info(),
        "options": {
            option.name: dict(zip(("value", "source"), options.value_and_source(option.name)))
            for option in options.TABLE
        },
    }


def as_json() -> Any:
    """The information as JSON, for programs."""
    return json.dumps(collect(), indent=2) + "\n"


def _table(rows):
    width = max(len(str(row[0])) for row in rows)
    return [f"  {name!s:<{width}}  {value}" for name, value in rows]


def _shown(value):
    if isinstance(value, (list, tuple)):
        return " x ".join(map(str, value)) if len(value) == 3 else ".".join(map(str, value))
    return "not installed" if value is None else value


def as_text() -> Any:
    """The information as tables, for people."""
    everything = collect()
    lines = []
    sections = [(name, everything[name]) for name in ("versions", "installation")]
    sections += [(f"device {number}", device) for number, device in enumerate(everything["devices"])]
    for section, values in sections:
        lines += [
            section,
            *_table([(name.replace("_", " "), _shown(value)) for name, value in values.items()]),
            "",
        ]
    if everything["no_devices"]:
        lines += ["no device", f"  {everything['no_devices']}", ""]
    lines += [*everything["gpu"]["lines"], ""]
    lines += ["libdevice", *_table(everything["libdevice"].items()), ""]
    lines += ["cache", *_table(cache.rows(everything["cache"])), ""]
    rows = [
        (
            f"{name} = {int(entry['value']) if isinstance(entry['value'], bool) else entry['value']}",
            entry["source"],
        )
        for name, entry in everything["options"].items()
    ]
    return "\n".join([*lines, "options", *_table(rows)]) + "\n"
