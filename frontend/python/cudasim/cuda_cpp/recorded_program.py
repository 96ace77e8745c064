"""Launches of a program in CUDA C++ for `cudasim record` and `cudasim compare`: the program records all of them in a file
(frontend/cuda_cpp/runtime/launch_runner.h), and they are offered to a recorder when it has ended.
"""

from __future__ import annotations

import os
import tempfile
from typing import TYPE_CHECKING

from cudasim.cuda_cpp import commands
from cudasim.recording.replay import Reader

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cudasim.recording.recorder import Recorder


def run(script: Sequence[str], recorder: Recorder, keep_after: bool) -> int:
    """Runs the program and offers its launches. Returns its exit status, of a signal as a shell tells it.

    :param script: as commands.run() takes it
    :param keep_after: whether records hold memory after the launch
    :raises commands.NoProgramError: where there is nothing to run
    """
    program, arguments = commands.program_of(script)
    with tempfile.TemporaryDirectory(prefix="cudasim-record-") as folder:
        path = os.path.join(folder, "launches.cudasim")
        variables = {
            commands.RECORD: path,
            **({commands.RECORD_AFTER: "1"} if keep_after else {}),
        }
        status = commands.status_of(script, program, arguments, variables)
        if os.path.exists(path):
            reader = Reader(path)
            for at in range(len(reader)):
                recorder.offer(reader.read(at, True))
    return status if status >= 0 else 128 - status
