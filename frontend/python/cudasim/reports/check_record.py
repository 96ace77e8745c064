"""What the launches of a program came to, put together from entries, one for each thing that was found or done.

A CheckSession makes the entries. Where the program runs in a child process they also come through a Journal, from it and
from the processes that it forks.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from cudasim.reports.host_findings import host_finding

if TYPE_CHECKING:
    from cudasim.findings import Finding
    from cudasim.reports.launch_results import Difference


#: The name of the program's own process; those that it forks have others.
THE_PROGRAM = ""


class Found(NamedTuple):
    """A finding, where it was found first, and its report for people."""

    finding: Finding
    text: str
    schedules: tuple[str, ...]  #: of that launch, under which it was found: "forward", "reverse", "random-3"
    launch: int  #: the number of the launch in the process, from 1; 0: it is of no launch
    process: int = 0  #: 0: the program itself; from 1: a process that it forked


class Outcome(NamedTuple):
    """Whether a launch leaves the same in memory under each schedule."""

    kernel: str
    place: Any  #: SourceLocation of the launch in the program
    compared: tuple[str, ...]  #: schedules
    differences: tuple[tuple[str, Difference], ...]  #: (schedule, the first element)
    races_checked: bool  #: whether the launch was checked for races


class Begins(NamedTuple):
    """A launch begins."""

    number: int
    kernel: str
    identity: str | None  #: kernel, grid, block; None: the launch is refused because of its arguments
    selected: bool


class LiesIn(NamedTuple):
    """A kernel that is launched has its code in these files."""

    files: frozenset[str]


class Ends(NamedTuple):
    """A launch has ended."""

    number: int


class Ran(NamedTuple):
    """A launch, or a repetition of one, has run."""


class Finds(NamedTuple):
    """A finding is new, or more is known of it."""

    key: tuple[Any, ...]
    found: Found


class Repeats(NamedTuple):
    """What the host did in a finding that is known has happened again."""

    key: tuple[Any, ...]


class Explains(NamedTuple):
    """A launch has a finding that says why results depend on the order."""

    number: int


class Compared(NamedTuple):
    """Results of a launch under several schedules."""

    number: int
    outcome: Outcome


class Lost(NamedTuple):
    """A repetition has not come to its end."""


class Meant(NamedTuple):
    """The launch that a token names has been found, or another one in its place."""

    why_not: str | None


class Refused(NamedTuple):
    """The program was not begun; the message says why."""

    message: str


class Ended(NamedTuple):
    """The program has ended as Python programs end, and memory that is never freed has been told."""


class Record:
    """The sum of the entries.

    :param own: what the program's own schedule is called
    """

    def __init__(self, own: str) -> None:
        self.own = own
        self.launches = self.selected = self.runs = self.lost = 0
        self.kernels: dict[str, int] = {}  #: name → launches
        self.files: set[str] = set()  #: that code of launched kernels lies in
        self.found: dict[tuple[Any, ...], Found] = {}
        self.outcomes: dict[tuple[int, int], Outcome] = {}  #: by (process, launch), as in Found
        self.identities: dict[tuple[int, int], str] = {}  #: the same → kernel, grid, block
        self.running: dict[tuple[int, int], str] = {}  #: launches that have not ended → kernel
        self.is_meant = False  #: whether there was the launch that a token names
        self.wrong_token: str | None = None  #: why a token names no launch of this program
        self.refused: str | None = None  #: why the program was not begun
        self.has_ended = False
        self.early_ends = "os._exit() or os.exec*()"  #: by what a program ends without telling it
        self._explained: set[tuple[int, int]] = set()
        self._processes = {THE_PROGRAM: 0}

    def add(self, process: str, entry: Any) -> None:
        """:param process: whose entry it is; a name that no other process has"""
        number = self._processes.setdefault(process, len(self._processes))
        _ADDERS[type(entry)](self, number, entry)

    def finish(self) -> None:
        """The program is over: results that depend on the order, where no race says why, become findings.

        Launches that were not checked for races have none to say why.
        """
        for (process, launch), outcome in self.outcomes.items():
            if not outcome.differences or not outcome.races_checked or (process, launch) in self._explained:
                continue
            schedule, (element, value, own) = outcome.differences[0]
            message = (
                f"results of {outcome.kernel} depend on the order of threads, and no race says why: {element} is {own} "
                f"under {self.own}, {value} under {schedule}"
            )
            finding = host_finding(
                "order-dependent-results", message, outcome.place, severity="note", kernel=outcome.kernel
            )
            text = f"note: {finding.kind}: {message}\n  launched at {outcome.place}\n"
            self.found.setdefault(
                (finding.kind, outcome.kernel),
                Found(finding, text, tuple(name for name, _ in outcome.differences), launch, process),
            )

    def _begin(self, process, entry):
        self.launches += 1
        self.selected += entry.selected
        self.kernels[entry.kernel] = self.kernels.get(entry.kernel, 0) + 1
        if entry.identity is not None:
            self.identities[process, entry.number] = entry.identity
            self.running[process, entry.number] = entry.kernel

    def _add_files(self, process, entry):
        self.files |= entry.files

    def _end(self, process, entry):
        self.running.pop((process, entry.number), None)

    def _find(self, process, entry):
        known = self.found.get(entry.key)
        if known is None or (known.process == process and entry.found.launch):
            self.found[entry.key] = entry.found._replace(process=process)
        elif not entry.found.launch:  # another process has found the same
            self.found[entry.key] = _again(known, entry.found.finding.count)

    def _repeat(self, process, entry):
        self.found[entry.key] = _again(self.found[entry.key], 1)

    def _explain(self, process, entry):
        self._explained.add((process, entry.number))

    def _compare(self, process, entry):
        self.outcomes[process, entry.number] = entry.outcome

    def _mean(self, process, entry):
        if entry.why_not is None:
            self.is_meant = True
        else:
            self.wrong_token = entry.why_not

    def _run(self, process, entry):
        self.runs += 1

    def _lose(self, process, entry):
        self.lost += 1

    def _refuse(self, process, entry):
        self.refused = entry.message

    def _finish_program(self, process, entry):
        self.has_ended = True


def _again(known, times):
    """The finding of the host that has happened so many times more, and its report."""
    count = known.finding.count + times
    text = re.sub(r"  \d+ times\n\Z", "", known.text) + f"  {count} times\n"
    return known._replace(finding=known.finding._replace(count=count), text=text)


_ADDERS: dict[type, Any] = {
    Begins: Record._begin,
    LiesIn: Record._add_files,
    Ends: Record._end,
    Ran: Record._run,
    Finds: Record._find,
    Repeats: Record._repeat,
    Explains: Record._explain,
    Compared: Record._compare,
    Lost: Record._lose,
    Meant: Record._mean,
    Refused: Record._refuse,
    Ended: Record._finish_program,
}
