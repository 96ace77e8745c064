"""Which device is current, per host thread, and its context: numba.cuda's device management.

As with CUDA every host thread has a stack of contexts; the topmost is current, and device 0 where the stack is
empty. `with cuda.gpus[1]:` pushes and pops, `cuda.select_device(1)` pushes for good.
"""

import contextlib
import threading
from typing import NamedTuple

from cudasim._cuda_errors import CudaAPIError
from cudasim.cuda.context_memory import ContextMemory
from cudasim.cuda.device import devices


class _ThreadState(threading.local):
    def __init__(self):
        self.stack = []  # devices; the last is current


_thread = _ThreadState()


def current_device():
    """The device that is current in this host thread."""
    stack = _thread.stack
    return stack[-1] if stack else devices()[0]


class MemoryInfo(NamedTuple):
    """Bytes of device memory."""

    free: int
    total: int


class Context(ContextMemory):
    """The context of one device; there is one for each, which all host threads share."""

    def __init__(self, device):
        self.device = device
        self._peers = set()  # devices whose memory kernels of this one may use

    def __repr__(self):
        return f"<CUDA context of device {self.device.id}>"

    def __eq__(self, other):
        return isinstance(other, Context) and self.device == other.device

    def __hash__(self):
        return hash(self.device)

    def synchronize(self):
        """Returns at once: launches are eager (rule V7)."""

    def push(self):
        """Makes the context's device current in this host thread."""
        _thread.stack.append(self.device)

    def pop(self):
        """Makes current what was so before push()."""
        if not _thread.stack or _thread.stack[-1] != self.device:
            raise RuntimeError(
                f"device {self.device.id} is not current in this thread, so it cannot be popped"
            )
        _thread.stack.pop()

    def __enter__(self):
        self.push()
        return self

    def __exit__(self, *error):
        self.pop()

    def can_access_peer(self, peer_device):
        """Whether kernels of this device can be allowed to use the memory of another one (given by its number):
        of devices of the same kind."""
        if not 0 <= peer_device < len(devices()) or peer_device == self.device.id:
            return False
        return devices()[peer_device].compute_capability == self.device.compute_capability

    def enable_peer_access(self, peer_context, flags=0):
        """Allows kernels of this device to use the memory of another one.

        :raises CudaAPIError: 217 for devices of different kinds, 704 when it was enabled before
        """
        peer = peer_context.device
        call = "Call to cuCtxEnablePeerAccess results in CUDA_ERROR_PEER_ACCESS"
        if not self.can_access_peer(peer.id):
            raise CudaAPIError(
                217, f"{call}_UNSUPPORTED: device {self.device.id} cannot use memory of {peer.id}"
            )
        if peer in self._peers:
            raise CudaAPIError(704, f"{call}_ALREADY_ENABLED: from device {self.device.id} to {peer.id}")
        self._peers.add(peer)

    def may_use_memory_of(self, device):
        return device is self.device or device in self._peers

    def create_stream(self):
        from cudasim.cuda.stream import stream

        return stream()

    def create_external_stream(self, ptr):
        from cudasim.cuda.stream import external_stream

        return external_stream(ptr)

    def create_event(self, timing=True):
        from cudasim.cuda.stream import event

        return event(timing)

    def get_default_stream(self):
        from cudasim.cuda.stream import default_stream

        return default_stream()

    def get_legacy_default_stream(self):
        from cudasim.cuda.stream import legacy_default_stream

        return legacy_default_stream()

    def get_per_thread_default_stream(self):
        from cudasim.cuda.stream import per_thread_default_stream

        return per_thread_default_stream()


_contexts = {}  # device → Context


def context_of(device):
    return _contexts.get(device) or _contexts.setdefault(device, Context(device))


class _DeviceList:
    """`cuda.gpus`: the devices; `with cuda.gpus[1]:` makes one current for the length of the block."""

    @property
    def lst(self):
        return list(devices())

    @property
    def current(self):
        return current_device()

    def __len__(self):
        return len(devices())

    def __iter__(self):
        return iter(devices())

    def __getitem__(self, index):
        if isinstance(index, slice):
            return self.lst[index]
        try:
            return devices()[int(index)]
        except IndexError:
            count = len(devices())
            raise IndexError(
                f"there is no device {index}; the simulated machine has {count}: {self}. "
                "More are simulated with CUDASIM_DEVICE=h100,h100"
            ) from None

    def __str__(self):
        return ", ".join(map(str, devices()))


gpus = _DeviceList()


def list_devices():
    """All devices."""
    return gpus


def current_context(devnum=None):
    """The context of the current device; with a number, of that device, which becomes current."""
    if devnum is None:
        return context_of(current_device())
    context = context_of(gpus[devnum])
    context.push()
    return context


def get_current_device():
    """The device that is current in this host thread."""
    return current_device()


def select_device(device_id):
    """Makes a device current in this host thread and returns it."""
    if isinstance(device_id, float):
        raise TypeError(f"a device is selected by its number, an integer, got {device_id!r}")
    return current_context(device_id).device


def close():
    """Makes device 0 current again in this host thread. In the main thread it also ends all contexts: their memory is
    given back, and the next ones get the memory manager that is in force then."""
    _thread.stack.clear()
    if threading.current_thread() is threading.main_thread():
        while _contexts:
            _contexts.popitem()[1].reset()


reset = close


@contextlib.contextmanager
def defer_cleanup():
    """No memory is given back inside: `with cuda.defer_cleanup():`. May be nested."""
    with current_context().defer_cleanup():
        yield


def synchronize():
    """Returns at once: launches are eager (rule V7)."""


def require_context(function):
    """A decorator that has nothing to do: the context is always there."""
    return function


def is_available():
    """True: that is what the simulator is for."""
    return True


def is_supported_version():
    return True


def is_float16_supported():
    """True, as in numba-cuda whatever the device is."""
    return True


def is_bfloat16_supported():
    return current_device().supports_bfloat16


def cuda_error():
    """None: the simulated driver never fails to start."""
    return None


def detect():
    """Prints the devices; True, because there is one."""
    found = devices()
    print(f"Found {len(found)} CUDA devices")
    for device in found:
        print(f"id {device.id}    {device.name:>20} {'[SIMULATED BY CUDASIM]':>40}")
        for what, value in (
            ("Compute Capability", "{}.{}".format(*device.compute_capability)),
            ("PCI Device ID", device.PCI_DEVICE_ID),
            ("PCI Bus ID", device.PCI_BUS_ID),
            ("UUID", device.uuid),
            ("Watchdog", "Enabled" if device.KERNEL_EXEC_TIMEOUT else "Disabled"),
            ("FP32/FP64 Performance Ratio", device.SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO),
        ):
            print(f"{what:>40}: {value}")
    print(f"Summary:\n\t{len(found)}/{len(found)} devices are supported")
    return True
