"""Explains a difference in a process of its own (elsewhere_process.py).

A launch whose memory holds addresses can only be repeated where they are free, and in the process that launched it they are not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from typing import Any

from cudasim import _native, options
from cudasim.comparing.arrays import Tolerance
from cudasim.recording.recorder import file_of
from cudasim.recording.shares import environment

#: Seconds. Experiments end after 30 (gpu_backend/launches/explanation.h); there is more to do.
_TIME_LIMIT = 120.0

#: Names of files in the folder that both processes know.
RECORD, RESULT, QUESTION, ANSWER = "launch.cudasim", "gpu.cudasim", "question.json", "answer.json"


def compared_elsewhere(
    record: Any, outcome: Any, tolerances: Mapping[str, Tolerance], has_gpu: bool
) -> dict[str, Any] | None:
    """What session.compare_outcome() says of the launch in a new process; None where that did not come to its end.

    :param has_gpu: whether the new process may repeat the launch on this machine's GPU
    """
    with tempfile.TemporaryDirectory(prefix="cudasim-compare-") as folder:
        try:
            with open(os.path.join(folder, RECORD), "wb") as file:
                file.write(file_of(record))
            writer = _native.GpuResultWriter(os.path.join(folder, RESULT))
            writer.add_outcome(record, outcome)
            writer.close()
            with open(os.path.join(folder, QUESTION), "w") as question:
                json.dump({"tolerances": tolerances, "has_gpu": has_gpu}, question)
            subprocess.run(
                [sys.executable, "-m", "cudasim.comparing.elsewhere_process", folder],
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=_TIME_LIMIT, check=True,
                env={**environment(), "CUDASIM_GPU": "off", "CUDASIM_LIBCUDA": options.get("libcuda"), "CUDASIM_CORE": ""},
            )  # fmt: skip
            with open(os.path.join(folder, ANSWER)) as answer:
                return json.load(answer)
        except (OSError, ValueError, subprocess.SubprocessError):  # RecordError is a ValueError
            return None
