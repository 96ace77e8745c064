"""Debuggers that a kernel calls stop in the thread that calls them, on a terminal as a person uses it."""

import sys

import pytest
from python_mode_required import skip_module_without_python_mode
from terminal import PROMPT, Terminal

skip_module_without_python_mode()

SCRIPT = """\
import numpy as np
from numba import cuda

@cuda.jit
def invert(x, y):
    i = cuda.grid(1)
    s = cuda.shared.array(32, np.float32)
    if i == 10:
        breakpoint()
    s[i] = x[i]
    cuda.syncthreads()
    y[i] = 1 / (s[i] + 1)

x = np.arange(32, dtype=np.float32)
y = np.zeros(32, np.float32)
try:
    invert[1, 32](x, y)
finally:
    print("sum", y.sum())
"""
PLACE = "tid=[10, 0, 0] ctaid=[0, 0, 0]"
COMPLETE = "sum 4.0584955"


@pytest.fixture
def terminal(tmp_path):
    """A function that runs a script and gives its terminal."""
    opened = []

    def start(script, *options, **variables):
        (tmp_path / "script.py").write_text(script)
        command = [sys.executable, *options]
        if "-i" not in options:
            command.append("script.py")
        opened.append(Terminal(command, tmp_path, ENABLE_CUDASIM="1", **variables))
        return opened[-1]

    yield start
    for known in opened:
        known.close()


@pytest.mark.parametrize(
    "call",
    [
        "breakpoint()",
        "import pdb; pdb.set_trace()",
        "__import__('pdb').set_trace()",
        "pdb.set_trace()",
        "set_trace()",
    ],
)
def test_pdb_stops_in_the_thread_that_calls_it_and_the_others_go_on(terminal, call):
    imports = "import pdb\nfrom pdb import set_trace\n"
    shown = terminal(imports + SCRIPT.replace("breakpoint()", call))
    assert "(Pdb invert tid=[10, 0, 0] ctaid=[0, 0, 0]) " in shown.expect()
    assert "(10, 10)" in shown.ask("p i, cuda.threadIdx.x")
    status, rest = shown.finish("c")
    assert (status, rest.strip()) == (0, COMPLETE)


def to_the_next_line(shown, text, *prompt):
    """What pdb shows at the line after set_trace(), where it stops; from CPython 3.13 on it stops in the call's line."""
    return shown.ask("n", *prompt) if sys.version_info >= (3, 13) else text


def test_pdb_commands_in_a_kernel(terminal):
    shown = terminal(SCRIPT)
    to_the_next_line(shown, shown.expect())
    assert "invert()\n-> s[i] = x[i]" in shown.ask("w")
    assert "*** Oldest frame" in shown.ask("u")
    assert " 10  ->\t    s[i] = x[i]" in shown.ask("l")
    assert "display i * 2: 20" in shown.ask("display i * 2")
    assert "-> cuda.syncthreads()" in shown.ask("n")
    assert "10.0" in shown.ask("p s[i]")
    after_barrier = shown.ask("n")
    assert "-> y[i] = 1 / (s[i] + 1)" in after_barrier and PLACE in after_barrier
    assert "31.0" in shown.ask("p s[31]")  # the others' work, before the barrier
    assert "--Return--" in shown.ask("s")
    status, rest = shown.finish("c")
    assert (status, rest.strip()) == (0, COMPLETE)


def test_a_breakpoint_that_all_threads_reach_stops_in_each(terminal):
    shown = terminal(SCRIPT.replace("if i == 10:", "if i < 3:"))
    for thread in range(3):
        assert f"tid=[{thread}, 0, 0]" in shown.expect()
        shown.type("c")
    status, rest = shown.finish()
    assert (status, rest.strip()) == (0, COMPLETE)


def test_a_step_outlasts_the_breakpoints_of_other_threads(terminal):
    shown = terminal(SCRIPT.replace("if i == 10:", "if i < 2:"))
    assert "tid=[0, 0, 0]" in to_the_next_line(shown, shown.expect())
    shown.ask("n")
    shown.type("n")  # over the barrier, to which thread 1 has yet to come
    assert "tid=[1, 0, 0]" in shown.expect()
    after_barrier = shown.ask("c")
    assert "-> y[i] = 1 / (s[i] + 1)" in after_barrier and "tid=[0, 0, 0]" in after_barrier
    status, rest = shown.finish("c")
    assert (status, rest.strip()) == (0, COMPLETE)


@pytest.mark.skipif(sys.version_info < (3, 14), reason="breakpoints share a debugger from CPython 3.14 on")
def test_breakpoints_of_the_host_share_no_debugger_with_those_of_kernels(terminal):
    shown = terminal(
        SCRIPT.replace("try:", "breakpoint()\ntry:").replace("finally:", "finally:\n    breakpoint()")
    )
    shown.expect("(Pdb) ")
    shown.ask("alias answer p 40 + 2")
    assert PLACE in shown.ask("c")
    assert "NameError" in shown.ask("answer")
    assert shown.ask("c").endswith("-> breakpoint()\n(Pdb) ")
    assert "42" in shown.ask("answer")
    status, rest = shown.finish("c")
    assert (status, rest.strip()) == (0, COMPLETE)


UFUNC = """\
import numpy as np
from numba import vectorize

@vectorize(["float64(float64, float64)"], target="cuda")
def total(a, b):
    if a == 3:
        breakpoint()
    return a + b

print("sum", total(np.arange(5.0), 1.0).sum())
"""


def test_pdb_in_a_ufunc_shows_the_kernel_around_it(terminal):
    shown = terminal(UFUNC)
    assert "-> return a + b" in to_the_next_line(shown, shown.expect())
    assert "(3.0, 1.0)" in shown.ask("p a, b")
    assert "-> out[i] = __core__(a0[i], a1[i])" in shown.ask("w")
    status, rest = shown.finish("c")
    assert (status, rest.strip()) == (0, "sum 15.0")


def test_quitting_ends_the_launch_and_leaves_results_alone(terminal):
    shown = terminal(SCRIPT)
    shown.expect()
    if sys.version_info >= (3, 14):  # pdb asks, and raises SystemExit
        shown.ask("q", "Quit anyway? [y/n] ")
    status, rest = shown.finish("y" if sys.version_info >= (3, 14) else "q")
    assert status == 1 and "sum 0.0" in rest and "cudasim" not in rest
    assert rest.rstrip().endswith("bdb.BdbQuit") == (sys.version_info < (3, 14))


def test_an_interpreter_goes_on_after_quitting(terminal):
    shown = terminal(SCRIPT, "-i")
    shown.expect(">>> ")
    shown.ask("import script", PROMPT)
    assert "BdbQuit" in shown.ask("q", ">>> ")
    shown.ask("from script import *", PROMPT)
    assert COMPLETE in shown.ask("c", ">>> ")
    shown.ask("invert[1, 32](x, y)", PROMPT)
    shown.ask("q", ">>> ")
    shown.ask("invert[1, 32](x, y)", PROMPT)
    shown.ask("c", ">>> ")
    assert "4.0584955" in shown.ask("y.sum()", ">>> ")


def test_post_mortem_shows_the_kernels_locals(terminal):
    script = SCRIPT.replace(
        "if i == 10:\n        breakpoint()", "try: half = i // 2\n    finally: pass"
    ).replace("x[i]", "x[i + 4]")
    shown = terminal(script, "-W", "ignore", "-i")
    shown.expect(">>> ")
    assert "IndexError: tid=[28, 0, 0] ctaid=[0, 0, 0]: index 32" in shown.ask("import script", ">>> ")
    assert "-> s[i] = x[i + 4]" in shown.ask("import pdb; pdb.pm()")
    assert "(28, 14)" in shown.ask("p i, half")
    assert "invert[1, 32](x, y)" in shown.ask("u")
    shown.ask("q", ">>> ")


def test_pythonbreakpoint_is_honoured(terminal):
    assert COMPLETE in terminal(SCRIPT, PYTHONBREAKPOINT="0").finish()[1]
    script = SCRIPT.replace("breakpoint()", "breakpoint('thread', i)")
    assert f"thread 10\n{COMPLETE}" in terminal(script, PYTHONBREAKPOINT="builtins.print").finish()[1]


def test_ipdb_names_the_thread(terminal):
    pytest.importorskip("ipdb", reason="ipdb is not installed (scripts/set_up.sh test installs it)")
    shown = terminal(SCRIPT.replace("breakpoint()", "import ipdb; ipdb.set_trace()"))
    shown.expect(f"ipdb invert {PLACE}> ")
    assert "10\n" in shown.ask("p i", "> ")
    to_the_next_line(shown, "", f"{PLACE}> ")
    assert "---> 11 " in shown.ask("n", f"{PLACE}> ")
    assert "---> 12 " in shown.ask("n", f"{PLACE}> ")
    status, rest = shown.finish("c")
    assert status == 0 and COMPLETE in rest


@pytest.mark.parametrize("key, result", [("c", COMPLETE), ("q", "sum 0.0")])
def test_pudb_stops_in_the_thread(terminal, tmp_path, key, result):
    pytest.importorskip("pudb", reason="pudb is not installed (scripts/set_up.sh test installs it)")
    (tmp_path / "pudb").mkdir()
    (tmp_path / "pudb" / "pudb.cfg").write_text(
        "[pudb]\nseen_welcome = e999\nprompt_on_quit = False\nwrap_variables = True\n"
    )
    shown = terminal(SCRIPT.replace("breakpoint()", "from pudb import set_trace; set_trace()"),
                     TERM="xterm", XDG_CONFIG_HOME=str(tmp_path))  # fmt: skip
    assert "i: 10" in shown.expect("Breakpoints:")
    shown.expect("Command line")
    shown.send("n")
    shown.expect("> " + " " * 4 + "cuda.syncthreads()")
    shown.send(key)
    assert result in shown.finish()[1]


TEST_FILE = (
    SCRIPT.partition("x = np.arange")[0]
    + """
def launched(kernel):
    y = np.zeros(32, np.float32)
    kernel[1, 32](np.arange(32, dtype=np.float32), y)
    return y.sum()

def test_right():
    assert launched(invert) > 4

@cuda.jit
def wrong(x, y):
    i = cuda.grid(1)
    twice = 2 * i
    y[twice] = x[i]

def test_wrong():
    launched(wrong)
"""
)


def test_pytests_own_debugger(terminal):
    shown = terminal(TEST_FILE, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "right")
    assert "PDB set_trace (IO-capturing turned off)" in shown.expect()
    assert PLACE in shown.ask("n")
    status, rest = shown.finish("c")
    assert status == 0 and "1 passed" in rest


def test_pytest_quits(terminal):
    shown = terminal(TEST_FILE, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-k", "right")
    shown.expect()
    status, rest = shown.finish("q")
    assert status == 2 and "Exit: Quitting debugger" in rest and "tid" not in rest


def test_pytests_post_mortem_shows_the_kernels_locals(terminal):
    shown = terminal(TEST_FILE, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--pdb", "-k", "wrong",
                     CUDASIM_MODE="python")  # fmt: skip
    assert "-> y[twice] = x[i]" in shown.expect()
    assert "(16, 32)" in shown.ask("p i, twice")
    status, rest = shown.finish("q")
    assert status == 2 and "1 failed" in rest


def test_control_c_in_a_kernel_reaches_the_program(terminal):
    shown = terminal(
        SCRIPT.replace("breakpoint()", "print('spins')\n        while {}.get(1) is None: pass").replace(
            "finally:\n", "except KeyboardInterrupt as stop:\n    print('stopped', *stop.__notes__)\n    invert[1, 8](x, y)\n"
        ),
        "-W", "ignore",
    )  # fmt: skip
    shown.expect("spins")
    shown.send("\x03")
    status, rest = shown.finish()
    assert status == 0 and f"stopped   at {PLACE}" in rest and "sum 2.71785" in rest


def test_an_interpreter_ends_while_a_daemon_thread_runs_a_kernel(terminal):
    script = SCRIPT.partition("x = np.arange")[0].replace("breakpoint()", "while {}.get(1) is None: pass")
    shown = terminal(
        script
        + "import threading, time\n"
        + "for _ in range(2):\n"
        + "    job = threading.Thread(target=lambda: invert[1, 32](np.ones(32), np.ones(32)), daemon=True)\n"
        + "    job.start()\n"
        + "job.join(0.5)\nprint('ends')\n",
        "-W", "ignore",
    )  # fmt: skip
    status, rest = shown.finish()
    assert (status, rest.strip()) == (0, "ends")
