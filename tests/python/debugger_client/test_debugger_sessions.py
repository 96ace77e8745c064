"""Sessions with a fake program: what starting, stopping and moving show, and what the program is asked for."""

import pytest
from client_sessions import client_in
from cudasim.debugger_client.dap import encoded


@pytest.fixture
def client(tmp_path, monkeypatch):
    with client_in(tmp_path, monkeypatch) as found:
        yield found


def test_the_prompt_names_the_thread_in_focus(client):
    assert client.debugger.prompt == "(cudasim) "
    client.ask("break 12 thread 10", "run")
    assert client.debugger.prompt == "(cudasim) invert block(0,0,0) thread(10,0,0) > "
    client.ask("delete", "continue")
    assert client.debugger.prompt == "(cudasim) "


def test_run_without_breakpoints_runs_to_the_end(client):
    assert client.ask("run") == "[The program exited normally]\n"
    command, variables = client.started[0]
    assert command == ["-m", "cudasim.debugging.debuggee", "k.py"]
    assert variables["ENABLE_CUDASIM"] == "1"
    assert [name for name, _ in client.server.requests] == ["initialize", "attach", "configurationDone"]


def test_the_exit_status_is_told(client):
    client.how["status"] = 3
    assert client.ask("run") == "[The program exited with code 3]\n"
    client.how["status"] = -11
    assert client.ask("run") == "[The program was ended by signal SIGSEGV]\n"


def test_arguments_of_the_program(client):
    client.ask("run a 'b c'", "run", "set args d", "run")
    assert [command[3:] for command, _ in client.started] == [["a", "b c"], ["a", "b c"], ["d"]]
    assert "split into words" in client.ask("run 'a")


def test_a_breakpoint_that_is_set_before_the_start_stops(client):
    assert client.ask("break 12 thread 10") == "Breakpoint 1 at k.py:12\n"
    assert (
        client.ask("run")
        == "Breakpoint 1, invert block(0,0,0) thread(10,0,0) at k.py:12\n12\t    y[i] = 255 - v\n"
    )
    sent = client.requests("setBreakpoints")
    assert sent == [
        {
            "source": {"path": client.path},
            "breakpoints": [{"line": 12, "cudasim": {"id": 1, "threads": "10"}}],
        }
    ]


def test_steps_show_the_line_and_functions_that_they_enter(client):
    client.ask("break invert", "run")
    assert client.ask("next") == "11\t    v = square(x[i])\n"
    assert client.ask("step") == "square block(0,0,0) thread(0,0,0) at k.py:6\n6\t    return v * v\n"
    assert client.ask("finish") == (
        "Run till exit from #0  square (x=array([0., 10.])) at k.py:6\n"
        "invert block(0,0,0) thread(0,0,0) at k.py:12\n12\t    y[i] = 255 - v\n"
    )  # fmt: skip


def test_a_step_goes_several_times_and_says_where_it_ends_only(client):
    client.ask("break invert thread 0", "run")
    assert client.ask("step 3").endswith("12\t    y[i] = 255 - v\n")
    assert len(client.requests("stepIn")) == 3
    assert client.ask("step 0") == '"0" is no number of times.\n'


def test_several_steps_end_at_another_stop(client):
    client.ask("tbreak invert", "break square thread 1 block 0", "run")
    assert "Breakpoint 2, square block(0,0,0) thread(1,0,0)" in client.ask("next 10")
    assert len(client.requests("next")) == 3


def test_the_unit_of_steps_is_sent(client):
    client.ask("break invert", "run", "step", "set step warp", "next")
    assert client.requests("stepIn")[0]["cudasim"] == {"unit": "thread"}
    assert client.requests("next")[0] == {"threadId": 1, "cudasim": {"unit": "warp"}}
    assert client.ask("set step wagon") == '"wagon" is none of: thread, warp, block, grid.\n'


def test_a_stop_in_another_thread_says_that_the_focus_moves(client):
    client.ask("break 12 thread 3..4", "run")
    assert client.ask("continue") == (
        "Continuing.\n[Switching focus to invert block(0,0,0) thread(4,0,0)]\n"
        "Breakpoint 1, invert block(0,0,0) thread(4,0,0) at k.py:12\n12\t    y[i] = 255 - v\n"
    )  # fmt: skip


def test_start_stops_at_the_first_kernels_entry(client):
    assert (
        client.ask("start")
        == "Kernel entry, invert block(0,0,0) thread(0,0,0) at k.py:10\n10\t    i = cuda.grid(1)\n"
    )
    assert client.requests("setFunctionBreakpoints")[0]["breakpoints"][0]["name"] == "*"
    assert client.requests("setFunctionBreakpoints")[-1] == {"breakpoints": []}
    assert client.ask("info breakpoints") == "No breakpoints.\n"
    assert client.ask("continue") == "Continuing.\n[The program exited normally]\n"


def test_a_start_without_a_kernel_leaves_no_breakpoint_behind(client):
    def without_kernel(command, variables, start=client.debugger._start):
        program = start(command, variables)
        program.server._launch = program.server._over
        return program

    client.debugger._start = without_kernel
    client.ask("start")
    assert client.debugger.breakpoints.all() == []


def test_break_on_launch(client):
    client.ask("set cuda break_on_launch application")
    assert client.ask("run").startswith("Kernel entry, invert")
    client.ask("set cuda break_on_launch none")
    assert client.requests("setFunctionBreakpoints")[-1] == {"breakpoints": []}


def test_errors_stop_unless_that_is_switched_off(client):
    client.ask("break 12", "set break_on_errors off", "run", "set break_on_errors on")
    assert client.requests("setExceptionBreakpoints") == [
        {"filters": ["calls"]},
        {"filters": ["errors", "calls"]},
    ]
    client.ask("run")
    assert client.requests("setExceptionBreakpoints") == []


def test_launches_are_told_where_that_is_set(client):
    client.ask("set cuda kernel_events on")
    assert client.ask("run") == (
        "[Launch 1: invert, grid (2,1,1), block (32,1,1)]\n[Launch 1: invert has ended]\n[The program exited normally]\n"
    )


def test_an_error_is_told_with_its_thread(client):
    client.how["fails_at"] = 10
    assert client.ask("run") == (
        "Thread block(0,0,0) thread(10,0,0) stopped: IndexError: index 10 is out of bounds\n"
        "invert block(0,0,0) thread(10,0,0) at k.py:12\n12\t    y[i] = 255 - v\n"
    )


def test_a_thread_that_has_ended_is_told(client):
    client.ask("break 12 thread 10 block 0", "run")
    client.server._next = lambda arguments: {
        "after": lambda: client.server.event(
            "stopped",
            reason="step",
            threadId=1,
            cudasim={
                "kernel": "invert",
                "block": [0, 0, 0],
                "thread": [10, 0, 0],
                "launch": 1,
                "grid": [2, 1, 1],
                "blockDim": [32, 1, 1],
            },
        )
    }
    assert client.ask("next") == "[Thread block(0,0,0) thread(10,0,0) has ended]\n"
    assert client.ask("print i") == "$1 = 10\n" and "frameId" not in client.requests("evaluate")[-1]


def test_until_and_advance(client):
    client.ask("break invert thread 0 block 0", "run")
    assert client.ask("until 12") == "12\t    y[i] = 255 - v\n"
    assert client.requests("cudasim/until") == [{"threadId": 1, "line": 12, "file": client.path}]
    client.ask("kill", "run")
    assert client.ask("until") == "11\t    v = square(x[i])\n"
    assert (
        client.ask("advance square") == "square block(0,0,0) thread(0,0,0) at k.py:6\n6\t    return v * v\n"
    )
    assert client.requests("setFunctionBreakpoints")[-1]["breakpoints"][0]["name"] == "invert"
    assert client.ask("until square") == "until needs a line; advance takes functions, too.\n"
    assert client.ask("advance").startswith("A location is missing")


def test_to_the_next_barrier(client):
    client.ask("break invert thread 0 block 0", "run")
    assert client.ask("barrier") == "12\t    y[i] = 255 - v\n"
    assert client.requests("cudasim/barrier") == [{"threadId": 1}]


def test_a_temporary_breakpoint_stops_once(client):
    client.ask("tbreak 12 thread 3")
    assert client.ask("run").startswith("Temporary breakpoint 1, invert block(0,0,0) thread(3,0,0)")
    assert client.ask("info breakpoints") == "No breakpoints.\n"
    assert client.ask("continue") == "Continuing.\n[The program exited normally]\n"


def test_run_starts_again_and_breakpoints_stay(client):
    client.ask("break 12 thread 10", "run")
    first = client.programs[0]
    assert "Breakpoint 1, " in client.ask("run")
    assert len(client.programs) == 2 and "end" in first.log and first.status == -9


def test_kill_ends_the_program(client):
    client.ask("break 12", "run")
    assert client.ask("kill") == "[The program was killed]\n"
    assert client.ask("kill") == "The program is not being run.\n"
    assert client.debugger.prompt == "(cudasim) "


def test_the_program_has_the_terminal_only_while_it_runs(client):
    client.ask("break 12 thread 10", "run", "print i")
    assert client.programs[0].log == ["background"]
    client.ask("step")
    assert client.programs[0].log == ["background", "foreground", "background"]


def test_commands_that_need_a_stopped_kernel_say_so(client):
    for line in (
        "continue",
        "step",
        "bt",
        "print i",
        "info threads",
        "info cuda warps",
        "cuda thread 3",
        "thread",
        "x/4 a",
        "finish",
    ):
        assert client.ask(line) == "The program is not being run.\n", line


def test_a_request_that_is_refused_leaves_the_stop_as_it_was(client):
    client.ask("break 12 thread 10", "run")
    client.server.refuse["next"] = "the thread waits for lane 3, which is held"
    assert client.ask("next") == "the thread waits for lane 3, which is held\n"
    assert client.debugger.prompt == "(cudasim) invert block(0,0,0) thread(10,0,0) > "
    assert client.ask("print i") == "$1 = 10\n"


def test_a_missing_script_is_one_line(client):
    client.debugger.script = ["no.py"]
    assert client.ask("run") == "cudasim: cannot read the script no.py: No such file or directory\n"
    assert client.programs == []


def test_a_program_that_dies_is_told_and_the_client_goes_on(client):
    client.ask("break 12", "run")
    client.programs[0].die(-11)
    shown = client.ask("print i")
    assert "[The program was ended by signal SIGSEGV]\n" in shown
    assert client.debugger.prompt == "(cudasim) "
    assert "Breakpoint 1, " in client.ask("run")


def test_a_program_that_dies_while_it_stands_is_noticed(client):
    client.ask("break 12", "run")
    client.programs[0].die(0)
    assert client.ask("echo .").endswith(".[The program exited normally]\n")


@pytest.mark.parametrize(
    "data", [b"Content-Length: x\r\n\r\n", b"nonsense\r\n\r\n", b"Content-Length: 3\r\n\r\nabc"]
)
def test_nonsense_ends_the_session_with_one_line(client, data, monkeypatch):
    monkeypatch.setattr("cudasim.debugger_client.session._TIME_TO_END", 0.1)
    client.ask("break 12 thread 10", "run")
    client.programs[0].send_raw(data)
    shown = client.ask("next")
    assert "The connection to the program is lost" in shown and shown.count("\n") <= 2
    assert client.debugger.prompt == "(cudasim) "


@pytest.mark.parametrize(
    "body", [{}, {"threadId": None}, {"cudasim": {}}, {"cudasim": {"block": None, "line": None}}]
)
def test_a_stop_that_says_little_is_a_stop(client, body):
    client.ask("break 12 thread 10", "run")
    client.server._continue = lambda arguments: {
        "after": lambda: client.server.event("stopped", reason="pause", **body)
    }
    assert client.ask("continue").startswith("Continuing.\n")
    assert client.debugger.session.stop is not None


def test_answers_of_another_shape_do_not_end_the_client(client):
    client.ask("break 12 thread 10", "run")
    client.server._cudasim_groups = lambda arguments: {"groups": 5}
    client.programs[0].send_raw(encoded({"type": "event", "event": "breakpoint", "body": {"breakpoint": 3}}))
    client.programs[0].send_raw(encoded({"type": "event", "event": "output"}))
    client.debugger.run_line("info threads")
    client.debugger.run_line("step")
    assert client.ask("print i") == "$1 = 42\n"


def test_log_points_are_shown_as_they_come(client):
    client.ask('dprintf 12 thread 3..4,"i is {i}"')
    assert client.ask("run") == "i is 3\ni is 4\ni is 35\ni is 36\n[The program exited normally]\n"


def test_what_comes_after_the_end_is_shown(client):
    def without_kernel(command, variables, start=client.debugger._start):
        program = start(command, variables)
        program.server._launch = lambda: (
            (
                program.server.event("terminated"),
                program.server.event("output", category="console", output="late\n"),
            )
            and "over"
        )
        return program

    client.debugger._start = without_kernel
    assert client.ask("run") == "late\n[The program exited normally]\n"


def test_notes_of_a_stop_are_told(client):
    client.ask("break 12 thread 10", "run")
    stopped = client.server._stopped
    client.server._stopped = lambda reason, **rest: stopped(
        reason, notes=["31 other threads passed breakpoint 1"], **rest
    )
    client.ask("delete", "break 10 thread 20")
    assert "\n[31 other threads passed breakpoint 1]\n10\t" in client.ask("continue")


def test_steps_go_on_whatever_is_noted(client):
    client.ask("break 10 thread 3 block 0", "run")
    stopped = client.server._stopped
    client.server._stopped = lambda reason, **rest: stopped(
        reason, notes=["31 other threads passed breakpoint 1"], **rest
    )
    client.ask("next 2")
    assert len(client.requests("next")) == 2


def test_an_empty_line_repeats_what_moves_the_program(client):
    shown = client.read("break invert thread 0 block 0\nrun\nstep\n\n\nprint i\n\n")
    assert len(client.requests("stepIn")) == 3
    assert shown.count("$1 = 0") == 1 and "$2" not in shown


def test_an_empty_line_goes_on_listing(client):
    client.ask("set listsize 3")
    shown = client.read("list 2\n\n")
    assert [line.split("\t")[0] for line in shown.splitlines()] == [str(number) for number in range(1, 10)]
