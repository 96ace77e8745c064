"""Launches of the processes that a script starts, under `cudasim compare`: each process compares its own, and writes what came of them to a
file in a folder of the command's.
"""

from __future__ import annotations

import atexit
import contextlib
import glob
import json
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from typing import Any

from cudasim import errors
from cudasim.comparing.arrays import Tolerance
from cudasim.comparing.session import GpuComparison
from cudasim.recording.recorder import Selection

#: Tells the processes that there is a comparison: JSON of Comparisons' arguments.
_VARIABLE = "_CUDASIM_COMPARE"


class Comparisons:
    """The comparison of this process, and those of the processes that are started while it is in force.

    :param tolerances: as `arrays.tolerances_of` makes them
    :param kernel: only launches of this kernel
    :param numbers: which, as Selection takes them; each process counts its own
    :raises ValueError: for another form of `numbers`
    """

    def __init__(
        self,
        tolerances: Mapping[str, Tolerance],
        kernel: str | None,
        numbers: str | None,
        also_faulting: bool,
    ) -> None:
        self._arguments = [tolerances, kernel, numbers, also_faulting]
        self.own = _comparison(*self._arguments)
        self._elsewhere: list[dict[str, Any]] = []

    @property
    def launches(self) -> list[dict[str, Any]]:
        """Those of this process, then those of the others, as report_schema.json describes them."""
        return [*self.own.launches, *self._elsewhere]

    @contextlib.contextmanager
    def in_force(self) -> Iterator[Comparisons]:
        """:raises errors.NoGpuError: where there is no GPU to be had"""
        with tempfile.TemporaryDirectory(prefix="cudasim-compare-") as folder:
            os.environ[_VARIABLE] = json.dumps([os.getpid(), folder, *self._arguments])
            self.own.take_elsewhere = _writes_to(folder)
            try:
                with self.own.in_force(of_the_program=True):
                    yield self
            finally:
                os.environ.pop(_VARIABLE, None)
                self._elsewhere = _read(folder)


def continue_comparing() -> None:
    """Compares the launches of a process that a compared script has started."""
    try:
        parent, folder, tolerances, *others = json.loads(os.environ[_VARIABLE])
    except (KeyError, ValueError):
        return
    if parent == os.getpid():
        return
    named = {name: Tolerance(*values) for name, values in tolerances.items()}
    comparison = _comparison(named, *others)
    comparison.take_elsewhere = _writes_to(folder)
    comparison.owner = parent
    atexit.register(_kept.close)
    try:
        _kept.enter_context(comparison.in_force(of_the_program=True))
    except errors.NoGpuError as error:
        print(f"cudasim compare: process {os.getpid()} is not compared: {error}", file=sys.stderr)


_kept = contextlib.ExitStack()


def _comparison(tolerances, kernel, numbers, also_faulting):
    return GpuComparison(
        tolerances,
        raises=False,
        selection=Selection(kernel, numbers),
        also_faulting=also_faulting,
        warns=False,
    )


def _writes_to(folder):
    def write(launch: dict[str, Any]) -> None:
        """At once: processes of multiprocessing end without notice."""
        with (
            contextlib.suppress(FileNotFoundError),
            open(os.path.join(folder, f"{os.getpid()}.jsonl"), "a") as file,
        ):
            file.write(json.dumps({**launch, "process": os.getpid()}) + "\n")

    return write


def _read(folder):
    """By the numbers of the processes, which are mostly in the order of their starts."""
    paths = glob.glob(os.path.join(glob.escape(folder), "*.jsonl"))
    launches = []
    for path in sorted(paths, key=lambda path: int(re.sub(r"\D", "", os.path.basename(path)))):
        with open(path) as file:
            for line in file:
                with contextlib.suppress(ValueError):  # the process was killed as it wrote
                    launches.append(json.loads(line))
    return launches
