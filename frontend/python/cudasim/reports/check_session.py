"""What `cudasim check` does with the launches of a program: it repeats them under other schedules, gathers what
is found, and lets the program go on.

The launch runs in the program itself, in the order of threads that the program's options say. An Executor
(repetitions.py) repeats it: in forked children, or on a cluster.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, NamedTuple

from cudasim import options
from cudasim.findings import from_native
from cudasim.reports.host_findings import host_finding, users_place
from cudasim.reports.repetitions import Comparison, InChildren, Launch
from cudasim.reports.schedules import fingerprint

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cudasim import errors
    from cudasim.findings import Finding
    from cudasim.reports.launch_results import Difference
    from cudasim.reports.repetitions import Executor, Repetition
    from cudasim.reports.schedules import Schedule, Token

#: Findings of launches that have computed what they compute all the same.
AFTER_THE_LAUNCH = frozenset(("data-race", "uninitialised-value"))

#: Findings that say why results depend on the order: a race, or that races were not looked for to the end.
ORDER_IS_EXPLAINED = frozenset(("data-race", "race-checks-ended"))

#: The session of this process, if there is one.
session: CheckSession | None = None


class Found(NamedTuple):
    """A finding, where it was found first, and its report for people."""

    finding: Finding
    text: str
    schedules: tuple[str, ...]  #: of that launch, under which it was found: "forward", "reverse", "random-3"
    launch: int  #: the number of the launch in the program, from 1; 0: it is of no launch


class Outcome(NamedTuple):
    """Whether a launch leaves the same in memory under each schedule."""

    kernel: str
    place: Any  #: SourceLocation of the launch in the program
    compared: tuple[str, ...]  #: schedules
    differences: tuple[tuple[str, Difference], ...]  #: (schedule, the first element)
    races_checked: bool  #: whether the launch was checked for races


def refuse(name: str, error: errors.KernelMemoryError) -> None:
    """Tells the session of this process, if there is one, of a launch that does not begin, because of its arguments.

    :param name: of the kernel
    """
    if session is not None and error.findings:
        session.refuse(name, error.findings)


def key_of(finding: Finding) -> tuple[Any, ...]:
    """What findings of one cause have in common: the kind and the lines, in any order."""
    places = [access.location for access in finding.accesses] or [finding.location]
    return (finding.kind, *sorted((chain[0].file, chain[0].line) if chain else ("", 0) for chain in places))


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
    ) -> None:
        self.executor: Executor = executor if executor is not None else InChildren()
        self.own, self.only = own, only
        self.wrong_token: str | None = None  #: why `only` names no launch of this program
        self.schedules, self.most_repeats, self.seconds, self.selects = (
            schedules,
            most_repeats,
            seconds,
            selects,
        )
        self.launches = self.runs = 0
        self.kernels: dict[str, int] = {}  #: name → launches
        self.found: dict[tuple[Any, ...], Found] = {}
        self.outcomes: dict[int, Outcome] = {}  #: by launch
        self.identities: dict[int, str] = {}  #: launch → kernel, grid, block
        self._repeats: dict[Any, int] = {}
        self._explained: set[int] = set()  #: launches with a finding of ORDER_IS_EXPLAINED
        self._selected = True

    def run(self, plan: Any, name: str, launch: Callable[[], Any], parameters: bytes | None = None) -> Any:
        """A launch of the program, repeated under the schedules.

        :param plan: a _native.LaunchPlan or HostPlan
        :param launch: runs it; returns a report, or a tuple that begins with one
        :param parameters: of compiled kernels
        """
        self._count(name)
        self.identities[self.launches] = identity = f"{name} {plan.identity()}"
        schedules = self.schedules
        if self.only is not None:
            schedules = self._only_if_meant(self.only, identity)
        repeats = self._repeats.get(identity, 0)
        if not self._selected or (repeats >= self.most_repeats and self.only is None):
            schedules = []
        else:
            self._repeats[identity] = repeats + 1
        self.runs += 1
        if not schedules:
            value, comparison = launch(), Comparison()
        else:
            value, comparison = self.executor.run(
                Launch(plan, name, parameters, schedules, self.seconds, launch), self._take_repetition
            )
        if self.only is not None:
            self._selected = False
        if comparison.compared:
            self.outcomes[self.launches] = Outcome(
                name, users_place()[0], *comparison, "races" in options.get("check")
            )
        return value

    def refuse(self, name: str, findings: Sequence[Finding]) -> None:
        """A launch that does not begin, because of its arguments.

        :param name: of the kernel
        """
        self._count(name)
        if self.only is None:
            texts = [
                f"{each.severity}: {each.kind}: {each.message}\n  at {each.place}\n" for each in findings
            ]
            self._add([(each._replace(kernel=name), text) for each, text in zip(findings, texts)], None)

    def _count(self, name):
        self.launches += 1
        self.kernels[name] = number = self.kernels.get(name, 0) + 1
        self._selected = self.selects(name, number)

    def _take_repetition(self, repetition: Repetition) -> bool:
        """Whether the launch has come to its end there, so that what it left in memory counts."""
        self.runs += 1
        if repetition.found is None:
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
        if only.launch != self.launches:
            return []
        if fingerprint(identity) != only.fingerprint:
            self.wrong_token = (
                f"launch {self.launches} of this program is another one, of {identity.split()[0]}"
            )
            return []
        return [only.schedule]

    def finish(self) -> None:
        """The program is over: results that depend on the order, where no race says why, become findings.

        Launches that were not checked for races have none to say why.
        """
        for launch, outcome in self.outcomes.items():
            if not outcome.differences or not outcome.races_checked or launch in self._explained:
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
                Found(finding, text, tuple(name for name, _ in outcome.differences), launch),
            )

    def take(self, findings: list[Finding], report: Any) -> None:
        """What a launch in the program itself has found."""
        texts = [report.text_of(index) for index in range(len(findings))] if report is not None else []
        self._add(list(zip(findings, texts)), self.own)

    def take_host(self, finding: Finding, text: str) -> None:
        """What the program itself has done outside of launches, and the report for people."""
        self.found.setdefault(key_of(finding), Found(finding, text, (), 0))

    def _add(self, findings: list[tuple[Finding, str]], schedule: str | None) -> None:
        """:param schedule: None: the launch has not run"""
        if not self._selected:
            return
        for finding, text in (_named(*each) for each in findings):
            if finding.kind in ORDER_IS_EXPLAINED:
                self._explained.add(self.launches)
            known = self.found.get(key_of(finding))
            if known is None:
                known = Found(finding, text, (schedule,) if schedule else (), self.launches)
            elif schedule and known.launch == self.launches and schedule not in known.schedules:
                # What the program itself did is the report.
                shown = (finding, text) if schedule == self.own else (known.finding, known.text)
                known = Found(*shown, (*known.schedules, schedule), known.launch)
            self.found[key_of(finding)] = known
