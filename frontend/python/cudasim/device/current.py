"""Which device is current, per host thread, and the context that it has.

As with CUDA every host thread has a stack of contexts; the topmost is current (simulator/driver/context.h). Where the stack is
empty the first use of CUDA pushes device 0. What a context is belongs to a room further up (driver/context.py), which registers how to make one.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cudasim import _native, options
from cudasim._cuda_errors import CudaDriverError
from cudasim._native import current_context_id
from cudasim._numba_config import poses_as_gpu
from cudasim.device.device import by_context, devices
from cudasim.reports.user_warnings import warn_at_users_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cudasim.device.device import Device


class _Attached(threading.local):
    """The device that a function with require_context runs on in this host thread."""

    def __init__(self):
        self.device = None


attached = _Attached()


def check_fork() -> None:
    """Raises or warns at the first use of CUDA in a process that was forked after its parent had used it."""
    if not _native.used_before_fork():
        return
    message = (
        "CUDA initialized before forking: on a GPU every CUDA call of this process fails with "
        "CUDA_ERROR_NOT_INITIALIZED (3), because its parent had used CUDA when it was forked"
    )
    advice = "Start processes with multiprocessing.get_context('spawn'), or use CUDA in the children only"
    if options.get("strict") or poses_as_gpu():
        raise CudaDriverError(f"{message}. {advice}")
    _native.allow_use_after_fork()
    warn_at_users_line(
        "used-before-fork",
        f"{message}; the simulator continues with a copy of all device memory. {advice}",
    )


def check_calls_allowed() -> None:
    """:raises CudaAPIError: 800 in a stream callback"""
    check_fork()
    _native.require_calls_allowed()


def current_device() -> Device:
    """The device that is current in this host thread."""
    return by_context.get(current_context_id()) or device_or_none() or activate(devices()[0])


def device_or_none() -> Device | None:
    """The device that is current in this host thread; None before its first use of CUDA."""
    check_fork()
    while (context := _native.current_context()) is not None:
        device = by_context.get(context.id)
        if device is not None:
            return device
        _native.pop_context()  # of a device that was there for a while (only_device())
    return None


def activate(device: Device) -> Device:
    """Makes the device current in this host thread, on top of what was.

    :raises RuntimeError: in a function with require_context, which has to stay on its device
    """
    if attached.device is not None and attached.device is not device:
        raise RuntimeError(
            f"Cannot switch CUDA-context. A function with @cuda.require_context runs on device {attached.device.id}, "
            f"and it is not allowed to make device {device.id} current"
        )
    context_of(device).push()
    return device


def push(device: Device) -> None:
    """Makes the device's context current in this host thread, on top of what was."""
    check_fork()
    _native.push_context(device.driver_context)


@contextlib.contextmanager
def own_stack() -> Iterator[None]:
    """For the length of the block this host thread has a stack of its own, which is empty at the start."""
    check_fork()
    before = _native.exchange_contexts([])
    try:
        yield
    finally:
        _native.exchange_contexts(before)


_lock = threading.Lock()
_make_context: Any = None  # device, handle → its new context; register_contexts() sets it


def register_contexts(make: Callable[[Any, int], Any]) -> None:
    """:param make: device, handle → its new context"""
    global _make_context
    _make_context = make


def context_of(device: Device) -> Any:
    """The device's context; made now if there is none."""
    context = device.primary_context
    if context is None:
        with _lock:
            context = device.primary_context
            if context is None:
                context = _make_context(device, device.use_context())
                device.primary_context = context
    return context


def end_context_of(device: Device) -> None:
    """Gives back what is in the device's context, which the driver has ended; the next use of the device makes a new one."""
    context, device.primary_context = device.primary_context, None
    if context is not None:
        context.reset()


def current_context() -> Any:
    """The context of the current device."""
    return context_of(current_device())
