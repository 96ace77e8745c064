"""The rows of `make bench` beside other debuggers: what they compare, and that they are skipped with the reason where one is missing."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from bench import checked, debug_sessions, debuggers
from bench.__main__ import row_of
from bench.bars import BARS

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAMES = ["last_thread", "debug_step_gdb", "debug_step"]


@pytest.fixture
def measured(tmp_path):
    """run(path): the benchmark's JSON and output, with this PATH."""

    def run(path):
        file = tmp_path / "bench.json"
        command = [sys.executable, "-m", "bench", "--numba", sys.executable, "--json", str(file), *NAMES]
        done = subprocess.run(
            command, cwd=ROOT, env=os.environ | {"PATH": path}, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return json.loads(file.read_text()), done.stdout

    return run


def test_rows_beside_debuggers_that_are_not_installed_are_skipped_with_the_reason(measured, tmp_path):
    found, output = measured(str(tmp_path))
    assert [row["name"] for row in found["rows"]] == ["debug_step"]
    reasons = {row["name"]: row["reason"] for row in found["skipped"]}
    assert reasons == {
        "last_thread": "oclgrind is not installed",
        "debug_step_gdb": "gdb and cc not installed",
    }
    assert "bench: last_thread skipped: oclgrind is not installed" in output


@pytest.mark.skipif(shutil.which("gdb") is None, reason="no gdb")
def test_a_step_is_measured_beside_gdb():
    ours, gdbs = debug_sessions.step(), debug_sessions.step_in_gdb()
    assert 1e-6 < ours < 1
    assert 1e-6 < gdbs < 1


def test_a_way_back_is_measured():
    with debug_sessions._at_the_end(64, 32, 10**6) as (session, forward):
        assert session.timed_stop("reverseContinue", "first", threadId=1) > 0
        assert forward > 0


def test_every_row_has_its_measurement():
    own = {bar.measurement for bar in BARS if bar.peer in debuggers.PEERS}
    assert own <= {*debuggers.OWN, *checked.OWN}
    for bar in BARS:
        if bar.peer in debuggers.PEERS:
            peers = {**debuggers.PEERS[bar.peer], **checked.PEERS.get(bar.peer, {})}
            assert bar.peer_measurement in peers, bar.name


def test_a_row_may_be_slower_than_its_peer():
    bar = next(each for each in BARS if each.name == "debug_step_gdb")

    def row(ours):
        return row_of(bar, {"cudasim": {"debug_step": ours}, "gdb": {"debug_step": 1e-3}})

    assert row(1.9e-3)["met"] and row(1.9e-3)["kind"] == "at most"
    assert not row(2.1e-3)["met"] and row(2.1e-3)["within_twice"]
    last = next(each for each in BARS if each.name == "last_thread")
    far = row_of(last, {"cudasim": {"last_thread": 1e-3}, "oclgrind": {"last_thread": 0.2}})
    assert far["met"] and far["kind"] == "at least" and far["ratio"] == 200
