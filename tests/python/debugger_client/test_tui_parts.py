"""The parts of the full-screen view that need no terminal: what has been written, snapshots, colours; they need no textual."""

import pytest
from client_sessions import Client, client_in
from cudasim.debugger_client.console import Console
from cudasim.debugger_client.errors import CommandError
from cudasim.debugger_client.tui import scrollback, snapshot
from cudasim.debugger_client.tui.screen import Screen
from cudasim.debugger_client.tui.scrollback import ANSWER, COMMAND, PROGRAM, Scrollback
from cudasim.debugger_client.tui.snapshot import PAGE, Collector


@pytest.fixture
def client(tmp_path, monkeypatch):
    with client_in(tmp_path, monkeypatch) as made:
        yield made


def written(*pieces, kind=PROGRAM):
    """The lines that pieces of text make."""
    kept = Scrollback()
    for piece in pieces:
        kept.write(piece, kind)
    return [text for text, _ in kept.lines()]


@pytest.mark.parametrize(
    "pieces, lines",
    [
        (["one\ntwo\n"], ["one", "two"]),
        (["one\r\n", "two\r\n", "three"], ["one", "two", "three"]),
        (["one\r", "\ntwo"], ["one", "two"]),
        (["10%\r20%\r", "30%\n"], ["30%"]),
        (["long line\rshort\x1b[K\n"], ["short"]),
        (["ab\b\bc"], ["cb"]),
        (["a\tb"], ["a       b"]),
        (["\x1b[31mred\x1b[0m \x1b]0;title\x07x"], ["red x"]),
        (["a\x1b[3", "1mb"], ["ab"]),
        (["a\x07\x00b\x7f"], ["ab"]),
        (["", "\n", "\n"], ["", ""]),
    ],
)
def test_texts_are_shown_as_a_terminal_shows_them(pieces, lines):
    assert written(*pieces) == lines


def test_long_output_is_kept_up_to_a_limit():
    lines = written("".join(f"line {number}\n" for number in range(3 * scrollback.LINES)))
    assert (
        scrollback.LINES <= len(lines) <= scrollback.LINES * 1.1
        and lines[-1] == f"line {3 * scrollback.LINES - 1}"
    )
    (line,) = written("x" * (3 * scrollback.CHARACTERS), "y")
    assert line == "x" * scrollback.CHARACTERS


def test_a_line_is_of_whom_began_it():
    kept = Scrollback()
    kept.write("name? ", PROGRAM)
    kept.write("Bob\n", ANSWER)
    kept.write("half", PROGRAM)
    kept.begin_line()
    kept.write("(cudasim) next\n", COMMAND)
    assert kept.lines() == [("name? Bob", PROGRAM), ("half", PROGRAM), ("(cudasim) next", COMMAND)]


def test_snapshots_follow_the_commands(client):
    collector = Collector(client.debugger)
    taken = collector.taken()
    assert (taken.title, taken.current, taken.groups, taken.variables) == ("no program runs", 0, [], [])
    assert taken.lines[9] == "    i = cuda.grid(1)"
    client.ask("break 12 thread 10 block 1", "break square", "disable 2", "run")
    taken = collector.taken()
    assert taken.title == "invert block(1,0,0) thread(10,0,0)" and (taken.current, taken.shown) == (12, 12)
    assert taken.breakpoints == {12: True, 5: False}
    shown = {(row.depth, row.name, row.value) for row in taken.variables}
    assert {(0, "Locals", ""), (1, "i", "42"), (1, "v", "176400"), (1, "x", "array([0., 10.])")} <= shown
    assert not any(row.name == "threadIdx" for row in taken.variables)
    client.ask("list 3")
    assert (collector.taken().shown, collector.taken().current) == (5, 12)
    client.ask("cuda thread 3")
    assert collector.taken().title == "invert block(1,0,0) thread(3,0,0) (over)"
    client.ask("kill")
    assert collector.taken().title == "no program runs"


def test_the_groups_are_asked_for_where_they_may_be_others(client):
    collector = Collector(client.debugger)
    client.ask("break 12", "run")
    for _ in range(3):
        collector.taken()
    assert len(client.requests("cudasim/groups")) == 1
    client.ask("next")
    collector.taken()
    assert len(client.requests("cudasim/groups")) == 2


def test_scopes_open_and_close(client):
    collector = Collector(client.debugger)
    client.ask("break 12", "run")
    registers = next(row for row in collector.taken().variables if row.name == "Special registers")
    assert registers.has_parts and not registers.is_open
    collector.opened.turn(registers)
    assert "threadIdx" in [row.name for row in collector.taken().variables]
    collector.opened.turn(registers)
    assert "threadIdx" not in [row.name for row in collector.taken().variables]


def test_large_values_are_paged(client):
    collector = Collector(client.debugger)
    client.ask("break 12", "run")
    asked = []

    def variables(arguments):
        start, count = arguments.get("start", 0), arguments.get("count", 0)
        asked.append(count)
        if arguments["variablesReference"] == 1:
            return {"variables": [{"name": "big", "value": "[0, ...]" * 10_000, "variablesReference": 7}]}
        if arguments["variablesReference"] == 7:
            names = range(start, min(start + count, 1_000_000))
            return {"variables": [{"name": f"[{at}]", "value": "0", "variablesReference": 0} for at in names]}
        return {"variables": []}

    client.server._variables = variables
    big = next(row for row in collector.taken().variables if row.name == "big")
    assert len(big.value) <= 2000
    collector.opened.turn(big)
    rows = [row for row in collector.taken().variables if row.path[:2] == big.path]
    assert len(rows) == 1 + PAGE + 1 and rows[-1].more
    collector.opened.turn(rows[-1])
    rows = [row for row in collector.taken().variables if row.path[:2] == big.path]
    assert len(rows) == 1 + 2 * PAGE + 1 and max(asked) <= 2 * PAGE + 1


def test_a_program_that_does_not_answer_leaves_a_snapshot(client):
    collector = Collector(client.debugger)
    client.ask("break 12", "run")
    client.server.refuse = {"scopes": "no scopes today", "cudasim/groups": "nor groups"}
    taken = collector.taken()
    assert [row.value for row in taken.variables] == ["no scopes today"] and taken.groups == []
    client.debugger.session.program.die(-9)
    client.debugger.session.frames_changed()
    assert collector.taken().groups == []


def test_a_closed_scope_is_not_asked_for(client):
    client.ask("break 12", "run")
    Collector(client.debugger).taken()
    assert {one["variablesReference"] for one in client.requests("variables")} == {1, 2}
    assert snapshot.OPEN == {("Arguments",), ("Locals",), ("Shared",)}


def test_where_there_is_no_terminal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    client = Client(tmp_path)
    assert "needs a terminal" in client.ask("tui")
    client.debugger.screen = Screen(client.debugger)
    shown = client.ask("tui enable", "layout src", "tui")
    assert (
        shown.count(
            'The full-screen view needs a terminal for input and output, no -batch, and textual (pip install "cudasim[debugger]")'
        )
        == 3
    )
    assert (
        client.ask("tui disable") == ""
        and "must be followed" in client.ask("layout")
        and "Undefined" in client.ask("tui sideways")
    )
    monkeypatch.setenv("TERM", "dumb")
    client.debugger.console = Console(True)
    with pytest.raises(CommandError, match="TERM says dumb"):
        client.debugger.screen.enable()
