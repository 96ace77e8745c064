"""How a launch is repeated under other schedules: an Executor runs it in the program, and again for each schedule.

InChildren forks this process. `recording/cluster_schedules.py` has another executor, which hands the launch to the
workers of a Dask cluster. Both give CheckSession what each repetition has found, and how its results differ.
"""

from __future__ import annotations

import pickle
import time
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from cudasim import errors
from cudasim.reports.child_processes import in_child
from cudasim.reports.launch_results import Results, describe

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from cudasim.reports.launch_results import Difference
    from cudasim.reports.schedules import Schedule


#: How long to wait, in seconds, where another thread used the device at the moment of a fork.
_WAITS = (0.001, 0.01, 0.05, 0.2, 0.5)


class Launch(NamedTuple):
    """A launch of a program that is to be repeated."""

    plan: Any  #: a _native.LaunchPlan or HostPlan
    name: str  #: of the kernel
    parameters: bytes | None  #: of compiled kernels
    schedules: Sequence[Schedule]
    seconds: float  #: that each repetition may take
    run: Callable[[], Any]  #: runs it; returns a report, or a tuple that begins with one


class Repetition(NamedTuple):
    """What a repetition came to."""

    schedule: str
    found: (
        list[tuple[Any, str]] | None
    )  #: (native finding, its report) of each; None: it did not come to its end
    how: str = ""  #: why it did not: "did not end", "was ended by SIGSEGV"


class Comparison(NamedTuple):
    """Under which schedules results were compared with the program's own, and where they differ."""

    compared: tuple[str, ...] = ()
    differences: tuple[tuple[str, Difference], ...] = ()  #: (schedule, the first element)


class Executor(Protocol):
    """Runs a launch in the program, and its repetitions somewhere."""

    def run(self, launch: Launch, take: Callable[[Repetition], bool]) -> tuple[Any, Comparison]:
        """Returns what the launch itself returned, and the comparison of results.

        :param take: is given each repetition before run() returns, in the order of the schedules, those last that
            did not come to their end; says whether the launch has computed there what it computes, so that its
            results count
        """


class InChildren:
    """Repeats the launch in forked children, from the memory that it begins with; then the program runs it."""

    def run(self, launch: Launch, take: Callable[[Repetition], bool]) -> tuple[Any, Comparison]:
        """See Executor."""
        kept: list[tuple[str, Results]] = []
        lost = []
        try:
            for schedule in launch.schedules:
                results = Results(launch.plan, len(launch.schedules))
                kept.append((schedule.name, results))
                repetition = _repeated(launch, schedule, results)
                if repetition.found is None:
                    lost.append(repetition)
                if repetition.found is None or not take(repetition) or not results.is_comparable:
                    kept.pop()[1].close()
            # Where it raises an exception the repetitions have, too, and there is nothing to say of them.
            value = launch.run()
            for repetition in lost:
                take(repetition)
            differences = []
            for name, results in kept:
                differing = results.difference()
                if differing is not None:
                    differences.append((name, describe(launch.plan, launch.parameters, differing)))
        finally:
            for _, results in kept:
                results.close()
        return value, Comparison(tuple(name for name, _ in kept), tuple(differences))


def findings_of(report: Any) -> list[tuple[Any, str]]:
    """(native finding, its report) of each. :param report: of a launch, or None"""
    if report is None:
        return []
    return [(native, report.text_of(index)) for index, native in enumerate(report.findings)]


def _repeated(launch, schedule, results):
    def work():
        launch.plan.change_options(time_limit=float(launch.seconds), **schedule.options)
        value = launch.run()
        found = findings_of(value[0] if isinstance(value, tuple) else value)
        results.fill()
        return pickle.dumps(found)

    answer = in_child(work, launch.seconds)
    for seconds in _WAITS:
        if errors.FORKED_IN_USE not in answer.how:
            break
        time.sleep(seconds)  # the other thread goes on
        answer = in_child(work, launch.seconds)
    found = pickle.loads(answer.data) if answer.data is not None else None  # noqa: S301 - by our own child
    return Repetition(schedule.name, found, answer.how)
