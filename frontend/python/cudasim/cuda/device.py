"""The simulated device and its context: numba.cuda's device management.

There is one device, made at its first use from the options `device` and `device_memory`.
"""

import functools
import threading
from typing import NamedTuple

from cudasim import options

_lock = threading.Lock()
_native_device = None


def native_device():
    """The engine's device, made now if it was not yet."""
    global _native_device
    if _native_device is None:
        with _lock:
            if _native_device is None:
                from cudasim import _native

                _native_device = _native.Device(options.get("device"), options.get("device_memory"))
    return _native_device


class MemoryInfo(NamedTuple):
    """Bytes of device memory."""

    free: int
    total: int


# Attribute of numba.cuda's device → how the profile says it.
_ATTRIBUTES = {
    "MAX_THREADS_PER_BLOCK": lambda p: p["max_threads_per_block"],
    "MAX_BLOCK_DIM_X": lambda p: p["max_block"][0],
    "MAX_BLOCK_DIM_Y": lambda p: p["max_block"][1],
    "MAX_BLOCK_DIM_Z": lambda p: p["max_block"][2],
    "MAX_GRID_DIM_X": lambda p: p["max_grid"][0],
    "MAX_GRID_DIM_Y": lambda p: p["max_grid"][1],
    "MAX_GRID_DIM_Z": lambda p: p["max_grid"][2],
    "MAX_SHARED_MEMORY_PER_BLOCK": lambda p: p["shared_per_block"],
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": lambda p: p["shared_per_block_optin"],
    "MAX_SHARED_MEMORY_PER_MULTIPROCESSOR": lambda p: p["shared_per_multiprocessor"],
    "MAX_THREADS_PER_MULTI_PROCESSOR": lambda p: p["max_threads_per_multiprocessor"],
    "MAX_THREADS_PER_MULTIPROCESSOR": lambda p: p["max_threads_per_multiprocessor"],
    "MAX_BLOCKS_PER_MULTIPROCESSOR": lambda p: p["max_blocks_per_multiprocessor"],
    "MAX_REGISTERS_PER_BLOCK": lambda p: p["registers_per_block"],
    "MULTIPROCESSOR_COUNT": lambda p: p["multiprocessors"],
    "TOTAL_CONSTANT_MEMORY": lambda p: p["constant_memory"],
    "WARP_SIZE": lambda p: p["warp_size"],
    "CLOCK_RATE": lambda p: p["clock_khz"],
    "COMPUTE_CAPABILITY_MAJOR": lambda p: p["compute_capability"][0],
    "COMPUTE_CAPABILITY_MINOR": lambda p: p["compute_capability"][1],
    "UNIFIED_ADDRESSING": lambda p: 1,
    "CAN_MAP_HOST_MEMORY": lambda p: 1,
    "CONCURRENT_KERNELS": lambda p: 1,
}


class Device:
    """One simulated device. Attributes in capitals are those of the CUDA driver, from the device's profile."""

    id = 0

    @functools.cached_property
    def profile(self):
        """All limits, as a dictionary."""
        return native_device().profile

    @property
    def name(self):
        """The device's name; bytes, as numba.cuda gives it."""
        return self.profile["name"].encode()

    @property
    def compute_capability(self):
        return tuple(self.profile["compute_capability"])

    @property
    def uuid(self):
        """A UUID that depends on the device's name only."""
        import uuid

        return f"GPU-{uuid.uuid5(uuid.NAMESPACE_URL, 'cudasim:' + self.profile['name'])}"

    def __getattr__(self, name):
        if name in _ATTRIBUTES:
            return _ATTRIBUTES[name](self.profile)
        raise AttributeError(
            f"the simulated device has no attribute {name!r}; it has: {', '.join(sorted(_ATTRIBUTES))}"
        )

    def __repr__(self):
        return f"<CUDA device 0 '{self.profile['name']}', simulated by cudasim>"

    def get_primary_context(self):
        return current_context()

    def reset(self):
        """Nothing to do: memory goes back when arrays are collected."""

    @property
    def supports_float16(self):
        return self.compute_capability >= (5, 3)

    @property
    def supports_bfloat16(self):
        return self.compute_capability >= (8, 0)


_device = Device()


class _DeviceList:
    """`cuda.gpus`: the devices; also a context manager that makes one current."""

    current = _device
    lst = [_device]

    def __len__(self):
        return 1

    def __iter__(self):
        return iter(self.lst)

    def __getitem__(self, index):
        return self.lst[index]

    def __str__(self):
        return str(self.lst)


gpus = list_devices = _DeviceList()
Device.__enter__ = lambda self: current_context()
Device.__exit__ = lambda self, *error: None


class Context:
    """The context of the one device."""

    device = _device

    def get_memory_info(self):
        """Free and total bytes of device memory."""
        return MemoryInfo(*native_device().memory_info())

    def synchronize(self):
        """Returns at once: launches are eager (rule V7)."""

    def reset(self):
        """Nothing to do: memory goes back when arrays are collected."""

    def push(self):
        """Nothing to do: there is one context."""

    def pop(self):
        """Nothing to do: there is one context."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return None


_context = Context()


def current_context(devnum=None):
    """The context of the simulated device."""
    _check_device_number(devnum)
    return _context


def _check_device_number(number):
    if number not in (None, 0):
        from cudasim._cuda_errors import CudaAPIError

        raise CudaAPIError(
            101,
            f"Call to cuDeviceGet results in CUDA_ERROR_INVALID_DEVICE: there is no device "
            f"{number}; the simulated machine has 1 device, number 0",
        )


def get_current_device():
    """The simulated device."""
    return _device


def select_device(device_id):
    """Makes a device current and returns its context."""
    _check_device_number(device_id)
    return _context


def is_available():
    """True: that is what the simulator is for."""
    return True


def is_supported_version():
    return True


def is_float16_supported():
    return _device.supports_float16


def is_bfloat16_supported():
    return _device.supports_bfloat16


def cuda_error():
    """None: the simulated driver never fails to start."""
    return None


def detect():
    """Prints the devices; True, because there is one."""
    major, minor = _device.compute_capability
    print("Found 1 CUDA devices")
    print(f"id 0    {_device.profile['name']:>24}    [SIMULATED BY CUDASIM]")
    print(f"{'Compute Capability':>36}: {major}.{minor}")
    print(f"{'UUID':>36}: {_device.uuid}")
    print("Summary:\n\t1/1 devices are supported")
    return True


def synchronize():
    """Returns at once: launches are eager (rule V7)."""


def reset():
    """Nothing to do: memory goes back when arrays are collected."""


def close():
    """Nothing to do: memory goes back when arrays are collected."""


def require_context(function):
    """A decorator that has nothing to do: the context is always there."""
    return function


def is_device_memory(value):
    """Whether the object is device memory."""
    return hasattr(value, "__cuda_array_interface__")


def device_memory_size(value):
    """Bytes of a device array."""
    return value.nbytes
