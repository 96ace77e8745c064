"""Launches that run on the simulator and, right after, on a real GPU.

A comparison records each launch (cudasim.recording), gives the record to the GPU's process and compares what both left in memory. It
raises at the launch, when the simulator's results are in place.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cudasim import _native, errors, options
from cudasim.comparing import report as reports
from cudasim.comparing.arrays import Tolerance, compared
from cudasim.comparing.elsewhere import compared_elsewhere
from cudasim.comparing.report_text import render
from cudasim.comparing.runner import architecture_of, runner
from cudasim.comparing.tracing import add_accesses
from cudasim.recording.recorder import Recorder, Tickets, for_gpu
from cudasim.recording.replay import findings_of
from cudasim.reports.host_frames import host_frames

if TYPE_CHECKING:
    from cudasim.recording.recorder import Selection


_NO_LIMIT = 1e9  #: seconds


def compare_record(
    record: Any,
    tolerances: Mapping[str, Tolerance] | None = None,
    also_faulting: bool = False,
) -> dict[str, Any]:
    """Runs a recorded launch on the GPU of this machine and compares.

    :param record: a `_native.LaunchRecord` with memory after the launch
    :param tolerances: as `arrays.tolerances_of` makes them
    :param also_faulting: whether a launch in which the simulator found an error is sent all the same
    :returns: the launch as report_schema.json describes it
    :raises errors.NoGpuError: where there is no GPU to be had
    :raises ValueError: for tolerances of arrays that the launch does not have
    """
    reason = why_not(record, also_faulting)
    if reason is not None:
        return not_compared(record, reason)
    gpu = runner()
    _, capability = gpu.start()
    _native.add_gpu_code(record, architecture_of(capability))
    return compare_outcome(record, gpu.run(record, time_limit()), tolerances, gpu)


def compare_outcome(
    record: Any,
    outcome: Any,
    tolerances: Mapping[str, Tolerance] | None = None,
    gpu: Any = None,
    elsewhere: bool = False,
) -> dict[str, Any]:
    """Compares a recorded launch with what a GPU made of it, and explains differences.

    :param outcome: a `_native.GpuOutcome`
    :param gpu: the `_native.GpuRunner` that it is of, which can repeat the launch; None: the outcome is of a file
    :param elsewhere: whether this is a process for launches that could not be repeated in another one
    :returns: the launch as report_schema.json describes it
    """
    wanted = compared(record, tolerances or {})
    if outcome.status != "ran":
        status = "refused" if outcome.status == "refused" else "failed"
        launch = _described(record, outcome, {"status": status, "message": outcome.message})
        if outcome.status in ("faulted", "timed-out", "lost"):
            launch["verdict"] = "different"
        return launch
    launch = _described(record, outcome, {"status": "ran"})
    if outcome.milliseconds > 0:  # launches of programs (cudasim record --real) are not timed
        launch["milliseconds"] = outcome.milliseconds
    launch.update(json.loads(_native.compare_with_outcome(record, outcome, wanted)))
    faults = json.loads(_native.gpu_faults(record, outcome))["findings"]
    if faults:
        launch["faults"] = [_fault(finding) for finding in faults]
        simulated = [_fault(finding) for finding in json.loads(record.findings)["findings"]]
        if any(fault not in simulated for fault in launch["faults"]):
            launch["verdict"] = "different"
    if outcome.stray_bytes:
        launch["verdict"] = "different"
    if launch["verdict"] == "different":
        if not add_accesses(record, launch) and not elsewhere:
            found = compared_elsewhere(record, outcome, tolerances or {}, gpu is not None)
            if found is not None:
                return found
        limit = time_limit()
        launch["explanations"] = json.loads(
            _native.explain_launch(record, outcome, wanted, gpu, gpu_seconds=limit)
        )
    if outcome.stray_bytes:
        stray = [_stray(record, *write) for write in outcome.stray]
        launch["outside"] = stray + launch["outside"]
        counted = launch["outside_count"]
        launch["outside_count"] = {
            "bytes": counted["bytes"] + outcome.stray_bytes,
            "runs": counted["runs"] + len(stray),
        }
    return launch


def time_limit() -> float:
    """The most seconds that a kernel may take on the GPU."""
    return options.get("gpu_time_limit") or _NO_LIMIT


def not_compared(record: Any, reason: str) -> dict[str, Any]:
    """A launch that no GPU was given, as report_schema.json describes it."""
    return _described(record, None, {"status": "not-compared", "message": reason})


def why_not(record: Any, also_faulting: bool = False) -> str | None:
    """Why a launch is not given to a GPU, in a sentence; None: it is."""
    if record.runs_in_front_end:
        return "the kernel runs in Python mode, so there is no code of it that a GPU could run"
    if not record.finished:
        return "the launch did not come to its end on the simulator"
    if not also_faulting:
        for finding in findings_of(record):
            if finding.severity == "error":
                return f"the simulator found an error in it: {finding.text}"
    return None


def _described(record: Any, outcome: Any, members: dict[str, Any]) -> dict[str, Any]:
    launch: dict[str, Any] = {
        "number": record.number,
        "kernel": record.display_name,
        "grid": list(record.grid),
        "block": list(record.block),
    }
    if record.host_frames:
        launch["where"] = _place_of(record.host_frames)
    if outcome is not None and outcome.gpu:
        launch["gpu"] = {
            "name": outcome.gpu,
            "compute_capability": "{}.{}".format(*outcome.compute_capability),
        }
        if outcome.driver != (0, 0):  # not known where the process died
            launch["gpu"]["driver"] = "{}.{}".format(*outcome.driver)
    return launch | members


def _place_of(frames: list[tuple[str, str, int]]) -> dict[str, Any]:
    function, file, line = frames[0]
    return {"file": file, "line": line, "function": function}


def _fault(finding: dict[str, Any]) -> dict[str, Any]:
    place = finding["location"][0] if finding.get("location") else {}
    return {
        "kind": finding["kind"],
        "message": finding["message"],
        "thread": finding["thread"]["tid"],
        "block": finding["thread"]["ctaid"],
        "where": {name: place[name] for name in ("file", "line", "function")} if place else None,
    }


def _stray(record: Any, address: int, count: int) -> dict[str, Any]:
    """A write outside of every allocation, by the allocation that it is nearest to."""

    def distance(entry):
        return max(entry["address"] - address, address - (entry["address"] + entry["bytes"]), 0)

    nearest = min((entry for entry in record.memory if entry["kind"] != "freed"), key=distance, default=None)
    near = ""
    if nearest is not None:
        label = nearest["label"] or "an allocation"
        where = "before" if nearest["address"] > address else "behind the end of"
        near = f"{distance(nearest)} bytes {where} {label}, where nothing is allocated"
    return {"address": address, "bytes": count, "near": near}


_lock = threading.RLock()
_in_force: list[tuple[int, GpuComparison]] = []  #: with the host threads that began them, innermost last
_WHOLE_PROGRAM = -1  #: in the place of a thread
_recording = contextlib.ExitStack()  #: what is in force while there is a comparison


def _concerned() -> list[GpuComparison]:
    """The comparisons that a launch of this host thread belongs to, the innermost first: the thread's own and those of the whole program,
    or, where there are none of these, that of the thread that began first."""
    with _lock:
        thread = threading.get_ident()
        own = [comparison for of, comparison in _in_force if of in (thread, _WHOLE_PROGRAM)]
        return own[::-1] or [_in_force[0][1]]


class _RecorderOfComparisons(Recorder):
    """Hands each launch to the comparisons that it belonged to when it began."""

    def __init__(self) -> None:
        super().__init__(lambda record: None, keep_after=True)
        self._tickets = Tickets()

    def _wants(self, name: str) -> int:
        return self._tickets.issue(
            [(each, number) for each in _concerned() if (number := each.recorder._wants(name))]
        )

    def _taken(self, record: Any, ticket: int, why_not: str) -> None:
        wanting = self._tickets.take(ticket)
        for comparison, number in wanting if record is None else ():
            comparison.recorder._taken(None, number, why_not)
        if record is not None and wanting:
            (innermost, number), *others = wanting
            innermost.take(record.numbered(number), others)


def _launching_frames() -> list[tuple[str, str, int]]:
    """The host program's frames where it launches, innermost first."""
    return [frame for frame in host_frames() if frame[1] != contextlib.__file__]


class GpuComparison:
    """Compares every launch while it is in force.

    with GpuComparison().in_force() as comparison:
        kernel[grid, block](x)
    comparison.report()

    :param tolerances: as `arrays.tolerances_of` makes them
    :param raises: whether a difference raises errors.GpuDifference at its launch
    :param selection: which launches; None: all
    :param also_faulting: whether launches in which the simulator finds an error are sent, too
    :param warns: whether launches that are not compared warn
    """

    def __init__(
        self,
        tolerances: Mapping[str, Tolerance] | None = None,
        raises: bool = True,
        selection: Selection | None = None,
        also_faulting: bool = False,
        warns: bool = True,
    ) -> None:
        self._tolerances, self._raises, self._also_faulting = tolerances, raises, also_faulting
        self._warns = warns
        self.recorder = Recorder(self.take, selection, self._not_recorded, keep_after=True)
        self.owner = os.getpid()  #: launches of another process go to take_elsewhere
        self.take_elsewhere: Callable[[dict[str, Any]], None] | None = None
        self._lock = threading.Lock()
        self._warned: set[tuple[str, str]] = set()
        self.launches: list[dict[str, Any]] = []  #: in their order, as report_schema.json describes them

    @contextlib.contextmanager
    def in_force(self, of_the_program: bool = False) -> Iterator[GpuComparison]:
        """Launches of this host thread are this comparison's inside, and those of threads that have none of their own. A launch belongs to
        all comparisons that are around it, and the innermost one has the tolerances.

        :param of_the_program: whether all launches of the program are its own; those that are in force are inside of it
        :raises errors.NoGpuError: where there is no GPU to be had
        """
        runner().start()
        entry = (_WHOLE_PROGRAM if of_the_program else threading.get_ident(), self)
        with _lock:
            if not _in_force:
                _recording.enter_context(for_gpu(True))
                _recording.enter_context(_RecorderOfComparisons().in_force())
            _in_force.insert(0 if of_the_program else len(_in_force), entry)
        try:
            yield self
        finally:
            with _lock:
                _in_force.remove(entry)
                if not _in_force:
                    _recording.close()

    def report(self) -> dict[str, Any]:
        """The report of all launches so far."""
        return reports.report_of(self.launches)

    def _not_recorded(self, sentence: str) -> None:
        self._warn("", sentence)

    def take(self, record: Any, others: Sequence[tuple[GpuComparison, int]] = ()) -> None:
        """Compares a launch.

        :param others: further comparisons that the launch belongs to, with its numbers there
        :raises errors.GpuDifference: where it is different
        """
        launch = compare_record(record, self._tolerances, self._also_faulting)
        if "where" not in launch and (frames := _launching_frames()):  # kernels of Python mode
            launch["where"] = _place_of(frames)
        for comparison, number in ((self, record.number), *others):
            comparison._keep({**launch, "number": number})
        if launch.get("verdict") == "different":
            if self._raises:
                report = reports.report_of([launch])
                raise errors.GpuDifference(render(report), report)
        elif launch["status"] != "ran":
            self._warn(launch["kernel"], launch["message"])

    def _keep(self, launch: dict[str, Any]) -> None:
        if self.take_elsewhere is not None and os.getpid() != self.owner:
            self.take_elsewhere(launch)
            return
        with self._lock:
            self.launches.append(launch)

    def _warn(self, kernel: str, message: str) -> None:
        """Once for each kernel and reason."""
        if not self._warns:
            return
        with self._lock:
            if (kernel, message) in self._warned:
                return
            self._warned.add((kernel, message))
        text = f"a launch of {kernel} was not compared with the GPU: {message}" if kernel else message
        _, file, line = (_launching_frames() or [("", "<unknown>", 1)])[0]
        warnings.warn_explicit(errors.NotComparedWarning(text), None, file, line)
