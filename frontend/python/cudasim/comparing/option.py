"""The option gpu: with `gpu=compare` every launch of the process is compared with a real GPU.

cudasim.launch.recording loads this room when the option asks for it, and calls apply() before launches.
"""

from __future__ import annotations

import atexit
import contextlib
import sys

from cudasim.comparing.report import counts_text
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
    _kept.enter_context(comparison.in_force(of_the_program=True))
    _comparison = comparison
    atexit.register(_summary, comparison)


def _summary(comparison: GpuComparison) -> None:
    """Says how many launches were compared, on standard error, when the program ends."""
    with contextlib.suppress(Exception):  # launches that only now run may fail; that is not about this
        stream_work.finish()
    names = [launch["gpu"]["name"] for launch in comparison.launches if "gpu" in launch]
    if comparison.launches:
        gpu = names[-1] if names else "the GPU"
        print(f"cudasim: launches compared with {gpu}: {counts_text(comparison.launches)}", file=sys.stderr)
