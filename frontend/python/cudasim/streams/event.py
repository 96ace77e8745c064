"""Events: numba.cuda's points in streams, with the time at which the host reached them."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING

from cudasim import _native
from cudasim._cuda_errors import driver_error
from cudasim.device.current import current_device
from cudasim.streams import stream_work
from cudasim.streams.stream import StreamHandle, key_of, stream_or_zero

if TYPE_CHECKING:
    from typing import Any

_handles = itertools.count(0xC0DA_E000_0000, 0x40)


class _Record:
    """One recording of an event."""

    __slots__ = ("operation", "seconds")

    def __init__(self):
        self.operation = None  # in the engine; None when the stream had nothing to do
        self.seconds = None  # host time at which the stream came there; None before

    def note_time(self):
        self.seconds = time.perf_counter()

    @property
    def done(self):
        return self.operation is None or self.operation.done


class Event:
    """A point in a stream: the last at which it was recorded."""

    def __init__(self, handle: Any = None, finalizer: Any = None, timing: bool = True) -> None:
        self.handle = StreamHandle(next(_handles) if handle is None else handle)
        self.timing = timing
        self.device = current_device()
        self._record: _Record | None = None

    def record(self, stream: Any = 0) -> None:
        """Puts the point at the end of what is in the stream now.

        :raises CudaAPIError: 400 for a stream of another device than the event's
        """
        stream = stream_or_zero(stream)
        device = current_device() if stream is None or stream.device is None else stream.device
        if device is not self.device:
            raise driver_error(
                "cuEventRecord",
                "CUDA_ERROR_INVALID_HANDLE",
                f"the event belongs to device {self.device.id}, the stream to device {device.id}; make the event while the stream's device is "
                "current",
            )
        record = _Record()
        if stream_work.busy or stream_work.deferred():
            record.operation = stream_work.mark(key_of(stream, device), record.note_time)
        else:
            record.note_time()
        self._record = record

    def query(self) -> bool:
        """Whether the stream has come to the point; true for an event that was never recorded. Deferred work before
        the point is run, unless a callback holds it up."""
        record = self._record
        return record is None or record.done or stream_work.is_complete(record.operation)

    @_native.FramelessMethod
    def synchronize(self) -> None:
        """Waits until the stream has come to the point."""
        if self._record is not None and not self._record.done:
            stream_work.run([self._record.operation])

    def wait(self, stream: Any = 0) -> None:
        """What is enqueued in the stream from now on runs after the point."""
        stream = stream_or_zero(stream)
        key = key_of(stream, current_device())
        if self._record is not None and not self._record.done:
            stream_work.mark(key, None, [self._record.operation])

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
    for which, value in (("first", evtstart), ("second", evtend)):
        if not value.timing or value._record is None:
            reason = "has not been recorded" if value.timing else "was made with timing=False"
            raise _refused("CUDA_ERROR_INVALID_HANDLE", f"the {which} event {reason}")
        if value.device is not evtstart.device:
            raise _refused("CUDA_ERROR_INVALID_HANDLE", "the events belong to different devices")
    for which, value in (("first", evtstart), ("second", evtend)):
        if value._record.seconds is None:
            raise _refused(
                "CUDA_ERROR_NOT_READY",
                f"the work before the {which} event is not complete; call its synchronize() first",
            )
    return (evtend._record.seconds - evtstart._record.seconds) * 1000.0


def _refused(name, why):
    return driver_error("cuEventElapsedTime", name, why)
