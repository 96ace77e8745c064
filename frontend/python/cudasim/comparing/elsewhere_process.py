"""The process of elsewhere.py: `python -m cudasim.comparing.elsewhere_process FOLDER`. The folder has the question, and gets the answer."""

from __future__ import annotations

import json
import os
import sys

from cudasim import _native, errors
from cudasim.comparing.arrays import Tolerance
from cudasim.comparing.elsewhere import ANSWER, QUESTION, RECORD, RESULT
from cudasim.comparing.runner import runner
from cudasim.comparing.session import compare_outcome
from cudasim.recording.replay import Reader


def main() -> None:
    """The program."""
    folder = sys.argv[1]
    with open(os.path.join(folder, QUESTION)) as file:
        question = json.load(file)
    tolerances = {name: Tolerance(*values) for name, values in question["tolerances"].items()}
    record = Reader(os.path.join(folder, RECORD)).read(0)
    outcome = _native.GpuResultFile(os.path.join(folder, RESULT)).outcome(0, record)
    gpu = runner() if question["has_gpu"] else None
    try:
        if gpu is not None:
            gpu.start()
    except errors.NoGpuError:
        gpu = None
    launch = compare_outcome(record, outcome, tolerances, gpu, elsewhere=True)
    with open(os.path.join(folder, ANSWER), "w") as file:
        json.dump(launch, file)


if __name__ == "__main__":
    main()
