"""The simulated devices: what each one is (its profile, numba.cuda's attributes) and its memory in the engine.

The option `device` names them, several separated by commas; they are made at the first use. Which one is current
in a host thread is current.py's.
"""

from __future__ import annotations

import contextlib
import operator
import os
import threading
import weakref
from typing import TYPE_CHECKING

from cudasim import _native, _numba_config, device_profiles, options
from cudasim._cuda_errors import CudaAPIError, CudaSupportError
from cudasim.device import device_attributes

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cudasim._native import Context as DriverContext
    from cudasim._native import Device as NativeDevice

_DISABLED = "CUDA is disabled due to setting NUMBA_DISABLE_CUDA=1 in the environment, or because CUDA is unsupported on 32-bit systems."

_lock = threading.RLock()
_devices: tuple[Device, ...] = ()  # made at the first use
#: Context.id → the device whose context it is.
by_context: dict[int, Device] = {}


def devices() -> tuple[Device, ...]:
    """Every simulated device that the program may see, in order of their numbers.

    :raises CudaSupportError: when CUDA_VISIBLE_DEVICES hides all of them, or NUMBA_DISABLE_CUDA forbids them
    """
    if not _devices:
        if _numba_config.setting("DISABLE_CUDA"):
            raise CudaSupportError(f"Error at driver init: \n{_DISABLED}:")
        with _lock:
            if not _devices:
                _show(_visible_devices())
    return _devices


def _show(seen):
    """The program sees these devices from now on. Returns those that it saw before."""
    global _devices
    before, _devices = _devices, seen
    _native.exchange_devices([device.driver_context for device in seen])
    return before


def checked_ordinal(ordinal: Any, call: str) -> int:
    """The number of a device that there is. :param call: the driver's call that asks

    :raises CudaAPIError: 101 when there is no such device
    """
    devices()
    return _native.device_get(operator.index(ordinal), call)


def initialisation_error() -> Any:
    """What the driver says when there is no device to be seen, or None."""
    try:
        devices()
    except CudaSupportError as error:
        return _DISABLED if _DISABLED in str(error) else str(error)
    return None


def _visible_devices():
    """The simulated devices that CUDA_VISIBLE_DEVICES names, in its order; all where it is not set."""
    every = options.get("device").split(",")
    text = os.environ.get("CUDA_VISIBLE_DEVICES")
    try:
        chosen = _native.visible_devices(text, every)
    except CudaAPIError as error:
        message = error.msg.replace("CUDA_ERROR_NO_DEVICE", f"CUDA_ERROR_NO_DEVICE ({error.code})", 1)
        raise CudaSupportError(f"Error at driver init: {message}") from None
    return tuple(Device._made(number, every[position], position) for number, position in enumerate(chosen))


@contextlib.contextmanager
def only_device(native: Any) -> Iterator[Any]:
    """The program sees one device, a new one, for the length of the block.

    :param native: its _native.Device
    :returns: the Device
    """
    device = Device._made(0, native.profile["key"], 0)
    device._set_native(native)
    with _lock:
        before = _show((device,))
    try:
        yield device
    finally:
        with _lock:
            _show(before)
        del by_context[device.driver_context.id]


_sets_of_devices: dict[Any, Any] = {}  # (option device, option device_memory) → devices, of other_devices()


@contextlib.contextmanager
def other_devices() -> Iterator[None]:
    """The program sees new devices for the length of the block: those that the options in force name. Blocks
    with the same options see the same ones."""
    key = options.get("device"), options.get("device_memory")
    with _lock:
        before = _show(_sets_of_devices.get(key, ()))
    try:
        yield
    finally:
        with _lock:
            _sets_of_devices[key] = _show(before)


def are_made() -> bool:
    """Whether the devices are there, so that the options that describe them cannot change any more."""
    return bool(_devices)


def _end_context_of(device):
    """What Python has of a device's context ends with it."""
    from cudasim.device.current import end_context_of  # which needs this module

    if device is not None:
        end_context_of(device)


class _DeviceName(str):
    """A device's name: a string as numba-cuda gives it. Numba's own numba.cuda gave bytes, which scripts decode."""

    def decode(self, encoding="utf-8", errors="strict"):
        return str(self)


class Device:
    """One simulated device. Attributes in capitals are those of the CUDA driver, from the device's profile.

    `Device(0)` is the one that has this number, as `cuda.gpus[0]` has it.
    """

    id: int
    _key: str
    _position: int
    _native: NativeDevice | None
    PCI_BUS_ID: int
    primary_context: Any
    driver_context: DriverContext
    _retains_context: bool

    def __new__(cls, devnum: Any) -> Any:
        """
        :raises CudaAPIError: 101 when there is no such device
        """
        return devices()[checked_ordinal(devnum, "cuDeviceGet")]

    @classmethod
    def _made(cls, number, key, position):
        """A new device. :param position: its place among the simulated devices, whichever the program sees"""
        made = super().__new__(cls)
        made.id = number
        made._key = key
        made._position = position
        made._native = None
        made.PCI_BUS_ID = position + 1
        made.primary_context = None  # current.py's
        made.driver_context = _native.Context(number)
        itself = weakref.ref(made)
        made.driver_context.on_end(lambda: _end_context_of(itself()))
        made._retains_context = False
        by_context[made.driver_context.id] = made
        return made

    def _set_native(self, native):
        self._native = native
        self.driver_context.set_engine(native)

    @property
    def native(self) -> NativeDevice:
        """The engine's device, made now if it was not yet."""
        native = self._native
        if native is None:
            with _lock:
                native = self._native
                if native is None:
                    profile = _native.DeviceProfile(device_profiles.profile(self._key))
                    native = _native.Device(profile, options.get("device_memory"))
                    self._set_native(native)
        return native

    @property
    def _device(self):
        """The device itself: what `cuda.gpus[0]` holds has it there, and programs ask (`cuda.gpus[0]._device.name`)."""
        return self

    def free_memory(self, address: int) -> None:
        """cuMemFree on this device."""
        _native.mem_free(self.driver_context, address)

    def with_engine(self) -> DriverContext:
        """The driver's context, whose engine there is."""
        if self._native is None:
            assert self.native is not None  # made now
        return self.driver_context

    @property
    def profile(self) -> dict[str, Any]:
        """All limits, as a dictionary."""
        return self.native.profile

    @property
    def name(self) -> _DeviceName:
        return _DeviceName(self.profile["name"])

    @property
    def compute_capability(self) -> tuple[int, ...]:
        return tuple(self.profile["compute_capability"])

    @property
    def uuid(self) -> str:
        """A UUID that is the same in every run."""
        return _native.device_uuid(self._key, self._position)

    @classmethod
    def from_identity(cls, identity: dict[str, int]) -> Device:
        """The device that get_device_identity() described, here or in another process."""
        for device in devices():
            if device.get_device_identity() == identity:
                return device
        raise RuntimeError(
            f"No device of {identity} is found. Target device may not be visible in this process: "
            f"CUDASIM_DEVICE and CUDA_VISIBLE_DEVICES give {len(devices())}"
        )

    def get_device_identity(self) -> dict[str, int]:
        return {
            name: getattr(self, name.upper()) for name in ("pci_domain_id", "pci_bus_id", "pci_device_id")
        }

    def __getattr__(self, name: str) -> Any:
        numbers = device_attributes.numbers()
        if name in numbers:
            return self.with_engine().attribute(numbers[name])
        raise AttributeError(
            f"the simulated device has no attribute {name!r}; it has: {', '.join(sorted(numbers))}"
        )

    def __repr__(self) -> str:
        return f"<CUDA device {self.id} '{self.name}'>"

    def get_primary_context(self) -> Any:
        """The device's context; it does not become current."""
        from cudasim.device.current import context_of  # which needs this module

        return context_of(self)

    def __enter__(self) -> None:
        from cudasim.device.current import activate  # current imports this module

        activate(self)

    def __exit__(self, *error: object) -> None:
        self.get_primary_context().pop()

    def use_context(self) -> int:
        """Makes the driver's context active, and keeps it so. :returns: its handle"""
        if self._retains_context:
            return self.driver_context.activate()
        self._retains_context = True
        return self.driver_context.retain()

    def release_primary_context(self) -> None:
        """Destroys the context, unless others retain it (cuDevicePrimaryCtxRetain); the next use makes a new one."""
        if self._retains_context:
            self._retains_context = False
            self.release_context()

    def release_context(self) -> None:
        """cuDevicePrimaryCtxRelease. :raises CudaAPIError: 201 when nobody retains the context"""
        self.driver_context.release()

    def reset(self) -> None:
        """Destroys the context: its memory is freed, and work that waits in its streams is dropped."""
        self.driver_context.reset()

    @property
    def supports_float16(self) -> bool:
        return self.compute_capability >= (5, 3)

    @property
    def supports_bfloat16(self) -> bool:
        return self.compute_capability >= (8, 0)

    @property
    def supports_fp8(self) -> bool:
        return self.compute_capability >= (8, 9)
