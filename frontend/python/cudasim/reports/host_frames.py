"""Where the host's program stands: the frames of the calling thread that are the program's own."""

from __future__ import annotations

import os
import runpy
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import FrameType

_PACKAGE_FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_MOST_FRAMES = 200
#: A part of the paths of numba and numba-cuda, which launch for the program (`cudasim record --real`).
_NUMBA = f"{os.sep}site-packages{os.sep}numba"


def host_frames() -> list[tuple[str, str, int]]:
    """(function, file, line) of the host program where it launches, innermost first; none of this package nor of Numba, and at most 200."""
    frames: list[tuple[str, str, int]] = []
    frame: FrameType | None = sys._getframe()
    while frame is not None and len(frames) < _MOST_FRAMES:
        file = frame.f_code.co_filename
        is_own = not file.startswith((_PACKAGE_FOLDER, "<frozen")) and file != runpy.__file__
        if is_own and _NUMBA not in file:
            frames.append((frame.f_code.co_name, file, frame.f_lineno or 0))
        frame = frame.f_back
    return frames
