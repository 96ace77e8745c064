"""Runs recorded launches again and compares what comes of them with the record."""

from __future__ import annotations

import io
import json
import traceback
from typing import Any, NamedTuple

from cudasim import _native, cache, errors, options
from cudasim.device.device import only_device
from cudasim.launch.arguments import HostCopies
from cudasim.launch.kernel import launch_progress
from cudasim.recording.parameters import numbers_of, placeholder
from cudasim.recording.python_code import Decoder, Unrecordable
from cudasim.recording.recorder import printed_text
from cudasim.reports import reporting
from cudasim.types import type_named


class Replayed(NamedTuple):
    """The outcome of running a launch again."""

    differences: list[dict]  #: empty: everything is the same to the bit
    exception: BaseException | None  #: what the launch raised, as a script would have seen it
    same_addresses: bool  #: whether all memory lay where it was recorded


class RecordedFinding(NamedTuple):
    """A finding of a recorded launch."""

    severity: str
    text: str  #: severity, kind, thread and message
    place: str  #: file:line, or nothing where that is not known


def findings_of(record: Any) -> list[RecordedFinding]:
    """What the recorded launch had to say."""
    found = []
    for each in json.loads(record.findings)["findings"]:
        thread, location = each["thread"], each["location"]
        coordinates = f"tid={thread['tid']} ctaid={thread['ctaid']}"
        text = f"{each['severity']}: {each['kind']}: {coordinates}: {each['message']}"
        place = f"{location[0]['file']}:{location[0]['line']}" if location else ""
        found.append(RecordedFinding(each["severity"], text, place))
    return found


class NotTrusted(Exception):
    """The record's kernel is Python code, and nobody said that it may run."""


def replay(
    record: Any, changed: dict[str, Any] | None = None, trust: bool = False, debugger: Any = None
) -> Replayed:
    """Runs a launch again.

    :param record: a _native.LaunchRecord, read with its memory
    :param changed: options other than the recorded ones
    :param trust: whether Python code of the record may run (kernels of Python mode)
    :param debugger: what calls the launch of a Python-mode kernel: callable(function, callable()); see recording_commands.py
    :raises NotTrusted: for a kernel of Python mode without `trust`
    :raises errors.RecordError: for what cannot be restored
    """
    if record.runs_in_front_end and not trust:
        raise NotTrusted(
            f"the kernel of {record.headline()} runs in Python mode: running it again runs Python code of the record. "
            "Where you trust whoever made the record, say --trust"
        )
    # Recorded options are believed but for this one: unchecked code may write anywhere.
    in_force = {**record.options, "check": f"{record.options['check']},memory", **(changed or {})}
    cache.apply()
    native = _native.Device(_native.DeviceProfile(record.device), 0, record.memory_base)
    chosen = _native.LaunchOptions(**in_force)
    progress = launch_progress(record.display_name, "python" if record.runs_in_front_end else "native")
    restored = _native.RestoredLaunch(record, chosen, progress, native)
    if record.runs_in_front_end:
        return _in_python_mode(record, restored, native, in_force, debugger)
    report = restored.launch()
    exception = None
    if report is not None:
        try:
            reporting.deliver(report, {}, lambda: None)
        except BaseException as error:  # noqa: B902 - shown by the caller
            exception = error
    try:
        return Replayed(restored.compare(), exception, restored.same_addresses)
    finally:
        # The exception's traceback has this function, which would keep the device's memory where the next
        # launch needs its own.
        del restored, native, exception


class _DeviceArray:
    """What a recorded function's globals have for an array on the device."""

    def __init__(self, address: int, shape: tuple, strides: tuple, dtype: Any) -> None:
        self.__cuda_array_interface__ = {
            "data": (address, False),
            "shape": shape,
            "strides": strides,
            "typestr": dtype.str,
            "descr": dtype.descr,
            "version": 3,
        }


def _in_python_mode(record: Any, restored: Any, native: Any, in_force: dict, debugger: Any) -> Replayed:
    from cudasim.python_mode.kernel import PythonEntry, PythonKernel  # not every CPython has Python mode

    try:
        document = json.loads(record.front_end)
        decoder = Decoder(
            document,
            lambda address, shape, strides, dtype: _DeviceArray(
                restored.relocated(address), shape, strides, dtype
            ),
        )
        function, target_options = decoder.kernel(), document["target_options"]
        kinds = tuple(type_named(name) for _, name in record.arguments)
    except (
        Unrecordable,
        KeyError,
        ValueError,
        TypeError,
        IndexError,
        AttributeError,
        ImportError,
        RecursionError,
    ) as error:
        raise errors.RecordError(f"the record's Python code cannot be restored: {error}") from None
    known = {name: in_force[name] for name in in_force if name in options.BY_NAME}
    with only_device(native) as device, options.override(**known):
        kernel = PythonKernel(function, kinds, target_options)
        entry = PythonEntry(kernel, device, record.grid, record.block, record.dynamic_shared_bytes)
        entry.plan.keeps_result = True
        copies = HostCopies(device)
        numbers = numbers_of(record, restored.parameters)
        values = kernel.builder.values(numbers, [placeholder(kind) for kind in kernel.builder.types], copies)
        exception = None
        with printed_text() as text:
            try:
                if debugger is None:
                    entry.launch(values, copies)
                else:
                    debugger(function, lambda: entry.launch(values, copies))
            except BaseException as error:  # noqa: B902 - shown by the caller
                exception = error
        return Replayed(
            restored.compare_host(entry.plan, text.getvalue()), exception, restored.same_addresses
        )


class Reader:
    """A file of records.

    :raises errors.RecordError: where it is none
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self._native = _native.RecordReader(path)
        self.finished = self._native.finished

    def __len__(self) -> int:
        return self._native.launches

    def read(self, index: int, with_memory: bool = True) -> Any:
        """The launch at a position of the file."""
        return self._native.read(index, with_memory)

    def numbered(self, first: int, last: int) -> list[int]:
        """The positions of the launches with numbers from `first` to `last`."""
        return [index for index in range(len(self)) if first <= self.read(index, False).number <= last]


def text_of(exception: BaseException) -> str:
    """An exception as an uncaught one is shown: traceback, message, notes."""
    stream = io.StringIO()
    traceback.print_exception(type(exception), exception, exception.__traceback__, file=stream)
    return stream.getvalue()
