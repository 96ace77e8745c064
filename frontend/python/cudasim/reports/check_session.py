"""What `cudasim check` does with the launches of a program: it repeats them under other schedules, gathers what
is found, and lets the program go on.

The launch runs in the program itself, in the order of threads that the program's options say. An Executor
(repetitions.py) repeats it: in forked children, or on a cluster. What comes of it are entries of a Record
(check_record.py), which a Journal also brings to the process that reports them.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from typing import TYPE_CHECKING, Any

from cudasim import options
from cudasim.findings import from_native, is_consequence, without_repetition
from cudasim.reports import check_record, child_processes
from cudasim.reports.check_record import Found, Outcome, Record
from cudasim.reports.host_findings import users_place
from cudasim.reports.repetitions import Comparison, InChildren, Launch
from cudasim.reports.schedules import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Sequence

    from cudasim import errors
    from cudasim.findings import Finding, SourceLocation
    from cudasim.reports.check_journal import Journal
    from cudasim.reports.repetitions import Executor, Repetition
    from cudasim.reports.schedules import Schedule, Token

#: Findings of launches that have computed what they compute all the same.
AFTER_THE_LAUNCH = frozenset(("data-race", "uninitialised-value"))

#: Findings that say why results depend on the order: a race, or that races were not looked for to the end.
ORDER_IS_EXPLAINED = frozenset(("data-race", "race-checks-ended"))

#: Findings of the host that are told once for each cause.
COUNTED_ALREADY = frozenset(("memory-leak", "unused-allocation"))

#: The session of this process, if there is one.
session: CheckSession | None = None


def refuse(name: str, error: errors.KernelMemoryError) -> None:
    """Tells the session of this process, if there is one, of a launch that does not begin, because of its arguments.

    :param name: of the kernel
    """
    if session is not None and error.findings:
        session.refuse(name, error.findings)


def key_of(finding: Finding) -> tuple[Any, ...]:
    """What findings of one cause have in common: the kind, the kernel and the lines, in any order."""
    places = [access.location for access in finding.accesses] or [finding.location]
    lines = sorted((chain[0].file, chain[0].line) if chain else ("", 0) for chain in places)
    return (finding.kind, finding.kernel, *lines)


def _key_under(
    schedule: str | None, own: str, finding: Finding, found: Container[tuple[Any, ...]]
) -> tuple[Any, ...]:
    """key_of(). A launch of a program in CUDA C++ is repeated in another process, which has not the program's memory: what is
    host memory to the program is in no memory there."""
    key = key_of(finding)
    if schedule != own and finding.kind == "out-of-bounds-global" and finding.object is None:
        of_host = ("host-pointer", *key[1:])
        return of_host if of_host in found and key not in found else key
    return key


def _named(finding: Finding, text: str) -> tuple[Finding, str]:
    """A finding and its report; an exception without text goes by the name of its class, as in a traceback."""
    if finding.message:
        return finding, text
    first, end, rest = text.partition("\n")
    return (
        finding._replace(message=finding.exception_type),
        f"{first.rstrip()} {finding.exception_type}{end}{rest}",
    )


class CheckSession:
    """The launches of one program.

    :param schedules: under which each launch is repeated
    :param own: what the program's own schedule is called
    :param only: the one launch that is repeated, under the one schedule; nothing else is reported
    :param most_repeats: of each kernel and configuration; further launches run in the program only
    :param seconds: that a repeated launch may take
    :param selects: (name of the kernel, number of its launch from 1) → whether its findings count
    :param executor: repeats launches; by default in forked children
    :param journal: takes the entries of this process and of those that it forks, which have no session without it
    """

    def __init__(
        self,
        schedules: list[Schedule],
        most_repeats: int = 10,
        seconds: float = 60,
        selects: Callable[[str, int], bool] = lambda name, number: True,
        own: str = "forward",
        only: Token | None = None,
        executor: Executor | None = None,
        journal: Journal | None = None,
    ) -> None:
        self.executor: Executor = executor if executor is not None else InChildren()
        self.own, self.only = own, only
        self.schedules, self.most_repeats, self.seconds, self.selects = (
            schedules,
            most_repeats,
            seconds,
            selects,
        )
        self.record = Record(own)
        self._journal = journal
        self._process = check_record.THE_PROGRAM
        self._launches = 0  # of this process and of those that it was forked from, up to then
        self._numbers: dict[str, int] = {}  # name of a kernel → launches, counted in the same way
        self._repeats: dict[Any, int] = {}
        self._begin_process()

    def _begin_process(self):
        # A launch and its repetitions are one step. Otherwise other threads would change memory in between.
        self._lock = threading.RLock()
        self._thread = _OfThread()

    @property
    def found(self) -> dict[tuple[Any, ...], Found]:
        """What was found in this process."""
        return self.record.found

    @property
    def is_forked(self) -> bool:
        """Whether this is a process that the program has forked."""
        return self._process != check_record.THE_PROGRAM

    def after_fork(self) -> bool:
        """This is a forked child. Returns whether it has the session, too."""
        self._begin_process()
        if child_processes.is_repetition():
            self._journal = None  # what is found comes back in another way
            return True
        if self._journal is None:
            return False
        self._process = f"{os.getpid()} {time.monotonic_ns()}"
        self.executor = InChildren()  # connections to a cluster are the parent's
        return True

    def run(
        self,
        plan: Any,
        name: str,
        launch: Callable[[], Any],
        parameters: bytes | None = None,
        place: SourceLocation | None = None,
    ) -> Any:
        """A launch of the program, repeated under the schedules.

        :param plan: a _native.LaunchPlan or HostPlan
        :param launch: runs it; returns a report, or a tuple that begins with one
        :param parameters: of compiled kernels
        :param place: the program's line; None: the line of Python that runs now
        """
        with self._lock:
            identity = f"{name} {plan.identity()}"
            number = self._begin(name, identity)
            try:
                return self._run(Launch(plan, name, parameters, (), self.seconds, launch), identity, place)
            finally:
                self._add_entry(check_record.Ends(number))

    def _run(self, launch, identity, place):
        thread = self._thread
        schedules = self.schedules
        if self.only is not None:
            schedules = self._only_if_meant(self.only, identity)
        repeats = self._repeats.get(identity, 0)
        if not thread.selected or (repeats >= self.most_repeats and self.only is None):
            schedules = []
        else:
            self._repeats[identity] = repeats + 1
        self._add_entry(check_record.Ran())
        if not schedules:
            value, comparison = launch.run(), Comparison()
        else:
            value, comparison = self.executor.run(launch._replace(schedules=schedules), self._take_repetition)
        if self.only is not None:
            thread.selected = False
        if comparison.compared:
            outcome = Outcome(
                launch.name, place or users_place()[0], *comparison, "races" in options.get("check")
            )
            self._add_entry(check_record.Compared(thread.number, outcome))
        return value

    def refuse(self, name: str, findings: Sequence[Finding]) -> None:
        """A launch that does not begin, because of its arguments.

        :param name: of the kernel
        """
        with self._lock:
            self._begin(name, None)
            if self.only is None:
                texts = [
                    f"{each.severity}: {each.kind}: {each.message}\n  at {each.place}\n" for each in findings
                ]
                self._add([(each._replace(kernel=name), text) for each, text in zip(findings, texts)], None)

    def _begin(self, name, identity):
        self._launches += 1
        self._numbers[name] = self._numbers.get(name, 0) + 1
        thread = self._thread
        thread.number = self._launches
        thread.selected = self.selects(name, self._numbers[name])
        meant = thread.selected and (self.only is None or self.only.launch == thread.number)
        self._add_entry(check_record.Begins(thread.number, name, identity, meant))
        return thread.number

    def _take_repetition(self, repetition: Repetition) -> bool:
        """Whether the launch has come to its end there, so that what it left in memory counts."""
        self._add_entry(check_record.Ran())
        if repetition.found is None:
            self._add_entry(check_record.Lost())
            print(
                f"cudasim check: a repeated launch ({repetition.schedule}) {repetition.how}; "
                "the program goes on",
                file=sys.stderr,
            )
            return False
        found = [(from_native(native), text) for native, text in repetition.found]
        self._add(found, repetition.schedule)
        return all(each.severity != "error" or each.kind in AFTER_THE_LAUNCH for each, _ in found)

    def _only_if_meant(self, only, identity):
        number = self._thread.number
        if only.launch != number:
            return []
        why_not = None
        if fingerprint(identity) != only.fingerprint:
            why_not = f"launch {number} of this program is another one, of {identity.split()[0]}"
        self._add_entry(check_record.Meant(why_not))
        return [only.schedule] if why_not is None else []

    def add_files(self, files: Iterable[str]) -> None:
        """Files that the code of a kernel lies in that is launched."""
        with self._lock:
            new = frozenset(files) - self.record.files
            if new:
                self._add_entry(check_record.LiesIn(new))

    def finish(self) -> None:
        """The program is over: see Record.finish()."""
        self.record.finish()

    def lose(self, count: int) -> None:
        """So many repetitions were not run, which was told where it happened."""
        for _ in range(count):
            self._add_entry(check_record.Lost())

    def end_program(self) -> None:
        """The program has ended as Python programs end."""
        self._add_entry(check_record.Ended())

    def take(self, findings: list[Finding], report: Any) -> None:
        """What a launch in the program itself has found."""
        texts = [report.text_of(index) for index in range(len(findings))] if report is not None else []
        with self._lock:
            self._add(list(zip(findings, texts)), self.own)

    def take_host(self, finding: Finding, text: str) -> None:
        """What the program itself has done outside of launches, and the report for people."""
        key, text = key_of(finding), without_repetition(finding.kind, text)
        if finding.kind in COUNTED_ALREADY:
            key = (*key, finding.message)
        with self._lock:
            if key in self.found:
                self._add_entry(check_record.Repeats(key))
            else:
                self._add_found(key, Found(finding, text, (), 0))

    def _add(self, findings: list[tuple[Finding, str]], schedule: str | None) -> None:
        """:param schedule: None: the launch has not run"""
        thread = self._thread
        if not thread.selected:
            return
        all_found = [finding for finding, _ in findings]
        findings = [each for each in findings if not is_consequence(each[0], all_found)]
        for finding, text in (_named(*each) for each in findings):
            text = without_repetition(finding.kind, text)
            if finding.kind in ORDER_IS_EXPLAINED:
                self._add_entry(check_record.Explains(thread.number))
            key = _key_under(schedule, self.own, finding, self.found)
            known = self.found.get(key)
            if known is None:
                known = Found(finding, text, (schedule,) if schedule else (), thread.number)
            elif schedule and known.launch == thread.number and schedule not in known.schedules:
                # What the program itself did is the report.
                shown = (finding, text) if schedule == self.own else (known.finding, known.text)
                known = Found(*shown, (*known.schedules, schedule), known.launch)
            self._add_found(key, known)

    def _add_found(self, key, found):
        known = self.found.get(key)
        if known is None or (found.launch and found != known._replace(process=found.process)):
            self._add_entry(check_record.Finds(key, found))

    def _add_entry(self, entry):
        self.record.add(self._process, entry)
        if self._journal is None:
            return
        if isinstance(entry, check_record.Finds):
            # Values of variables may be anything. The reports have no use for them.
            plain = entry.found._replace(finding=entry.found.finding._replace(variables=()))
            entry = entry._replace(found=plain)
        try:
            self._journal.append((self._process, entry))
        except OSError as error:
            self._end_early(error)

    def _end_early(self, error):
        global session
        self._journal = session = None
        print(
            f"cudasim check: what is found cannot be kept any more ({error.strerror}); from here on kernels raise "
            "their errors, and nothing else is checked",
            file=sys.stderr,
        )


class _OfThread(threading.local):
    """The launch that a host thread runs, or has run last."""

    number = 0
    selected = True


def _after_fork():
    global session
    if session is not None and not session.after_fork():
        session = None  # what is found is raised there, because nobody would report it


os.register_at_fork(after_in_child=_after_fork)
