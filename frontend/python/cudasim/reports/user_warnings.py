"""Every warning of cudasim's: its kind's class, where it is shown, and what a filter that makes it an error raises.

Kinds are rows of simulator/findings/finding_kinds.def; each has a class, cudasim.errors.<Kind>Warning.
"""

from __future__ import annotations

import functools
import os
import site
import sys
import warnings
from typing import TYPE_CHECKING

import numpy as np

from cudasim import errors
from cudasim.findings import SourceLocation
from cudasim.reports.tracebacks import at_kernel_lines, is_package_code

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any


def warn_at(
    kind: str,
    message: str,
    file: str,
    line: int,
    names: dict[str, Any] | None = None,
    finding: Any = None,
    variables: tuple[Any, ...] = (),
) -> None:
    """A warning at a line of source. Where a filter makes an error of it, its traceback ends at that line.

    :param kind: its stable name in finding_kinds.def
    :param names: the globals of the module that the line is in, or None. One without a name gets its file's, as in
        Python's own warnings: without any they would be dropped
    :param finding: the Finding that it is about, if any; its `location` is the traceback's
    :param variables: as for at_kernel_lines()
    """
    warning = errors.warning_class(kind)(message)
    warning.finding = finding
    module = (names or {}).get("__name__") or os.path.splitext(file)[0]
    registry = {} if names is None else names.setdefault("__warningregistry__", {})
    try:
        warnings.warn_explicit(warning, None, file, line, module, registry)
    except Warning as raised:
        chain = (finding is not None and finding.location) or (SourceLocation(file, "", line, 0),)
        error = at_kernel_lines(raised, chain, names or {}, variables)
    else:
        return
    raise error


def users_frame() -> FrameType:
    """The innermost frame of the calling thread that is not cudasim's own: the launch or the call; the outermost where all are."""
    frame = sys._getframe(1)
    while frame.f_back is not None and is_package_code(frame.f_code):
        frame = frame.f_back
    return frame


def programs_frame() -> FrameType:
    """The innermost frame of the calling thread that is the program's own code, and not an installed package's or Python's.

    Where there is none, as in a program that is itself an installed package: that of users_frame(), or of NumPy's caller.
    """
    users = users_frame()
    frame: FrameType | None = users
    behind_numpy = None
    while frame is not None and not is_package_code(frame.f_code):
        file = frame.f_code.co_filename
        if not _is_installed(file):
            return frame
        if behind_numpy is None and not file.startswith(_NUMPY_FOLDER):
            behind_numpy = frame
        frame = frame.f_back
    return behind_numpy or users


_NUMPY_FOLDER = os.path.dirname(np.__file__) + os.sep


@functools.lru_cache(maxsize=1)
def _installed_folders():
    import sysconfig  # here: it is needed for findings only

    folders = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib", "scripts")}
    folders.update(site.getsitepackages() if hasattr(site, "getsitepackages") else ())
    folders.add(site.getusersitepackages())
    return (*(os.path.join(folder, "") for folder in folders if folder), _NUMPY_FOLDER, "<frozen ")


@functools.lru_cache(maxsize=4096)
def _is_installed(file):
    """Whether a file is of an installed package or of Python itself."""
    return file.startswith(_installed_folders())


def warn_at_users_line(kind: str, message: str) -> None:
    """Warns at the innermost line of code that is not cudasim's own: the launch or the call."""
    frame = users_frame()
    warn_at(kind, message, frame.f_code.co_filename, frame.f_lineno, frame.f_globals)


def warn_at_calling_code(kind: Any, message: Any) -> None:
    """Warns at the innermost line of code that is neither cudasim's own nor the import system's: an import statement too."""
    frame: FrameType | None = sys._getframe(1)
    others = (__name__.partition(".")[0], "importlib", "_cudasim_switch")
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in others:
        frame = frame.f_back
    file, line = (frame.f_code.co_filename, frame.f_lineno) if frame else ("<unknown>", 1)
    warn_at(kind, message, file, line)
