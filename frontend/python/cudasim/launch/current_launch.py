"""numba.cuda.launchconfig: the launch for which a kernel is being compiled, for extensions that look at it.

As in numba-cuda it is known to the thread that compiles, and only while it does.
"""

from __future__ import annotations

import contextlib
import threading
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cudasim.launch.dispatcher import CUDADispatcher


class _ThreadState(threading.local):
    current = None


_thread = _ThreadState()
_captures: list[Any] = []  # (dispatcher, dictionary), of capture_compile_config()


def current_launch_config() -> Any:
    """The configured kernel that is being launched and has to be compiled for it; None outside of such a compilation."""
    return _thread.current


def ensure_current_launch_config() -> Any:
    """The same. :raises RuntimeError: where there is none"""
    if _thread.current is None:
        raise RuntimeError("No launch config set for this thread: no kernel is being compiled for a launch")
    return _thread.current


@contextlib.contextmanager
def compiling_for(configuration: Any) -> Iterator[None]:
    """What is compiled inside is compiled for this launch.

    :raises RuntimeError: where this thread compiles already: in a signal handler, which may have interrupted the compiler, or an
        import that it needs, at any place
    """
    if _thread.current is not None:
        raise RuntimeError(
            "a kernel cannot be launched for new types from a signal handler that runs while a kernel is being compiled: the "
            "compilation waits for it. Launch afterwards, or launch once with such arguments before it"
        )
    _thread.current = configuration
    try:
        yield
    finally:
        _thread.current = None


def note_compilation(dispatcher: CUDADispatcher) -> None:
    """A kernel of the dispatcher is being compiled."""
    if _thread.current is not None:
        for wanted, captured in tuple(_captures):
            if wanted is dispatcher:
                captured["config"] = _thread.current


@contextlib.contextmanager
def capture_compile_config(dispatcher: CUDADispatcher) -> Iterator[Any]:
    """Inside, `["config"]` of what `with … as` gives becomes the launch for which the dispatcher compiled last."""
    entry = dispatcher, {"config": None}
    _captures.append(entry)
    try:
        yield entry[1]
    finally:
        _captures[:] = [other for other in _captures if other is not entry]
