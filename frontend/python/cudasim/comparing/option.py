"""The option gpu: with `gpu=compare` every launch of the process is compared with a real GPU.

cudasim.launch.recording loads this room when the option asks for it, and calls apply() before launches.
"""

from __future__ import annotations

import atexit
import contextlib
import sys

from cudasim.comparing.session import GpuComparison
from cudasim.streams import stream_work

_kept = contextlib.ExitStack()
_comparison: GpuComparison | None = None


def apply(value: str) -> None:
    """Begins or ends comparing.

    :param value: of the option: "off" or "compare"
    :raises errors.NoGpuError: where there is no GPU to be had
    """
    global _comparison
    if (value == "compare") == (_comparison is not None):
        return
    if _comparison is not None:
        _comparison = None
        _kept.close()
        return
    comparison = GpuComparison()
    _kept.enter_context(comparison.in_force())
    _comparison = comparison
    atexit.register(_summary, comparison)


def _summary(comparison: GpuComparison) -> None:
    """Says how many launches were compared, on standard error, when the program ends."""
    with contextlib.suppress(Exception):  # launches that only now run may fail; that is not about this
        stream_work.finish()
    counts: dict[str, int] = {}
    gpu = ""
    for launch in comparison.launches:
        word = launch.get("verdict") or launch["status"]
        counts[word] = counts.get(word, 0) + 1
        gpu = launch.get("gpu", {}).get("name", gpu)
    if counts:
        text = ", ".join(f"{count} {word}" for word, count in counts.items())
        print(f"cudasim: launches compared with {gpu or 'the GPU'}: {text}", file=sys.stderr)
