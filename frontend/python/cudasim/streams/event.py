"""Events: numba.cuda's points in streams, with the time at which the host reached them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cudasim import _native
from cudasim.device.current import check_fork, current_device
from cudasim.streams import stream_work
from cudasim.streams.stream import StreamHandle, key_of, stream_or_zero

if TYPE_CHECKING:
    from typing import Any


class Event:
    """A point in a stream: the last at which it was recorded."""

    def __init__(self, handle: Any = None, finalizer: Any = None, timing: bool = True) -> None:
        self.timing = timing
        self.device = current_device()
        self._point = _native.StreamEvent(self.device.id, timing)
        self.handle = StreamHandle(self._point.handle if handle is None else handle)

    def record(self, stream: Any = 0) -> None:
        """Puts the point at the end of what is in the stream now.

        :raises CudaAPIError: 400 for a stream of another device than the event's
        """
        stream = stream_or_zero(stream)
        device = current_device() if stream is None or stream.device is None else stream.device
        stream_work.record(self._point, key_of(stream, device))

    def query(self) -> bool:
        """Whether the stream has come to the point; true for an event that was never recorded. Deferred work before
        the point is run, unless a callback holds it up."""
        if not self._point.is_pending:
            return True
        check_fork()
        return self._point.is_complete()

    @_native.FramelessMethod
    def synchronize(self) -> None:
        """Waits until the stream has come to the point."""
        if self._point.is_pending:
            check_fork()
            self._point.synchronize()

    def wait(self, stream: Any = 0) -> None:
        """What is enqueued in the stream from now on runs after the point."""
        stream = stream_or_zero(stream)
        stream_work.wait_for(key_of(stream, current_device()), self._point)

    def elapsed_time(self, evtend: Any) -> float:
        """Milliseconds of the host's time from this event to another."""
        return event_elapsed_time(self, evtend)


def event(timing: bool = True) -> Event:
    """A new event of the current device; without timing it only orders."""
    return Event(timing=timing)


def event_elapsed_time(evtstart: Event, evtend: Any) -> float:
    """Milliseconds of the host's time between two events.

    :raises CudaAPIError: 400 for an event that was not recorded or has no timing, or two of different devices; 600
        when a stream has not come to one
    """
    for value in (evtstart, evtend):
        if not isinstance(value, Event):
            raise TypeError(f"the time elapsed is between two events, got {type(value).__name__}")
    return _native.StreamEvent.elapsed_milliseconds(evtstart._point, evtend._point)
