"""Where programs that a debugger may attach to have their sockets: a folder that only its user may enter, a socket named by the process.

The folder is $XDG_RUNTIME_DIR/cudasim where there is such a directory, else one named by the user in the directory for temporary files.
"""

from __future__ import annotations

import contextlib
import os
import re
import stat
import tempfile
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = "debug_{}"


def make_path() -> str:
    """The path of this process's socket; the folder is there.

    :raises RuntimeError: where there is no folder that is safe
    """
    problems = []
    for folder in folders():
        try:
            with contextlib.suppress(FileExistsError):
                os.mkdir(folder, 0o700)
            problem = _problem(folder)
        except OSError as error:
            problem = f"{folder} cannot be made: {error.strerror}"
        if problem is None:
            _remove_those_of_ended_processes(folder)
            return os.path.join(folder, _NAME.format(os.getpid()))
        problems.append(problem)
    raise RuntimeError(f"debuggers cannot attach: {'; '.join(problems)}")


def path_of(process: int) -> str | None:
    """The socket of another process of this user; None where it has none.

    :raises RuntimeError: where somebody else could have made it
    """
    for folder in folders():
        path = os.path.join(folder, _NAME.format(process))
        if os.path.lexists(path):
            problem = _problem(folder)
            if problem is not None:
                raise RuntimeError(problem)
            return path
    return None


def listening() -> list[int]:
    """The processes that have a socket."""
    found = {process for folder in folders() for process, _ in _sockets_in(folder)}
    return sorted(process for process in found if _exists(process))


def _sockets_in(folder):
    """(process, path) of each socket."""
    with contextlib.suppress(OSError):
        for name in os.listdir(folder):
            if match := re.fullmatch(_NAME.format(r"(\d+)"), name):
                yield int(match[1]), os.path.join(folder, name)


def _exists(process):
    return os.path.exists(f"/proc/{process}")


def _remove_those_of_ended_processes(folder):
    for process, path in list(_sockets_in(folder)):
        if not _exists(process):
            with contextlib.suppress(OSError):
                os.unlink(path)


def folders() -> Iterator[str]:
    """Where sockets may lie, the best place first."""
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    if os.path.isabs(runtime) and os.path.isdir(runtime):
        yield os.path.join(runtime, "cudasim")
    yield os.path.join(tempfile.gettempdir(), f"cudasim_{os.getuid()}")


def _problem(folder):
    """Why a folder is not safe; None where it is."""
    state = os.lstat(folder)
    if not stat.S_ISDIR(state.st_mode):
        return f"{folder} is no folder"
    if state.st_uid != os.getuid():
        return f"{folder} belongs to another user"
    if state.st_mode & 0o077:
        return f"others may enter {folder}; chmod 700 it"
    return None
