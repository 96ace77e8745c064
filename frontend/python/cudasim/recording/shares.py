"""A share: some of the schedules of one recorded launch, run in a process of its own. Workers of a cluster call it.

    run(version, record, ["reverse", "pct-1"], Checked(60.0, True, []))  →  [Repetition..., Repetition...]

A worker has threads, and memory where a launch may want its own. So run() starts share_process.py, which reads
the record once and forks a child for each schedule: what hangs or crashes there is one schedule, and the worker
lives on. The process ends with the worker: it notices that the pipe to it is closed. Nothing here loads the engine.
"""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
import tempfile
from typing import TYPE_CHECKING, Any, NamedTuple

import cudasim

if TYPE_CHECKING:
    from cudasim.reports.launch_results import DifferingBytes


#: How Done.how begins where nobody has run the schedule.
NOT_RUN = "was not run"


class Checked(NamedTuple):
    """What `cudasim check` asks of a share."""

    seconds: float  #: that each repetition may take
    compares: bool  #: whether memory is compared with the record's memory after the launch
    unwritten: list[tuple[int, int]]  #: (address, bytes) of recorded memory that nobody had written


class Replayed(NamedTuple):
    """What `cudasim replay --schedules` asks of a share."""

    changed: dict[str, Any]  #: options other than the recorded ones; a schedule's own come on top
    trust: bool  #: whether Python code of the record may run


class CheckedLaunch(NamedTuple):
    """What `cudasim check` gets of a launch."""

    found: list[tuple[Any, str]]  #: (native finding, its report) of each
    differing: DifferingBytes | None  #: the first byte that the record has otherwise after the launch


class ReplayedLaunch(NamedTuple):
    """What `cudasim replay` gets of a launch: how it differs from the record."""

    differences: list[dict[str, Any]]  #: empty: everything is the same to the bit
    findings: list[str]  #: those of the launch itself, one line each
    same_addresses: bool  #: whether all memory lay where it was recorded
    refused: str = ""  #: why the launch could not be run; nothing else is said then


class Done(NamedTuple):
    """What one schedule of a share came to."""

    schedule: str
    result: Any  #: a CheckedLaunch or ReplayedLaunch; None: it did not come to its end
    how: str = ""  #: why it did not: "did not end", "was ended by SIGSEGV"


class ShareError(Exception):
    """A share could not be run on this machine; the message says why."""


def run(version: str, record: bytes, schedules: list[str], wanted: Checked | Replayed) -> list[Done]:
    """Runs a launch under the schedules, one after another.

    :param version: the cudasim that asks, which has to be the one here
    :param record: a file of one launch
    :param schedules: their names
    :raises ShareError: for another version, and where no process can be started or it ended early
    """
    if version != cudasim.__version__:
        raise ShareError(f"this worker has cudasim {cudasim.__version__}, and the program has {version}")
    with tempfile.TemporaryDirectory(prefix="cudasim-share-") as folder:
        with open(os.path.join(folder, "launch.cudasim"), "wb") as file:
            file.write(record)
        with open(os.path.join(folder, "errors"), "w+b") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "cudasim.recording.share_process", file.name],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                cwd=folder, env=environment(), start_new_session=True,
            )  # fmt: skip
            with process:
                assert process.stdin is not None and process.stdout is not None
                try:
                    process.stdin.write(pickle.dumps((schedules, wanted)))
                    process.stdin.flush()
                    data = process.stdout.read()
                except BrokenPipeError:
                    data = b""
            if not data or process.returncode != 0:
                errors.seek(0)
                said = errors.read().decode(errors="replace").strip().splitlines()
                raise ShareError(
                    f"the process of a share ended with status {process.returncode}: "
                    f"{said[-1] if said else 'it said nothing'}"
                )
    return pickle.loads(data)  # noqa: S301 - by our own process


def environment() -> dict[str, str]:
    """That of this process, for one that runs a module of this package: with the folder that has it, which this process may know
    from elsewhere."""
    folder = os.path.dirname(os.path.dirname(os.path.abspath(cudasim.__file__)))
    known = os.environ.get("PYTHONPATH")
    return {**os.environ, "PYTHONPATH": os.pathsep.join([folder, known] if known else [folder])}
