"""Streams and events. Calls are eager (rule V7): work is done when it is enqueued, in the order of the program,
which is one of the orders that streams allow. Events take the time at which they are recorded.
"""

import contextlib
import time


class Stream:
    """A queue of work whose work is always done already."""

    def __init__(self, handle=0, name="stream"):
        self.handle = handle
        self._name = name

    def __repr__(self):
        return f"<CUDA {self._name} {self.handle}>"

    def __int__(self):
        return self.handle

    def synchronize(self):
        """Returns at once."""

    @contextlib.contextmanager
    def auto_synchronize(self):
        """Synchronises at the end of the `with` block."""
        yield self

    def add_callback(self, callback, arg=None):
        """Calls callback(stream, status, arg) now: everything before it is done."""
        callback(self, 0, arg)

    def async_done(self, loop=None):
        """An asyncio future that is done."""
        import asyncio

        future = (loop or asyncio.get_running_loop()).create_future()
        future.set_result(self)
        return future


_DEFAULT = Stream(0, "default stream")
_LEGACY = Stream(1, "legacy default stream")
_PER_THREAD = Stream(2, "per-thread default stream")
_next_handle = 3


def stream():
    """A new stream."""
    global _next_handle
    _next_handle += 1
    return Stream(_next_handle - 1)


def default_stream():
    return _DEFAULT


def legacy_default_stream():
    return _LEGACY


def per_thread_default_stream():
    return _PER_THREAD


def external_stream(pointer):
    """A stream that another library made."""
    return Stream(pointer, "external stream")


class Event:
    """A point in a stream; the time is taken when it is recorded."""

    def __init__(self, timing=True):
        self._timing = timing
        self._seconds = None

    def record(self, stream=0):
        self._seconds = time.perf_counter()

    def query(self):
        """Whether all work before the event is done: always."""
        return True

    def synchronize(self):
        """Returns at once."""

    def wait(self, stream=0):
        """Makes the stream wait for the event: always done already."""

    def elapsed_time(self, end):
        """Milliseconds from this event to `end`."""
        return event_elapsed_time(self, end)


def event(timing=True):
    """A new event."""
    return Event(timing)


def event_elapsed_time(start, end):
    """Milliseconds between two recorded events."""
    from cudasim._cuda_errors import CudaAPIError

    for which, value in (("first", start), ("second", end)):
        if not value._timing or value._seconds is None:
            reason = "was made with timing=False" if not value._timing else "has not been recorded"
            raise CudaAPIError(
                400,
                "Call to cuEventElapsedTime results in CUDA_ERROR_INVALID_HANDLE: the "
                f"{which} event {reason}",
            )
    return (end._seconds - start._seconds) * 1000.0


@contextlib.contextmanager
def profiling():
    """A region to profile; the simulator has no profiler to switch."""
    yield


def profile_start():
    """Nothing to do."""


def profile_stop():
    """Nothing to do."""
