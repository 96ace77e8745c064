"""printf, args, pwd, cd, save breakpoints, enable once, and questions that nobody wants to be asked, with a fake program."""

import contextlib
import os

import pytest
from client_sessions import client_in
from cudasim.debugger_client.errors import QuitDebugger


@pytest.fixture
def client(tmp_path, monkeypatch):
    with client_in(tmp_path, monkeypatch) as found:
        yield found


@pytest.fixture
def stopped(client):
    """At thread 10 of block 0, in line 12."""
    client.ask("break 12 thread 10 block 0", "run")
    return client


@pytest.mark.parametrize(
    "line, shown",
    [
        (r'printf "i is %d, v is %5.1f|%-6d|%06d\n", i, v, i, i', "i is 10, v is 10000.0|10    |000010\n"),
        (r'printf "%x %#o %u %lld %c\n", i + 245, i, -1, i, i + 55', "ff 012 18446744073709551615 10 A\n"),
        ('printf "%X %e %g %i", -i, 1.5, 0.25, 3.9', "FFFFFFFFFFFFFFF6 1.500000e+00 0.25 3"),
        ('printf "%a %p", 1.0, 255', "0x1.0000000000000p+0 0xff"),
        ('printf "%s and %s: %s", x[1:3], "a, b", (i, v)', "[10, 20] and a, b: (10, 10000)"),
        ('printf "100 %%"', "100 %"),
        ('printf "%d %%s", i', "10 %s"),
    ],
)
def test_printf(stopped, line, shown):
    assert stopped.ask(line) == shown


@pytest.mark.parametrize(
    "line, shown",
    [
        ("printf", 'Write printf "FORMAT", EXPRESSION, ...\n'),
        ("printf i", 'Write printf "FORMAT", EXPRESSION, ...\n'),
        ('printf "%d"', "The text has 1 formats, but 0 expressions follow.\n"),
        ('printf "%d", i, v', "The text has 1 formats, but 2 expressions follow.\n"),
        ('printf "%y", i', '"%y" is no format of printf.\n'),
        ('printf "50 %", i', '"%" is no format of printf.\n'),
        ('printf "%n", i', '"%n" is no format of printf.\n'),
        ('printf "i %d", x[1:3]', "The value of x[1:3] has no format %d: [10, 20]\n"),
        ('printf "%c", -1', "The value of -1 has no format %c: -1\n"),
        ('printf "%d", nothing', "name 'nothing' is not defined\n"),
    ],
)
def test_what_printf_refuses_is_not_shown_in_part(stopped, line, shown):
    assert stopped.ask(line) == shown


def test_printf_before_the_start(client):
    assert client.ask("set $n = 7", r'printf "%d, %s\n", $n * 2, "text"') == "14, text\n"
    assert client.ask('printf "%d", i') == "The program is not being run.\n"


def test_the_arguments_of_the_function(stopped):
    assert stopped.ask("args") == stopped.ask("a") == "x = array([0., 10.])\n"


def test_the_folder(client, tmp_path):
    (tmp_path / "below").mkdir()
    assert client.ask("pwd") == f"Working directory {tmp_path}.\n"
    assert client.ask("cd below") == f"Working directory {tmp_path}/below.\n" and os.getcwd() == str(
        tmp_path / "below"
    )
    assert client.ask("cd nowhere") == "nowhere: No such file or directory.\n"
    client.ask("break 12 thread 10 block 0", "run")  # the script is the same
    assert client.started[0][0][-1] == str(tmp_path / "k.py")
    assert client.debugger.session.focus is not None


def test_functions(client):
    every = "File k.py:\n5:\tsquare\n9:\tinvert\n"
    assert client.ask("info functions") == every  # before the start
    client.ask("break 12 thread 10 block 0", "run")
    client.server._loadedSources = lambda arguments: {"sources": [{"path": client.path}, {"name": "no file"}]}
    assert client.ask("info functions") == every
    assert client.ask("info functions ^sq") == "File k.py:\n5:\tsquare\n"
    assert client.ask("info functions nosuch") == 'No function matches "nosuch".\n'
    assert client.ask("info functions (").startswith('"(" is no regular expression: ')


SAVED = r"""break {path}:12 thread 10 block 0 if i > 3
ignore $bpnum 2
commands
  print i
  echo "x"\n
end
tbreak square
dprintf {path}:11 thread 3,"a \"b\" \\ {{i}}"
disable $bpnum
break {path}:10
enable once $bpnum
"""


def test_breakpoints_are_saved_and_read_again(client, tmp_path):
    client.read(
        'break 12 thread 10 block 0 if i > 3\nignore 1 2\ncommands 1\nprint i\necho "x"\\n\nend\ntbreak square\n'
        r'dprintf k.py:11 thread 3,"a \"b\" \\ {i}"' + "\ndisable 3\nbreak 10\nenable once 4"
    )
    assert client.ask("save breakpoints b.gdb") == "Saved to file 'b.gdb'.\n"
    assert (tmp_path / "b.gdb").read_text() == SAVED.format(path=tmp_path / "k.py")
    before = client.ask("info breakpoints").splitlines()
    client.ask("delete", "source b.gdb", "save breakpoints c.gdb")
    assert (tmp_path / "c.gdb").read_text() == (tmp_path / "b.gdb").read_text()
    assert [line[1:] for line in client.ask("info breakpoints").splitlines()] == [line[1:] for line in before]


def test_what_cannot_be_saved(stopped, tmp_path):
    stopped.ask("watch y[20]")
    assert stopped.ask("save breakpoints b.gdb").splitlines()[-1] == "Left out: 2, which a file cannot set."
    assert (tmp_path / "b.gdb").read_text() == f"break {tmp_path}/k.py:12 thread 10 block 0\n"
    assert stopped.ask("save breakpoints") == "The name of a file is missing: save breakpoints FILE.\n"
    assert stopped.ask("save breakpoints no/b.gdb") == "no/b.gdb: No such file or directory.\n"
    stopped.ask("delete")
    assert stopped.ask("save breakpoints b.gdb") == "There is no breakpoint to be saved.\n"


def test_a_breakpoint_stops_once_and_is_disabled(client):
    client.ask("break 12", "enable once $bpnum")
    assert "1    breakpoint  dis   y" in client.ask("info breakpoints")
    assert "thread(0,0,0)" in client.ask("run")
    assert client.requests("setBreakpoints")[-1]["breakpoints"] == []
    assert "1    breakpoint  keep  n" in client.ask("info breakpoints")
    client.ask("enable 1", "continue")
    assert "1    breakpoint  keep  y" in client.ask("info breakpoints")
    assert "[The program exited normally]" not in client.ask("continue")


def test_a_breakpoint_stops_once_and_is_removed(client):
    client.ask("break 12", "enable delete 1", "run")
    assert client.ask("info breakpoints") == "No breakpoints.\n"
    assert client.ask("enable once") == "The number of a breakpoint is missing: enable once N.\n"
    assert client.ask("enable once 5") == "No breakpoint number 5.\n"


@pytest.mark.parametrize("line", ["delete", "kill", "run", "start", "undisplay", "quit"])
@pytest.mark.parametrize("confirm", ["on", "off"])
def test_nobody_is_asked_who_does_not_want_it(tmp_path, monkeypatch, line, confirm):
    asked = []
    monkeypatch.setattr("builtins.input", lambda question: asked.append(question) or "n")
    with client_in(tmp_path, monkeypatch, interactive=True) as client:
        client.ask("break 12", "display i", "run", f"set confirm {confirm}")
        ends = (line, confirm) == ("quit", "off")
        with pytest.raises(QuitDebugger) if ends else contextlib.nullcontext():
            client.ask(line)
        assert len(asked) == (1 if confirm == "on" else 0)


@pytest.mark.parametrize(
    "expression, message",
    [
        ("nothing", "name 'nothing' is not defined\n"),
        ("i + nothing", "name 'nothing' is not defined\n"),
        ("$nothing", "$nothing has no value: give it one with set $nothing = EXPRESSION.\n"),
    ],
)
def test_what_means_nothing_is_not_displayed(stopped, expression, message):
    assert stopped.ask(f"display {expression}") == message
    assert stopped.ask("info display") == "There are no expressions on display.\n"


def test_what_has_no_value_yet_is_displayed(stopped):
    def unassigned(arguments):
        raise NameError("'late' is not assigned yet: go on to a statement behind its assignment")

    stopped.server._evaluate = unassigned
    assert stopped.ask("display late").startswith("1: late = <'late' is not assigned yet")


def test_stopping_at_launches_is_for_one_thread(client):
    client.ask("set cuda break_on_launch all", "run")
    assert client.requests("setFunctionBreakpoints")[-1]["breakpoints"] == [
        {"name": "*", "cudasim": {"id": 1_000_000, "threads": "0", "blocks": "0"}}
    ]
