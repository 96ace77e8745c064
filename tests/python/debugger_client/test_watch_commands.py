"""watch, rwatch, awatch at a stop of a fake program: what is sent, what is shown, and that other commands know watches."""

import pytest
from client_sessions import client_in


@pytest.fixture
def client(tmp_path, monkeypatch):
    with client_in(tmp_path, monkeypatch) as found:
        yield found


@pytest.fixture
def stopped(client):
    """At thread 10 of block 0, in line 12."""
    client.ask("tbreak 12 thread 10 block 0", "run")
    return client


def sent(client):
    return client.requests("setDataBreakpoints")[-1]["breakpoints"]


@pytest.mark.parametrize(
    "line, element",
    [
        ("watch y[12]", {"dataId": "2:y[12]", "accessType": "write"}),
        ("rwatch y[12]", {"dataId": "2:y[12]", "accessType": "read"}),
        ("awatch -l y[12]", {"dataId": "2:y[12]", "accessType": "readWrite"}),
        ("wat -location y[ i + 1 ] thread 0..3 block (1,0,0) if x[i] > 2",
         {"dataId": "2:y[ i + 1 ]", "accessType": "write", "condition": "x[i] > 2", "cudasim": {"threads": "0..3", "blocks": "(1,0,0)"}}),
        ("watch y[1 if i else 2] if i", {"dataId": "2:y[1 if i else 2]", "accessType": "write", "condition": "i"}),
        ("watch v", {"dataId": "1:v", "accessType": "write"}),
    ],
)  # fmt: skip
def test_what_a_watch_is_sent_as(stopped, line, element):
    shown = stopped.ask(line)
    own = {"id": 2, **element.pop("cudasim", {})}
    assert sent(stopped) == [{**element, "cudasim": own}]
    assert stopped.requests("dataBreakpointInfo")[-1]["frameId"] == 100
    assert shown.splitlines()[0].split("atchpoint 2: ")[1] == element["dataId"][2:]


def test_shared_memory_says_of_which_block(stopped):
    assert stopped.ask("watch y[12]") == (
        "Hardware watchpoint 2: y[12]\n[It is in shared memory, and watched in block 0 only]\n"
    )
    assert stopped.ask("watch y[12] block *").endswith("[It is in shared memory, and watched in block *]\n")
    assert stopped.ask("watch v") == "Hardware watchpoint 4: v\n"


@pytest.mark.parametrize(
    "line, message",
    [
        ("watch", "What is to be watched is missing: watch [-location] EXPRESSION"),
        ("watch -l", "What is to be watched is missing"),
        ("watch if i", "Cannot watch if i: there is no variable"),
        ("watch nothing", "Cannot watch nothing: there is no variable 'nothing' here."),
        ("rwatch v", "v is a variable: its assignments are seen, and no reads. Use watch."),
        ("watch y[3] thread x", '"x" is no range'),
        ("watch y[3] if bad(", "Cannot watch y[3]: names nothing that is there."),
    ],
)
def test_wrong_watches_are_refused_and_nothing_is_set(stopped, line, message):
    assert message in stopped.ask(line)
    assert stopped.ask("info watchpoints") == "No watchpoints.\n"


def test_without_a_stopped_kernel_it_is_said_what_to_do(client):
    assert client.ask("watch y[3]") == (
        "No kernel is stopped, and its variables exist only then. "
        "Stop in it first, by start or a breakpoint, then watch y[3].\n"
    )


def test_a_hit_shows_old_and_new_values(stopped):
    assert stopped.ask("watch y[12]", "continue").splitlines()[2:] == [
        "Continuing.",
        "[Switching focus to invert block(0,0,0) thread(12,0,0)]",
        "",
        "Hardware watchpoint 2: y[12], element y[12]*",
        "",
        "Old value = 0",
        "New value = 5",
        "invert block(0,0,0) thread(12,0,0) at k.py:12",
        "12\t    y[i] = 255 - v",
    ]


def test_a_read_shows_the_value_and_another_line_is_named(stopped):
    shown = stopped.ask("rwatch y[12]", "continue")
    assert "Hardware read watchpoint 2: y[12]\n\nValue = 5\ninvert block" in shown
    shown = stopped.ask("watch y[20]", "continue")
    assert "New value = 5\nAssigned at k.py:11\ninvert block(0,0,0) thread(20,0,0) at k.py:12" in shown


def test_commands_of_breakpoints_know_watches(stopped):
    stopped.ask("watch y[12]", "awatch y[13] thread 13", "condition 2 i == 12", "ignore 3 4")
    assert [(one.get("condition"), one.get("hitCondition")) for one in sent(stopped)] == [
        ("i == 12", None),
        (None, ">= 5"),
    ]
    table = stopped.ask("info watchpoints")
    assert table.splitlines() == [
        "Num  Type            Disp  Enb  What",
        "2    hw watchpoint   keep  y    y[12]",
        "        stop only if i == 12",
        "3    acc watchpoint  keep  y    y[13]",
        "        only thread 13",
        "        ignore next 4 hits",
    ]
    assert table in stopped.ask("info breakpoints")
    stopped.ask("disable 2")
    assert [one["cudasim"]["id"] for one in sent(stopped)] == [3]
    stopped.ask("enable 2", "delete 3")
    assert [one["cudasim"]["id"] for one in sent(stopped)] == [2]
    stopped.debugger.breakpoints.find(2).commands = ["print i"]
    assert stopped.ask("continue").endswith("$1 = 12\n")
    assert "breakpoint already hit 1 time" in stopped.ask("info watchpoints")


def test_a_watch_that_the_program_ends_is_told_and_forgotten(stopped):
    stopped.ask("watch y[12]", "watch y[14]")
    stopped.server.extra_events = [
        ("breakpoint", {"reason": "removed", "breakpoint": {"id": 3, "verified": False, "message": "its memory is gone"}})
    ]  # fmt: skip
    shown = stopped.ask("continue")
    assert "Watchpoint 3 deleted: y[14], because its memory is gone.\n" in shown
    assert "y[14]" not in stopped.ask("info watchpoints")


def test_a_new_program_has_no_watches(stopped):
    stopped.ask("watch y[12]", "break 11")
    stopped.ask("kill", "run")
    assert stopped.ask("info watchpoints") == "No watchpoints.\n"
    assert stopped.requests("setDataBreakpoints") == []
