"""The full-screen view as a user has it: `cudasim debug` on a pseudo-terminal, with a real program and with a fake one."""

import os
import pathlib
import signal
import subprocess
import sys
import time

import pytest
from fake_program import SOURCE
from processes import clean_environment

pytest.importorskip("textual")
pytest.importorskip("pyte")
from painted_terminal import F5, F9, F10, PaintedTerminal  # noqa: E402 - needs pyte

FAKE = pathlib.Path(__file__).with_name("fake_program.py")
START = """
import sys
import time
from cudasim.debugger_client import debugger
debugger.DEBUGGEE = ({!r},)
from cudasim.command_line import main
sys.exit(main(["debug", *sys.argv[1:]]))
"""
KEPT = {"PYTHONPATH": os.environ.get("PYTHONPATH")}
KERNEL = """\
import numpy as np
from numba import cuda


@cuda.jit
def scale(x, y):
    i = cuda.grid(1)
    s = cuda.shared.array(32, np.float32)
    s[cuda.threadIdx.x] = x[i]
    cuda.syncthreads()
    other = s[31 - cuda.threadIdx.x]
    y[i] = other * 2


x = np.arange(64, dtype=np.float32)
y = np.zeros_like(x)
print("before")
scale[2, 32](x, y)
print("sum", y.sum())
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "k.py").write_text(SOURCE)
    (tmp_path / "scale.py").write_text(KERNEL)
    return tmp_path


@pytest.fixture
def painted(folder):
    found = []

    def start(command, **how):
        found.append(
            PaintedTerminal(command, folder, XDG_STATE_HOME=str(folder / "state"), **{**KEPT, **how})
        )
        return found[-1]

    yield start
    for one in found:
        one.close()


def fake(*arguments):
    """The debugger of a fake program."""
    return [sys.executable, "-c", START.format(str(FAKE)), *arguments]


def real(*arguments):
    """The debugger of a real one."""
    return [sys.executable, "-m", "cudasim", "debug", *arguments]


def test_a_session_with_a_real_kernel(painted):
    screen = painted(real("--tui", "scale.py"))
    screen.see(r"^\(cudasim\)", "no program runs")
    screen.keys("break 11 thread 10 block 1\r")
    screen.see("Breakpoint 1 at scale.py:11")
    screen.keys("run\r")
    screen.see(r"^.*B>11 +other = s\[31 - cuda.threadIdx.x\]", r"i = 42", r"\* b\(1\) t\(10\) ×1 stopped", "^before",
               r"scale.py: scale block\(1,0,0\) thread\(10,0,0\)")  # fmt: skip
    screen.keys("next\r")
    screen.see(r"B 11 ", r" >12 +y\[i\] = other \* 2", "other = 53.0")
    screen.keys("print other\r")
    screen.see(r"^\$1 = 53.0")
    screen.keys("quit\r")
    screen.see("Quit anyway")
    screen.keys("y\r")
    assert screen.end() == 0
    assert screen.is_restored


def test_keys_move_and_enter_repeats(painted):
    screen = painted(real("--tui", "scale.py"), lines=40, columns=120)
    screen.see(r"^\(cudasim\)")
    screen.keys("break 9 thread 3 block 0\r")
    screen.see("Breakpoint 1 at")
    screen.keys(F5)
    screen.see(r"B> 9")
    screen.keys(F10)
    screen.see(r" >10")
    screen.keys("next\r")
    screen.see(r" >11")
    screen.keys("\r")
    screen.see(r" >12")
    screen.keys(F9)
    screen.see(r"B>12")
    screen.keys(F9)
    screen.see(r"  ?>12", "Deleted breakpoint")
    screen.keys("tui disable\r")
    time.sleep(1)  # what is typed while the terminal changes hands is lost
    screen.keys("quit\r")
    screen.see("Quit anyway")
    screen.keys("y\r")
    assert screen.end() == 0 and screen.is_restored


def test_the_window_may_change_its_size(painted):
    screen = painted(fake("--tui", "k.py"))
    screen.see(r"^\(cudasim\)")
    screen.keys("break 12 thread 5 block 0\rrun\r")
    screen.see(r"B>12")
    screen.resize(50, 150)
    screen.see(r"B>12", r"^\(cudasim\) invert block\(0,0,0\) thread\(5,0,0\) >")
    screen.until(lambda: screen.lines[49].startswith(" F1 help"))
    screen.resize(12, 40)
    screen.see(r"B>12", r"^\(cudasim\)")
    screen.until(lambda: screen.lines[11].startswith(" F1 help"))


def test_the_script_reads_what_is_typed_while_it_runs(painted):
    screen = painted(fake("--tui", "k.py", "ask"))
    screen.see(r"^\(cudasim\)")
    screen.keys("run\r")
    screen.see(r"^program>", "the script begins")
    screen.keys("a line\r")
    screen.see(r'^got "a line\\n"', "exited normally", r"^\(cudasim\)")
    screen.keys("quit\r")
    assert screen.end() == 0 and screen.is_restored


def test_what_the_script_did_not_read_is_a_command(painted):
    screen = painted(fake("--tui", "k.py", "spin"))
    screen.see(r"^\(cudasim\)")
    screen.keys("run\r")
    screen.see(r"^program>", "spinning")
    screen.keys("echo typed-ahead\\n\r")
    screen.see("echo typed-ahead")
    screen.keys("\x03")
    screen.see("Interrupted", "^typed-ahead")


def test_ctrl_c_pauses_and_gives_up_a_line(painted):
    screen = painted(fake("--tui", "k.py", "spin"))
    screen.see(r"^\(cudasim\)")
    screen.keys("frobnicate\x03")
    screen.see("^Quit")
    screen.keys("run\r")
    screen.see("spinning", r"^program>")
    screen.keys("\x03")
    screen.see("^Interrupted", r">10")
    screen.keys("kill\r")
    screen.see("Kill the program")
    screen.keys("\x03")
    screen.see_no(r"^Kill the program\? \(y or n\)$")
    screen.see(r"invert block\(0,0,0\)")


@pytest.mark.parametrize(
    "word, told",
    [
        ("die", "was ended by signal SIGSEGV"),
        ("exit=3", "exited with code 3"),
        ("vanish", "The connection to the program is lost"),
        ("nonsense", "The connection to the program is lost"),
    ],
)
def test_programs_that_end_badly_leave_the_view(painted, word, told):
    screen = painted(fake("--tui", "-ex", "run", "k.py", word))
    screen.see(told, r"^\(cudasim\)")
    screen.keys("show listsize\r")
    screen.see("shows is 10")
    screen.keys("\x04")
    assert screen.end() == 0 and screen.is_restored


def test_a_program_that_is_killed_at_the_prompt(painted):
    screen = painted(fake("--tui", "-ex", "break 12", "-ex", "run", "k.py"))
    screen.see(r"B>12", r"> *$")
    children = pathlib.Path(f"/proc/{screen.number}/task/{screen.number}/children").read_text().split()
    os.kill(int(children[0]), signal.SIGKILL)
    screen.see("was ended by signal SIGKILL", "no program runs")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_signals_leave_the_terminal_as_it_was(painted, number):
    screen = painted(fake("--tui", "-ex", "break 12", "-ex", "run", "k.py"))
    screen.see(r"B>12")
    os.kill(screen.number, number)
    assert screen.end() == 128 + number and screen.is_restored


def test_a_failure_of_the_view_leaves_the_plain_prompt(painted):
    code = START.format(str(FAKE)).replace(
        "from cudasim.command_line",
        "from cudasim.debugger_client.tui import panes\npanes.Source.action_breakpoint = lambda pane: 1 / 0\n"
        "from cudasim.command_line",
    )
    screen = painted([sys.executable, "-c", code, "--tui", "k.py"])
    screen.see(r"^\(cudasim\)")
    screen.keys(F9)
    screen.see(r"has ended \(ZeroDivisionError", r"^\(cudasim\)")
    screen.keys("show listsize\r")
    screen.see("shows is 10")
    assert screen.is_restored or b"\x1b[?1049l" in screen.raw


def test_switching_to_the_plain_prompt_and_back(painted):
    screen = painted(fake("--tui", "k.py", "ask", "raw"))
    screen.see(r"^\(cudasim\)")
    screen.keys("tui disable\r")
    screen.until(lambda: b"\x1b[?1049l" in screen.raw)
    screen.wipe()
    screen.keys("show listsize\r")
    screen.see("shows is 10", r"^\(cudasim\)")
    screen.keys("layout src\r")
    screen.see("F10 next")
    # A program that was started from the view keeps its terminal; at the plain prompt both are connected.
    screen.keys("start\r")
    screen.see(r"^program>")
    screen.keys("first\r")
    screen.see(r'^got "first', r">10")
    screen.keys("tui\r")
    screen.until(lambda: screen.raw.rfind(b"\x1b[?1049l") > screen.raw.rfind(b"\x1b[?1049h"))
    screen.wipe()
    screen.keys("continue\r")
    screen.see("the script ends", "exited normally", r"^\(cudasim\)")
    screen.keys("quit\r")
    assert screen.end() == 0 and screen.is_restored


def test_a_program_of_the_plain_prompt_has_the_terminal_while_it_runs(painted):
    screen = painted(fake("-ex", "break 12 thread 5 block 0", "-ex", "run", "k.py"))
    screen.see(r"> $|>$")
    screen.keys("tui\r")
    screen.see(r"B>12", "F10 next")
    at = len(screen.raw)
    screen.keys("continue\r")
    screen.see("exited normally", r"^\(cudasim\)")
    shown = screen.raw[at:]
    left, ends, back = (shown.find(one) for one in (b"\x1b[?1049l", b"the script ends", b"\x1b[?1049h"))
    assert 0 < left < ends < back
    screen.keys("quit\r")
    assert screen.end() == 0 and screen.is_restored


def test_a_program_that_prints_a_lot(painted):
    screen = painted(fake("--tui", "-ex", "run", "k.py", "flood"))
    screen.see("^line 4999 ", "exited normally", r"^\(cudasim\)")
    screen.keys("quit\r")
    assert screen.end() == 0 and screen.is_restored


def test_commands_of_the_shell_have_the_terminal(painted):
    screen = painted(fake("--tui", "k.py"))
    screen.see(r"^\(cudasim\)")
    screen.keys("shell echo of-the-shell\r")
    screen.see("Press Enter to return")
    assert b"of-the-shell" in screen.raw[screen.raw.rfind(b"\x1b[?1049l") :]
    screen.keys("\r")
    screen.see("F10 next")
    screen.until(lambda: screen.raw.rfind(b"\x1b[?1049h") > screen.raw.rfind(b"\x1b[?1049l"))


def test_history_and_completion_are_those_of_the_plain_prompt(painted, folder):
    pytest.importorskip("prompt_toolkit")
    screen = painted(fake("--tui", "k.py"))
    screen.see(r"^\(cudasim\)")
    screen.keys("info disp\t\r")
    screen.see("There are no expressions on display.", r"^\(cudasim\) info display$")
    screen.keys("echo on")
    screen.see(r"^\(cudasim\) echo on$")
    screen.keys("\x1b[A")
    screen.see_no(r"^\(cudasim\) echo on$")
    screen.keys("\x1b[B")
    screen.see(r"^\(cudasim\) echo on$")
    screen.keys("\x15echo once\\n\r")
    screen.see("^once")
    screen.keys("quit\r")
    assert screen.end() == 0
    assert "+echo once\\n" in (folder / "state" / "cudasim" / "debug_history").read_text()


# Where it cannot be shown


def test_without_textual_the_plain_prompt_goes_on(painted):
    code = "import sys\nsys.modules['textual'] = None\n" + START.format(str(FAKE))
    screen = painted([sys.executable, "-c", code, "--tui", "k.py"])
    screen.see(r"needs textual: pip install .cudasim\[debugger\]", r"^\(cudasim\)")
    screen.keys("tui enable\r")
    screen.keys("show listsize\r")
    screen.see("shows is 10")
    assert b"\x1b[?1049h" not in screen.raw


def test_on_a_dumb_terminal_the_plain_prompt_goes_on(painted):
    screen = painted(fake("--tui", "k.py"), TERM="dumb")
    screen.see("needs a terminal that can be drawn on", r"^\(cudasim\)")
    screen.keys("show listsize\r")
    screen.see("shows is 10")


@pytest.mark.parametrize("arguments", [["-batch"], []], ids=["batch", "pipe"])
def test_without_a_terminal_commands_go_on(folder, arguments):
    done = subprocess.run(
        fake("--tui", *arguments, "-ex", "show listsize", "k.py"), cwd=folder, input="tui\nshow args\n", capture_output=True, text=True,
        timeout=60, env=clean_environment(**KEPT, TERM="xterm"),
    )  # fmt: skip
    assert "needs a terminal" in done.stderr and 'pip install "cudasim[debugger]"' in done.stderr
    assert "shows is 10" in done.stdout and done.returncode == 0
    assert done.stderr.count("needs a terminal") == (1 if arguments else 2)
    assert "\x1b" not in done.stdout + done.stderr
