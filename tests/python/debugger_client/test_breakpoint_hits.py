"""`cudasim debug` with real kernels: how often breakpoints are hit, and the script's text in the next run."""

import sys

import pytest
from test_debugged_kernels import SCRIPT, shows


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "spread.py").write_text(SCRIPT)
    return tmp_path


def test_the_script_is_read_again_for_the_next_run(folder):
    (folder / "edit.py").write_text(
        "text = open('spread.py').read()\nopen('spread.py', 'w').write(text.replace('    i =', '    # new\\n    i ='))\n"
    )
    commands = (
        "break spread",
        "run",
        "list 14,14",
        f"shell {sys.executable} edit.py",
        "list 14,14",
        "run",
        "list 14,14",
    )
    shown = shows(folder, *commands)
    listed = [line for line in shown if line.startswith("14\t")]
    # At the stop, twice in the list, and in the list of the next run, which stops a line further down.
    assert listed == ["14\t    i = cuda.grid(1)"] * 3 + ["14\t    # new"]
    assert "15\t    i = cuda.grid(1)" in shown


def test_ignored_crossings_are_counted(folder):
    """As gdb's users find out how often a line is passed before an error."""
    shown = shows(folder, "break 14", "ignore 1 10000", "run", "info breakpoints", "run", "info breakpoints")
    table = [line.strip() for line in shown if "hit" in line]
    assert table == ["breakpoint already hit 64 times", "ignore next 9936 hits"] + [
        "breakpoint already hit 64 times",
        "ignore next 9872 hits",
    ]


def test_a_for_line_is_hit_once_in_each_round(tmp_path):
    (tmp_path / "rounds.py").write_text(ROUNDS)
    shown = shows(
        tmp_path,
        "break 8 thread 1",
        "ignore 1 3",
        "run",
        "print k",
        "info breakpoints",
        script=("rounds.py",),
    )
    assert "$1 = 2" in shown and "        breakpoint already hit 4 times" in shown


ROUNDS = """\
import numpy as np
from numba import cuda

@cuda.jit
def kernel(out):
    i = cuda.grid(1)
    total = 0
    for k in range(5):
        total += k
    out[i] = total

kernel[1, 2](np.zeros(2, np.int64))
"""
