"""Shares of a recorded launch: the process that a worker of a cluster starts, and its children."""

import os
import subprocess
import sys
import time

import cudasim
import pytest
from cudasim import errors
from cudasim.recording import replay, shares, under_schedules
from cudasim.reports import schedules
from cudasim.reports.child_processes import in_child

SCRIPT = """
import numpy as np
from numba import cuda

@cuda.jit
def for_ever_in_another_order(x):
    if cuda.blockIdx.x == 0:
        x[0] = 1
    elif x[0] == 0:
        rounds = 0
        while x[2] == 0:
            rounds += 1
            x[1] = rounds

for_ever_in_another_order[2, 1](np.zeros(3, np.int32))
"""
WANTED = shares.Checked(60.0, True, [])


@pytest.fixture
def record(run):
    """The file of a launch, which run.cudasim in the folder of `run` is."""
    run.write(SCRIPT)
    assert run("-m", "cudasim", "record", "--after", "-o", "run.cudasim", "script.py").returncode == 0
    return (run.folder / "run.cudasim").read_bytes()


@pytest.fixture
def launch(run, record):
    """The recorded launch."""
    return replay.Reader(str(run.folder / "run.cudasim")).read(0)


def test_a_share_refuses_the_record_of_another_version(record):
    with pytest.raises(shares.ShareError, match="this worker has cudasim .*, and the program has 0.0.1"):
        shares.run("0.0.1", record, ["reverse"], WANTED)


def test_a_share_that_cannot_be_run_says_why():
    with pytest.raises(
        shares.ShareError, match="ended with status 1: .*RecordError: .*not a file of records"
    ):
        shares.run(cudasim.__version__, b"not a record", ["reverse"], WANTED)


def test_schedules_that_crash_or_hang_end_alone(launch, monkeypatch):
    def deadly(recorded, schedule, seconds):
        if schedule.name == "reverse":
            os.kill(os.getpid(), 9)
        time.sleep(600)

    monkeypatch.setattr(under_schedules.RecordedLaunch, "_checked", deadly)
    wanted = shares.Checked(-9.0, True, [])  # and ten seconds of grace
    repeated = under_schedules.RecordedLaunch(launch, wanted)
    crashed = repeated.under(schedules.named("reverse"))
    assert crashed == shares.Done("reverse", None, "was ended by SIGKILL")
    began = time.monotonic()
    hung = repeated.under(schedules.named("lockstep"))
    assert hung == shares.Done("lockstep", None, "did not end")
    assert 0.5 < time.monotonic() - began < 10


def test_a_repetition_has_a_limit_where_the_program_has_none(launch):
    assert not launch.options["time_limit"]
    for wanted in (shares.Checked(0.5, False, []), shares.Replayed({"time_limit": 0.5}, False)):
        done = under_schedules.RecordedLaunch(launch, wanted).under(schedules.named("reverse"))
        assert "time-limit" in str(done.result)


def test_a_launch_that_cannot_be_restored_says_why(launch, monkeypatch):
    def refuses(recorded, schedule, seconds):
        raise errors.RecordError("the recorded places are taken")

    monkeypatch.setattr(under_schedules.RecordedLaunch, "_repeated", refuses)
    done = under_schedules.RecordedLaunch(launch, WANTED).under(schedules.named("reverse"))
    assert done == shares.Done("reverse", None, "was not run: the recorded places are taken")


def test_a_child_that_is_waited_for_in_vain_is_not_left_behind(monkeypatch):
    def interrupted(descriptor, seconds):
        raise KeyboardInterrupt

    monkeypatch.setattr("cudasim.reports.child_processes._read_all", interrupted)
    children = []
    fork = os.fork

    def forked():
        child = fork()
        children.append(child)
        return child

    monkeypatch.setattr(os, "fork", forked)
    with pytest.raises(KeyboardInterrupt):
        in_child(lambda: time.sleep(600), 600)
    assert len(children) == 1 and not os.path.exists(f"/proc/{children[0]}")


def test_a_share_ends_with_its_worker(run, record):
    """Its launch would go on for a minute."""
    worker = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import cudasim; from cudasim.recording import shares\n"
            "record = open('run.cudasim', 'rb').read()\n"
            "shares.run(cudasim.__version__, record, ['reverse'], shares.Checked(60.0, True, []))",
        ],
        cwd=run.folder,
    )
    share = awaited(lambda: children_of(worker.pid))
    repetition = awaited(lambda: children_of(share))
    worker.kill()
    worker.wait()
    assert awaited(lambda: not is_alive(share) and not is_alive(repetition))


def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            return int((file.read().split() or [0])[0])
    except FileNotFoundError:
        return 0


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def awaited(found, seconds=30):
    """What the function finds, within so many seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if value := found():
            return value
        time.sleep(0.05)
    raise AssertionError("not within the time")
