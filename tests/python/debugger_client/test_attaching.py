"""CUDASIM_DEBUGGER=listen, and `cudasim debug -p PID`: programs that run, and debuggers that come and go."""

import contextlib
import os
import pathlib
import re
import select
import signal
import socket
import stat
import subprocess
import sys
import time

import pytest
from cudasim import debug_sockets
from cudasim.debugger_client import attached
from cudasim.debugger_client.dap import encoded, read_message
from cudasim.debugger_client.errors import CommandError
from processes import clean_environment
from terminal import Terminal

SPIN = """\
import sys
import numpy as np
from numba import cuda


@cuda.jit
def spin(x):
    while x[0] == 0:
        x[1] += 1


x = np.zeros(2, dtype=np.int64)
print("ready", flush=True)
spin[1, 1](x)
print("x", x[0], flush=True)
sys.exit(5)
"""

#: Launches once for each line that it reads.
BY_LINES = """\
import sys
import numpy as np
from numba import cuda


@cuda.jit
def add(x, n):
    i = cuda.grid(1)
    if n == 3: breakpoint()
    x[i] += n


x = np.zeros(32)
print("ready", flush=True)
for line in sys.stdin:
    add[1, 32](x, int(line))
    print("sum", x.sum(), flush=True)
"""


class Listening:
    """A program that listens for debuggers."""

    def __init__(self, folder, source, how="listen", **variables):
        (folder / "k.py").write_text(source)
        self.folder = folder
        self.variables = {"XDG_RUNTIME_DIR": str(folder), "PYTHONPATH": os.environ.get("PYTHONPATH")}
        self.process = subprocess.Popen([sys.executable, "k.py"], cwd=folder, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.STDOUT,
                                        env=clean_environment(ENABLE_CUDASIM="1", CUDASIM_DEBUGGER=how, **self.variables, **variables))  # fmt: skip
        self.pid = self.process.pid

    @property
    def socket(self):
        return self.folder / "cudasim" / f"debug_{self.pid}"

    def line(self):
        return self.process.stdout.readline()

    def launch(self, number):
        self.process.stdin.write(f"{number}\n")
        self.process.stdin.flush()

    def finish(self):
        """(exit status, what it has written since the last line that was read)"""
        rest, _ = self.process.communicate(timeout=60)
        return self.process.returncode, rest

    def command(self, *arguments):
        return [sys.executable, "-m", "cudasim", "debug", "-q", "-p", str(self.pid), *arguments]

    def batch(self, *commands):
        """(exit status, what is shown) of a debugger that runs commands and leaves."""
        arguments = [word for one in commands for word in ("-ex", one)]
        done = subprocess.run(self.command("-batch", *arguments), cwd=self.folder, text=True, timeout=60, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=clean_environment(**self.variables))  # fmt: skip
        return done.returncode, done.stdout

    def terminal(self):
        return Terminal(self.command(), self.folder, **self.variables)


@pytest.fixture
def listening(tmp_path):
    """Starts programs that listen."""
    programs = []

    def begin(source, **how):
        programs.append(Listening(tmp_path, source, **how))
        assert programs[-1].line() == "ready\n"
        return programs[-1]

    yield begin
    for program in programs:
        program.process.kill()
        program.process.wait(60)


def test_a_launch_that_runs_is_paused_and_goes_on(listening):
    program = listening(SPIN)
    time.sleep(0.5)
    status, shown = program.batch("backtrace", "set var x[0] = 7")
    assert status == 0
    assert re.search(r"Interrupted.\nspin block\(0,0,0\) thread\(0,0,0\) at k.py:[89]\n", shown)
    assert "#1  <module> () at k.py:14" in shown
    assert program.finish() == (5, "x 7\n")


def test_the_next_launch_stops_where_none_runs(listening):
    program = listening(BY_LINES)
    with contextlib.closing(program.terminal()) as terminal:
        assert "[No kernel runs." in terminal.expect("(cudasim) ")
        assert "Breakpoint 1 at k.py:10" in terminal.ask("break k.py:10 thread 4", "(cudasim) ")
        assert "No kernel is stopped." in terminal.ask("print n", "(cudasim) ")
        terminal.type("continue")
        terminal.expect("Continuing.")
        program.launch(2)
        assert "Interrupted." in terminal.expect(
            "> "
        )  # at its first statement, since attaching has asked for it
        assert "Breakpoint 1, add block(0,0,0) thread(4,0,0)" in terminal.ask("continue", "> ")
        assert "$1 = (2, 4)" in terminal.ask("print n, i", "> ")
        assert "[Detached from process" in terminal.ask("detach", "(cudasim) ")
        assert program.line() == "sum 64.0\n"
        assert "There is no script to start" in terminal.ask("run", "(cudasim) ")
        assert "[No kernel runs." in terminal.ask(f"attach {program.pid}", "(cudasim) ")
        terminal.type("quit")
        terminal.expect("will be detached. Quit anyway?")
        assert terminal.finish("y")[0] == 0
    program.process.stdin.close()
    assert program.process.wait(60) == 0


def test_a_stop_while_commands_are_typed_is_told(listening):
    program = listening(BY_LINES)
    with contextlib.closing(program.terminal()) as terminal:
        terminal.expect("(cudasim) ")
        program.launch(2)
        time.sleep(1)
        assert "Interrupted." in terminal.ask("info breakpoints", "> ")
        assert "$1 = 2" in terminal.ask("print n", "> ")


def test_ctrl_c_asks_for_commands_while_no_kernel_runs(listening):
    program = listening(BY_LINES)
    with contextlib.closing(program.terminal()) as terminal:
        terminal.expect("(cudasim) ")
        terminal.type("continue")
        terminal.expect("Continuing.")
        time.sleep(0.3)
        terminal.send("\x03")
        assert "[No kernel runs." in terminal.expect("(cudasim) ")


def test_debuggers_come_one_after_the_other_and_leave_nothing_behind(listening):
    program = listening(BY_LINES)
    assert program.batch("break k.py:10")[0] == 0
    program.launch(1)
    assert program.line() == "sum 32.0\n"
    with contextlib.closing(program.terminal()) as terminal:
        terminal.expect("(cudasim) ")
        status, shown = program.batch()
        assert status == 1 and "another debugger is attached" in shown
    program.launch(1)  # the terminal has been closed, and with it the debugger
    assert program.line() == "sum 64.0\n"
    assert program.batch()[0] == 0


def test_a_debugger_that_is_killed_lets_a_launch_that_stands_go_on(listening):
    program = listening(SPIN)
    time.sleep(0.5)
    with contextlib.closing(program.terminal()) as terminal:
        terminal.expect("> ")
        terminal.ask("set var x[0] = 1", "> ")
        os.kill(terminal._process.pid, signal.SIGKILL)
        assert program.finish() == (5, "x 1\n")


def test_breakpoint_stops_where_somebody_is_there(listening):
    program = listening(BY_LINES)
    program.launch(3)
    assert program.line() == "sum 96.0\n"
    with contextlib.closing(program.terminal()) as terminal:
        terminal.expect("(cudasim) ")
        program.launch(3)
        time.sleep(1)
        assert "Interrupted." in terminal.ask("info line", "> ")
        assert "Breakpoint 1, add block(0,0,0) thread(0,0,0) at k.py:9" in terminal.ask("continue", "> ")


def test_without_a_debugger_ctrl_c_is_the_programs(listening):
    program = listening(SPIN)
    time.sleep(0.5)
    program.process.send_signal(signal.SIGINT)
    status, shown = program.finish()
    assert status == -signal.SIGINT and "KeyboardInterrupt" in shown


def test_kill_ends_the_program(listening):
    program = listening(SPIN)
    time.sleep(0.5)
    assert program.batch("kill")[0] == 0
    assert program.finish()[0] == -signal.SIGTERM


def test_listen_wait_waits_for_the_first_debugger(tmp_path):
    program = Listening(tmp_path, SPIN.replace("while x[0] == 0:", "if x[0] == 0:"), how="listen:wait")
    try:
        assert program.line() == f"cudasim: waiting for `cudasim debug -p {program.pid}`\n"
        time.sleep(0.5)
        assert select.select([program.process.stdout], [], [], 0)[0] == []
        assert program.batch()[0] == 0
        assert program.finish() == (5, "ready\nx 0\n")
    finally:
        program.process.kill()


def test_only_the_user_can_come(listening):
    program = listening(BY_LINES)
    assert stat.S_IMODE(program.socket.stat().st_mode) == 0o600
    assert stat.S_IMODE(program.socket.parent.stat().st_mode) == 0o700
    program.process.stdin.close()
    assert program.process.wait(60) == 0
    assert not program.socket.exists()


def test_a_socket_that_an_ended_process_has_left_is_removed(listening, tmp_path):
    folder = tmp_path / "cudasim"
    folder.mkdir(0o700)
    (folder / "debug_999999999").touch()
    listening(BY_LINES)
    assert not (folder / "debug_999999999").exists()


FORKING = """\
import os
import warnings
import numpy as np
from numba import cuda


@cuda.jit
def one(x):
    if x[0] == 0: breakpoint()
    x[0] += 1


x = np.zeros(1)
warnings.simplefilter("ignore", DeprecationWarning)  # of fork() beside threads, from 3.12 on
child = os.fork()
if child == 0:
    one[1, 1](x)
    os.write(1, b"child %d\\n" % x[0])
    raise SystemExit(3)
_, status = os.waitpid(child, 0)
print("status", os.waitstatus_to_exitcode(status))
print("ready", flush=True)
input()
one[1, 1](x)
print("x", x[0])
"""


def test_a_forked_child_has_no_debugger_and_leaves_its_parents(tmp_path):
    program = Listening(tmp_path, FORKING)
    try:
        assert [program.line() for _ in range(3)] == ["child 1\n", "status 3\n", "ready\n"]
        with contextlib.closing(program.terminal()) as terminal:
            terminal.expect("(cudasim) ")
            program.launch("")
            time.sleep(1)
            assert "at k.py:9" in terminal.ask("info line", "> ")
            terminal.ask("detach", "(cudasim) ")
        assert program.finish() == (0, "x 1.0\n")
    finally:
        program.process.kill()


# -- editors


class Editor:
    """An editor that has started `cudasim dap`."""

    def __init__(self, program):
        self.process = subprocess.Popen([sys.executable, "-m", "cudasim", "dap"], cwd=program.folder, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=clean_environment(**program.variables))  # fmt: skip
        self._sequence = 0
        self.events = []

    def ask(self, command, **arguments):
        self._sequence += 1
        message = {"seq": self._sequence, "type": "request", "command": command, "arguments": arguments}
        self.process.stdin.write(encoded(message))
        self.process.stdin.flush()
        while True:
            answer = read_message(self.process.stdout)
            if answer["type"] == "response" and answer["request_seq"] == self._sequence:
                return answer
            self.events.append(answer)

    def event(self, name):
        while not any(one.get("event") == name for one in self.events):
            self.events.append(read_message(self.process.stdout))
        return next(one for one in self.events if one.get("event") == name).get("body")


@pytest.mark.parametrize("how", ["lets go", "ends it", "vanishes"])
def test_editors_attach_by_the_processs_number(listening, how):
    program = listening(SPIN)
    time.sleep(0.5)
    editor = Editor(program)
    try:
        editor.ask("initialize", clientID="test", adapterID="cudasim")
        assert editor.ask("attach", processId=str(program.pid))["success"]
        editor.event("initialized")
        process = editor.event("process")
        assert (process["systemProcessId"], process["startMethod"]) == (program.pid, "attach")
        assert process["name"] == str(program.folder / "k.py")
        assert editor.ask("configurationDone")["success"]
        assert editor.ask("pause", threadId=1)["success"]
        assert editor.event("stopped")["reason"] == "pause"
        assert editor.ask("setExpression", expression="x[0]", value="1")["success"]
        if how == "vanishes":
            editor.process.kill()
        else:
            assert editor.ask("disconnect", terminateDebuggee=how == "ends it")["success"]
        status = program.finish()
        assert status == ((-signal.SIGTERM, "") if how == "ends it" else (5, "x 1\n"))
    finally:
        editor.process.kill()
        editor.process.wait()


# -- processes that cannot be debugged


def refusal(process):
    with pytest.raises(CommandError) as caught:
        attached.attach(process)
    return str(caught.value)


@pytest.fixture
def runtime(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return pathlib.Path(debug_sockets.make_path()).parent


def test_there_is_no_such_process(runtime):
    assert refusal(999999999) == "There is no process 999999999."


def test_processes_that_can_be_debugged_are_named(runtime):
    (runtime / f"debug_{os.getppid()}").touch()
    assert refusal(999999999) == f"There is no process 999999999. These wait for one: {os.getppid()}."


def test_a_process_that_does_not_listen(runtime):
    assert refusal(os.getpid()) == (
        f"Process {os.getpid()} does not wait for a debugger; start it with CUDASIM_DEBUGGER=listen."
    )


def test_a_process_of_another_user(runtime, monkeypatch):
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    assert refusal(os.getpid()) == f"Process {os.getpid()} belongs to another user."


def test_a_dead_socket(runtime):
    path = runtime / f"debug_{os.getpid()}"
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(path))
    assert refusal(os.getpid()) == (
        f"Process {os.getpid()} does not wait for a debugger; an earlier process of that number has left {path}."
    )


def test_a_folder_that_others_may_enter(runtime):
    (runtime / f"debug_{os.getpid()}").touch()
    runtime.chmod(0o755)
    assert f"others may enter {runtime}; chmod 700 it" in refusal(os.getpid())


def test_a_folder_that_is_none_is_passed_over(tmp_path, monkeypatch):
    (tmp_path / "cudasim").write_text("")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    assert not debug_sockets.make_path().startswith(str(tmp_path))
