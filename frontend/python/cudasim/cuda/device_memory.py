"""Device memory as host code names it: which simulated device an address belongs to, and numba.cuda's
MemoryPointer over allocations of the engine.
"""

import ctypes
import operator

from cudasim.cuda.context import context_of, current_context, current_device
from cudasim.cuda.device import devices


def device_of(address):
    """The simulated device whose memory holds the address; the current one when none does."""
    current = current_device()
    for device in (current, *devices()):
        if device._native is not None and device.native.owns(address):
            return device
    return current


class MemoryPointer:
    """A range of device memory. `owner` (an allocation, or whatever keeps the memory) lives as long as it does."""

    __cuda_memory__ = True

    def __init__(self, context, pointer, size, owner=None, finalizer=None):
        self.context = context
        self.device_pointer = int(pointer)
        self.size = size
        self.owner = owner

    @classmethod
    def allocate(cls, size, label=""):
        """New memory on the current device."""
        if operator.index(size) < 0:
            raise ValueError(f"memory has a size of 0 or more, got {size}")
        allocation = current_device().native.allocate(max(size, 1), label, True)
        return cls(current_context(), allocation.address, size, allocation)

    @property
    def device_pointer_value(self):
        return self.device_pointer or None

    @property
    def device_ctypes_pointer(self):
        return ctypes.c_void_p(self.device_pointer)

    def __int__(self):
        return self.device_pointer

    def memset(self, byte, count=None, stream=0):
        """Fills the first `count` bytes (all unless said)."""
        count = self.size if count is None else count
        if count:
            device_of(self.device_pointer).native.fill(self.device_pointer, byte & 0xFF, count)

    def view(self, start, stop=None):
        """The part from byte `start` to byte `stop` (the end unless said)."""
        stop = self.size if stop is None else stop
        if not 0 <= start <= stop <= self.size:
            raise RuntimeError(f"bytes {start} to {stop} are not inside this memory of {self.size} bytes")
        return MemoryPointer(self.context, self.device_pointer + start, stop - start, self)


def is_device_memory(value):
    """Whether the object is device memory of this package."""
    return getattr(value, "__cuda_memory__", False)


def device_memory_size(value):
    """Bytes of a device array or of device memory."""
    return value.size if isinstance(value, MemoryPointer) else value.alloc_size


def pointer_to(address, size, owner):
    return MemoryPointer(context_of(device_of(address)), address, size, owner)
