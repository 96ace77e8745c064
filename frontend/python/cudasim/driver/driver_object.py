"""The driver object, `numba.cuda.cudadrv.driver.driver`: the devices, and the driver's own calls."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from cudasim._cuda_errors import CudaDriverError
from cudasim.device import device as _device
from cudasim.driver import device_selection as _device_selection
from cudasim.driver.object_calls import ObjectCalls
from cudasim.driver.runtime import runtime as _runtime
from cudasim.memory.memory_calls import MemoryCalls

if TYPE_CHECKING:
    from typing import Any

    from cudasim.device.device import Device


class Driver(ObjectCalls, MemoryCalls):
    """numba.cuda's driver object: the devices, and the driver's own calls."""

    is_initialized = True

    def ensure_initialized(self) -> None:
        """The simulated driver always is, unless CUDA_VISIBLE_DEVICES hides every device."""
        _device.devices()

    @property
    def is_available(self) -> bool:
        return self.initialization_error is None

    @property
    def initialization_error(self) -> Any:
        return _device.initialisation_error()

    @property
    def pid(self) -> Any:
        return os.getpid()

    def get_device_count(self) -> int:
        return len(_device.devices())

    def get_device(self, devnum: int = 0) -> Device:
        return _device_selection.gpus[devnum]

    def list_devices(self) -> list[Device]:
        return list(_device.devices())

    def get_version(self) -> tuple[int, ...]:
        """The version of the driver, (major, minor): that of the toolkit."""
        return tuple(_runtime.get_version())

    def reset(self) -> None:
        """Destroys the contexts of all devices."""
        for device in _device.devices():
            device.reset()

    def pop_active_context(self) -> int | None:
        """Leaves the current context; returns its handle, or None when there was none."""
        device = _device_selection.gpus.current
        if device is None:
            return None
        context = device.get_primary_context()
        context.pop()
        return context.handle

    def get_active_context(self) -> _ActiveContext:
        return _ActiveContext()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("cu"):
            raise CudaDriverError(
                f"Driver missing function: {name}; cudasim has numba.cuda's interface, not the whole CUDA driver's"
            )
        raise AttributeError(f"the driver object has no attribute {name!r}")


class _ActiveContext:
    """`with driver.get_active_context() as active:` what is current in this host thread."""

    def __enter__(self):
        device = _device_selection.gpus.current
        self.devnum = None if device is None else device.id
        self.context_handle = None if device is None else device.get_primary_context().handle
        return self

    def __exit__(self, *error):
        return None

    def __bool__(self):
        return self.context_handle is not None


driver = Driver()


def get_version() -> tuple[int, ...]:
    """The version of the driver, (major, minor)."""
    return driver.get_version()
