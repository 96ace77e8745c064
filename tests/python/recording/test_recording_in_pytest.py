"""`pytest --cudasim-record`: a test that fails leaves a launch behind."""

import pathlib

TESTS = """
import numpy as np
import pytest
from numba import cuda

@cuda.jit
def add_one(x):
    x[cuda.grid(1)] += 1

def test_passes():
    add_one[1, 4](np.zeros(4))

def test_fails_by_its_result():
    x = np.zeros(4)
    add_one[1, 4](x)
    add_one[1, 4](x)
    assert x[0] == 1

@pytest.mark.parametrize("n", [5])
def test_fails_in_the_kernel(n):
    add_one[1, 4](np.zeros(4))
    try:
        add_one[1, n](np.zeros(4))
    finally:
        add_one[1, 4](np.zeros(4))

def test_launches_nothing():
    assert False
"""


def test_a_failed_test_leaves_its_launch_behind(run):
    run.write(TESTS, "test_adding.py")
    done = run(
        "-m",
        "pytest",
        "-q",
        "-p",
        "no:cacheprovider",
        "--cudasim",
        "--cudasim-record",
        "kept",
        "test_adding.py",
    )
    assert "3 failed, 1 passed" in done.stdout, done.stdout
    kept = sorted(path.name for path in (pathlib.Path(run.folder) / "kept").iterdir())
    assert kept == [
        "test_adding.py-test_fails_by_its_result.cudasim",
        "test_adding.py-test_fails_in_the_kernel-5.cudasim",
    ]
    assert (
        "the test's last launch, #2 add_one<<<(1, 1, 1), (4, 1, 1)>>>; run it again with: cudasim replay"
        in done.stdout
    )
    assert (
        "the launch that failed, #2 add_one<<<(1, 1, 1), (5, 1, 1)>>>; run it again with: cudasim replay"
        in done.stdout
    )
    again = run("-m", "cudasim.command_line", "replay", f"kept/{kept[1]}")
    assert again.returncode == 0 and "index 4 is out of bounds" in again.stderr


def test_recording_in_pytest_needs_the_switch(run):
    run.write(TESTS, "test_adding.py")
    done = run("-m", "pytest", "-q", "--cudasim-record", "kept", "test_adding.py")
    assert done.returncode == 4 and "--cudasim-record: the simulator is not on in this run" in done.stderr
