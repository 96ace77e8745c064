"""The GPUs that this machine has, as NVIDIA's driver tells them.

The driver is loaded in a process of its own. In the program's process it would stay for good: cuInit takes a quarter of a second and
starts threads, a process that was forked afterwards cannot use CUDA, and a driver that crashes or hangs would take the program
with it. The process is a new one, not forked, because what this one has loaded (PyTorch with CUDA, say) must not matter.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from typing import Any

from cudasim import options

#: Seconds. A driver that keeps no state between programs takes a second or two for each GPU.
TIME_LIMIT = 60.0

_MARK = "cudasim real GPUs: "  # in front of the answer: drivers may print, too
_ADVICE = (
    "See whether `nvidia-smi` works; install NVIDIA's driver again, or let CUDASIM_LIBCUDA name another file."
)


def query(time_limit: float = TIME_LIMIT) -> dict[str, Any]:
    """Asks the driver. Nothing is raised for a machine that has none.

    :param time_limit: in seconds; a driver that takes longer is broken
    :returns: ``outcome``: found, no-driver, broken-driver, no-device, too-old (gpu_backend/libcuda/outcomes.h), or unknown where the driver
        could not be asked; ``message``: what is wrong and what can be done, empty for found; ``library``: its file; ``driver``: the version
        of CUDA, "13.0"; ``gpus``: dictionaries with ``ordinal``, ``name``, ``compute_capability``, ``memory`` in bytes, ``virtual_memory``
        (whether memory at given addresses can be had) and ``new_enough``; ``missing_functions``: those that the driver lacks and cudasim can
        do without; ``lines``: all that as text
    """
    process = subprocess.Popen(
        [sys.executable, "-c", _program()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
        text=True,
        errors="replace",
    )
    try:
        said, errors = process.communicate(timeout=time_limit)
    except subprocess.TimeoutExpired:
        return _none(
            "broken-driver", f"NVIDIA's driver does not answer within {time_limit:g} seconds. {_ADVICE}"
        )
    finally:
        _end(process)
    for line in said.splitlines():
        if line.startswith(_MARK):
            return json.loads(line[len(_MARK) :])
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        return _none(
            "broken-driver", f"NVIDIA's driver ended the process that asked it, by {name}. {_ADVICE}"
        )
    last = errors.strip().splitlines()[-1:] or ["it said nothing"]
    return _none(
        "unknown",
        f"the process that asks NVIDIA's driver ended with status {process.returncode}: {last[0]}",
    )


def _program() -> str:
    folder = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    # Not -m: the folder that the program runs in may have modules with the names of Python's own.
    return (
        f"import sys; sys.path[:1] = []; sys.path.append({folder!r}); import json; from cudasim import _native; "
        f"print('\\n' + {_MARK!r} + json.dumps(_native.real_gpus()), flush=True)"
    )


def _environment() -> dict[str, str]:
    left_out = ("ENABLE_CUDASIM", "CUDASIM_DEBUGGER", "CUDASIM_LIBCUDA", "PYTHONINSPECT", "PYTHONSTARTUP")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    if library := options.get("libcuda"):
        environment["CUDASIM_LIBCUDA"] = library
    return environment


def _end(process: subprocess.Popen[str]) -> None:
    """A process that waits in the driver's part of the kernel cannot be ended; it is left behind."""
    if process.poll() is None:
        process.kill()
        try:
            process.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            pass


def _none(outcome: str, message: str) -> dict[str, Any]:
    return {
        "outcome": outcome, "message": message, "library": "", "driver": "", "gpus": [], "missing_functions": [],
        "lines": [f"GPU: none: {message}"],
    }  # fmt: skip
