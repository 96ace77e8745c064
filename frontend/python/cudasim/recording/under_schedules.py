"""A recorded launch under schedules, each in a forked child.

For `cudasim check --dask` and `cudasim replay --schedules`, on this machine and on workers of a cluster.
"""

from __future__ import annotations

import ctypes
import pickle
from typing import TYPE_CHECKING

import numpy as np

from cudasim import _native, cache, errors
from cudasim.device.device import only_device
from cudasim.launch.kernel import launch_progress
from cudasim.memory import unwritten
from cudasim.recording import replay
from cudasim.recording.shares import NOT_RUN, Checked, CheckedLaunch, Done, ReplayedLaunch
from cudasim.reports.child_processes import in_child
from cudasim.reports.launch_results import bytes_at, first_difference
from cudasim.reports.repetitions import findings_of

if TYPE_CHECKING:
    from typing import Any

    from cudasim.recording.shares import Replayed
    from cudasim.reports.schedules import Schedule

#: How long a replay without a limit of its own may take under a schedule: as a launch of `cudasim check`.
REPLAY_SECONDS = 60.0


class RecordedLaunch:
    """Runs a record under one schedule after another.

    :param record: a _native.LaunchRecord, read with its memory
    :param wanted: what is to be found out
    """

    def __init__(self, record: Any, wanted: Checked | Replayed) -> None:
        self._record = record
        self._wanted: Any = wanted
        # Read once, because images of unknown origin are read in a process of their own.
        self._image: Any = record.image if isinstance(wanted, Checked) else None

    def under(self, schedule: Schedule) -> Done:
        """Runs it in a forked child, which prints nothing and may crash or hang."""
        if isinstance(self._wanted, Checked):
            seconds, work = self._wanted.seconds, self._checked
        else:
            recorded = self._record.options["time_limit"]
            seconds = float(self._wanted.changed.get("time_limit", recorded) or REPLAY_SECONDS)
            work = self._replayed
        answer = in_child(lambda: pickle.dumps(work(schedule, seconds)), seconds)
        if answer.data is None:
            return Done(schedule.name, None, answer.how)
        result = pickle.loads(answer.data)  # noqa: S301 - by our child
        if isinstance(result, str):
            return Done(schedule.name, None, f"{NOT_RUN}: {result}")
        return Done(schedule.name, result)

    def _checked(self, schedule, seconds):
        """A CheckedLaunch, or a text: why it cannot be run here."""
        try:
            return self._repeated(schedule, seconds)
        except (errors.RecordError, errors.CudaAPIError) as error:
            return str(error)

    def _repeated(self, schedule, seconds):
        """The launch as a child of the program would repeat it (reports/repetitions.py)."""
        record, wanted = self._record, self._wanted
        cache.apply()
        native = _native.Device(_native.DeviceProfile(record.device), 0, record.memory_base)
        progress = launch_progress(record.display_name, "native")
        in_force = {**record.options, "time_limit": seconds, **schedule.options}
        options = _native.LaunchOptions(**in_force)
        restored = _native.RestoredLaunch(record, options, progress, native)
        if wanted.unwritten:
            ranges = [(restored.relocated(address), size) for address, size in wanted.unwritten]
            with only_device(native) as device:
                unwritten.forget_writes(device.with_engine(), ranges)
        # A plan names elements in its findings ("x[3]"), as in the program, which a RestoredLaunch does not.
        plan = self._plan(native, options, progress)
        variables = self._variables_of(plan, restored)
        report = plan.launch(restored.parameters) if variables is not None else restored.launch()
        differing = None
        if wanted.compares:
            differing = first_difference(_contents(record, restored, variables))
        return CheckedLaunch(findings_of(report), differing)

    def _variables_of(self, plan, restored):
        """Where the variables of the plan's image are, which get the recorded contents; 0 where it has none.

        None when the plan does not do for the launch, because it may know the variables by the old address.
        """
        record = self._record
        index = next((k for k, memory in enumerate(record.memory) if memory["globals"]), None)
        if index is None:
            return 0
        plan.compile()  # its image gets its variables now
        known = {restored.relocated(memory["address"]) for memory in record.memory}
        made = [(address, size) for address, size, _ in plan.live_memory() if address not in known]
        begin, size = record.memory[index]["address"], record.memory[index]["bytes"]
        contents = record.content(index)
        if [size for _, size in made] != [size] or contents is None:
            return None
        every = (record.content(k) for k in range(len(record.memory)))
        for words in (restored.parameters, *(each for each in every if each)):
            addresses = np.frombuffer(words[: len(words) // 8 * 8], np.uint64)
            if np.any((addresses >= begin) & (addresses < begin + size)):
                return None
        ctypes.memmove(made[0][0], contents, size)
        return made[0][0]

    def _plan(self, native, options, progress):
        record = self._record
        return _native.LaunchPlan(
            native.load(self._image),
            self._image,
            record.kernel,
            record.display_name,
            record.configuration,
            options,
            progress,
            record.arguments,
        )

    def _replayed(self, schedule, seconds):
        """The launch as `cudasim replay` runs it again."""
        changed = {"workers": 1, **self._wanted.changed, "time_limit": seconds, **schedule.options}
        try:
            return summary_of(replay.replay(self._record, changed, self._wanted.trust))
        except (replay.NotTrusted, errors.RecordError, errors.CudaAPIError, ValueError) as error:
            return ReplayedLaunch([], [], True, str(error))


def summary_of(result: replay.Replayed) -> ReplayedLaunch:
    """What reports need of a launch that was run again."""
    found = getattr(result.exception, "findings", None) or ()
    findings = [f"{each.severity}: {each.kind}: {each.headline()}" for each in found]
    return ReplayedLaunch(result.differences, findings, result.same_addresses)


def _contents(record, restored, variables):
    """(address, label, bytes here, bytes in the program) of each allocation that was recorded.

    :param variables: where those of the image are; 0 or None: where they were restored
    """
    for index, memory in enumerate(record.memory):
        after = record.content(index, after=True) if memory["recorded_after"] else None
        if after:
            address = restored.relocated(memory["address"])
            here = bytes_at(variables if memory["globals"] and variables else address, memory["bytes"])
            yield memory["address"], memory["label"], here, np.frombuffer(after, np.uint8)
