"""Streams: numba.cuda's objects. When their work runs is stream_work.py's business."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from cudasim import _native
from cudasim.device.current import current_device
from cudasim.streams import stream_work

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from cudasim.device.device import Device

#: Handles of the default streams: CU_STREAM_DEFAULT, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD.
_DEFAULT, _LEGACY, _PER_THREAD = 0, 1, 2
_DEFAULT_NAMES = {
    _DEFAULT: "<Default CUDA stream>",
    _LEGACY: "<Legacy default CUDA stream>",
    _PER_THREAD: "<Per-thread default CUDA stream>",
}


class StreamHandle(int):
    """The number that CUDA knows a stream by; `.value` as the handles of the CUDA bindings have it."""

    @property
    def value(self) -> int | None:
        return int(self) or None

    @property
    def _as_parameter_(self):
        return int(self)


class Stream:
    """A queue of work on a device."""

    def __init__(self, handle: int = _DEFAULT, finalizer: Any = None, external: bool = False) -> None:
        self.handle = StreamHandle(handle)
        self.external = external
        #: the device it was made on; None for the default streams, which each device has
        self.device = None if int(handle) in _DEFAULT_NAMES else current_device()
        self._key = None if self.device is None else _native.stream_key(self.device.id, int(handle))
        if int(handle) not in (_DEFAULT, _LEGACY):
            stream_work.look_for_races()

    def __repr__(self) -> str:
        if int(self) in _DEFAULT_NAMES:
            return _DEFAULT_NAMES[int(self)]
        return f"<{'External CUDA' if self.external else 'CUDA'} stream {int(self)}>"

    def __int__(self) -> int:
        return int(self.handle)

    def __eq__(self, other: object) -> bool:
        return self.handle == other.handle if isinstance(other, Stream) else NotImplemented

    def __hash__(self) -> int:
        return hash(int(self.handle))

    def __cuda_stream__(self) -> tuple[int, ...]:
        """The protocol of CUDA's Python packages: (version, handle)."""
        return 0, int(self)

    @property
    def key(self) -> tuple[int, int]:
        """What the engine knows it by: device and handle. Those of a default stream depend on the device that is current, and
        on the thread."""
        return _native.stream_key(current_device().id, int(self.handle)) if self._key is None else self._key

    @_native.FramelessMethod
    def synchronize(self) -> None:
        """Waits until everything in the stream is done."""
        stream_work.synchronize(self.key)

    @contextlib.contextmanager
    def auto_synchronize(self) -> Iterator[Any]:
        """Synchronises at the end of the `with` block, unless that raised."""
        yield self
        self.synchronize()

    def add_callback(self, callback: Callable[..., Any] | None, arg: int | None = None) -> None:
        """callback(stream, status, arg) is called when everything before it in the stream is done, on another thread;
        what comes after it waits for it. It must not call CUDA."""
        if not callable(callback):
            raise TypeError(f"a stream callback is called with (stream, status, arg); got {callback!r}")
        stream_work.add_callback(self.key, stream_work.callback_task(callback, self, arg))

    def async_done(self, loop: Any = None) -> Any:
        """An asyncio future that is done, with the stream as its result, when everything in the stream is."""
        import asyncio  # here: importing it takes as long as half of numba.cuda

        loop = asyncio.get_running_loop() if loop is None else loop
        future = loop.create_future()

        def resolve(status):
            if future.done():  # cancelled
                return
            if status == 0:
                future.set_result(self)
            else:
                future.set_exception(Exception(f"Stream error {status}"))

        def callback(_stream, status, _arg):
            with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
                loop.call_soon_threadsafe(resolve, status)

        self.add_callback(callback)
        return future


def checked_stream(stream: Any) -> Stream | None:
    """The Stream that a launch or copy names; None for what means the default stream: 0, None.

    :raises TypeError: for what is none
    """
    if isinstance(stream, Stream):
        return stream
    if not stream:
        return None
    return stream_or_zero(stream)


def stream_or_zero(stream: Any) -> Stream | None:
    """Does what checked_stream() does, except that None is an error too.

    :raises TypeError: for what is neither a stream nor 0
    """
    if isinstance(stream, Stream):
        return stream
    if isinstance(stream, int) and stream == 0:
        return None
    protocol = getattr(stream, "__cuda_stream__", None)
    if protocol is not None:
        return Stream(protocol()[1], external=True)
    raise TypeError(f"Expected a Stream object or 0, got {type(stream).__name__}")


def key_of(stream: Any, device: Device) -> tuple[int, int]:
    """Stream.key of a checked stream, or of the device's default stream."""
    return (device.id, _DEFAULT) if stream is None else stream.key


def stream() -> Stream:
    """A new stream on the current device."""
    return Stream(_native.stream_create(current_device().id))


def default_stream() -> Stream:
    """The default stream, which is the legacy one."""
    current_device()
    return Stream(_DEFAULT)


def legacy_default_stream() -> Stream:
    """The stream that waits for all others of the device, and they for it."""
    current_device()
    return Stream(_LEGACY)


def per_thread_default_stream() -> Stream:
    """A stream that each host thread has for itself."""
    current_device()
    return Stream(_PER_THREAD)


def external_stream(pointer: Any) -> Stream:
    """A stream that another library made, by its handle.

    :raises TypeError: for what is not an int
    """
    if not isinstance(pointer, int):
        raise TypeError(f"ptr for external stream must be an int, got {type(pointer).__name__}")
    return Stream(pointer, external=True)


@contextlib.contextmanager
def defer_cleanup() -> Iterator[None]:
    """Memory is freed when it is collected, in here too."""
    yield
