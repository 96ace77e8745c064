"""Requests beside stopping and stepping: completions, sources, modules, cancelling, what is not supported; and messages that make no sense, to
a process that must go on answering."""

import pytest
from debug_session import debugging
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

SCRIPT = """
    import numpy as np
    from numba import cuda

    point = np.dtype([("mass", np.float32), ("speed", np.int32)])

    @cuda.jit(device=True)
    def twice(value):
        doubled = value * 2
        return doubled             # in twice

    @cuda.jit
    def kernel(x, points):
        i = cuda.grid(1)
        p = points[0]
        total = twice(i)
        x[i] = total + p.mass      # end

    x = np.zeros(64)
    kernel[1, 64](x, np.ones(1, dtype=point))
    print(x.sum())
"""
SUM = "4096.0\n"


@pytest.fixture
def client(tmp_path):
    with debugging(tmp_path, SCRIPT) as one:
        yield one


def stopped(client, mark="end", threads="40"):
    client.break_at(mark, cudasim={"threads": threads})
    client.run()
    client.wait(mark)


def completed(client, text, column=None, **more):
    frame = client.frames()[0]["id"]
    found = client.ask("completions", frameId=frame, text=text, column=column or len(text) + 1, **more)[
        "targets"
    ]
    return {target["label"]: (target["start"], target["length"]) for target in found}


def test_completions_are_variables_and_special_registers(client):
    stopped(client)
    everything = completed(client, "")
    assert {"i", "p", "total", "x", "points", "threadIdx", "blockDim", "laneid", "np"} <= set(everything)
    assert completed(client, "1 + to") == {"total": (5, 2)}
    assert completed(client, "thr") == {"threadIdx": (1, 3)}
    assert completed(client, "to + i", column=3) == {"total": (1, 2)}
    assert completed(client, "nothing") == {}
    client.break_at()
    client.go_to_end()


def test_completions_are_members_behind_a_dot(client):
    stopped(client)
    assert completed(client, "2 * p.m") == {"mass": (7, 1)}
    assert set(completed(client, "threadIdx.")) == {"x", "y", "z"}
    assert set(completed(client, "points[0].")) == {"mass", "speed"}
    assert completed(client, "i.") == {}


def test_columns_count_utf_16(client):
    stopped(client)
    assert completed(client, '"\U0001f600" + to', column=len('"xx" + to') + 1) == {"total": (8, 2)}


def test_completions_of_other_frames(client):
    stopped(client, "in twice")
    frames = client.frames()
    asked = [client.ask("completions", frameId=one["id"], text="do", column=3)["targets"] for one in frames]
    assert [[target["label"] for target in targets] for targets in asked][:2] == [["doubled"], []]
    assert asked[-1] == []  # the host's


def test_sources_and_modules(client):
    assert client.ask("loadedSources") == {"sources": []}
    assert client.ask("modules") == {"modules": [], "totalModules": 0}
    stopped(client)
    (source,) = client.ask("loadedSources")["sources"]
    assert source["path"] == str(client.script)
    (module,) = client.ask("modules")["modules"]
    assert (module["name"], module["path"]) == ("kernel", str(client.script))
    assert client.ask("modules", startModule=1) == {"modules": [], "totalModules": 1}


def test_the_scope_warp_has_the_values_of_all_lanes(client):
    stopped(client)
    values = {name: one["value"] for name, one in client.scope("Warp").items()}
    assert (
        values["i"] == "[" + ", ".join(["-"] * 8 + ["40"] + ["-"] * 23) + "]"
    )  # the others are over, or have not started
    assert "x" not in values and "p" not in values


def test_a_request_that_waits_is_cancelled(client):
    stopped(client)
    frame = client.frames()[0]["id"]
    slow = client.send("evaluate", frameId=frame, expression="sum(1 for _ in range(3_000_000))")
    waiting = client.send("evaluate", frameId=frame, expression="i")
    client.ask("cancel", requestId=waiting)
    assert client.response(slow)["result"] == "3000000"
    while waiting not in client._responses:
        client._receive()
    answer = client._responses.pop(waiting)
    assert not answer["success"] and answer["message"] == "cancelled"
    client.ask("cancel", requestId=999)
    client.ask("cancel")
    assert client.value("i") == "40"


@pytest.mark.parametrize(
    "command",
    ["goto", "gotoTargets", "restart", "restartFrame", "terminateThreads", "stepInTargets", "disassemble", "locations",
     "setInstructionBreakpoints", "runInTerminal", "fly"],
)  # fmt: skip
def test_what_is_not_supported_is_named(client, command):
    assert client.refused(command) == f"unsupported: cudasim does not have the request '{command}'"


def test_lines_and_columns_may_count_from_0(client):
    stopped(client)
    before = client.frames()
    client.ask("initialize", adapterID="cudasim", linesStartAt1=False, columnsStartAt1=False)
    for one, other in zip(before, client.frames()):
        assert (other["line"], other["column"]) == (one["line"] - 1, one["column"] - 1)


def test_paths_are_no_addresses_of_the_web(client):
    assert "'uri'" in client.refused("initialize", adapterID="cudasim", pathFormat="uri")


def test_a_running_program_has_a_thread_to_be_paused(client):
    assert client.ask("threads")["threads"] == [{"id": 1, "name": "kernels"}]
    stopped(client)
    assert len(client.ask("threads")["threads"]) > 1


def test_a_thread_that_has_not_started_goes_to_a_line_of_its_kernel(client):
    stopped(client)
    client.focus(block=[0, 0, 0], thread=[41, 0, 0])
    client.break_at()
    client.go("cudasim/until", line=client.line("end"), reason="step")


def test_a_program_that_runs_is_attached_to(client):
    assert client.refused("launch") == "unsupported: the program runs already; the request is attach"


def test_calls_of_breakpoint_are_a_filter(tmp_path):
    with debugging(
        tmp_path, SCRIPT.replace("p = points[0]", "p = points[0]; breakpoint() # call"), filters=["errors"]
    ) as client:
        client.run()
        assert client.end() == SUM
    with debugging(tmp_path, SCRIPT.replace("p = points[0]", "p = points[0]; breakpoint() # call")) as client:
        client.run()
        stop = client.wait("call", "breakpoint")
        launch = client.event("cudasim/launch")
        assert launch["breakpointCalls"] == [
            {"id": stop["hitBreakpointIds"][0], "file": str(client.script), "line": client.line("call")}
        ]
        client.ask("cudasim/silenceCalls", calls=[{"file": str(client.script), "line": client.line("call")}])
        assert client.go_to_end() == SUM


# -- messages that make no sense

COMMANDS = ["initialize", "attach", "setBreakpoints", "setFunctionBreakpoints", "setExceptionBreakpoints", "cudasim/silenceCalls",
            "breakpointLocations", "source", "loadedSources", "modules", "cancel", "threads", "cudasim/focus", "cudasim/groups",
            "cudasim/kernel", "stackTrace", "scopes", "variables", "setVariable", "setExpression", "completions", "evaluate",
            "cudasim/evaluateLanes", "exceptionInfo", "readMemory", "writeMemory", "goto", "pause", "", "\u0000"]  # fmt: skip
NAMES = ["threadId", "frameId", "variablesReference", "expression", "text", "column", "line", "source", "path", "breakpoints", "name",
         "value", "block", "thread", "cudasim", "threads", "blocks", "count", "start", "memoryReference", "data", "offset", "filters",
         "calls", "file", "condition", "hitCondition", "logMessage", "requestId", "scope", "filter", "levels", "startFrame",
         "sourceReference", "context"]  # fmt: skip
SMALL = st.sampled_from(
    ["i", "x", "p.mass", "x[", "0x10", "AA==", "1..2", "*", "warp", "é", "\ud800", "3", "lambda: 0"]
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 70) | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | SMALL | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(NAMES), inner, max_size=4), max_leaves=8,
)  # fmt: skip
REQUESTS = st.tuples(st.sampled_from(COMMANDS), st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=7))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(messages=st.lists(REQUESTS, max_size=12), junk=st.binary(max_size=40))
def random_messages(client, messages, junk):
    for command, arguments in messages:
        client.ask_anything(command, arguments)
    client.send_bytes(b"Content-Length: %d\r\n\r\n" % len(junk) + junk)
    client.check()


@pytest.mark.parametrize("when", ["before the start", "at a stop"])
def test_random_requests_are_answered_and_do_no_harm(client, when):
    def ask_anything(command, arguments):
        number = client.send(command, **arguments)
        while number not in client._responses:
            client._receive()
        client._responses.pop(number)

    client.ask_anything = ask_anything
    if when == "at a stop":
        stopped(client)
        client.check = lambda: client.ask("cudasim/kernel")
    else:
        client.check = lambda: client.ask("loadedSources")
    random_messages(client)
    # The focus, values and breakpoints may be anything now.
    client.ask("disconnect")
    assert client.finish()[0] == 0


def test_a_client_that_leaves_before_the_import_leaves_the_program_alone(tmp_path):
    """The socket still listens; the program does not come back to it when it imports numba.cuda."""
    with debugging(tmp_path, SCRIPT) as client:
        client.ask("disconnect")
        status, output = client.finish()
        assert (status, output) == (0, SUM)
