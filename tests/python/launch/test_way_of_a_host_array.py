"""The way of a host array from `kernel[...](array)` to the engine enters each room of the package once (docs/architecture.md)."""

import subprocess
import sys

SCRIPT = """
import sys
from cudasim import _native

class Plain:  # in the place of calls without frames, which no profiler sees
    def __init__(self, function, *rest):
        self.function = function
    def __call__(self, *arguments, **keywords):
        return self.function(*arguments, **keywords)

_native.FramelessCall = Plain
_native.FramelessMethod = lambda function, *rest: function

import numpy as np
from numba import cuda

@cuda.jit
def increment(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] += 1

array = np.arange(10.0)

def room(frame):
    while frame.f_code.co_filename != __file__:
        before, package, path = frame.f_code.co_filename.rpartition("/cudasim/")
        if package:
            return path.partition("/")[0]
        frame = frame.f_back  # the standard library
    return "script"

def is_given(frame):
    values = list(frame.f_locals.values())
    values += [item for value in values if isinstance(value, (tuple, list)) for item in value]
    return any(value is array for value in values)

def profile(frame, event, argument):
    if event == "call" and is_given(frame):
        here, caller = room(frame), room(frame.f_back)
        if here != caller and here != "script":
            entered.append(here)

for _ in range(2):
    entered = []
    configured = increment[1, 32]
    sys.setprofile(profile)
    configured(array)
    sys.setprofile(None)
    print(*entered)
assert array[3] == 5
"""


def test_each_room_is_entered_once(tmp_path):
    script = tmp_path / "walk.py"
    script.write_text(SCRIPT)
    done = subprocess.run(
        [sys.executable, script],
        env={"ENABLE_CUDASIM": "1", "CUDASIM_CACHE": "0"},
        capture_output=True,
        text=True,
    )
    assert done.stderr == ""
    first, again = done.stdout.splitlines()
    assert first == again == "launch type_system"
