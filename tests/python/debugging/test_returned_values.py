"""What a function has returned that `finish` (stepOut) leaves."""

import pytest
from debug_session import debugging

KINDS = """
    import numpy as np
    from numba import cuda

    @cuda.jit(device=True)
    def half(v):
        return v / 2  # half

    @cuda.jit(device=True)
    def turned(v):
        z = complex(0.0, v)  # turned
        return z * (1 + 2j)

    @cuda.jit(device=True)
    def split(v):
        big = v > 3  # split
        return v, v * 0.5, big

    @cuda.jit(device=True)
    def part(x, v):
        x[v] += 0  # part
        return x

    @cuda.jit(device=True)
    def nothing(x, v):
        x[v] += 0  # nothing

    @cuda.jit(device=True)
    def factorial(n):
        if n < 2:  # factorial
            return 1
        return n * factorial(n - 1)

    @cuda.jit(device=True)
    def outer(v):
        return inner(v) + 1  # outer

    @cuda.jit(device=True)
    def inner(v):
        return v * 10  # inner

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        a = half(x[i])
        b = turned(x[i])
        c = split(i)
        d = part(x, i)
        nothing(x, i)
        e = factorial(i)
        f = outer(i)
        out[i] = a + b.real + c[1] + d[i] + e + f  # sum
        out[i] += inner(i)

    x, out = np.arange(1.0, 9.0), np.zeros(8)
    kernel[2, 4](x, out)
    print(*out)
"""


@pytest.fixture
def client(tmp_path):
    with debugging(tmp_path, KINDS) as client:
        yield client


def finish(client, mark, unit="thread"):
    """The stop behind the function with this line, in thread 1 of block 1, whose number is 5."""
    client.break_at(mark, cudasim={"threads": "1", "blocks": "1"})
    if client.seen[-1].get("command") == "setBreakpoints" and not any(
        one.get("event") == "stopped" for one in client.seen
    ):
        client.run()
        client.wait(mark)
    else:
        client.go(mark=mark)
    client.break_at()
    client.ask("stepOut", threadId=1, cudasim={"unit": unit})
    return client.wait(reason="step")


@pytest.mark.parametrize(
    ("mark", "function", "value", "kind"),
    [
        ("half", "half", "3.0", "float64"),
        ("turned", "turned", "(-12+6j)", "complex128"),
        ("split", "split", "(5, 2.5, True)", None),
        ("outer", "outer", "51", "int64"),
    ],
)
def test_the_value_is_told_by_the_stop_and_among_the_locals(client, mark, function, value, kind):
    stop = finish(client, mark)
    returned = stop["cudasim"]["returned"]
    assert (returned["function"], returned["value"]) == (function, value)
    assert kind is None or returned["type"] == kind
    assert stop["description"] == f"{function} returned {value}"
    assert [frame["name"] for frame in client.frames()[:1]] == ["kernel"]
    variable = client.scope("Locals")[f"(return) {function}"]
    assert (variable["value"], variable["type"]) == (value, returned["type"])
    assert variable["presentationHint"]["attributes"] == ["readOnly"]
    assert "evaluateName" not in variable
    # It is told once.
    stop = client.go("next")
    assert "returned" not in stop["cudasim"]
    assert f"(return) {function}" not in client.scope("Locals")


def test_parts_of_the_value_are_shown(client):
    finish(client, "part")
    array = client.scope("Locals")["(return) part"]
    assert array["indexedVariables"] == 8
    parts = client.children(array["variablesReference"])
    assert [part["value"] for part in parts.values()] == [f"{number}.0" for number in range(1, 9)]


def test_a_function_that_calls_itself_is_left_once(client):
    client.break_at("factorial", cudasim={"threads": "1", "blocks": "1"})
    client.run()
    for _ in range(3):
        client.wait("factorial") if _ == 0 else client.go(mark="factorial")
    assert client.value("n") == "3"
    client.break_at()
    # The statement behind the call is the caller's next one, in factorial(4)'s caller.
    stop = client.go("stepOut", reason="step")
    assert stop["cudasim"]["returned"]["value"] == "6"


def test_nothing_is_told_where_nothing_is_returned(client):
    stop = finish(client, "nothing")
    assert "returned" not in stop["cudasim"]


def test_a_value_of_the_last_statement_is_told_when_the_thread_ends(client):
    client.break_at("sum", cudasim={"threads": "1", "blocks": "1"})
    client.run()
    client.wait("sum")
    client.break_at()
    client.go("next")
    client.go("stepIn", mark="inner")
    stop = client.go("stepOut", reason="step")
    assert stop["description"] == "thread ended; inner returned 50"
    assert stop["cudasim"]["returned"]["value"] == "50"


def test_a_breakpoint_within_the_function_ends_the_step_without_a_value(client):
    client.break_at("outer", cudasim={"threads": "1", "blocks": "1"})
    client.run()
    client.wait("outer")
    client.break_at("inner", cudasim={"threads": "1", "blocks": "1"})
    stop = client.go("stepOut", reason="breakpoint")
    assert "returned" not in stop["cudasim"]
    client.break_at()
    assert client.go("stepOut", reason="step")["cudasim"]["returned"]["value"] == "50"


@pytest.mark.parametrize(
    ("levels", "name", "value", "line"), [(0, "inner", "50", "sum"), (1, "outer", "51", "sum")]
)
def test_functions_that_called_it_are_left_too(client, levels, name, value, line):
    """`outer` returns what `inner` comes to, and has no further statement: both are left in one step, and the value is that of the one that was asked for."""
    client.break_at("inner", cudasim={"threads": "1", "blocks": "1"})
    client.run()
    client.wait("inner")
    client.break_at()
    assert "is in 3 functions" in client.refused("stepOut", threadId=1, cudasim={"levels": 3})
    client.ask("stepOut", threadId=1, cudasim={"levels": levels})
    stop = client.wait(line, "step")
    assert (stop["cudasim"]["returned"]["function"], stop["cudasim"]["returned"]["value"]) == (name, value)


def test_a_recursion_is_left_by_levels(client):
    client.break_at("factorial", cudasim={"threads": "1", "blocks": "1"}, condition="n == 2")
    client.run()
    client.wait("factorial")
    client.break_at()
    assert [frame["name"] for frame in client.frames()][:5] == ["factorial"] * 4 + ["kernel"]
    client.ask("stepOut", threadId=1, cudasim={"levels": 2})
    stop = client.wait(reason="step")
    assert stop["cudasim"]["returned"]["value"] == str(4 * 3 * 2)
    assert len([frame for frame in client.frames() if frame["name"] == "factorial"]) <= 1


@pytest.mark.parametrize("unit", ["warp", "grid"])
def test_it_is_the_value_of_the_thread_in_focus_when_others_move_too(client, unit):
    assert finish(client, "inner", unit)["cudasim"]["returned"]["value"] == "50"


WAITS = """
    import numpy as np
    from numba import cuda

    @cuda.jit(device=True)
    def shared_sum(s, i):
        s[i] = i + 1
        cuda.syncthreads()
        total = 0  # total
        for k in range(s.size):
            total += s[k]
        return total

    @cuda.jit
    def kernel(out):
        s = cuda.shared.array(4, np.int64)
        out[cuda.grid(1)] = 2 * shared_sum(s, cuda.threadIdx.x)

    out = np.zeros(4, np.int64)
    kernel[1, 4](out)
    print(*out)
"""


@pytest.mark.parametrize("carrier", ["fiber", "automatic"])
def test_a_function_that_waits_tells_its_value_too(tmp_path, carrier):
    with debugging(tmp_path, WAITS, CUDASIM_CARRIER=carrier) as client:
        client.ask("setFunctionBreakpoints", breakpoints=[{"name": "shared_sum"}])
        client.run()
        client.wait()
        client.ask("setFunctionBreakpoints", breakpoints=[])
        stop = client.go("stepOut", reason="step")
        assert stop["cudasim"]["returned"]["value"] == "10"
        assert client.go_to_end() == "20 20 20 20\n"
