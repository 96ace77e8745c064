"""Which device is current, per host thread, and the context that it has.

As with CUDA every host thread has a stack of contexts; the topmost is current. Where the stack is empty the first use of CUDA
pushes device 0. What a context is belongs to a room further up (driver/context.py), which registers how to make one.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cudasim import options
from cudasim._cuda_errors import CudaAPIError, CudaDriverError
from cudasim._numba_config import poses_as_gpu
from cudasim.device.device import are_made, devices
from cudasim.reports.user_warnings import warn_at_users_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudasim.device.device import Device

_forked_after_use = (
    False  # whether this process was forked when its parent had used CUDA, and nobody has been told
)


class _ThreadState(threading.local):
    def __init__(self):
        self.stack = _AfterFork() if _forked_after_use else []  # devices; the last is current
        self.attached = None  # the device that a function with require_context runs on


class _AfterFork(list):
    """The stack of a process that was forked after its parent had used CUDA: says at the first use what a GPU does."""

    def __len__(self):
        global _forked_after_use
        message = (
            "CUDA initialized before forking: on a GPU every CUDA call of this process fails with "
            "CUDA_ERROR_NOT_INITIALIZED (3), because its parent had used CUDA when it was forked"
        )
        advice = "Start processes with multiprocessing.get_context('spawn'), or use CUDA in the children only"
        if options.get("strict") or poses_as_gpu():
            raise CudaDriverError(f"{message}. {advice}")
        thread.stack, _forked_after_use = list(list.__iter__(self)), False
        warn_at_users_line(
            "used-before-fork", f"{message}; here it goes on with a copy of all device memory. {advice}"
        )
        return len(thread.stack)


thread = _ThreadState()


def _after_fork_in_child():
    global _forked_after_use
    if are_made():
        _forked_after_use = True
        thread.stack = _AfterFork(list.__iter__(thread.stack))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def not_permitted() -> CudaAPIError:
    """The error for calls of CUDA by a stream callback."""
    return CudaAPIError(
        800,
        "CUDA_ERROR_NOT_PERMITTED: a stream callback must not call CUDA: on a GPU the call may fail or hang, because "
        "the stream waits for the callback. Let the callback set a threading.Event or call "
        "loop.call_soon_threadsafe, and call CUDA in the thread that waits for it",
    )


class _NoCalls(list):
    """The stack of a thread that runs a stream callback: no CUDA call is allowed there."""

    def __len__(self):
        raise not_permitted()

    __bool__ = __iter__ = append = pop = clear = __len__  # type: ignore[assignment]  # each refuses


@contextlib.contextmanager
def calls_forbidden() -> Iterator[None]:
    """For the length of the block calls of CUDA in this host thread raise CudaAPIError 800."""
    before, thread.stack = thread.stack, _NoCalls()
    try:
        yield
    finally:
        thread.stack = before


def current_device() -> Device:
    """The device that is current in this host thread."""
    stack = thread.stack
    return stack[-1] if stack else activate(devices()[0])


def activate(device: Device) -> Device:
    """Makes the device current in this host thread, on top of what was.

    :raises RuntimeError: in a function with require_context, which has to stay on its device
    """
    if thread.attached is not None and thread.attached is not device:
        raise RuntimeError(
            f"Cannot switch CUDA-context. A function with @cuda.require_context runs on device {thread.attached.id}, "
            f"and it is not allowed to make device {device.id} current"
        )
    context_of(device).push()
    return device


_lock = threading.Lock()
_make_context: Any = None  # device → its new context; register_contexts() sets it


def register_contexts(make: Callable[[Any], Any]) -> None:
    """:param make: device → its new context"""
    global _make_context
    _make_context = make


def context_of(device: Device) -> Any:
    """The device's context; made now if there is none."""
    context = device.primary_context
    if context is None:
        with _lock:
            context = device.primary_context
            if context is None:
                context = device.primary_context = _make_context(device)
    return context


def destroy_context_of(device: Device) -> None:
    """Ends the context, if there is one: the next use of the device makes a new one."""
    context, device.primary_context = device.primary_context, None
    if context is not None:
        context.reset()


def current_context() -> Any:
    """The context of the current device."""
    return context_of(current_device())
