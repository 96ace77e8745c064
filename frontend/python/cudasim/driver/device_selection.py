"""numba.cuda's device management: `cuda.gpus`, the current device of a host thread, what can be asked of the machine."""

from __future__ import annotations

import contextlib
import functools
import threading
from typing import TYPE_CHECKING

import numpy as np

from cudasim import _native
from cudasim.device import current
from cudasim.device import device as device_module
from cudasim.device.current import activate, attached, context_of, current_device, device_or_none, own_stack
from cudasim.device.device import are_made, devices, initialisation_error
from cudasim.driver import context  # noqa: F401 - registers how contexts are made
from cudasim.streams import stream_work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any


class _DeviceList:
    """`cuda.gpus`: the devices; `with cuda.gpus[1]:` makes one current for the length of the block."""

    @property
    def lst(self):
        return list(devices())

    @property
    def current(self):
        """The device that is current in this host thread; None before its first use of CUDA."""
        return device_or_none()

    def __len__(self):
        return len(devices())

    def __iter__(self):
        return iter(devices())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self.lst[index]
        try:
            return devices()[_device_number(index)]
        except IndexError:
            count = len(devices())
            raise IndexError(
                f"there is no device {index}; the simulated machine has {count}: {self}. "
                "More are simulated with CUDASIM_DEVICE=h100,h100"
            ) from None

    def __str__(self):
        return ", ".join(f"<Managed Device {device.id}>" for device in devices())


def _device_number(value):
    """What names a device: an integer, or text of one (arguments of programs)."""
    if isinstance(value, (float, np.floating)):
        raise TypeError(f"a device is selected by its number, an integer, got {value!r}")
    return int(value)


gpus = _DeviceList()


def list_devices() -> _DeviceList:
    """All devices."""
    return gpus


def current_context(devnum: Any = None) -> context.Context:
    """The context of the current device; with a number, of that device, which becomes current."""
    if devnum is None:
        return current.current_context()
    return context_of(activate(gpus[devnum]))


def get_current_device() -> device_module.Device:
    """The device that is current in this host thread."""
    return current_device()


def select_device(device_id: Any) -> device_module.Device:
    """Makes a device current in this host thread and returns it."""
    return current_context(device_id).device


def close() -> None:
    """Leaves all contexts of this host thread; in the main thread it also destroys all contexts, with the memory of
    their arrays. The next use of CUDA makes new ones.
    """
    if threading.current_thread() is threading.main_thread():
        for device in devices():
            device.reset()
    _native.exchange_contexts([])


reset = close


@contextlib.contextmanager
def other_devices() -> Iterator[None]:
    """For the length of the block this host thread sees the devices that the options in force name, as a program does that
    begins with them. At the end their contexts are destroyed, with the memory of their arrays."""
    stream_work.synchronize()
    with own_stack(), device_module.other_devices():
        try:
            yield
        finally:
            stream_work.drop()
            if are_made():
                close()


@contextlib.contextmanager
def defer_cleanup() -> Iterator[None]:
    """No memory is given back inside: `with cuda.defer_cleanup():`. May be nested."""
    with current_context().defer_cleanup():
        yield


def synchronize() -> None:
    """Waits until everything in the streams of the current device is done."""
    current_context().synchronize()


def require_context(function: Callable[..., Any]) -> Callable[..., Any]:
    """A decorator: the function runs with a context, which it cannot switch."""

    @functools.wraps(function)
    def with_context(*args, **keywords):
        before = attached.device
        attached.device = before or current_device()
        try:
            return function(*args, **keywords)
        finally:
            attached.device = before

    return with_context


def is_available() -> bool:
    """True, that is what the simulator is for; unless CUDA_VISIBLE_DEVICES hides every device."""
    return initialisation_error() is None


def is_supported_version() -> bool:
    return True


def is_float16_supported() -> bool:
    """True, as in numba-cuda whatever the device is."""
    return True


def is_bfloat16_supported() -> Any:
    return current_device().supports_bfloat16


def is_fp8_supported() -> Any:
    return current_device().supports_fp8


def cuda_error() -> Any:
    """Why the simulated driver does not start, or None: CUDA_VISIBLE_DEVICES can hide every device."""
    return initialisation_error()


def detect() -> bool:
    """Prints the devices; True, because there is one."""
    found = devices()
    print(f"Found {len(found)} CUDA devices")
    for device in found:
        print(f"id {device.id}    {device.name:>20} {'[SUPPORTED]':>40}")
        for what, value in (
            ("Compute Capability", "{}.{}".format(*device.compute_capability)),
            ("PCI Device ID", device.PCI_DEVICE_ID),
            ("PCI Bus ID", device.PCI_BUS_ID),
            ("UUID", device.uuid),
            ("Watchdog", "Enabled" if device.KERNEL_EXEC_TIMEOUT else "Disabled"),
            ("FP32/FP64 Performance Ratio", device.SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO),
            ("FP16 Support", "Yes" if device.supports_float16 else "No"),
            ("BF16 Support", "Yes" if device.supports_bfloat16 else "No"),
            ("FP8 Support", "Yes" if device.supports_fp8 else "No"),
        ):
            print(f"{what:>40}: {value}")
    print(f"Summary:\n\t{len(found)}/{len(found)} devices are supported")
    return True
