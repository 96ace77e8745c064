"""Decides which launches are recorded, and hands the records on.

A recorded launch runs on one worker, so that it comes out the same when it is run again.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import io
import itertools
import json
import os
import re
import struct
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from typing import Any

import cudasim
from cudasim import _native, errors, options
from cudasim.launch import recording
from cudasim.launch.arguments import struct_format
from cudasim.recording.python_code import Unrecordable, described
from cudasim.streams import stream_work
from cudasim.types import name_of

_RANGE = re.compile(r"(\d*)\.\.(\d*)|(\d+)")


class Selection:
    """The launches to record: `kernel` by its name in the source, `launches` by number among those, as `3`,
    `3..5`, `3..` or `..5`."""

    def __init__(self, kernel: str | None = None, launches: str | None = None) -> None:
        """
        :raises ValueError: for another form of `launches`
        """
        self.kernel = kernel
        self.first, self.last = 1, sys.maxsize
        if launches is None:
            return
        match = _RANGE.fullmatch(launches.strip())
        if match is None or launches.strip() == "..":
            raise ValueError(f"{launches!r} is not the number of a launch: write 3, 3..5, 3.. or ..5")
        if match[3] is not None:
            self.first = self.last = int(match[3])
        else:
            self.first, self.last = int(match[1] or 1), int(match[2] or sys.maxsize)
        if not 1 <= self.first <= self.last:
            raise ValueError(f"{launches!r} names no launch: they count from 1")


class Recorder:
    """Records launches while it is in force.

    with Recorder(take, Selection("saxpy")).in_force():
        script()

    :param take: gets each `_native.LaunchRecord`
    :param refused: gets a sentence for each launch that could not be recorded
    :param keep_after: whether records hold memory after the launch, too, not only its hash
    """

    def __init__(
        self,
        take: Callable[[Any], None],
        selection: Selection | None = None,
        refused: Callable[[str], None] | None = None,
        keep_after: bool = False,
    ) -> None:
        self._take, self._selection = take, selection or Selection()
        self._refused = refused or (lambda sentence: None)
        self._keep_after = keep_after
        self._pid = os.getpid()
        self.seen = 0  #: launches of the kernels that are asked for
        self.recorded = 0
        #: Names of the kernels that are not asked for, in the order of their launches.
        self.others: dict[str, None] = {}

    @contextlib.contextmanager
    def in_force(self) -> Iterator[Recorder]:
        """Records what is launched inside, beside other recorders.

        :raises RuntimeError: where the engine records for something else (cluster_schedules.py)
        """
        _recorders.add(self)
        try:
            yield self
        finally:
            _recorders.remove(self)

    def offer(self, record: Any) -> None:
        """A launch that another program has recorded, with its memory; it is taken as if this process had launched it."""
        if number := self._wants(record.display_name):
            self._taken(record.numbered(number), number, "")

    def _wants(self, name: str) -> int:
        if self._selection.kernel not in (None, name):
            self.others[name] = None
            return 0
        if self._pid != os.getpid():  # a fork, which counts its own launches
            self._pid, self.seen = os.getpid(), 0
        self.seen += 1
        return self.seen if self._selection.first <= self.seen <= self._selection.last else 0

    def _taken(self, record: Any, number: int, why_not: str) -> None:
        if record is None:
            if why_not:
                self._refused(f"launch {number}: {why_not}")
            return
        self.recorded += 1
        self._take(record)


def why_nothing(kernel: str | None, recorder: Recorder) -> str | None:
    """What a script's own process launched instead of the kernel that was asked for, in a sentence; None where it launched that."""
    if kernel is None or recorder.seen:
        return None
    others = list(recorder.others)
    if not others:
        return f"the script's own process launched no kernel {kernel}, and no other"
    named = ", ".join(others[:10]) + (f" and {len(others) - 10} more" if len(others) > 10 else "")
    return f"the script's own process launched no kernel {kernel}, but {named}"


class Tickets:
    """Who wants a launch, and under which number, from its beginning to its end: recorders may come and go in between."""

    def __init__(self) -> None:
        self._next = itertools.count(1)
        self._wanting: dict[int, list[tuple[Any, int]]] = {}

    def issue(self, wanting: list[tuple[Any, int]]) -> int:
        """A number for the launch; 0 where nobody wants it."""
        if not wanting:
            return 0
        ticket = next(self._next)
        self._wanting[ticket] = wanting
        return ticket

    def take(self, ticket: int) -> list[tuple[Any, int]]:
        """Those who want it, when it is over."""
        return self._wanting.pop(ticket, [])


class _Recorders:
    """Those in force, the innermost last. The engine knows one recorder only: this."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._in_force: list[Recorder] = []
        self._tickets = Tickets()

    def add(self, recorder: Recorder) -> None:
        """:raises RuntimeError: where the engine records for something else"""
        with self._lock:
            if not self._in_force and _native.recording():
                raise RuntimeError("launches are being recorded already")
            self._in_force.append(recorder)
            self._tell_engine()

    def remove(self, recorder: Recorder) -> None:
        """Launches that it wants, and that are not over, are still its own."""
        with self._lock:
            self._in_force.remove(recorder)
            self._tell_engine()

    def _tell_engine(self):
        if not self._in_force:
            recording.recorder = None
            _native.record_launches(None)
            return
        _native.record_launches(self._wants, self._taken, cudasim.__version__, self._keeps_after())
        recording.recorder = self

    def _keeps_after(self):
        return any(recorder._keep_after for recorder in self._in_force)

    def _wants(self, name: str) -> int:
        with self._lock:
            return self._tickets.issue(
                [(each, number) for each in self._in_force if (number := each._wants(name))]
            )

    def _taken(self, record: Any, ticket: int, why_not: str) -> None:
        failed: BaseException | None = None
        for recorder, number in self._tickets.take(
            ticket
        ):  # a comparison may raise, and is mostly the innermost
            try:
                recorder._taken(None if record is None else record.numbered(number), number, why_not)
            except BaseException as error:  # noqa: BLE001 - the others get the launch, too
                failed = failed or error
        if failed is not None:
            raise failed

    @contextlib.contextmanager
    def host_launch(self, kernel: Any, plan: Any, numbers: list) -> Iterator[None]:
        """See launch.recording.HostRecorder."""
        ticket = self._wants(kernel.name)
        if ticket == 0:
            yield
            return
        try:
            code, roots = described(kernel)
            parameters = struct.pack("@" + struct_format(kernel.argument_types), *numbers)
            names = kernel.py_func.__code__.co_varnames
            arguments = list(zip(names, map(name_of, kernel.argument_types)))
            plan.record_as(
                ticket,
                kernel.name,
                arguments,
                parameters,
                code,
                roots,
                cudasim.__version__,
                self._keeps_after(),
            )
        except (Unrecordable, ValueError, NotImplementedError, struct.error) as error:
            for recorder, number in self._tickets.take(ticket):
                recorder._refused(
                    f"launch {number}: {kernel.name} in Python mode cannot be recorded: {error}"
                )
            yield
            return
        text = io.StringIO()
        try:
            with printed_text() as text:
                yield
        finally:
            try:
                record = plan.take_record()
            except errors.RecordError as error:
                self._taken(None, ticket, str(error))
            else:
                if record is not None:
                    record.printed = text.getvalue()
                    self._taken(record, ticket, "")


_recorders = _Recorders()


@contextlib.contextmanager
def printed_text() -> Iterator[io.StringIO]:
    """What kernels in Python mode print inside."""
    from cudasim import _pyfiber  # not every CPython has it

    text = io.StringIO()
    _pyfiber.set_print_listener(functools.partial(print, file=text))
    try:
        yield text
    finally:
        _pyfiber.set_print_listener(None)


def file_of(record: Any) -> bytes:
    """The bytes of a file with one `_native.LaunchRecord`.

    :raises errors.RecordError: where it cannot be written
    """
    with tempfile.TemporaryDirectory(prefix="cudasim-record-") as folder:
        path = os.path.join(folder, "launch.cudasim")
        writer = _native.RecordWriter(path)
        writer.add(record)
        writer.close()
        with open(path, "rb") as file:
            return file.read()


#: Those that PTX can be made for. The driver compiles PTX of an older one for newer GPUs.
GPU_ARCHITECTURES = ("sm_70", "sm_72", "sm_75", "sm_80", "sm_86", "sm_87", "sm_89", "sm_90")


def require_architecture(name: str) -> None:
    """:raises ValueError: for what is no architecture of a GPU"""
    if name not in GPU_ARCHITECTURES:
        raise ValueError(f"{name!r} is no architecture of a GPU; it takes {', '.join(GPU_ARCHITECTURES)}")


def for_gpu(wanted: bool) -> contextlib.AbstractContextManager[None]:
    """The defaults of options for launches that a GPU is to repeat: it fuses multiplications and additions, and has NVIDIA's libdevice."""
    if not wanted:
        return contextlib.nullcontext()
    return options.defaults("recording for a GPU", fma=True, libdevice="auto")


#: Tells processes that a recorded script starts to record, too: JSON of RecordFile's arguments.
_VARIABLE = "_CUDASIM_RECORD"


class RecordFile:
    """The files of a run: `path` for this process, and for each process that it starts one of its own, with the process's number
    before the ending, made when it launches.
    """

    def __init__(
        self, path: str, kernel: str | None, launches: str | None, keep_after: bool, gpu: str | None = None
    ) -> None:
        """
        :param gpu: an architecture such as "sm_80": records have the kernel as PTX, too, for GPUs from this one on, and memory after
            the launch
        :raises ValueError: for another form of `launches`, and another architecture
        """
        self.path = os.path.abspath(path)
        keep_after = keep_after or gpu is not None
        if gpu is not None:
            require_architecture(gpu)
        self._gpu = gpu
        self._arguments = [self.path, kernel, launches, keep_after, gpu]
        self._lock = threading.Lock()
        self._pid = os.getpid()
        self._writer: Any = None
        self.refused: list[str] = []
        self.recorder = Recorder(self._add, Selection(kernel, launches), self.refused.append, keep_after)

    def open(self) -> None:
        """Makes the file now. :raises errors.RecordError: where it cannot be written"""
        self._writer = _native.RecordWriter(self.path)

    def of_process(self, pid: int | str) -> str:
        """The file of a process that this one starts."""
        stem, ending = os.path.splitext(self.path)
        return f"{stem}.{pid}{ending}"

    def _add(self, record: Any) -> None:
        if os.getpid() != self._pid:  # a fork
            self._pid, self.path, self._writer = os.getpid(), self.of_process(os.getpid()), None
            self._lock = threading.Lock()
        if self._gpu is not None and not record.runs_in_front_end:
            _native.add_gpu_code(record, self._gpu)
            if refusal := _native.gpu_code(record)["refusal"]:
                self.refused.append(f"launch {record.number} for a GPU: {refusal}")
        with self._lock:  # several host threads may launch
            if self._writer is None:
                self.open()
                atexit.register(self.close)
            self._writer.add(record)

    def close(self) -> None:
        """Ends the file of this process, when what is enqueued has run. :raises errors.RecordError"""
        stream_work.finish()
        if self._writer is not None and os.getpid() == self._pid:
            self._writer.close()

    @contextlib.contextmanager
    def in_force(self) -> Iterator[None]:
        """Records inside, and in processes that are started inside."""
        os.environ[_VARIABLE] = json.dumps([os.getpid(), *self._arguments])
        try:
            with for_gpu(self._gpu is not None), self.recorder.in_force():
                yield
                stream_work.finish()
        finally:
            os.environ.pop(_VARIABLE, None)


def continue_recording() -> None:
    """Records the launches of a process that a recorded script has started, too."""
    try:
        parent, path, kernel, launches, keep_after, gpu = json.loads(os.environ[_VARIABLE])
    except (KeyError, ValueError):
        return
    if parent == os.getpid() or _native.recording():
        return
    file = RecordFile(path, kernel, launches, keep_after, gpu)
    file.path = file.of_process(os.getpid())
    atexit.register(_kept.close)
    _kept.enter_context(for_gpu(gpu is not None))
    _kept.enter_context(file.recorder.in_force())


_kept = contextlib.ExitStack()
