"""CUDASIM_DEBUGGER=cudasim: a script that is started as always asks at its first stop, on a pseudo-terminal and in pipes."""

import os
import re
import subprocess
import sys
import termios
import time

import pytest
from processes import clean_environment
from terminal import Terminal

PROMPT = re.compile(r"\(cudasim\) (?:\w+ block\S+ thread\S+ > )?")
VARIABLES = {"ENABLE_CUDASIM": "1", "CUDASIM_DEBUGGER": "cudasim"}

SCRIPT = """\
import sys
import numpy as np
from numba import cuda


@cuda.jit(device=True)
def inverse(v):
    if v == 3: breakpoint()
    return 1 / (v + 1)


@cuda.jit
def invert(x, y):
    i = cuda.grid(1)
    if i == 5 or i == 6:
        breakpoint()
    y[i] = inverse(x[i])


name = input("name? ")
y = np.zeros(32)
invert[1, 32](np.arange(32.0), y)
print("bye", name, round(y.sum(), 3))
sys.exit(7)
"""

FAILING = """\
import sys
import numpy as np
from numba import cuda


@cuda.jit
def spread(x, out):
    i = cuda.grid(1)
    out[i * i] = x[i]


try:
    spread[1, 32](np.arange(32.0), np.zeros(20))
except IndexError as error:
    print("raised", error)
sys.exit(3)
"""

SPINNING = """\
import numpy as np
from numba import cuda


@cuda.jit
def spin(x):
    while x[0] == 0:
        x[1] += 1


spin[1, 1](np.ones(2, dtype=np.int64))  # Ctrl-C while a kernel is compiled is the script's.
print("begin", flush=True)
spin[1, 1](np.zeros(2, dtype=np.int64))
print("end", flush=True)
"""


@pytest.fixture
def start(tmp_path):
    """Starts a script on a terminal."""
    terminals = []

    def begin(source, shell=False, **variables):
        (tmp_path / "k.py").write_text(source)
        command = [sys.executable, "k.py"]
        if shell:
            # The terminal stays until the debugger, a process of its own, has said its last words.
            command = ["sh", "-c", f"{sys.executable} k.py; echo status $?; sleep 2"]
        terminals.append(Terminal(command, tmp_path, **{**VARIABLES, **variables}))
        return terminals[-1]

    yield begin
    for terminal in terminals:
        terminal.close()


def piped(folder, source, text, **variables):
    """(exit status, what is shown) of a script whose standard input is a pipe."""
    (folder / "k.py").write_text(source)
    done = subprocess.run([sys.executable, "k.py"], cwd=folder, input=text, text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=clean_environment(PYTHONPATH=os.environ.get("PYTHONPATH"), **{**VARIABLES, **variables}))  # fmt: skip
    return done.returncode, done.stdout


def test_breakpoint_opens_the_prompt_in_each_thread_that_comes_by(start):
    terminal = start(SCRIPT)
    terminal.expect("name? ")
    assert terminal.ask("Ann", PROMPT).startswith(
        "Breakpoint 1, inverse block(0,0,0) thread(3,0,0) at k.py:8\n8\t    if v == 3: breakpoint()\n"
    )
    assert "v = 3.0" in terminal.ask("info args", PROMPT)
    assert "thread(5,0,0) at k.py:16" in terminal.ask("c", PROMPT)
    assert terminal.ask("p i", PROMPT).startswith("$1 = 5\n")
    assert "thread(6,0,0) at k.py:16" in terminal.ask("c", PROMPT)
    status, rest = terminal.finish("c")
    assert status == 7 and rest == "Continuing.\nbye Ann 4.058\n"


def test_the_calls_are_listed_and_can_be_silenced(start):
    terminal = start(SCRIPT)
    terminal.expect("name? ")
    terminal.ask("Ann", PROMPT)
    listed = terminal.ask("info breakpoints", PROMPT)
    assert re.search(r"1 +breakpoint\(\) +keep +y +k.py:8", listed)
    assert re.search(r"2 +breakpoint\(\) +keep +y +k.py:16", listed)
    assert "which stops always" in terminal.ask("condition 2 i > 5", PROMPT)
    terminal.ask("disable 2", PROMPT)
    status, rest = terminal.finish("c")
    assert status == 7 and "Breakpoint" not in rest


def test_an_error_stops_before_the_damage_and_is_raised_then(start):
    terminal = start(FAILING)
    shown = terminal.expect(PROMPT)
    assert "stopped: IndexError: index 25 is out of bounds for axis 0 with size 20" in shown
    assert terminal.ask("p i, out.size", PROMPT).startswith("$1 = (5, 20)\n")
    status, rest = terminal.finish("c")
    assert status == 3 and "raised tid=[5, 0, 0] ctaid=[0, 0, 0]: index 25" in rest


@pytest.mark.parametrize("how", ["quit", "kill", "\x04"])
def test_quitting_ends_the_program(start, how):
    terminal = start(FAILING)
    terminal.expect(PROMPT)
    if how == "\x04":
        terminal.send(how)
    else:
        terminal.type(how)
        terminal.expect("(y or n)")
        terminal.type("y")
    status, rest = terminal.finish()
    assert status == -15 and "raised" not in rest


def test_detached_the_program_runs_on_alone(start):
    terminal = start(SCRIPT)
    terminal.expect("name? ")
    terminal.ask("Ann", PROMPT)
    status, rest = terminal.finish("detach")
    assert status == 7 and rest == "bye Ann 4.058\n"


def test_ctrl_c_in_a_launch_pauses_it(start):
    terminal = start(SPINNING)
    terminal.expect("begin")
    time.sleep(0.5)
    for _ in range(2):
        terminal.send("\x03")
        assert "Interrupted." in terminal.expect(PROMPT)
        terminal.type("c")
        terminal.expect("Continuing.")
        time.sleep(0.2)
    terminal.send("\x03")
    terminal.expect(PROMPT)
    terminal.ask("set var x[0] = 1", PROMPT)
    status, rest = terminal.finish("c")
    assert status == 0 and "end" in rest


def test_the_terminal_is_restored_when_the_program_is_killed_at_the_prompt(start):
    source = "import os, tty; tty.setcbreak(0)\nprint('pid', os.getpid(), flush=True)\n"
    terminal = start(source + FAILING, shell=True)
    process = int(re.search(r"pid (\d+)", terminal.expect(re.compile(r"pid \d+\n")))[1])
    terminal.expect(PROMPT)
    os.kill(process, 9)
    said = terminal.expect("[The program has ended]")
    assert termios.tcgetattr(terminal._master)[3] & termios.ICANON
    # The shell and the debugger notice the end independently of each other: either may speak first.
    assert "status 137" in said + terminal.finish()[1]


def test_the_programs_own_settings_of_the_terminal_come_back(start):
    source = FAILING.replace("import sys\n", "import sys, termios, tty\ntty.setcbreak(0)\n")
    source = source.replace(
        "sys.exit(3)", "print('canonical', bool(termios.tcgetattr(0)[3] & termios.ICANON))"
    )
    terminal = start(source)
    terminal.expect(PROMPT)
    terminal.ask("p i", PROMPT)
    assert "canonical False" in terminal.finish("c")[1]


def test_pdb_in_a_kernel_stays_pdb(start):
    terminal = start(SCRIPT.replace("breakpoint()\n    y", "import pdb; pdb.set_trace()\n    y"))
    terminal.expect("name? ")
    assert "(Pdb invert tid=[" in terminal.ask("Ann", re.compile(r"\(Pdb[^\n]*\) "))


def test_pythonbreakpoint_0_switches_the_calls_off(start):
    terminal = start(SCRIPT, PYTHONBREAKPOINT="0")
    terminal.expect("name? ")
    status, rest = terminal.finish("Ann")
    assert status == 7 and rest == "bye Ann 4.058\n"


def test_commands_come_from_a_pipe_and_the_program_goes_on_when_they_end(tmp_path):
    source = SCRIPT.replace('input("name? ")', '"Ann"')
    status, shown = piped(tmp_path, source, "p v\nc\np i\n")
    assert status == 7
    assert "$1 = 3.0" in shown and "$2 = 5" in shown
    assert "[No more commands; the program goes on without the debugger]\nbye Ann 4.058\n" in shown


def test_without_any_input_the_stop_is_told_and_the_error_raised(tmp_path):
    (tmp_path / "k.py").write_text(FAILING)
    done = subprocess.run([sys.executable, "k.py"], cwd=tmp_path, stdin=subprocess.DEVNULL, text=True, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env=clean_environment(PYTHONPATH=os.environ.get("PYTHONPATH"), **VARIABLES))  # fmt: skip
    assert done.returncode == 3
    assert "stopped: IndexError" in done.stdout and "raised tid=[5, 0, 0]" in done.stdout


def test_without_a_stop_nothing_is_shown(tmp_path):
    source = SCRIPT.replace('input("name? ")', '"Ann"').replace("breakpoint()", "pass")
    assert piped(tmp_path, source, "") == (7, "bye Ann 4.058\n")


def test_what_the_program_reads_of_a_pipe_is_no_command(tmp_path):
    source = SCRIPT.replace('input("name? ")', "sys.stdin.buffer.raw.read(4).decode().strip()")
    status, shown = piped(tmp_path, source, "Ann\np v\n")
    assert status == 7 and "$1 = 3.0" in shown and "bye Ann" in shown


def test_programs_that_it_starts_have_no_debugger(tmp_path):
    source = "import subprocess, sys, os\nprint(os.environ.get('CUDASIM_DEBUGGER'))\nfrom numba import cuda\n"
    source += "sys.stdout.flush()\nprint('after', os.environ.get('CUDASIM_DEBUGGER'))\n"
    assert piped(tmp_path, source, "") == (0, "cudasim\nafter None\n")


def test_kernels_that_are_kept_on_disk_know_whether_there_is_a_debugger(tmp_path):
    source = SCRIPT.replace('input("name? ")', '"Ann"').replace("@cuda.jit\n", "@cuda.jit(cache=True)\n")
    for _ in range(2):
        assert "Breakpoint 1, inverse" in piped(tmp_path, source, "detach\n")[1]
        assert "(Pdb invert tid=[3, 0, 0]" in piped(tmp_path, source, "c\nc\nc\n", CUDASIM_DEBUGGER="")[1]
