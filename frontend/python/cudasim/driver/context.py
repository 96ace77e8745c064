"""Which device is current, per host thread, and its context: numba.cuda's device management.

As with CUDA every host thread has a stack of contexts; the topmost is current. Where the stack is empty the first
use of CUDA pushes device 0. `with cuda.gpus[1]:` pushes and pops, `cuda.select_device(1)` pushes for good.
"""

import contextlib
import functools
import itertools
import os
import threading
from typing import NamedTuple

import numpy as np

from cudasim import options
from cudasim._cuda_errors import CudaAPIError, CudaDriverError
from cudasim._numba_config import poses_as_gpu
from cudasim.device.device import are_made, devices, initialisation_error
from cudasim.driver.context_modules import ContextModules
from cudasim.memory.context_memory import ContextMemory
from cudasim.reports.user_warnings import warn_at_users_line

_forked_after_use = False  # whether this process was forked when its parent had used CUDA, and nobody has been told


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
        _thread.stack, _forked_after_use = list(list.__iter__(self)), False
        warn_at_users_line(
            "used-before-fork", f"{message}; here it goes on with a copy of all device memory. {advice}"
        )
        return len(_thread.stack)


_thread = _ThreadState()


def _after_fork_in_child():
    global _forked_after_use
    if are_made():
        _forked_after_use = True
        _thread.stack = _AfterFork(list.__iter__(_thread.stack))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)


def not_permitted():
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

    __bool__ = __iter__ = append = pop = clear = __len__


@contextlib.contextmanager
def calls_forbidden():
    """For the length of the block calls of CUDA in this host thread raise CudaAPIError 800."""
    before, _thread.stack = _thread.stack, _NoCalls()
    try:
        yield
    finally:
        _thread.stack = before


def current_device():
    """The device that is current in this host thread."""
    stack = _thread.stack
    return stack[-1] if stack else activate(devices()[0])


def activate(device):
    """Makes the device current in this host thread, on top of what was.

    :raises RuntimeError: in a function with require_context, which has to stay on its device
    """
    if _thread.attached is not None and _thread.attached is not device:
        raise RuntimeError(
            f"Cannot switch CUDA-context. A function with @cuda.require_context runs on device {_thread.attached.id}, "
            f"and it is not allowed to make device {device.id} current"
        )
    context_of(device).push()
    return device


class MemoryInfo(NamedTuple):
    """Bytes of device memory."""

    free: int
    total: int


class Context(ContextMemory, ContextModules):
    """The context of one device; there is one for each, which all host threads share."""

    _handles = itertools.count(0xC0DA0000, 0x1000)

    def __init__(self, device):
        self.device = device
        self.handle = next(Context._handles)
        self.extras = {}  # for whoever has something to keep with a context
        self.modules = {}  # handle → Module
        self._peers = set()  # devices whose memory kernels of this one may use

    def __repr__(self):
        return f"<CUDA context {self.handle} of device {self.device.id}>"

    def __eq__(self, other):
        return self.handle == other.handle if isinstance(other, Context) else NotImplemented

    def __hash__(self):
        return hash(self.handle)

    def synchronize(self):
        """Waits until everything in the streams of the device is done."""
        from cudasim.streams import stream_work

        stream_work.synchronize(device=self.device.id)

    def reset(self):
        """Gives back all memory of the context, and drops the work that waits in its streams."""
        from cudasim.streams import stream_work

        stream_work.drop(self.device.id)
        super().reset()
        self.unload_all_modules()

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
        of devices of the same kind.

        :raises CudaAPIError: 101 when there is no such device
        """
        peer_device = getattr(peer_device, "id", peer_device)
        if not 0 <= peer_device < len(devices()):
            raise CudaAPIError(
                101,
                "Call to cuDeviceCanAccessPeer results in CUDA_ERROR_INVALID_DEVICE: there is no device "
                f"{peer_device}; the simulated machine has {len(devices())}",
            )
        if peer_device == self.device.id:
            return False
        return devices()[peer_device].compute_capability == self.device.compute_capability

    def enable_peer_access(self, peer_context, flags=0):
        """Allows kernels of this device to use the memory of another one.

        :raises CudaAPIError: 217 for devices of different kinds, 704 when it was enabled before
        """
        if flags != 0:
            raise ValueError(f"the flags of enable_peer_access are reserved and must be 0, got {flags!r}")
        if not isinstance(peer_context, Context):
            raise TypeError(
                f"enable_peer_access takes the peer's context (cuda.gpus[n].get_primary_context()), got {peer_context!r}"
            )
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
        from cudasim.streams.stream import stream

        return stream()

    def create_external_stream(self, ptr):
        from cudasim.streams.stream import external_stream

        return external_stream(ptr)

    def create_event(self, timing=True):
        from cudasim.streams.event import event

        return event(timing)

    def get_default_stream(self):
        from cudasim.streams.stream import default_stream

        return default_stream()

    def get_legacy_default_stream(self):
        from cudasim.streams.stream import legacy_default_stream

        return legacy_default_stream()

    def get_per_thread_default_stream(self):
        from cudasim.streams.stream import per_thread_default_stream

        return per_thread_default_stream()


_lock = threading.Lock()


def context_of(device):
    """The device's context; made now if there is none."""
    context = device.primary_context
    if context is None:
        with _lock:
            context = device.primary_context
            if context is None:
                context = device.primary_context = Context(device)
    return context


def destroy_context_of(device):
    """Ends the context, if there is one: the next use of the device makes a new one."""
    context, device.primary_context = device.primary_context, None
    if context is not None:
        context.reset()


class _DeviceList:
    """`cuda.gpus`: the devices; `with cuda.gpus[1]:` makes one current for the length of the block."""

    @property
    def lst(self):
        return list(devices())

    @property
    def current(self):
        """The device that is current in this host thread; None before its first use of CUDA."""
        return _thread.stack[-1] if _thread.stack else None

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


def list_devices():
    """All devices."""
    return gpus


def current_context(devnum=None):
    """The context of the current device; with a number, of that device, which becomes current."""
    if devnum is None:
        return context_of(current_device())
    return context_of(activate(gpus[devnum]))


def get_current_device():
    """The device that is current in this host thread."""
    return current_device()


def select_device(device_id):
    """Makes a device current in this host thread and returns it."""
    return current_context(device_id).device


def close():
    """Leaves all contexts of this host thread; in the main thread it also destroys all contexts, with the memory of
    their arrays. The next use of CUDA makes new ones.
    """
    if threading.current_thread() is threading.main_thread():
        for device in devices():
            device.reset()
    _thread.stack.clear()


reset = close


@contextlib.contextmanager
def other_devices():
    """For the length of the block this host thread sees the devices that the options in force name, as a program does that
    begins with them. At the end their contexts are destroyed, with the memory of their arrays."""
    from cudasim.device import device
    from cudasim.streams import stream_work

    stream_work.synchronize()
    before, _thread.stack = _thread.stack, []
    try:
        with device.other_devices():
            try:
                yield
            finally:
                stream_work.drop()
                if are_made():
                    close()
    finally:
        _thread.stack = before


@contextlib.contextmanager
def defer_cleanup():
    """No memory is given back inside: `with cuda.defer_cleanup():`. May be nested."""
    with current_context().defer_cleanup():
        yield


def synchronize():
    """Waits until everything in the streams of the current device is done."""
    current_context().synchronize()


def require_context(function):
    """A decorator: the function runs with a context, which it cannot switch."""

    @functools.wraps(function)
    def with_context(*args, **keywords):
        before = _thread.attached
        _thread.attached = before or current_device()
        try:
            return function(*args, **keywords)
        finally:
            _thread.attached = before

    return with_context


def is_available():
    """True, that is what the simulator is for; unless CUDA_VISIBLE_DEVICES hides every device."""
    return initialisation_error() is None


def is_supported_version():
    return True


def is_float16_supported():
    """True, as in numba-cuda whatever the device is."""
    return True


def is_bfloat16_supported():
    return current_device().supports_bfloat16


def is_fp8_supported():
    return current_device().supports_fp8


def cuda_error():
    """Why the simulated driver does not start, or None: CUDA_VISIBLE_DEVICES can hide every device."""
    return initialisation_error()


def detect():
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
