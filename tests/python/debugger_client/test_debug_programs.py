"""`cudasim debug` as a process, on a pseudo-terminal and in pipes, with a fake program (fake_program.py): who has the terminal
and standard input, exit statuses, programs that do not start or do not end well."""

import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import termios
import time

import pytest
from fake_program import SOURCE
from processes import clean_environment
from terminal import Terminal

FAKE = pathlib.Path(__file__).with_name("fake_program.py")
PROMPT = re.compile(r"\(cudasim\) (?:\w+ block\S+ thread\S+ > )?")
#: The program, with another program to debug.
START = """
import sys
from cudasim.debugger_client import debugger
debugger.DEBUGGEE = ({!r},)
from cudasim.command_line import main
sys.exit(main(["debug", *sys.argv[1:]]))
"""
KEPT = {"PYTHONPATH": os.environ.get("PYTHONPATH")}


def command(*arguments, program=FAKE):
    return [sys.executable, "-c", START.format(str(program)), *arguments]


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "k.py").write_text(SOURCE)
    return tmp_path


def run(folder, *arguments, input="", program=FAKE, **variables):
    return subprocess.run(command(*arguments, program=program), cwd=folder, input=input, capture_output=True, text=True, timeout=20,
                          env=clean_environment(**KEPT, **variables))  # fmt: skip


@pytest.fixture
def terminal(folder):
    found = []

    def start(*arguments, **variables):
        found.append(
            Terminal(
                command(*arguments), folder, 20, XDG_STATE_HOME=str(folder / "state"), **{**KEPT, **variables}
            )
        )
        return found[-1]

    yield start
    for one in found:
        one.close()


def settings_of(terminal):
    return termios.tcgetattr(terminal._master)


def processes_of(folder):
    """Numbers of fake programs that run in a folder."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "cmdline").read_bytes().split(b"\0")
                if str(FAKE).encode() in words[1:2] and os.readlink(entry / "cwd") == str(folder):
                    found.append(int(entry.name))
            except OSError:
                pass
    return found


def wait_for(condition):
    end = time.monotonic() + 20
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.02)


# On a terminal


def test_a_session(terminal):
    session = terminal("k.py")
    assert 'debugger. Type "help" for its commands' in session.expect(PROMPT)
    assert "Breakpoint 1 at k.py:12" in session.ask("break 12 thread 10", PROMPT)
    shown = session.ask("run", PROMPT)
    assert (
        "the script begins\nBreakpoint 1, invert block(0,0,0) thread(10,0,0) at k.py:12\n12\t    y[i] = 255 - v\n"
        in shown
    )
    assert shown.endswith("(cudasim) invert block(0,0,0) thread(10,0,0) > ")
    assert "$1 = 10" in session.ask("p i", PROMPT)
    session.ask("delete", "Delete all breakpoints? (y or n) ")
    session.ask("y", PROMPT)
    assert "the script ends\n[The program exited normally]\n" in session.ask("c", PROMPT)
    status, rest = session.finish("quit")
    assert status == 0


def test_the_scripts_input_is_the_terminal(terminal):
    session = terminal("-q", "k.py", "ask")
    session.expect(PROMPT)
    session.ask("break 12 thread 10 block 0", PROMPT)
    session.ask("run", "the script begins")
    assert 'got "print 7\\n"' in session.ask("print 7", PROMPT)
    assert "$1 = 8" in session.ask("print 8", PROMPT)


def test_ctrl_c_goes_to_the_program_while_it_runs(terminal):
    session = terminal("-q", "k.py", "spin")
    session.expect(PROMPT)
    session.ask("run", "spinning")
    time.sleep(1)  # the launch comes behind that line
    session.send("\x03")
    shown = session.expect(PROMPT)
    assert "Interrupted.\ninvert block(0,0,0) thread(0,0,0) at k.py:10\n" in shown
    time.sleep(0.5)  # a signal between the prompt and readline's select() is not noticed before the next key
    session.send("prin\x03")
    assert "Quit" in session.expect(PROMPT)
    assert "$1 = 0" in session.ask("print i", PROMPT)


def test_ctrl_z_without_a_shell_leaves_the_program_running(terminal):
    session = terminal("-q", "k.py", "spin")
    session.expect(PROMPT)
    session.ask("run", "spinning")
    session.send("\x1a")
    time.sleep(0.5)
    session.send("\x03")
    assert "Interrupted." in session.expect(PROMPT)


def test_a_shell_can_suspend_the_debugger_with_its_program(folder):
    shell = Terminal(["bash", "--norc", "--noprofile", "-i"], folder, 20, PS1="shell> ", **KEPT)
    try:
        shell.expect("shell> ")
        shell.type(shlex.join(command("-q", "k.py", "spin")))
        shell.expect(PROMPT)
        shell.ask("run", "spinning")
        shell.send("\x1a")
        assert "Stopped" in shell.expect(re.compile(r"Stopped.*?shell> ", re.DOTALL))
        assert "alive" in shell.ask("echo ali''ve", re.compile("alive\nshell> "))
        shell.type("fg")
        time.sleep(0.5)
        shell.send("\x03")
        assert "Interrupted." in shell.expect(PROMPT)
        assert "$1 = 0" in shell.ask("print i", PROMPT)
        shell.ask("quit", "Quit anyway? (y or n) ")
        shell.ask("y", "shell> ")
    finally:
        shell.close()


def test_the_terminals_settings_are_each_ones_own(terminal):
    session = terminal("-q", "k.py", "raw", "ask")
    session.expect(PROMPT)
    session.ask("break 12 thread 10 block 0", PROMPT)
    before = settings_of(session)
    assert not before[3] & termios.TOSTOP
    session.ask("run", "the script begins")
    wait_for(lambda: settings_of(session)[3] & termios.TOSTOP)
    session.ask("x", re.compile(r"12\t.*\n"))
    session.expect(PROMPT)
    session.ask("print i", PROMPT)
    session.ask("kill", "Kill the program? (y or n) ")
    assert not settings_of(session)[3] & termios.TOSTOP
    session.ask("y", PROMPT)
    status, _ = session.finish("quit")
    assert status == 0


def test_the_terminal_is_restored_when_the_debugger_is_ended(terminal, folder):
    session = terminal("-q", "k.py", "raw", "spin")
    session.expect(PROMPT)
    session.ask("run", "spinning")
    assert settings_of(session)[3] & termios.TOSTOP
    session._process.send_signal(signal.SIGTERM)
    status = session._process.wait(20)
    assert status == 128 + signal.SIGTERM
    assert not settings_of(session)[3] & termios.TOSTOP
    wait_for(lambda: not processes_of(folder))


def test_the_end_of_input_asks_before_it_ends_a_program(terminal, folder):
    session = terminal("-q", "k.py")
    session.expect(PROMPT)
    session.ask("break 12", PROMPT)
    session.ask("run", PROMPT)
    session.send("\x04")
    assert "quit\n" in session.expect("Quit anyway? (y or n) ")
    session.ask("n", PROMPT)
    session.ask("print 3", "$1 = 3")
    session.expect(PROMPT)
    session.send("\x04")
    session.expect("Quit anyway? (y or n) ")
    status, _ = session.finish("y")
    assert status == 0
    wait_for(lambda: not processes_of(folder))


def test_long_output_waits_after_each_screen(terminal):
    session = terminal("-q", "k.py")
    session.expect(PROMPT)
    session.ask("help", "--Type <RET> for more, q to quit--")
    session.ask("q", PROMPT)
    session.ask("set pagination off", PROMPT)
    assert "complete" in session.ask("help", PROMPT)


def test_a_killed_debugger_leaves_no_folder_behind(terminal, folder):
    (folder / "tmp").mkdir()
    session = terminal("-q", "k.py", TMPDIR=str(folder / "tmp"))
    session.expect(PROMPT)
    session.ask("break 12", PROMPT)
    session.ask("run", PROMPT)
    assert list((folder / "tmp").iterdir()) == []


@pytest.mark.parametrize("with_toolkit", [False, True], ids=["plain", "prompt_toolkit"])
def test_the_prompt_completes_and_remembers(terminal, folder, with_toolkit):
    if with_toolkit:
        pytest.importorskip("prompt_toolkit")
    variables = {"TERM": "xterm", "PROMPT_TOOLKIT_NO_CPR": "1"} if with_toolkit else {}
    session = terminal("-q", "k.py", **variables)
    session.expect("(cudasim)")
    session.send("info disp\t\r")
    session.expect("There are no expressions on display.")
    session.expect("(cudasim)")
    session.send("echo once\\n\r")
    session.expect("once\n")
    session.expect("(cudasim)")
    session.send("\x1b[A\r" if with_toolkit else "\x10\r")
    session.expect("once\n")
    session.expect("(cudasim)")
    session.send("half")
    time.sleep(0.5)  # CPython overlooks a Ctrl-C that comes while it takes in keys, until the next key
    session.send("\x03")
    session.expect("Quit")
    session.expect("(cudasim)")
    session.send("\x04")
    status, _ = session.finish()
    assert status == 0
    if with_toolkit:
        assert "+echo once\\n" in (folder / "state" / "cudasim" / "debug_history").read_text()


def test_a_program_that_was_suspended_at_the_prompt_goes_on(terminal, folder):
    session = terminal("-q", "k.py")
    session.expect(PROMPT)
    session.ask("break 12 thread 10 block 0", PROMPT)
    session.ask("run", PROMPT)
    (number,) = processes_of(folder)
    os.kill(number, signal.SIGTTIN)
    stat = pathlib.Path(f"/proc/{number}/stat")
    wait_for(lambda: stat.read_text().split()[2] == "T")
    assert "[The program exited normally]" in session.ask("continue", PROMPT)


# In pipes


def test_commands_come_from_a_pipe_and_the_script_reads_nothing(folder):
    done = run(folder, "k.py", "ask", input="break 12 thread 10 block 0\nrun\nprint i\n\nstep\n")
    assert done.stderr == "" and done.returncode == 0
    assert done.stdout == (
        "(cudasim) Breakpoint 1 at k.py:12\n"
        '(cudasim) the script begins\ngot ""\n'
        "Breakpoint 1, invert block(0,0,0) thread(10,0,0) at k.py:12\n12\t    y[i] = 255 - v\n"
        "(cudasim) invert block(0,0,0) thread(10,0,0) > $1 = 10\n"
        "(cudasim) invert block(0,0,0) thread(10,0,0) > "
        "(cudasim) invert block(0,0,0) thread(10,0,0) > the script ends\n[The program exited normally]\n"
        "(cudasim) \n"
    )  # fmt: skip


def test_nobody_is_asked_where_no_terminal_is(folder):
    done = run(folder, "k.py", input="break 12\nbreak 11\ndelete\ninfo breakpoints\n")
    assert "No breakpoints." in done.stdout and "y or n" not in done.stdout


def test_the_script_does_not_read_commands(folder):
    padding = "# a comment\n" * 4000  # more than the debugger reads at once
    done = run(folder, "k.py", "ask", input=f"run\n{padding}echo last\\n\n")
    assert 'got ""\n' in done.stdout and "last\n" in done.stdout


def test_the_last_messages_of_a_program_are_shown(folder):
    done = run(folder, "-batch", "-ex", "run", "k.py", "flood")
    assert done.stdout.count("line ") == 5000 and "line 4999 " in done.stdout
    assert done.stdout.endswith("[The program exited normally]\n")


def test_the_end_of_a_pipe_kills_the_program(folder):
    done = run(folder, "k.py", input="break 12\nrun\n")
    assert done.returncode == 0 and done.stdout.endswith("thread(0,0,0) > \n")
    assert not processes_of(folder)


def test_a_batch_prints_no_prompts_and_leaves_standard_input_to_the_script(folder):
    (folder / "c.gdb").write_text("print i\n")
    done = run(folder, "-batch", "-ex", "break 12 thread 3 block 0", "-ex", "run", "-x", "c.gdb", "-ex", "c", "--args", "k.py", "ask", "-x",
               input="a line\n")  # fmt: skip
    assert done.stdout == (
        'Breakpoint 1 at k.py:12\nthe script begins\ngot "a line\\n"\n'
        "Breakpoint 1, invert block(0,0,0) thread(3,0,0) at k.py:12\n12\t    y[i] = 255 - v\n"
        "$1 = 3\nContinuing.\nthe script ends\n[The program exited normally]\n"
    )
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.parametrize(
    "arguments, status",
    [
        (["-ex", "run", "k.py"], 0),
        (["-ex", "run", "k.py", "exit=7"], 7),
        (["-ex", "run", "-ex", "frob", "k.py"], 0),
        (["-ex", "run", "k.py", "die"], 128 + signal.SIGSEGV),
        (["-ex", "frob", "k.py"], 1),
        (["-ex", "help run", "k.py"], 0),
        (["-ex", "break 12", "-ex", "run", "k.py"], 0),
        (["-ex", "quit 5", "-ex", "run", "k.py"], 5),
        (["-ex", "run", "no.py"], 1),
        (["-x", "no.gdb", "k.py"], 1),
        (["-ex", "run exit=3", "-ex", "quit", "k.py"], 3),
    ],
)
def test_the_exit_status_of_a_batch(folder, arguments, status):
    assert run(folder, "-batch", *arguments).returncode == status
    assert not processes_of(folder)


def test_commands_of_a_breakpoint_among_the_arguments(folder):
    done = run(
        folder,
        "-batch",
        "-ex",
        "tbreak 12",
        "-ex",
        "commands",
        "-ex",
        "print i",
        "-ex",
        "end",
        "-ex",
        "run",
        "k.py",
    )
    assert "$1 = 0\n" in done.stdout


def test_a_missing_script_is_one_line_at_the_start_and_at_run(folder):
    line = "cudasim: cannot read the script no.py: No such file or directory\n"
    done = run(folder, "no.py", input="run\nprint 3\n")
    assert done.stderr == line + line + "The program is not being run.\n"
    done = run(folder, "-batch", "-ex", "run", "no.py")
    assert done.stderr == line and done.stdout == ""


def test_a_program_that_cannot_start_is_one_line(folder):
    (folder / "broken.py").write_text("import sys\nsys.exit(4)\n")
    done = run(folder, "k.py", program=folder / "broken.py", input="run\nshow listsize\n")
    assert done.stderr == "The program ended before it connected: it exited with code 4.\n"
    assert "shows is 10" in done.stdout


@pytest.mark.parametrize(
    "word, told",
    [
        ("die", "[The program was ended by signal SIGSEGV]"),
        (
            "vanish",
            "The connection to the program is lost (the program closed the connection); the program was killed.",
        ),
        (
            "nonsense",
            "The connection to the program is lost (a message has the length 'x'); the program was killed.",
        ),
    ],
)
def test_programs_that_end_badly_do_not_end_the_debugger(folder, word, told):
    done = run(folder, "k.py", word, input="run\nshow listsize\n")
    assert told in done.stdout + done.stderr and "shows is 10" in done.stdout and done.returncode == 0
    assert "Traceback" not in done.stderr and not processes_of(folder)


def test_a_child_of_the_program_does_not_hold_the_debugger_up(folder):
    done = run(folder, "k.py", "fork", input="run\nshow listsize\n")
    assert "[The program exited normally]" in done.stdout and "shows is 10" in done.stdout
    for number in processes_of(folder):
        os.kill(number, signal.SIGKILL)


def test_nothing_of_the_engine_is_imported(folder):
    code = (
        "import sys\nfrom cudasim.debugger_client import client, prompt\n"
        "print([name for name in sys.modules if name in ('numpy', 'cudasim._native', 'prompt_toolkit', 'numba')])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=clean_environment(**KEPT)
    )
    assert done.stdout == "[]\n", done.stderr


def test_options_of_the_simulator_reach_the_program(folder):
    (folder / "shows.py").write_text("import os\nprint('strict', os.environ.get('CUDASIM_STRICT'))\n")
    done = run(folder, "-batch", "--strict", "-ex", "run", "k.py", program=folder / "shows.py")
    assert "strict 1\n" in done.stdout
    done = run(folder, "-batch", "--strict=maybe", "-ex", "run", "k.py")
    assert done.returncode == 2 and "strict" in done.stderr


def test_wrong_usage(folder):
    done = run(folder, "-batch")
    assert done.returncode == 2 and done.stderr.startswith(
        "cudasim debug: no script given; write: cudasim debug"
    )
    (folder / "mod").mkdir()
    (folder / "mod" / "__main__.py").write_text(SOURCE)
    done = run(folder, "-batch", "-ex", "break 12", "-ex", "list 6,6", "-m", "mod", "arg")
    assert done.stdout == "Breakpoint 1 at mod/__main__.py:12\n6\t    return v * v\n"
