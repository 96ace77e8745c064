"""The process of a share (shares.py): `python -m cudasim.recording.share_process FILE`.

What is asked comes from the standard input, the answer goes to the standard output, both pickled. The input
stays open as long as anybody waits for the answer: when it ends, so does this process, with its children.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import threading

from cudasim.recording import replay
from cudasim.recording.under_schedules import RecordedLaunch
from cudasim.reports import schedules


def main() -> None:
    """The program. Ends by os._exit(): nothing is left to clean up, and no launch has run in this process."""
    names, wanted = pickle.load(sys.stdin.buffer)  # noqa: S301 - from shares.run()
    threading.Thread(target=_end_with_the_asker, daemon=True).start()
    launch = RecordedLaunch(replay.Reader(sys.argv[1]).read(0), wanted)
    answer = pickle.dumps([launch.under(schedules.named(name)) for name in names])
    sys.stdout.buffer.write(answer)
    sys.stdout.buffer.flush()
    os._exit(0)


def _end_with_the_asker():
    while os.read(0, 1 << 10):
        pass
    os.killpg(0, signal.SIGKILL)  # shares.run() has made a group for this process


if __name__ == "__main__":
    main()
