"""`cudasim check` for a program in CUDA C++. The program tells its launches and findings in a journal and records launches
(simulator/driver/program_journal.h, frontend/cuda_cpp/runtime/launch_runner.h). When it has ended, the launches pass through a
CheckSession in their order, as those of a script do while it runs, and those that were recorded are repeated under other schedules.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple

from cudasim import findings
from cudasim.cuda_cpp import commands
from cudasim.recording.replay import Reader
from cudasim.recording.shares import Checked
from cudasim.recording.under_schedules import RecordedLaunch
from cudasim.reports.launch_results import describe
from cudasim.reports.repetitions import Comparison, Launch, Repetition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from cudasim.reports.check_session import CheckSession


class ProgramFiles:
    """The files that the program writes, in a folder that close() removes.

    :param repeats: launches of each kernel and configuration that are recorded; 0: none
    :param every: all of them are
    :param unused: memory that nobody writes is told
    """

    def __init__(self, repeats: int, every: bool = False, unused: bool = False) -> None:
        self._folder = tempfile.mkdtemp(prefix="cudasim_check_")
        self.journal = os.path.join(self._folder, "journal")
        self.records = os.path.join(self._folder, "launches.cudasim")
        self._recorded = bool(repeats or every)
        self._most = 0 if every else repeats
        self._tracks_unused = unused

    def variables(self) -> dict[str, str]:
        """Of the program's environment."""
        recorded = (
            {commands.RECORD: self.records, commands.RECORD_MOST: str(self._most), commands.RECORD_AFTER: "1"}
            if self._recorded
            else {}
        )
        unused = {commands.TRACK_UNUSED: "1"} if self._tracks_unused else {}
        return {commands.JOURNAL: self.journal, **recorded, **unused}

    def close(self) -> None:
        """Removes the folder."""
        shutil.rmtree(self._folder, ignore_errors=True)

    def entries(self) -> Iterator[dict[str, Any]]:
        """The lines of the journal; one that was cut off is left out."""
        try:
            with open(self.journal, encoding="utf-8") as file:
                for line in file:
                    if line.endswith("\n"):
                        yield json.loads(line)
        except FileNotFoundError:
            return

    def recorded(self) -> dict[int, Any]:
        """Position in the file of records by the number of the launch, and the reader."""
        try:
            reader = Reader(self.records)
        except (OSError, ValueError):
            return {}
        return {reader.read(at, False).number: (reader, at) for at in range(len(reader))}


class _Plan(NamedTuple):
    """What a CheckSession asks of a plan."""

    text: str

    def identity(self) -> str:
        """Grid and block."""
        return self.text


class _Texts(NamedTuple):
    """The reports of findings, as a LaunchReport has them."""

    texts: list[str]

    def text_of(self, index: int) -> str:
        """The report of a finding."""
        return self.texts[index]


class _FromRecords:
    """An Executor: repeats the launch that is in the file of records."""

    def __init__(self, recorded: dict[int, Any]) -> None:
        self._recorded = recorded
        self.number = 0

    def run(self, launch: Launch, take: Callable[[Repetition], bool]) -> tuple[Any, Comparison]:
        """See repetitions.Executor."""
        value = launch.run()
        if self.number not in self._recorded:
            return value, Comparison()
        reader, at = self._recorded[self.number]
        repeated = RecordedLaunch(reader.read(at, True), Checked(launch.seconds, True, []))
        compared, differences = [], []
        for schedule in launch.schedules:
            done = repeated.under(schedule)
            found = None if done.result is None else done.result.found
            if not take(Repetition(schedule.name, found, done.how)):
                continue
            compared.append(schedule.name)
            if done.result.differing is not None:
                differences.append((schedule.name, describe(None, None, done.result.differing)))
        return value, Comparison(tuple(compared), tuple(differences))


def pass_through(session: CheckSession, files: ProgramFiles, executor: _FromRecords) -> bool:
    """Gives the session the program's launches and findings. Returns whether the program came to its end, as far as it used CUDA."""
    began: dict[tuple[int, int], dict[str, Any]] = {}
    has_ended = not os.path.exists(files.journal)
    for entry in files.entries():
        process = entry["process"]
        if "begins" in entry:
            began[process, entry["begins"]] = entry
        elif "ends" in entry:
            _launch(session, executor, began.pop((process, entry["ends"])), entry["findings"])
        elif "host" in entry:
            finding, text = entry["host"]
            session.take_host(findings.from_json(finding), text)
        else:
            has_ended = True
    for entry in began.values():  # those in which the program was ended
        _launch(session, executor, entry, [])
    return has_ended


def executor_of(files: ProgramFiles) -> _FromRecords:
    """Repeats the launches in the files."""
    return _FromRecords(files.recorded())


def _launch(session, executor, begins, found):
    executor.number = begins["begins"]
    native = [findings.from_json(finding) for finding, _ in found]
    texts = [text for _, text in found]
    places = [findings.SourceLocation(*frame) for frame in begins["host_frames"]]

    def ran():
        session.take(native, _Texts(texts))

    extents = (*begins["grid"], *begins["block"], begins["shared_bytes"])
    session.run(
        _Plan(" ".join(map(str, extents))), begins["kernel"], ran, place=places[0] if places else None
    )
