"""The simulated devices: what each one is (its profile, numba.cuda's attributes) and its memory in the engine.

The option `device` names them, several separated by commas; they are made at the first use. Which one is current
in a host thread is context.py's.
"""

import threading

from cudasim import options

_lock = threading.RLock()
_devices = ()  # made at the first use


def devices():
    """Every simulated device, in order of their numbers."""
    global _devices
    if not _devices:
        with _lock:
            if not _devices:
                keys = options.get("device").split(",")
                _devices = tuple(Device(number, key) for number, key in enumerate(keys))
    return _devices


def are_made():
    """Whether the devices are there, so that the options that describe them cannot change any more."""
    return bool(_devices)


# Attribute of numba.cuda's device (the CUDA driver's, without CU_DEVICE_ATTRIBUTE_) → how the profile says it.
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
    "RESERVED_SHARED_MEMORY_PER_BLOCK": lambda p: p["shared_reserved_per_block"],
    "MAX_THREADS_PER_MULTI_PROCESSOR": lambda p: p["max_threads_per_multiprocessor"],
    "MAX_THREADS_PER_MULTIPROCESSOR": lambda p: p["max_threads_per_multiprocessor"],
    "MAX_BLOCKS_PER_MULTIPROCESSOR": lambda p: p["max_blocks_per_multiprocessor"],
    "MAX_REGISTERS_PER_BLOCK": lambda p: p["registers_per_block"],
    "MAX_REGISTERS_PER_MULTIPROCESSOR": lambda p: p["registers_per_multiprocessor"],
    "MULTIPROCESSOR_COUNT": lambda p: p["multiprocessors"],
    "TOTAL_CONSTANT_MEMORY": lambda p: p["constant_memory"],
    "WARP_SIZE": lambda p: p["warp_size"],
    "CLOCK_RATE": lambda p: p["clock_khz"],
    "MEMORY_CLOCK_RATE": lambda p: p["memory_clock_khz"],
    "GLOBAL_MEMORY_BUS_WIDTH": lambda p: p["memory_bus_bits"],
    "L2_CACHE_SIZE": lambda p: p["l2_cache"],
    "SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO": lambda p: p["single_to_double_ratio"],
    "COMPUTE_CAPABILITY_MAJOR": lambda p: p["compute_capability"][0],
    "COMPUTE_CAPABILITY_MINOR": lambda p: p["compute_capability"][1],
    "UNIFIED_ADDRESSING": lambda p: 1,
    "CAN_MAP_HOST_MEMORY": lambda p: 1,
    "CONCURRENT_KERNELS": lambda p: 1,
    "GPU_OVERLAP": lambda p: 1,
    "MAX_PITCH": lambda p: (1 << 31) - 1,
    "KERNEL_EXEC_TIMEOUT": lambda p: 0,
    "INTEGRATED": lambda p: 0,
    "COMPUTE_MODE": lambda p: 0,
    "TCC_DRIVER": lambda p: 0,
    "MULTI_GPU_BOARD": lambda p: 0,
    "PCI_DOMAIN_ID": lambda p: 0,
    "PCI_DEVICE_ID": lambda p: 0,
}


class _DeviceName(str):
    """A device's name: a string as numba-cuda gives it. Numba's own numba.cuda gave bytes, which scripts decode."""

    def decode(self, encoding="utf-8", errors="strict"):
        return str(self)


class Device:
    """One simulated device. Attributes in capitals are those of the CUDA driver, from the device's profile."""

    def __init__(self, number, key):
        self.id = number
        self._key = key
        self._native = None
        self.PCI_BUS_ID = number + 1

    @property
    def native(self):
        """The engine's device, made now if it was not yet."""
        if self._native is None:
            with _lock:
                if self._native is None:
                    from cudasim import _native

                    self._native = _native.Device(self._key, options.get("device_memory"))
        return self._native

    def free_memory(self, address):
        """cuMemFree on this device."""
        self._native.free(address, "cuMemFree")

    @property
    def profile(self):
        """All limits, as a dictionary."""
        return self.native.profile

    @property
    def name(self):
        return _DeviceName(self.profile["name"])

    @property
    def compute_capability(self):
        return tuple(self.profile["compute_capability"])

    @property
    def uuid(self):
        """A UUID that depends on the device's kind and number only."""
        import uuid

        return f"GPU-{uuid.uuid5(uuid.NAMESPACE_URL, f'cudasim:{self._key}:{self.id}')}"

    @classmethod
    def from_identity(cls, identity):
        """The device with this identity. :raises RuntimeError: when there is none"""
        for device in devices():
            if device.get_device_identity() == identity:
                return device
        raise RuntimeError(f"No device of {identity} is found; the simulated machine has {len(devices())} devices")

    def get_device_identity(self):
        return {
            name: getattr(self, name.upper()) for name in ("pci_domain_id", "pci_bus_id", "pci_device_id")
        }

    def __getattr__(self, name):
        if name in _ATTRIBUTES:
            return _ATTRIBUTES[name](self.profile)
        raise AttributeError(
            f"the simulated device has no attribute {name!r}; it has: {', '.join(sorted(_ATTRIBUTES))}"
        )

    def __repr__(self):
        return f"<CUDA device {self.id} '{self.name}'>"

    def __eq__(self, other):
        return isinstance(other, Device) and self.id == other.id

    def __hash__(self):
        return hash(self.id)

    def get_primary_context(self):
        """The device's context; it does not become current."""
        from cudasim.cuda.context import context_of

        return context_of(self)

    def __enter__(self):
        self.get_primary_context().push()

    def __exit__(self, *error):
        self.get_primary_context().pop()

    def release_primary_context(self):
        """Nothing to do: memory goes back when arrays are collected."""

    def reset(self):
        """Nothing to do: memory goes back when arrays are collected."""

    @property
    def supports_float16(self):
        return self.compute_capability >= (5, 3)

    @property
    def supports_bfloat16(self):
        return self.compute_capability >= (8, 0)

    @property
    def supports_fp8(self):
        return self.compute_capability >= (8, 9)
