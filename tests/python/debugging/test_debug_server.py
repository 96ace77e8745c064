"""The debug server (docs/debug_protocol.md) through its socket: where kernels stop, and what is there to be seen."""

import pytest
from cudasim.debugging import debuggee
from debug_session import debugging, has_schema

LOOK = """
    import numpy as np
    from numba import cuda

    @cuda.jit(device=True)
    def half(value):
        part = value / 2  # part
        return part  # inside

    @cuda.jit
    def kernel(x, n):
        i = cuda.grid(1)  # first
        s = cuda.shared.array(64, np.float32)
        s[cuda.threadIdx.x] = i
        pair = (i, 1.5)
        c = 1 + 2j
        flag = i > 3  # flag
        cuda.syncthreads()  # wait
        if flag:  # if
            x[i] = half(s[cuda.threadIdx.x])  # call
        else:
            x[i] = -1  # else
        x[i] += n  # last

    x = np.zeros(128, np.float32)
    kernel[2, 64](x, 3)  # launch
    print(*x)
"""
RESULTS = [-1 + 3 if i <= 3 else i / 2 + 3 for i in range(128)]


@pytest.fixture
def look(tmp_path):
    """A program that waits for its breakpoints."""
    with debugging(tmp_path, LOOK) as client:
        yield client


def results(output):
    return [float(number) for number in output.split()]


def test_the_schema_is_there_where_debugpy_is():
    if not has_schema():
        pytest.skip("debugpy and jsonschema are not installed: messages are not checked against the schema")


def test_a_breakpoint_is_pending_until_its_kernel_is_launched(look):
    (breakpoint,) = look.break_at("flag")
    assert (breakpoint["verified"], breakpoint["message"].partition(":")[0]) == (False, "pending")
    look.run()
    changed = look.event("breakpoint")
    assert changed["reason"] == "changed"
    assert (changed["breakpoint"]["verified"], changed["breakpoint"]["line"]) == (True, look.line("flag"))
    stop = look.wait("flag", "breakpoint")
    assert stop["hitBreakpointIds"] == [breakpoint["id"]]
    assert stop["allThreadsStopped"] is True
    about = stop["cudasim"]
    assert (about["block"], about["thread"], about["grid"]) == ([0, 0, 0], [0, 0, 0], [2, 1, 1])
    assert (about["kernel"], about["function"], about["launch"]) == ("kernel", "kernel", 1)
    look.break_at()
    assert results(look.go_to_end()) == RESULTS


def test_ranges_of_threads_and_blocks_choose_who_stops(look):
    look.break_at("flag", cudasim={"threads": "10, 62..63", "blocks": "(1,0,0)"})
    look.run()
    stops = [look.wait("flag")["cudasim"]]
    stops += [look.go(mark="flag")["cudasim"] for _ in range(2)]
    assert [(stop["block"][0], stop["thread"][0]) for stop in stops] == [(1, 10), (1, 62), (1, 63)]
    assert results(look.go_to_end()) == RESULTS


def test_a_condition_is_a_python_expression(look):
    look.break_at("last", condition="i % 50 == 7 and np.sqrt(n + 1) == 2")
    look.run()
    seen = []
    for _ in range(3):
        look.wait("last")
        seen.append(look.value("i"))
        look.ask("continue", threadId=1)
    assert seen == ["7", "57", "107"]
    assert results(look.end()) == RESULTS


def test_a_condition_that_fails_stops_once_and_says_so(look):
    look.break_at("last", condition="x[i + 100] > 0 and i > 200")
    look.run()
    (note,) = look.wait("last", "breakpoint")["cudasim"]["notes"]
    assert "condition of breakpoint 1 cannot be evaluated: IndexError: index 128 is out of bounds" in note
    assert results(look.go_to_end()) == RESULTS


@pytest.mark.parametrize(
    ("hits", "expected"), [("126", [125, 126, 127]), ("== 3", [2]), ("% 50", [49, 99]), (">= 128", [127])]
)
def test_hit_counts_count_all_threads(look, hits, expected):
    look.break_at("last", hitCondition=hits)
    look.run()
    for thread in expected:
        look.wait("last")
        assert look.value("i") == str(thread)
        look.ask("continue", threadId=1)
    assert results(look.end()) == RESULTS


def test_log_messages_do_not_stop(look):
    look.break_at("last", condition="i < 2", logMessage="i is {i}, half of it {i / 2}")
    look.run()
    assert results(look.end()) == RESULTS
    logged = [event["body"]["output"] for event in look.seen if event.get("event") == "output"]
    assert logged == ["i is 0, half of it 0.0\n", "i is 1, half of it 0.5\n"]


def test_a_temporary_breakpoint_stops_once(look):
    look.break_at("last", cudasim={"temporary": True, "id": 17})
    look.run()
    assert look.wait("last")["hitBreakpointIds"] == [17]
    assert results(look.go_to_end()) == RESULTS


def test_a_line_without_code_moves_to_the_next_one(look):
    line = look.line("part") - 1  # the function's def
    look.break_at(line)
    look.run()
    changed = look.event("breakpoint")["breakpoint"]
    assert (changed["line"], changed["verified"]) == (line + 1, True)
    assert f"line {line} has no code" in changed["message"]
    look.wait("part")
    assert [frame["name"] for frame in look.frames()[:2]] == ["half", "kernel"]


def test_a_breakpoint_in_host_code_stays_pending(look):
    look.break_at("launch")
    look.run()
    assert results(look.end()) == RESULTS
    assert not [each for each in look.seen if each.get("event") in ("breakpoint", "stopped")]


def test_functions_have_breakpoints_at_their_first_statements(look):
    ask = [{"name": "half", "cudasim": {"threads": "9"}}, {"name": "kernel", "cudasim": {"threads": "8"}}]
    look.ask("setFunctionBreakpoints", breakpoints=ask)
    look.run()
    look.wait("first", "function breakpoint")
    assert look.go(mark="part", reason="function breakpoint")["cudasim"]["thread"] == [9, 0, 0]


def test_the_backtrace_ends_at_the_line_that_launches(look):
    look.break_at("inside")
    look.run()
    look.wait("inside")
    frames = [(frame["name"], frame["line"]) for frame in look.frames()]
    assert frames == [
        ("half", look.line("inside")),
        ("kernel", look.line("call")),
        ("<module>", look.line("launch")),
    ]
    assert {frame["source"]["path"] for frame in look.frames()} == {str(look.script)}
    assert [
        frame["name"] for frame in look.ask("stackTrace", threadId=1, startFrame=1, levels=1)["stackFrames"]
    ] == ["kernel"]


def test_variables_of_every_kind_are_there(look):
    look.break_at("flag", cudasim={"threads": "5"})
    look.run()
    look.wait("flag")
    locals_ = look.scope("Locals")
    assert {name: locals_[name]["value"] for name in ("i", "pair", "c")} == {
        "i": "5",
        "pair": "(5, 1.5)",
        "c": "(1+2j)",
    }
    assert "flag" not in locals_  # not assigned yet
    assert locals_["i"]["type"] == "int64"
    arguments = look.scope("Arguments")
    assert list(arguments) == ["x", "n"]
    assert arguments["n"]["value"] == "3"
    x = arguments["x"]
    assert (x["value"][:10], x["indexedVariables"]) == ("[0.0, 0.0,", 128)
    page = look.children(x["variablesReference"], filter="indexed", start=100, count=3)
    assert list(page) == ["[100]", "[101]", "[102]"]
    assert page["[101]"]["evaluateName"] == "x[101]"
    pair = look.children(locals_["pair"]["variablesReference"])
    assert {name: part["value"] for name, part in pair.items()} == {"[0]": "5", "[1]": "1.5"}
    assert look.children(look.scope("Shared")["s"]["variablesReference"])["[4]"]["value"] == "4.0"
    registers = look.scope("Special registers")
    assert registers["threadIdx"]["value"] == "(x=5, y=0, z=0)"
    assert (registers["laneid"]["value"], registers["warpsize"]["value"]) == ("5", "32")


def test_expressions_are_pythons_with_numpy(look):
    look.break_at("flag", cudasim={"threads": "5"})
    look.run()
    look.wait("flag")
    texts = {
        "i": "5", "x[-1]": "0.0", "pair[1]": "1.5", "pair[1] + n": "4.5", "np.arange(3) * i": "[ 0, 5, 10]",
        "threadIdx.x + 2 * blockDim.x": "133", "[k for k in range(3) if k != i]": "[0, 1, 2]", "s[:6].sum()": "15.0",
        "threadIdx": "(x=5, y=0, z=0)", "abs(c) > 2": "True",
    }  # fmt: skip
    assert {expression: look.value(expression) for expression in texts} == texts
    frame = look.frames()[0]["id"]
    assert "NameError" in look.refused("evaluate", expression="nothing + 1", frameId=frame)
    assert "SyntaxError" in look.refused("evaluate", expression="1 +", frameId=frame)
    assert "ZeroDivisionError" in look.refused("evaluate", expression="1 // (i - 5)", frameId=frame)


def test_steps_go_into_functions_over_them_and_out_of_them(look):
    look.break_at("if", cudasim={"threads": "7"})
    look.run()
    look.wait("if")
    look.break_at()
    look.go("next", "call", "step")
    look.go("stepIn", "part", "step")
    look.go("next", "inside", "step")
    look.go("stepOut", reason="step")
    assert look.frames()[0]["name"] == "kernel"
    assert results(look.go_to_end()) == RESULTS


def test_next_goes_over_a_call(look):
    look.break_at("call", cudasim={"threads": "7"})
    look.run()
    look.wait("call")
    look.break_at()
    look.go("next", "last", "step")
    assert results(look.go_to_end()) == RESULTS


def test_a_step_over_a_barrier_lets_the_others_come(look):
    look.break_at("wait", cudasim={"threads": "7", "blocks": "0"})
    look.break_at("wait", "last", cudasim={"threads": "7", "blocks": "0"})
    look.run()
    look.wait("wait")
    look.break_at("flag")
    stop = look.go("next", "if", "step")
    assert stop["cudasim"]["thread"] == [7, 0, 0]
    assert stop["cudasim"]["notes"] == ["56 other threads passed breakpoint 3"]
    look.break_at()
    assert results(look.go_to_end()) == RESULTS


@pytest.mark.parametrize("as_module", [False, True])
def test_the_process_is_named_as_the_user_knows_it(tmp_path, as_module, monkeypatch):
    (tmp_path / "mod.py").write_text("print(1)\n")
    monkeypatch.chdir(tmp_path)
    named = []
    monkeypatch.setattr(debuggee.debugging, "begin", named.append)
    monkeypatch.setattr(debuggee.script_runner, "run", lambda arguments: 0)
    assert debuggee.main(["-m", "mod", "1"] if as_module else ["mod.py", "1"]) == 0
    assert named == ["mod" if as_module else str(tmp_path / "mod.py")]


def test_the_program_is_told_by_its_script(look):
    look.run()
    assert look.event("process")["name"] == str(look.script)
