"""Conditions and long expressions in `cudasim debug`, as a user types them: what means nothing is refused at once, and Ctrl-C ends what does not end."""

import os
import re
import subprocess
import sys
import time

import pytest
from processes import clean_environment
from terminal import Terminal

PROMPT = re.compile(r"\(cudasim\) (?:\w+ block\S+ thread\S+ > )?")

SCRIPT = """\
import numpy as np
from numba import cuda

LIMIT = 5


def never():
    while True:
        pass


@cuda.jit(device=True)
def half(v):
    return v // 2


@cuda.jit(device=True)
def forever(v):
    while v < 10:
        v = v * v % 3
    return v


@cuda.jit
def spread(x):
    i = cuda.grid(1)
    total = i * 2
    x[i] = half(total)
    if i < 0:
        x[i] = forever(i)


x = np.zeros(8, dtype=np.int32)
spread[1, 8](x)
print("sum", x.sum(), flush=True)
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "spread.py").write_text(SCRIPT)
    return tmp_path


def shows(folder, *commands):
    arguments = [word for one in commands for word in ("-ex", one)]
    done = subprocess.run([sys.executable, "-m", "cudasim", "debug", "-batch", *arguments, "spread.py"], cwd=folder, text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                          env=clean_environment(PYTHONPATH=os.environ.get("PYTHONPATH")))  # fmt: skip
    return done.stdout


def test_a_break_with_an_unknown_name_is_not_set(folder):
    shown = shows(
        folder, "break 28 thread 0", "run", "break 29 if nosuch > 3", "info breakpoints", "continue"
    )
    assert (
        "No breakpoint is set: the condition 'nosuch > 3' cannot be used: there is no variable 'nosuch' here"
        in shown
    )
    assert "spread.py:29" not in shown.partition("info locals")[2] and "sum 28" in shown


def test_a_changed_condition_that_means_nothing_leaves_the_old_one(folder):
    shown = shows(
        folder,
        "break 28 if i == 2",
        "run",
        "condition 1 i > nosuch",
        "condition 1 i +",
        "info breakpoints",
        "condition 1 half(total) == LIMIT",
        "continue",
        "print half(total) * LIMIT",
    )
    assert "Breakpoint 1 stays as it was: the condition 'i > nosuch' cannot be used" in shown
    assert "Breakpoint 1 stays as it was: the condition 'i +' cannot be used: SyntaxError" in shown
    assert "i == 2" in shown.partition("SyntaxError")[2]
    assert "spread block(0,0,0) thread(5,0,0) at spread.py:28" in shown and "$1 = 25" in shown


def test_watches_and_searches_know_the_names_around(folder):
    shown = shows(
        folder,
        "break 28 thread 0",
        "run",
        "thread find half(total) + LIMIT == 5",
        "watch x[3] if nosuch",
        "watch x[3] if half(i) == 1 and i < LIMIT",
        "continue",
    )
    assert "block(0,0,0): thread 0 (1 of 8)" in shown
    assert (
        "Cannot watch x[3]: the condition 'nosuch' cannot be used: there is no variable 'nosuch' here"
        in shown
    )
    assert "Hardware watchpoint" in shown and "thread(3,0,0)" in shown.partition("Hardware watchpoint")[2]


@pytest.fixture
def stopped(folder):
    session = Terminal([sys.executable, "-m", "cudasim", "debug", "-q", "spread.py"], folder, 60,
                       PYTHONPATH=os.environ.get("PYTHONPATH"))  # fmt: skip
    session.expect(PROMPT)
    session.ask("break 28 thread 3", PROMPT)
    session.ask("run", PROMPT)
    yield session
    session.close()


@pytest.mark.parametrize(
    "command", ["print never()", "print forever(i)", "print -block never()", "thread find forever(i) > 1"]
)
def test_ctrl_c_ends_an_expression(stopped, command):
    stopped.type(command)
    time.sleep(1)
    stopped.send("\x03")
    assert "Quit" in stopped.expect(PROMPT)
    assert "$1 = 4" in stopped.ask("print i + 1", PROMPT)
    assert "sum 28" in stopped.ask("continue", PROMPT)


def test_what_cannot_be_interrupted_is_told(stopped):
    stopped.type("print __import__('time').sleep(4)")
    time.sleep(0.5)
    stopped.send("\x03")
    shown = stopped.expect(PROMPT)
    assert "Quit; the request has not ended" in shown and "cannot be interrupted" in shown
    assert "$1 = 4" in stopped.ask("print i + 1", PROMPT)
