"""Repeats the launches of a program under schedules on a cluster: the Executor of `cudasim check --dask`.

The launch runs in the program first, and is recorded with the memory before and after it. The workers of the
cluster run the record under the schedules, and send findings and the first byte that differs.
"""

from __future__ import annotations

import sys
import threading
from typing import TYPE_CHECKING, Any

import cudasim
from cudasim import _native
from cudasim.device.current import current_device
from cudasim.memory import unwritten
from cudasim.recording.recorder import file_of
from cudasim.recording.shares import NOT_RUN, Checked
from cudasim.reports.launch_results import describe, is_comparable
from cudasim.reports.repetitions import Comparison, InChildren, Repetition

if TYPE_CHECKING:
    from collections.abc import Callable

    from cudasim.recording.cluster import Cluster
    from cudasim.reports.repetitions import Launch


class OnCluster:
    """See reports.repetitions.Executor. What cannot be recorded is repeated in children of this process.

    :attr lost: how many repetitions were not run at all
    """

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._here = InChildren()
        self._told: set[str] = set()
        self._lock = threading.RLock()  #: the engine has one recorder
        self.lost = 0

    def run(self, launch: Launch, take: Callable[[Repetition], bool]) -> tuple[Any, Comparison]:
        """See Executor."""
        if not isinstance(launch.plan, _native.LaunchPlan):
            return self._run_here(launch, take, "Python mode is not recorded for other machines")
        if _native.recording():
            return self._run_here(launch, take, "launches are being recorded already")
        ranges = _unwritten_of(launch.plan)
        if ranges is None:
            return self._run_here(launch, take, "too many pieces of its memory were never written")
        compares = is_comparable(launch.plan)
        value, record = self._recorded(launch, compares)
        if record is None or (value is not None and value.host_exception is not None):
            return value, Comparison()
        wanted = Checked(float(launch.seconds), compares, ranges)
        names = [schedule.name for schedule in launch.schedules]
        compared, differences = [], []
        for done in self._cluster.run(file_of(record), names, wanted):
            found = done.result.found if done.result is not None else None
            self.lost += done.how.startswith(NOT_RUN)
            if not take(Repetition(done.schedule, found, done.how)) or not compares:
                continue
            compared.append(done.schedule)
            if done.result.differing is not None:
                difference = describe(launch.plan, launch.parameters, done.result.differing)
                differences.append((done.schedule, difference))
        return value, Comparison(tuple(compared), tuple(differences))

    def _run_here(self, launch, take, reason):
        if launch.name not in self._told:
            self._told.add(launch.name)
            print(
                f"cudasim check: launches of {launch.name} are repeated on this machine: {reason}",
                file=sys.stderr,
            )
        return self._here.run(launch, take)

    def _recorded(self, launch, keeps_after):
        """What the launch returned, and its record; None when there is none."""
        taken: list[tuple[Any, str]] = []
        thread = threading.get_ident()

        def wants(name):
            return 1 if threading.get_ident() == thread and not taken else 0

        with self._lock:
            _native.record_launches(
                wants,
                lambda record, number, why: taken.append((record, why)),
                cudasim.__version__,
                keeps_after,
            )
            try:
                value = launch.run()
            finally:
                _native.record_launches(None)
        record, why = taken[0] if taken else (None, "it did not begin")
        if record is None:
            self.lost += len(launch.schedules)
            print(f"cudasim check: a launch of {launch.name} is not repeated: {why}", file=sys.stderr)
        return value, record


def _unwritten_of(plan):
    memory = [(address, size) for address, size, _ in plan.live_memory()]
    if not memory:
        return []
    context = _native.owner_of(current_device().with_engine(), memory[0][0])
    return unwritten.unwritten_ranges(context, memory)
