"""Assignments through the debug server: tuples and their parts, operators such as +=, several names, and what the kernel makes of them."""

import pytest
from debug_session import debugging

PROGRAM = """
    import collections
    import enum

    import numpy as np
    from numba import cuda

    Pair = collections.namedtuple("Pair", "x y")
    body = np.dtype([("mass", np.float32), ("v", np.int32, (2, 3))])
    TILE = 4

    class Color(enum.IntEnum):
        RED = 1
        BLUE = 2

    @cuda.jit(device=True)
    def twice(v):
        return v * 2

    @cuda.jit
    def kernel(x, out, bodies, numbers):
        i = cuda.grid(1)
        d = 10
        t = (1, 2.5, i)
        pair = Pair(1, 2.0)
        nested = ((1, True), 3.0)
        z = 1 + 2j
        color = Color.RED
        with_array = (x, 3)
        b = bodies[i]
        small = np.float32(0.1)
        out[i, 0] = twice(x[i])  # use
        out[i, 1] = d + t[0] + t[1] + t[2]
        out[i, 2] = pair.x + pair.y
        if nested[0][1]:
            out[i, 3] = nested[0][0] * nested[1]
        out[i, 4] = z.real * 100 + z.imag
        if color == Color.BLUE:
            out[i, 5] = 1
        out[i, 6] = b.v[1, 0] + b.mass
        out[i, 7] = with_array[1] + numbers[2].imag  # last

    x = np.arange(8, dtype=np.float32)
    out = np.full((4, 8), -1.0)
    bodies = np.zeros(8, body)
    numbers = np.zeros(8, np.complex64)
    kernel[1, 4](x, out, bodies, numbers)
    print(out[2].tolist())
    print(out[1].tolist())
"""
#: What the threads write when nothing is changed.
UNCHANGED = "[2.0, 14.5, 3.0, 3.0, 102.0, -1.0, 0.0, 3.0]"


class Stopped:
    """The program, stopped in thread 2."""

    def __init__(self, client):
        self.client = client

    def _in_frame(self):
        return {"frameId": self.client.frames()[0]["id"]}

    def set(self, expression, value):
        return self.client.ask("setExpression", expression=expression, value=value, **self._in_frame())[
            "value"
        ]

    def refused(self, expression, value):
        return self.client.refused("setExpression", expression=expression, value=value, **self._in_frame())

    def do(self, statement, context="repl"):
        return self.client.ask("evaluate", expression=statement, context=context, **self._in_frame())

    def fails(self, statement, context="repl"):
        return self.client.refused("evaluate", expression=statement, context=context, **self._in_frame())

    def value(self, expression):
        return self.client.value(expression)

    def outputs(self):
        """What the two threads have written in the end."""
        self.client.break_at()
        lines = self.client.go_to_end().splitlines()
        assert lines[1] == UNCHANGED
        return [float(number) for number in lines[0].strip("[]").split(",")]


@pytest.fixture
def stopped(tmp_path):
    with debugging(tmp_path, PROGRAM) as client:
        client.break_at("use", cudasim={"threads": "2"})
        client.run()
        client.wait("use")
        yield Stopped(client)


def test_tuples_are_assigned_as_a_whole(stopped):
    assert stopped.set("t", "(5, 7.5, i + 1)") == "(5, 7.5, 3)"
    assert stopped.set("pair", "(50, 0.5)") == "(x=50, y=0.5)"
    assert stopped.set("nested", "((2, False), 1)") == "((2, False), 1.0)"
    assert stopped.value("t[1]") == "7.5" and stopped.value("pair.x") == "50"
    assert stopped.outputs()[1:4] == [25.5, 50.5, -1.0]


def test_parts_of_tuples_are_among_several_targets(stopped):
    assert stopped.set("d, t[1]", "7, 2.0") == "(7, 2.0)"
    assert stopped.set("t[0], t[2]", "t[2], t[0]") == "(2, 1)"
    stopped.set("(nested[0][0], pair.x), x[2]", "(4, 30), 5")
    assert stopped.value("(d, t, nested, pair)") == "(7, (2, 2.0, 1), ((4, True), 3.0), (x=30, y=2.0))"
    assert stopped.value("x[2]") == "5.0"


def test_tuples_whose_last_element_is_small_are_assigned(tmp_path):
    """Their size in an array is not what debug information says."""
    code = """
        import collections

        import numpy as np
        from numba import cuda

        Flagged = collections.namedtuple("Flagged", "x y flag")

        @cuda.jit
        def kernel(out, argument):
            i = cuda.grid(1)
            t = (i, 1.5, np.int32(3))
            flagged = Flagged(i, 2.0, True)
            out[0] = argument[0] + argument[2]  # use
            out[1] = t[0] + t[1] + t[2]
            out[2] = flagged.x + flagged.y
            if flagged.flag:
                out[3] = 1

        out = np.zeros(4)
        kernel[1, 1](out, (1, 2.5, np.int32(7)))
        print(out.tolist())
    """
    with debugging(tmp_path, code) as client:
        client.break_at("use")
        client.run()
        client.wait("use")
        stopped = Stopped(client)
        assert stopped.set("argument", "(10, 0.5, 20)") == "(10, 0.5, 20)"
        assert stopped.set("t", "(5, 0.25, 1)") == "(5, 0.25, 1)"
        assert stopped.set("flagged", "(2, 8.0, False)") == "(x=2, y=8.0, flag=False)"
        assert client.go_to_end() == "[30.0, 6.25, 10.0, 0.0]\n"


def test_parts_of_tuples_are_assigned(stopped):
    assert stopped.set("t[1]", "100") == "100.0"
    assert stopped.set("t[i - 2]", "i * 10") == "20"  # evaluated by Python, which cannot change tuples
    assert stopped.set("pair.x", "7") == "7"
    assert stopped.do("pair.y = pair.x / 2")["result"] == "3.5"
    assert stopped.do("nested[0][0] = 9")["result"] == "9"
    assert stopped.value("t") == "(20, 100.0, 2)" and stopped.value("nested") == "((9, True), 3.0)"
    assert stopped.outputs()[1:4] == [132.0, 10.5, 27.0]


def test_setVariable_assigns_parts_of_tuples(stopped):
    pair = stopped.client.scope("Locals")["pair"]
    stopped.client.ask("setVariable", variablesReference=pair["variablesReference"], name="x", value="40")
    assert stopped.value("pair") == "(x=40, y=2.0)"
    assert stopped.outputs()[2] == 42.0


def test_complex_numbers_members_of_enumerations_records_and_slices_are_assigned(stopped):
    assert stopped.set("z", "3 - 1j") == "(3-1j)"
    assert stopped.do("z.imag = 6")["result"] == "6.0"
    assert stopped.do("color = Color.BLUE")["result"] == "2"
    assert stopped.do("b.mass = 2.5")["result"] == "2.5"
    assert stopped.do("b.v[1, 0] = 4")["result"] == "4"
    assert stopped.do("bodies[2].v[0, 1:] = 8")["result"] == "[8, 8]"
    assert stopped.do("numbers[2].imag = 30")["result"] == "30.0"
    assert stopped.value("b") == "(mass=2.5, v=[[0, 8, 8], [4, 0, 0]])"
    assert stopped.outputs()[4:] == [306.0, 1.0, 6.5, 33.0]


def test_fields_of_two_dimensions_have_their_shape(stopped):
    stopped.do("b.v[1, 0] = 4")
    assert stopped.value("b.v[1, 0]") == "4" and stopped.value("b.v[1][0] + 1") == "5"
    assert stopped.value("bodies[2].v[1]") == "[4, 0, 0]" and stopped.value("b.v.shape") == "(2, 3)"
    b = stopped.client.scope("Locals")["b"]
    rows = stopped.client.children(
        stopped.client.children(b["variablesReference"])["v"]["variablesReference"]
    )
    assert {name: row["value"] for name, row in rows.items()} == {"[0]": "[0, 0, 0]", "[1]": "[4, 0, 0]"}
    assert rows["[1]"]["evaluateName"] == "b.v[1]"


def test_operators_assign(stopped):
    assert stopped.do("d += 2")["result"] == "12"
    assert stopped.do("d -= i - 1")["result"] == "11"
    assert stopped.do("d <<= 2 - 1")["result"] == "22"
    assert stopped.do("d //= 4 + 1")["result"] == "4"
    assert stopped.do("d **= 2")["result"] == "16"
    assert stopped.do("t[1] *= 1 + 1")["result"] == "5.0"
    assert stopped.do("x += 1")["result"].startswith("[1.,")
    stopped.do("x[4:6] *= 10")
    assert stopped.value("x[3:7]") == "[ 4., 50., 60., 7.]"
    assert "1.6 is no whole number" in stopped.fails("d /= 10") or "'1.6' is no whole" in stopped.fails(
        "d /= 10"
    )
    assert stopped.outputs()[0:2] == [6.0, 24.0]


def test_several_names_are_assigned_from_one_value(stopped):
    assert stopped.do("d = z = i + 1")["result"] == "3"
    assert stopped.value("z") == "(3+0j)"
    assert stopped.do("small = z = 0.1")["result"] == "0.1"
    assert stopped.value("z") == "(0.1+0j)"  # of the value, and not of what float32 makes of it
    stopped.do("d, i = i, d")
    assert stopped.value("(d, i)") == "(2, 3)"
    assert "there is no variable 'nothing' here" in stopped.fails("d = nothing = 3")


def test_only_statements_of_the_console_assign(stopped):
    for context in ("watch", "hover"):
        assert "SyntaxError" in stopped.fails("d = 3", context)
    assert stopped.do("d == 3")["result"] == "False"
    assert stopped.do("sorted([3, 1], key=lambda v=1: v)")["result"] == "[1, 3]"
    assert stopped.do("dict(d=3)")["result"] == "{'d': 3}" and stopped.do("'d=3'")["result"] == "'d=3'"
    assert stopped.value("d") == "10"


def test_what_cannot_be_assigned_is_refused(stopped):
    refused = {
        ("t", "(1, 2)"): "t is a tuple of 3, and the value is a tuple of 2",
        ("t", "5"): "t is a tuple of 3, and the value is 5",
        ("t", "(1.5, 2, 3)"): "1.5 is no whole number, and t[0] is int64",
        ("with_array[1]", "5"): "compiled code reads a value of type",
        ("with_array", "(x, 5)"): "with_array[0] cannot be set",
        ("x.shape", "(2, 4)"): "the shape of an array cannot be set",
        ("threadIdx.x", "1"): "special registers cannot be set",
        ("d", "1; t = 3"): "SyntaxError",
        ("(d)", "1; t = 3"): "SyntaxError",
        ("(d)", "1\nt = 3"): "SyntaxError",
    }
    for (expression, value), message in refused.items():
        assert message in stopped.refused(expression, value), (expression, value)
    assert stopped.outputs() == [4.0, 15.5, 3.0, 3.0, 102.0, -1.0, 0.0, 3.0]


def test_a_watch_tells_what_the_program_assigns_and_not_the_user(stopped):
    client = stopped.client
    data = client.ask("dataBreakpointInfo", name="d", frameId=client.frames()[0]["id"])["dataId"]
    memory = client.ask("dataBreakpointInfo", name="out[2, 1]", frameId=client.frames()[0]["id"])["dataId"]
    client.break_at()
    client.ask("setDataBreakpoints", breakpoints=[{"dataId": data}, {"dataId": memory}])
    stopped.do("d = 77")
    stop = client.go()
    assert [one["expression"] for one in stop["cudasim"]["watches"]] == ["out[2, 1]"]
    # In the middle of the statement, behind its store.
    stopped.do("d = 78")
    stopped.do("t[0] = 0")
    assert stopped.value("(d, t[0])") == "(78, 0)"
    client.break_at("last", cudasim={"threads": "2"})
    client.go(mark="last", reason="breakpoint")
    assert stopped.value("out[2, 1]") == "82.5"


def test_a_thread_that_has_ended_says_so(stopped):
    stopped.client.ask("cudasim/focus", thread=0)
    frame = {"context": "repl"}
    message = stopped.client.refused("evaluate", expression="i", **frame)
    assert message == "the thread has ended, and its variables with it"
    assert stopped.client.refused("evaluate", expression="i = 3", **frame) == message
    assert stopped.client.ask("evaluate", expression="1 + 1", **frame)["result"] == "2"


def test_completions_know_device_functions_and_modules(stopped):
    frame = stopped.client.frames()[0]["id"]

    def completed(text):
        targets = stopped.client.ask("completions", text=text, column=len(text) + 1, frameId=frame)["targets"]
        return {one["label"]: one["type"] for one in targets}

    assert completed("1 + tw") == {"twice": "function"}
    assert completed("TI") == {"TILE": "value"}
    assert completed("n") == {"nested": "variable", "np": "module", "numbers": "variable"}
    assert completed("ma") == {"math": "module"} and completed("cud") == {"cuda": "module"}
    assert completed("pair.") == {"x": "field", "y": "field"} and "kernel" not in completed("k")
