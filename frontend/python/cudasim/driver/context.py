"""The context of a device: numba.cuda's object over its memory, modules, streams and peers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim import _native
from cudasim.device.current import device_or_none, push, register_contexts
from cudasim.device.device import checked_ordinal, devices
from cudasim.driver.context_modules import ContextModules
from cudasim.memory.context_memory import ContextMemory
from cudasim.streams import stream_work
from cudasim.streams.event import event
from cudasim.streams.stream import (
    default_stream,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
    stream,
)

if TYPE_CHECKING:
    from typing import Any

    from cudasim.device.device import Device
    from cudasim.streams.stream import Stream


class Context(ContextMemory, ContextModules):
    """The context of one device; there is one for each, which all host threads share."""

    def __init__(self, device: Device, handle: int) -> None:
        self.device = device
        self.handle = handle
        self.extras: dict[Any, Any] = {}  # for whoever has something to keep with a context
        self.modules: dict[Any, Any] = {}  # handle → Module

    def __repr__(self) -> str:
        return f"<CUDA context {self.handle} of device {self.device.id}>"

    def __eq__(self, other: object) -> bool:
        return self.handle == other.handle if isinstance(other, Context) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.handle)

    def synchronize(self) -> None:
        """Waits until everything in the streams of the device is done."""
        stream_work.synchronize(device=self.device.id)

    def reset(self) -> None:
        """Gives back all memory of the context, and drops the work that waits in its streams."""
        stream_work.drop(self.device.id)
        super().reset()
        self.unload_all_modules()

    def push(self) -> None:
        """Makes the context's device current in this host thread."""
        push(self.device)

    def pop(self) -> None:
        """Makes current what was so before push()."""
        if device_or_none() is not self.device:
            raise RuntimeError(
                f"device {self.device.id} is not current in this thread, so it cannot be popped"
            )
        _native.pop_context()

    def __enter__(self) -> Context:
        self.push()
        return self

    def __exit__(self, *error: object) -> None:
        self.pop()

    def can_access_peer(self, peer_device: int) -> bool:
        """Whether kernels of this device can be allowed to use the memory of another one (given by its number):
        of devices of the same kind.

        :raises CudaAPIError: 101 when there is no such device
        """
        number = checked_ordinal(getattr(peer_device, "id", peer_device), "cuDeviceCanAccessPeer")
        return self._as_peers(devices()[number], "can_access_peer")

    def _as_peers(self, peer, question):
        """What the driver's context says to a question about another one: both have their engines then."""
        assert self.device.native is not None and peer.native is not None
        return getattr(self.device.driver_context, question)(peer.driver_context)

    def enable_peer_access(self, peer_context: Any, flags: int = 0) -> None:
        """Allows kernels of this device to use the memory of another one.

        :raises CudaAPIError: 217 for devices of different kinds, 704 when it was enabled before
        """
        if flags != 0:
            raise ValueError(f"the flags of enable_peer_access are reserved and must be 0, got {flags!r}")
        if not isinstance(peer_context, Context):
            raise TypeError(
                f"enable_peer_access takes the peer's context (cuda.gpus[n].get_primary_context()), got {peer_context!r}"
            )
        self._as_peers(peer_context.device, "enable_peer_access")

    def may_use_memory_of(self, device: Any) -> Any:
        return self.device.driver_context.may_use_memory_of(device.driver_context)

    def create_stream(self) -> Any:
        return stream()

    def create_external_stream(self, ptr: int) -> Stream:
        return external_stream(ptr)

    def create_event(self, timing: bool = True) -> Any:
        return event(timing)

    def get_default_stream(self) -> Any:
        return default_stream()

    def get_legacy_default_stream(self) -> Any:
        return legacy_default_stream()

    def get_per_thread_default_stream(self) -> Any:
        return per_thread_default_stream()


register_contexts(Context)
