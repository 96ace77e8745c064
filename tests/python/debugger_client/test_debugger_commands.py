"""Commands at a stop, with a fake program: breakpoints, threads, stack, data, source, settings, help."""

import pytest
from client_sessions import client_in
from cudasim.debugger_client import completion


@pytest.fixture
def client(tmp_path, monkeypatch):
    with client_in(tmp_path, monkeypatch) as found:
        yield found


@pytest.fixture
def stopped(client):
    """At thread 10 of block 0, in line 12."""
    client.ask("break 12 thread 10 block 0", "run")
    return client


# Breakpoints


def sent_for(client, line):
    """The breakpoint that a command sends."""
    client.ask(line)
    return client.requests("setBreakpoints")[-1]["breakpoints"][-1]


@pytest.mark.parametrize(
    "line, sent",
    [
        ("break 11", {"line": 11}),
        ("b k.py:11 if i > 3 and x", {"line": 11, "condition": "i > 3 and x"}),
        ("break 11 thread 0..31 block (40,2,0) if s[i] > 2",
         {"line": 11, "condition": "s[i] > 2", "cudasim": {"threads": "0..31", "blocks": "(40,2,0)"}}),
        ("break 11 block [0..3, 8] thread *", {"line": 11, "cudasim": {"blocks": "[0..3,8]", "threads": "*"}}),
        ("tbreak 11", {"line": 11, "cudasim": {"temporary": True}}),
        ("break if v == 3", {"line": 12, "condition": "v == 3"}),
        ("break +1", {"line": 13}),
        ("break -2", {"line": 10}),
        ("break", {"line": 12}),
        ("break k.py:square", {"line": 5}),
        ('dprintf 11,"i is {i}, \\"x\\""', {"line": 11, "logMessage": 'i is {i}, "x"'}),
        ('dprintf k.py:11 thread 3,"%d of %s\\n", i, f(x, y)', {"line": 11, "logMessage": "{i} of {f(x, y)}", "cudasim": {"threads": "3"}}),
    ],
)  # fmt: skip
def test_what_a_breakpoint_is_sent_as(stopped, line, sent):
    own = {"id": 2, **sent.pop("cudasim", {})}
    assert sent_for(stopped, line) == {**sent, "cudasim": own}


@pytest.mark.parametrize(
    "line, message",
    [
        ("break 99", 'No line 99 in file "k.py".'),
        ("break k.py:0", 'No line 0 in file "k.py".'),
        ("break 12 thred 3", 'Junk at the end of the arguments: "thred 3".'),
        ("break 12 thread", "A range is missing"),
        ("break 12 thread 3x", '"3x" is no range'),
        ("break 12 if", "A condition is missing after if."),
        ("break 12 thread 1 thread 2", "Junk at the end"),
        ("break k.py:nothing", 'Function "nothing" is not defined in "k.py".'),
        ("break $%", '"$%" is no location.'),
        ("dprintf 12", 'Write dprintf LOCATION,"TEXT {EXPRESSION}".'),
        ('dprintf 12,"%d"', None),
        ('dprintf 12,"%d", i, v', "The text has 1 formats, but 2 expressions follow."),
        ("delete 9", "No breakpoint number 9."),
        ("delete x", 'Bad breakpoint number "x".'),
        ("condition", "The number of a breakpoint is missing."),
        ("condition 9 x", "No breakpoint number 9."),
        ("ignore 1", "A count is missing"),
        ("ignore 1 x", '"x" is no count.'),
        ("clear 10", "No breakpoint at k.py:10."),
        ("enable 7", "No breakpoint number 7."),
    ],
)
def test_wrong_breakpoints_are_refused_and_nothing_is_set(stopped, line, message):
    shown = stopped.ask(line)
    if message is None:
        assert shown.startswith("Dprintf 2 at")
    else:
        assert shown.startswith(message) and shown.count("\n") == 1
        assert len(stopped.debugger.breakpoints.visible()) == 1


def test_there_is_no_current_line_before_the_start(client):
    assert client.ask("break") == "There is no current line; name one, such as script.py:12.\n"


def test_places_that_nobody_knows_yet_are_pending(client):
    assert client.ask("break other.py:3") == "Breakpoint 1 (other.py:3) pending.\n"
    assert client.ask("break elsewhere") == "Breakpoint 2 (elsewhere) pending.\n"
    assert client.ask("break invert") == "Breakpoint 3 at invert\n"


def test_a_line_without_code_moves_and_says_so(stopped):
    assert stopped.ask("break 8") == "Breakpoint 2 at k.py:10\nLine 8 has no code; it stops at line 10.\n"
    assert "2    breakpoint  keep  y    k.py:10\n" in stopped.ask("info breakpoints")


def test_what_cannot_stop_is_said(stopped):
    assert stopped.ask("break 11 if bad(") == (
        "Breakpoint 2 at k.py:11\nIt cannot stop the program: the condition is no expression\n"
    )
    assert "k.py:11 (the condition is no expression)" in stopped.ask("info breakpoints")
    assert stopped.ask("condition 2 i > 3") == "" and "(the" not in stopped.ask("info breakpoints")
    assert stopped.ask("break 13") == "Breakpoint 3 at k.py:13\nIt cannot stop the program: no code there\n"


def test_breakpoints_are_listed_with_all_that_is_known(stopped):
    stopped.ask(
        "tbreak square block 1 if v > 2",
        "ignore 2 3",
        "disable 1",
        'dprintf 11,"{v}"',
        "commands 1",
        "print i",
    )
    assert stopped.ask("info breakpoints").splitlines() == [
        "Num  Type        Disp  Enb  What",
        "1    breakpoint  keep  n    k.py:12",
        "        only thread 10 block 0",
        "        breakpoint already hit 1 time",
        "2    breakpoint  del   y    square",
        "        only block 1",
        "        stop only if v > 2",
        "        ignore next 3 hits",
        "3    dprintf     keep  y    k.py:11",
        '        dprintf "{v}"',
    ]


def test_changes_are_sent(stopped):
    stopped.ask("disable")
    assert stopped.requests("setBreakpoints")[-1] == {"source": {"path": stopped.path}, "breakpoints": []}
    stopped.ask("enable 1", "condition 1 i == 3", "ignore 1 4")
    assert stopped.requests("setBreakpoints")[-1]["breakpoints"] == [
        {
            "line": 12,
            "condition": "i == 3",
            "hitCondition": ">= 6",
            "cudasim": {"id": 1, "hits": 1, "threads": "10", "blocks": "0"},
        }
    ]
    assert stopped.ask("condition 1") == "Breakpoint 1 now unconditional.\n"
    assert "condition" not in stopped.requests("setBreakpoints")[-1]["breakpoints"][0]


def test_deleting(stopped):
    stopped.ask("break 11", "break 10", "break square", "delete 2-3")
    assert [one.number for one in stopped.debugger.breakpoints.visible()] == [1, 4]
    assert stopped.ask("clear square") == "Deleted breakpoint 4\n"
    assert stopped.ask("clear k.py:12") == "Deleted breakpoint 1\n"
    assert stopped.requests("setBreakpoints")[-1]["breakpoints"] == []
    assert stopped.requests("setFunctionBreakpoints")[-1]["breakpoints"] == []


def test_ignoring_passes_a_breakpoint(client):
    client.ask("break 12")
    assert client.ask("ignore 1 5") == "Will ignore the next 5 crossings of breakpoint 1.\n"
    assert "thread(5,0,0)" in client.ask("run")
    assert "already hit 6 times\n" in client.ask("info breakpoints")
    # They are used up, also for the next run.
    client.ask("kill", "run")
    assert client.ask("continue 1") and "thread(1,0,0)" in client.debugger.prompt
    assert "ignore" not in client.ask("info breakpoints")


def test_commands_of_a_breakpoint_run_when_it_stops(client):
    shown = client.read("break 12 thread 3..4 block 0\ncommands\nprint i\necho next\\n\nend\nrun\ncontinue")
    assert "12\t    y[i] = 255 - v\n$1 = 3\nnext\n" in shown and "$2 = 4\nnext\n" in shown


def test_silent_commands_that_go_on(client):
    shown = client.read("break 12 thread 3..5 block 0\ncommands 1\nsilent\nprint i\ncontinue\nend\nrun")
    assert shown == (
        "Breakpoint 1 at k.py:12\n$1 = 3\nContinuing.\n$2 = 4\nContinuing.\n$3 = 5\nContinuing.\n[The program exited normally]\n"
    )


def test_commands_behind_one_that_goes_on_are_left_out(client):
    shown = client.read(
        "break 12 thread 3..4 block 0\ncommands\nsilent\nprint i\ncontinue\necho never\nend\nrun"
    )
    assert "$2 = 4" in shown and "never" not in shown


def test_a_failing_command_ends_those_of_its_breakpoint(client):
    shown = client.read("break 12 thread 3 block 0\ncommands\nprint nothing\nprint i\nend\nrun")
    assert "'nothing' is not defined" in shown and "$1" not in shown


def test_empty_commands_remove_them(client):
    client.read("break 12 thread 3 block 0\ncommands\nprint i\nend\ncommands 1\nend\nrun")
    assert client.ask("print 5") == "$1 = 5\n"


# Threads


def test_the_focus_moves(stopped):
    assert stopped.ask("cuda thread 5") == (
        "[Switching focus to invert block(0,0,0) thread(5,0,0)]\ninvert block(0,0,0) thread(5,0,0) (over)\n"
    )
    assert stopped.requests("cudasim/focus")[-1] == {"thread": 5}
    assert stopped.ask("cuda block 1 thread (3,0,0)").endswith("(not started)\n")
    assert stopped.requests("cudasim/focus")[-1] == {"block": 1, "thread": [3, 0, 0]}
    stopped.ask("cuda block (1,0,0), thread (2,0)")
    assert stopped.requests("cudasim/focus")[-1] == {"block": [1, 0, 0], "thread": [2, 0, 0]}
    stopped.ask("cuda block 0 thread 10")
    assert stopped.debugger.prompt == "(cudasim) invert block(0,0,0) thread(10,0,0) > "
    assert stopped.ask("thread 10").endswith("at k.py:12\n12\t    y[i] = 255 - v\n")


def test_the_focus_by_warp_and_lane(stopped):
    stopped.ask("cuda warp 0 lane 7")
    assert stopped.requests("cudasim/focus")[-1] == {"thread": 7}
    stopped.ask("cuda lane 9")
    assert stopped.requests("cudasim/focus")[-1] == {"thread": 9}
    stopped.ask("cuda warp 2 lane 3")
    assert stopped.requests("cudasim/focus")[-1] == {"thread": 67}
    assert stopped.ask("cuda lane 32") == "Warps have a number, and lanes one from 0 to 31.\n"
    assert stopped.ask("cuda thread 1 lane 2").startswith("A thread is chosen by its number")


def test_the_focus_is_shown(stopped):
    assert stopped.ask("cuda block thread") == "block (0,0,0), thread (10,0,0)\n"
    assert stopped.ask("cuda") == "kernel 1 (invert), block (0,0,0), thread (10,0,0)\n"
    assert stopped.ask("cuda kernel device warp lane") == "kernel 1 (invert), device A100, warp 0, lane 10\n"
    assert stopped.ask("thread") == "[Current focus is invert block(0,0,0) thread(10,0,0)]\n"


@pytest.mark.parametrize(
    "line, message",
    [
        ("cuda thread 99", "there is no thread 99 in block 0"),
        ("cuda kernel 5", "No kernel 5; invert is kernel 1."),
        ("cuda device 3", "No device 3; there is device 0."),
        ("cuda block thread 3", "The number of the block is missing."),
        ("cuda wrap 3", 'Undefined cuda command: "wrap".  Try "help cuda".  Did you mean "cuda warp"?'),
        ("thread 3 4", 'Junk at the end of the arguments: "4".'),
        ("thread find", "An expression is missing."),
        ("thread apply 0..3", "Write thread apply RANGE COMMAND."),
        ("thread apply 50..60 print i", "The block has no thread 50..60; it has 32."),
    ],
)
def test_what_is_no_thread(stopped, line, message):
    assert stopped.ask(line) == message + "\n"
    assert stopped.debugger.prompt == "(cudasim) invert block(0,0,0) thread(10,0,0) > "


def test_threads_are_found_by_a_condition(stopped):
    assert (
        stopped.ask("thread find i % 10 == 3 or i > 29") == "block(0,0,0): thread 3,13,23,30..31 (5 of 32)\n"
    )
    assert stopped.ask("thread find i > 99") == "block(0,0,0): no thread.\n"
    assert "It cannot be told for thread 0: integer division" in stopped.ask("thread find 5 // i == 5")


def test_a_command_in_several_threads(stopped):
    assert stopped.ask("thread apply 3..4,9 print i") == (
        "\nThread block(0,0,0) thread(3,0,0):\n$1 = 3\n\nThread block(0,0,0) thread(4,0,0):\n$2 = 4\n"
        "\nThread block(0,0,0) thread(9,0,0):\n$3 = 9\n"
    )
    assert stopped.debugger.prompt == "(cudasim) invert block(0,0,0) thread(10,0,0) > "
    assert stopped.ask("thread apply all print i").count("Thread block") == 32


def test_a_command_that_fails_in_one_thread_goes_on_in_the_next(stopped):
    assert stopped.ask("thread apply 0..1 print 6 // i") == (
        "\nThread block(0,0,0) thread(0,0,0):\ninteger division or modulo by zero\n\nThread block(0,0,0) thread(1,0,0):\n$1 = 6\n"
    )


def test_threads_are_listed_by_what_they_do(stopped):
    expected = [
        "  Blocks  Threads  Count  First                        State        Where",
        "  0       0..9        10  block(0,0,0) thread(0,0,0)   over",
        "* 0       10           1  block(0,0,0) thread(10,0,0)  stopped      invert at k.py:12",
        "  0       11..31      21  block(0,0,0) thread(11,0,0)  not started",
        "  1       0..31       32  block(1,0,0) thread(0,0,0)   not started",
    ]
    assert stopped.ask("info threads").splitlines() == expected
    assert stopped.ask("info cuda threads").splitlines() == expected


def test_warps_and_lanes(stopped):
    assert stopped.ask("info cuda warps").splitlines() == [
        "block(0,0,0)",
        "  Warp  Lanes   Mask        State        Where",
        "     0  0..9    0x000003ff  over",
        "*    0  10      0x00000400  stopped      invert at k.py:12",
        "     0  11..31  0xfffff800  not started",
    ]
    stopped.ask("cuda block 1 thread 3")
    assert stopped.ask("info cuda warps").splitlines()[2:] == ["*    0  0..31  0xffffffff  not started"]
    stopped.ask("cuda block 0 thread 10")
    lanes = stopped.ask("info cuda lanes").splitlines()
    assert lanes[:2] == ["block(0,0,0) warp 0", "  Lane  Thread    State        Where"] and len(lanes) == 34
    assert lanes[12] == "*   10  (10,0,0)  stopped      invert at k.py:12"


def test_barriers(stopped):
    place = {"file": stopped.path, "line": 11, "function": "invert", "blocks": "0..1"}
    groups = [{**place, "state": "at barrier", "threads": "0..9", "count": 20}, {**place, "state": "at barrier", "threads": "20", "count": 2},
              {**place, "state": "stopped", "threads": "10", "count": 1}]  # fmt: skip
    stopped.server._cudasim_groups = lambda arguments: {"groups": groups}
    assert stopped.ask("info cuda barriers").splitlines() == [
        "Blocks  Threads  Waiting  State       Where",
        "0..1    0..9,20       22  at barrier  invert at k.py:11",
        "A block has 32 threads.",
    ]


def test_blocks_kernels_and_devices(stopped):
    assert stopped.ask("info cuda blocks").splitlines() == [
        "  State          Blocks  Count",
        "* on the device  0           1",
        "  over                       0",
        "  not started                1",
        "The focus is in block 0 (0,0,0) of 2.",
    ]
    assert (
        stopped.ask("info cuda kernels").splitlines()[1].split()
        == "* 1 invert (2,1,1) (32,1,1) 0 A100".split()
    )
    assert stopped.ask("info cuda devices").splitlines() == ["  Device", "* A100"]


# Stack


def test_the_stack(stopped):
    stopped.ask("break square thread 11 block 0", "continue")
    assert stopped.ask("bt").splitlines() == [
        "#0  square (x=array([0., 10.])) at k.py:6", "#1  invert (x=array([0., 10.])) at k.py:11"]  # fmt: skip
    assert stopped.ask("bt 1").splitlines()[1:] == ["(More stack frames follow...)"]
    assert stopped.ask("bt -1").startswith("#1") and "        v = " in stopped.ask("bt full")
    assert stopped.ask("up") == "#1  invert (x=array([0., 10.])) at k.py:11\n11\t    v = square(x[i])\n"
    assert stopped.ask("up") == "This is the outermost frame.\n"
    assert stopped.ask("info frame").splitlines() == [
        "Stack level 1: invert at k.py:11", " calls square at k.py:6", " thread invert block(0,0,0) thread(11,0,0)"]  # fmt: skip
    stopped.ask("print v")
    assert stopped.requests("evaluate")[-1]["frameId"] == 101
    assert stopped.ask("down").startswith("#0") and stopped.ask("down") == "This is the innermost frame.\n"
    assert stopped.ask("frame 1").startswith("#1") and stopped.ask("frame 2") == "No frame 2.\n"
    assert stopped.ask("bt x") == '"x" is no number of frames.\n'


def test_finish_from_a_selected_caller_leaves_it(stopped):
    stopped.ask("delete", "break square thread 11 block 0", "continue", "up")
    assert stopped.ask("finish").startswith("Run till exit from #1  invert (x=")
    (sent,) = stopped.requests("stepOut")
    assert sent["cudasim"] == {"unit": "thread", "levels": 1}


def test_a_thread_that_has_not_started_has_no_stack(stopped):
    stopped.ask("thread 20")
    for line in ("bt", "info locals", "up"):
        assert stopped.ask(line) == "No stack: the thread has not started.\n"
    stopped.ask("thread 3")
    assert stopped.ask("bt") == "No stack: the thread is over.\n"


# Data


def test_print(stopped):
    assert stopped.ask("print i") == "$1 = 10\n" and stopped.ask("p/x i") == "$2 = 0xa\n"
    assert stopped.ask("p $1 * 3") == "$3 = 30\n" and stopped.ask("p") == "$4 = 30\n"
    assert (
        stopped.ask("p $1") == "$5 = 10\n"
        and stopped.ask("p $") == "$6 = 10\n"
        and stopped.ask("p $99").startswith("History")
    )
    stopped.debugger.history.values[4:] = []
    assert stopped.ask("p/x x[1:3]") == "$5 = {0xa, 0x14}\n"
    assert stopped.ask("show values").splitlines()[0] == "$1 = 10"
    assert "name 'nothing' is not defined" in stopped.ask("p nothing")
    assert stopped.ask("p/z i").startswith('Undefined output format "z"')
    assert (
        stopped.ask("output i") == "10"
        and stopped.ask("call i") == "$6 = 10\n"
        and stopped.ask("call None") == ""
    )


def test_the_number_of_elements(stopped):
    stopped.ask("set print elements 2")
    assert stopped.ask("p x") == "$1 = [0, 10, ...]\n"
    stopped.ask("set print elements unlimited")
    assert stopped.ask("p x").endswith("630]\n")
    assert (
        stopped.ask("show print elements")
        == "The number of elements of an array that are shown is unlimited.\n"
    )


def test_print_for_a_warp_and_a_block(stopped):
    rows = stopped.ask("print -warp i * 10").splitlines()
    assert rows[0] == "  lane  0..7     0   10   20   30   40   50   60   70" and len(rows) == 4
    assert stopped.requests("cudasim/evaluateLanes")[-1]["scope"] == "warp"
    assert stopped.ask("print -warp warpsize") == "  thread 0..31  32\n"
    assert stopped.ask("print -block i // 16").splitlines() == ["  thread 0..15   0", "  thread 16..31  1"]
    assert stopped.ask("print -block /x i // 16 + 15").splitlines() == [
        "  thread 0..15   0xf",
        "  thread 16..31  0x10",
    ]
    assert (
        stopped.ask("print -block 1 // (i // 31)").splitlines()[0]
        == "  thread 0..30  <integer division or modulo by zero>"
    )
    assert (
        stopped.ask("print -warp 60 // (i - 3)").splitlines()[0]
        == "  lane  0..7   -20  -30  -60    -   60   30   20   15"
    )
    assert (
        stopped.ask("print -warp 60 // (i - 3)").splitlines()[4]
        == "  thread 3  <integer division or modulo by zero>"
    )
    assert stopped.ask("print -- -i") == "$1 = -10\n"


def test_assignment(stopped):
    assert stopped.ask("set var v = i + 1") == "" and stopped.ask("p v") == "$1 = 11\n"
    assert stopped.requests("setExpression")[-1]["expression"] == "v"
    stopped.ask("set variable v = $1 * 2")
    assert stopped.requests("setExpression")[-1]["value"] == "np.int64(11) * 2"
    stopped.ask("set v = 5")
    assert stopped.requests("setExpression")[-1]["value"] == "5"
    for line in ("set var v", "set var v == 3", "set var = 3", "set"):
        assert stopped.ask(line).startswith("Write set var NAME = EXPRESSION")


def test_variables(stopped):
    assert stopped.ask("info locals") == "i = 10\nv = 10000\n"
    assert stopped.ask("info args") == "x = array([0., 10.])\n"
    assert stopped.ask("info registers") == "threadIdx  (10, 0, 0)\n"
    assert stopped.ask("info registers nothing") == 'Invalid register "nothing".\n'
    assert stopped.ask("info shared") == "No shared memory.\n"
    assert stopped.ask("whatis i") == "type = int64\n"


def test_the_fields_of_a_type(stopped):
    stopped.server._evaluate = lambda arguments: {
        "result": "(1, 2.0)",
        "type": "Record",
        "variablesReference": 9,
    }
    assert stopped.ask("ptype r") == "type = Record\n    a: int64\n    b: int64\n"


def test_display(client):
    assert client.ask("display v") == ""
    shown = client.ask("break 12 thread 10 block 0", "run")
    assert shown.endswith("12\t    y[i] = 255 - v\n1: v = 10000\n")
    assert client.ask("display/x i") == "2: /x i = 0xa\n"
    assert client.ask("display x[i + 90]") == "3: x[i + 90] = <list index out of range>\n"
    assert client.ask("info display").splitlines()[2] == "2    y    /x i"
    client.ask("undisplay 1 3", "disable display 2")
    assert client.ask("display") == "" and client.ask("enable display", "display") == "2: /x i = 0xa\n"
    assert client.ask("undisplay 7") == 'No display number "7".\n'
    client.ask("undisplay")
    assert client.ask("info display") == "There are no expressions on display.\n"


def test_memory(stopped):
    assert stopped.ask("x/6fw x") == "0x1000:\t0.0\t1.0\t2.0\t3.0\n0x1010:\t4.0\t5.0\n"
    assert stopped.ask("x/2xg 0x1000") == "0x1000:\t0x3f80000000000000\t0x4040000040000000\n"
    assert stopped.ask("x/3xb 4096") == "0x1000:\t0x00\t0x00\t0x00\n" and stopped.ask("x/1tw &x").endswith(
        "0" * 32 + "\n"
    )
    assert stopped.ask("x/2xw 0x2000") == "Cannot access memory at address 0x2000.\n"
    assert (
        stopped.ask("x/2zz 0").startswith('"/2zz" is no layout')
        and stopped.ask("x") == "An address is missing.\n"
    )
    assert stopped.ask("x/1xw 'a'") == "'a' has no address.\n"


# Source


def test_list(stopped):
    numbers = lambda shown: [int(line.split("\t")[0]) for line in shown.splitlines()]  # noqa: E731
    assert numbers(stopped.ask("list")) == list(range(7, 15))
    assert stopped.ask("list") == '"k.py" has 14 lines only.\n'
    assert numbers(stopped.ask("list -")) == list(range(1, 7))
    assert stopped.ask("list -").startswith("The first line")
    assert numbers(stopped.ask("list 4,6")) == [4, 5, 6] and numbers(stopped.ask("list k.py:5,+1")) == [5, 6]
    assert numbers(stopped.ask("list square")) == list(range(1, 11))
    assert numbers(stopped.ask("ll")) == [9, 10, 11, 12]
    assert (
        stopped.ask("list nothing").startswith('Function "nothing"')
        and stopped.ask("list 6,4") == "Line 4 is before line 6.\n"
    )


def test_the_text_that_was_compiled_is_shown(client):
    client.ask("break 12 thread 10 block 0")
    with open(client.path, "w") as file:
        file.write("# changed\n" * 20)
    assert "\n12\t    y[i] = 255 - v\n" in client.ask("run")
    assert client.ask("list 12,12") == "12\t    y[i] = 255 - v\n"


def test_about_the_source(stopped):
    assert (
        stopped.ask("info source")
        == f"Current source file is k.py\nLocated in {stopped.path}\nContains 14 lines.\n"
    )
    assert stopped.ask("info line") == 'Line 12 of "k.py" has code.\n'
    assert stopped.ask("info line 3") == 'Line 3 of "k.py" has no code of a kernel.\n'
    assert "launch 1: invert" in stopped.ask("info program")


# The debugger itself


@pytest.mark.parametrize(
    "line, shown",
    [
        ("show listsize", "The number of source lines that list shows is 10.\n"),
        ("set listsize 0", '"0" is no number from 1 on.\n'),
        ("set lists 5", ""),
        ("set confirm perhaps", '"perhaps" is none of: on, off.\n'),
        ("set foo 3", 'Undefined setting: "foo".  Try "help set".\n'),
        ("set cuda k off", ""),
        ("show cuda break_on_launch", "Stopping at the entry of every kernel is none.\n"),
        ("frobnicate", 'Undefined command: "frobnicate".  Try "help".\n'),
        ("# words", ""),
        ("", ""),
        ("echo a\\tb\\n", "a\tb\n"),
        ("info", '"info" must be followed by one of'),
        ("quit x", '"x" is no exit status.\n'),
        ("shell echo hello >/dev/null", ""),
        ("alias", ""),
        ("source", "The name of a file is missing.\n"),
        ("source no.gdb", "no.gdb: No such file or directory.\n"),
    ],
)
def test_small_commands(client, line, shown):
    assert client.ask(line).startswith(shown) and bool(client.ask(line)) == bool(shown)


def test_help(client):
    assert client.ask("help break").startswith("break [LOCATION] [thread RANGE]")
    assert client.ask("help info cuda warps").startswith("info cuda warps\nThe warps of the focus's block")
    assert client.ask("help running").startswith("run, r")
    shown = client.ask("help")
    for name in ("break", "continue", "cuda", "thread", "print"):
        assert f"\n  {name}" in shown


def test_aliases(stopped):
    assert stopped.ask("alias pi = print i +", "pi 1") == "$1 = 11\n"
    assert stopped.ask("alias") == "alias pi = print i +\n" and "alias of print i +" in stopped.ask("help pi")
    assert stopped.ask("alias step = next") == "step is a command already.\n"
    assert stopped.ask("alias a = frob").startswith('Undefined command: "frob"')
    assert stopped.ask("alias pi = pi 2") == "The alias pi would stand for itself.\n"
    stopped.ask("alias a1 = print", "alias a2 = a1 i")
    assert stopped.ask("a2") == "$2 = 10\n"


def test_a_file_of_commands(stopped, tmp_path):
    (tmp_path / "c.gdb").write_text(
        "# comment\n\nprint i\nbreak 11\ncommands\nprint v\nend\nprint nothing\nprint i\n"
    )
    shown = stopped.ask("source c.gdb")
    assert shown.startswith("$1 = 10\nBreakpoint 2 at k.py:11\nc.gdb:8: name 'nothing' is not defined")
    assert "$2" not in shown and stopped.debugger.breakpoints.find(2).commands == ["print v"]
    (tmp_path / "endless.gdb").write_text("source endless.gdb\n")
    assert "nested too deep" in stopped.ask("source endless.gdb")


def test_completion(stopped):
    def completed(line):
        return completion.lines(stopped.debugger, line)

    assert completed("brea") == ["break"] and completed("info lo") == ["info locals"]
    assert completed("info cuda w") == ["info cuda warps"] and completed("thread a") == ["thread apply"]
    assert completed("print thr") == ["print threadIdx"] and completed("p -warp x[i] + v") == [
        "p -warp x[i] + v"
    ]
    assert completed("break sq") == ["break square"] and completed("break k") == ["break k.py:"]
    assert completed("set cuda b") == ["set cuda break_on_launch"] and completed("set step w") == [
        "set step warp"
    ]
    assert (
        completed("delete ") == ["delete 1"]
        and completed("help unt") == ["help until"]
        and completed("nonsense x") == []
    )
    assert completed("set var v") == ["set var v"]
    assert stopped.ask("complete inf") == "info\n"
