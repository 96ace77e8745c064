"""Values and assignment through the debug server: records, recursion, local arrays, three dimensions, and changed variables."""

import base64
import subprocess
import sys

import pytest
from debug_session import debugging
from processes import clean_environment

MANY = """
    import numpy as np
    from numba import cuda

    body = np.dtype([("mass", np.float32), ("place", np.float64, (3,)), ("name", "S4")])

    @cuda.jit
    def kernel(bodies, cube, out):
        i = cuda.grid(1)
        body = bodies[i]
        local = cuda.local.array(5, np.int16)
        for k in range(5):
            local[k] = k * 10
        half = np.float16(0.1)  # half
        byte = np.uint8(255)
        none = i == 100
        out[i] = body.mass + cube[1, 2, 3] + local[2]  # use
        out[i] += 1  # last

    bodies = np.zeros(4, body)
    bodies["mass"] = [1.5, 2.5, 3.5, 4.5]
    bodies["place"][2] = [1, 2, 3]
    bodies["name"] = b"sun"
    cube = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    out = np.zeros(4)
    kernel[1, 4](bodies, cube, out)
    print(*out, bodies["mass"][2], cube[2, 1, 1])
"""


@pytest.fixture
def many(tmp_path):
    """The program, stopped in thread 2."""
    with debugging(tmp_path, MANY) as client:
        client.break_at("use", cudasim={"threads": "2"})
        client.run()
        client.wait("use")
        yield client


def test_records_show_their_fields(many):
    body = many.scope("Locals")["body"]
    fields = many.children(body["variablesReference"])
    assert {name: fields[name]["value"] for name in ("mass", "name")} == {"mass": "3.5", "name": "b'sun'"}
    assert fields["place"]["value"] == "[1.0, 2.0, 3.0]"
    assert fields["place"]["evaluateName"] == "body.place"
    assert many.value("body.mass") == "3.5"
    assert many.value("body.place[2]") == "3.0"
    assert many.value("bodies[1].mass") == "2.5"


def test_a_variable_that_has_no_value_yet_says_so(tmp_path):
    with debugging(tmp_path, MANY) as client:
        client.break_at("half")
        client.run()
        client.wait("half")
        frame = client.frames()[0]["id"]
        for expression in ("half", "half * 2 + body.mass"):
            assert "'half' is not assigned yet" in client.refused(
                "evaluate", expression=expression, frameId=frame
            )
        assert "name 'nothing' is not defined" in client.refused(
            "evaluate", expression="nothing", frameId=frame
        )


def test_members_of_records_are_part_of_expressions(many):
    assert many.value("body.mass * 2, bodies[1].mass + body.place[0]") == "(7.0, 3.5)"
    assert many.value("bodies.mass.sum()") == "12.0"
    assert many.value("(lambda: bodies[1])()") == "(2.5, [0.0, 0.0, 0.0], b'sun')"
    frame = many.frames()[0]["id"]
    many.ask("setExpression", expression="bodies[3].mass", value="body.mass * 2", frameId=frame)
    assert many.value("bodies[3].mass") == "7.0"


def test_numbers_of_every_size_are_there(many):
    locals_ = many.scope("Locals")
    assert {name: (locals_[name]["value"], locals_[name]["type"]) for name in ("half", "byte", "none")} == {
        "half": ("0.1", "float16"), "byte": ("255", "uint8"), "none": ("False", "bool")}  # fmt: skip
    assert locals_["local"]["value"] == "[0, 10, 20, 30, 40]"


def test_arrays_of_three_dimensions_are_paged_by_rows(many):
    cube = many.scope("Arguments")["cube"]
    assert (cube["type"], cube["indexedVariables"]) == ("array(int32, 3d, C) shape (3, 4, 5)", 3)
    (plane,) = many.children(cube["variablesReference"], filter="indexed", start=1, count=1).values()
    rows = many.children(plane["variablesReference"])
    assert rows["[2]"]["value"] == "[30, 31, 32, 33, 34]"
    assert many.value("cube[1, 2, 3]") == "33"
    assert many.value("cube[2, 1:3, ::2]") == "[[45, 47, 49], [50, 52, 54]]"


def test_assignments_change_variables_and_memory(many):
    frame = many.frames()[0]["id"]

    def assign(expression, value):
        return many.ask("setExpression", expression=expression, value=value, frameId=frame)["value"]

    assert assign("body.mass", "10") == "10.0"
    assert assign("local[2]", "-7") == "-7"
    assert assign("cube[1, 2, 3]", "i * 100") == "200"
    assert assign("(byte)", "i + 5") == "7"
    assert many.value("byte") == "7"
    assert assign("cube[2, 1, :2]", "[5, 6]") == "[5, 6]"
    assert many.value("cube[2, 1, 1]") == "6"
    refused = {
        ("local[2]", "40000"): "40000 does not fit into int16",
        ("byte", "-1"): "-1 does not fit into uint8",
        ("(byte)", "256"): "256 does not fit into byte, which is uint8",
        ("cube", "3"): "the array cube cannot be replaced",
        ("nothing", "3"): "nothing",
        ("threadIdx.x", "3"): "special registers cannot be set",
        ("i", "1 +"): "SyntaxError",
    }
    for (expression, value), message in refused.items():
        told = many.refused("setExpression", expression=expression, value=value, frameId=frame)
        assert message in told, (expression, told)
    output = many.go_to_end()
    assert output.split()[2] == str(10.0 + 200 - 7 + 1)
    assert output.split()[4:] == ["10.0", "6"]


def test_memory_is_read_and_written(many):
    reference = many.scope("Arguments")["cube"]["memoryReference"]
    answer = many.ask("readMemory", memoryReference=reference, offset=4, count=8)
    assert base64.b64decode(answer["data"]) == bytes([1, 0, 0, 0, 2, 0, 0, 0])
    assert (
        many.ask("readMemory", memoryReference=reference, offset=0, count=1000)["unreadableBytes"]
        == 1000 - 240
    )
    assert "data" not in many.ask("readMemory", memoryReference="0x8", count=8)
    many.ask(
        "writeMemory",
        memoryReference=reference,
        offset=4 * 33,
        data=base64.b64encode(bytes([9, 0, 0, 0])).decode(),
    )
    assert many.value("cube[1, 2, 3]") == "9"
    assert "may not write" in many.refused("writeMemory", memoryReference="0x8", data="AAAA")
    assert "may not write" in many.refused(
        "writeMemory", memoryReference="0x8", data="AAAA", allowPartial=True
    )
    beyond = {
        "memoryReference": reference,
        "offset": 236,
        "data": base64.b64encode(bytes([7, 0, 0, 0] * 3)).decode(),
    }
    assert "may not write 12 bytes" in many.refused("writeMemory", **beyond)
    assert many.ask("writeMemory", allowPartial=True, **beyond)["bytesWritten"] == 4
    assert many.value("cube[2, 3, 4]") == "7"


def test_a_large_number_does_not_fit(many):
    frame = many.frames()[0]["id"]
    assert "does not fit into int64" in many.refused(
        "setExpression", expression="i", value="2**70", frameId=frame
    )
    reference = many.ask("scopes", frameId=frame)["scopes"][0]["variablesReference"]
    assert "does not fit into int64" in many.refused(
        "setVariable", variablesReference=reference, name="i", value=str(2**70)
    )


def test_what_a_page_leaves_out_is_counted(tmp_path):
    code = """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def kernel(x):
            x[0] = 1  # here

        kernel[1, 1](np.zeros(5000, np.int64))
    """
    with debugging(tmp_path, code) as client:
        client.break_at("here")
        client.run()
        client.wait("here")
        reference = client.scope("Arguments")["x"]["variablesReference"]
        children = client.children(reference)
        assert list(children)[-2:] == ["[999]", "..."] and children["..."]["value"].startswith("4000 more")
        assert len(client.children(reference, start=10, count=50)) == 50
        assert list(client.children(reference, start=4990))[-1] == "[4999]"
        client.go_to_end()


BRANCH = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x, flag):
        i = cuda.grid(1)
        count = 3
        if flag > 0:  # if
            x[i] = -1  # then
        else:
            for k in range(count):  # head
                x[i] += 1  # else

    x = np.zeros(3, np.int64)
    kernel[1, 3](x, 5)
    print(*x)
"""


def test_a_changed_variable_decides_a_branch(tmp_path):
    with debugging(tmp_path, BRANCH) as client:
        client.break_at("if", cudasim={"threads": "1"})
        client.run()
        client.wait("if")
        (scopes,) = [client.ask("scopes", frameId=client.frames()[0]["id"])["scopes"]]
        references = {scope["name"]: scope["variablesReference"] for scope in scopes}
        answer = client.ask("setVariable", variablesReference=references["Arguments"], name="flag", value="0")
        assert answer["value"] == "0"
        assert (
            client.ask("setVariable", variablesReference=references["Locals"], name="count", value="i + 6")[
                "value"
            ]
            == "7"
        )
        client.go("next", "head", "step")
        assert client.go_to_end() == "-1 7 -1\n"


RECURSION = """
    import numpy as np
    from numba import cuda

    @cuda.jit(device=True)
    def factorial(n):
        if n <= 1:
            return 1  # end
        below = factorial(n - 1)  # call
        return n * below  # up

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        x[i] = factorial(i + 3)  # use

    x = np.zeros(3, np.int64)
    kernel[1, 3](x)
    print(*x)
"""


def test_every_call_of_a_recursion_has_a_frame(tmp_path):
    with debugging(tmp_path, RECURSION) as client:
        client.break_at("end", cudasim={"threads": "1"})
        client.run()
        client.wait("end")
        names = [frame["name"] for frame in client.frames()]
        assert names == ["factorial"] * 4 + ["kernel", "<module>"]
        assert [client.value("n", frame=frame) for frame in range(4)] == ["1", "2", "3", "4"]
        assert client.value("i", frame=4) == "1"
        client.go("stepOut", "up", "step")
        assert client.value("n") == "2"
        assert client.value("below") == "1"
        assert client.go_to_end() == "6 24 120\n"


LANES = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x):
        i = cuda.threadIdx.x
        part = i // 8  # part
        if i == 13:
            part = 1 // (i - 12) + 70  # own
        cuda.syncthreads()  # wait
        x[i] = part  # last

    x = np.zeros(70, np.int64)
    kernel[1, 70](x)
    print(*x)
"""


def test_an_expression_is_evaluated_in_every_lane(tmp_path):
    with debugging(tmp_path, LANES) as client:
        client.break_at("last", cudasim={"threads": "0"})
        client.run()
        client.wait("last")
        frame = client.frames()[0]["id"]
        lanes = client.ask("cudasim/evaluateLanes", expression="part", scope="warp", frameId=frame)["values"]
        assert {each["result"]: each["threads"] for each in lanes} == {
            "0": "0..7", "1": "8..12, 14..15", "71": "13", "2": "16..23", "3": "24..31"}  # fmt: skip
        lanes = client.ask("cudasim/evaluateLanes", expression="1 // (i - 69)", scope="block", frameId=frame)[
            "values"
        ]
        assert [(each["threads"], "error" in each) for each in lanes] == [("0..68", False), ("69", True)]


@pytest.mark.parametrize(("unit", "last"), [("warp", 31), ("block", 69), ("grid", 69)])
def test_a_unit_comes_where_its_thread_comes(tmp_path, unit, last):
    with debugging(tmp_path, LANES) as client:
        client.break_at("part", cudasim={"threads": "5"})
        client.run()
        client.wait("part")
        client.break_at()
        client.go("next", reason="step", cudasim={"unit": unit})
        line = client.line("part") + 1
        groups = client.ask("cudasim/groups")["groups"]
        here = [(group["threads"], group["count"]) for group in groups if group.get("line") == line]
        # Threads that had gone on before, to the barrier, are not brought back.
        assert here == [(f"5..{last}", last - 4)]
        client.go("cudasim/until", reason="step", line=client.line("wait"))
        client.go("next", "last", "step", cudasim={"unit": unit})
        assert client.go_to_end() == " ".join(str(71 if i == 13 else i // 8) for i in range(70)) + "\n"


def test_a_step_of_the_grid_moves_all_blocks_on_the_device(tmp_path):
    code = LANES.replace("[1, 70]", "[2, 70]").replace("zeros(70", "zeros(140")
    code = code.replace("# wait", "# wait\n        cuda.cg.this_grid().sync()").replace(
        "cuda.threadIdx.x", "cuda.grid(1)"
    )
    with debugging(tmp_path, code) as client:
        client.break_at("part", cudasim={"threads": "5", "blocks": "1"})
        client.run()
        client.wait("part")
        client.break_at()
        client.go("next", reason="step", cudasim={"unit": "grid"})
        groups = client.ask("cudasim/groups")["groups"]
        # Block 0 waits for the grid already; of block 1 those have moved that had not gone on before.
        assert [each["count"] for each in groups if each.get("line") == client.line("part") + 1] == [65]
        client.go("next", reason="step", cudasim={"unit": "grid"})
        assert client.go_to_end() == " ".join(str(71 if i == 13 else i // 8) for i in range(140)) + "\n"


@pytest.mark.parametrize(("unit", "ended"), [("thread", 1), ("warp", 32), ("block", 70)])
def test_a_unit_ends_with_its_thread(tmp_path, unit, ended):
    code = LANES.replace("cuda.syncthreads()", "part += 0")
    with debugging(tmp_path, code) as client:
        client.break_at("part", cudasim={"threads": "0"})
        client.run()
        client.wait("part")
        client.break_at()
        for _ in range(2):
            client.go("next", reason="step", cudasim={"unit": unit})
        client.go("next", "last", "step", cudasim={"unit": unit})
        client.go("next", reason="step", cudasim={"unit": unit})
        groups = client.ask("cudasim/groups")["groups"]
        assert sum(each["count"] for each in groups if each["state"] == "over") == ended
        assert client.go_to_end() == " ".join(str(71 if i == 13 else i // 8) for i in range(70)) + "\n"


RACY = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(order, tile_sums):
        i = cuda.grid(1)
        tile = cuda.shared.array(32, np.int64)
        order[0] += 1
        order[order[0]] = i  # mark
        tile[cuda.threadIdx.x] = i
        cuda.syncthreads()
        if cuda.threadIdx.x == 0:
            for k in range(32):
                tile_sums[cuda.blockIdx.x] = tile_sums[cuda.blockIdx.x] * 3 + tile[k]
        cuda.atomic.add(order, 0, 0)

    order, tile_sums = np.zeros(65, np.int64), np.zeros(2, np.int64)
    kernel[2, 32](order, tile_sums)
    print(*order, *tile_sums)
"""


@pytest.mark.parametrize("policy", ["forward", "reverse", "random"])
@pytest.mark.parametrize("carrier", ["automatic", "fiber"])
def test_results_after_continue_are_those_without_a_debugger(tmp_path, policy, carrier):

    variables = {"CUDASIM_POLICY": policy, "CUDASIM_CARRIER": carrier}
    with debugging(tmp_path, RACY, **variables) as client:
        client.break_at("mark", cudasim={"threads": "3, 17"})
        client.run()
        for _ in range(4):
            client.wait("mark")
            client.scope("Locals")
            client.ask("cudasim/groups")
            client.ask("continue", threadId=1)
        with_debugger = client.end()
    plain = subprocess.run(
        [sys.executable, str(tmp_path / "script.py")], capture_output=True, text=True,
        env=clean_environment(ENABLE_CUDASIM="1", CUDASIM_WORKERS="1", **variables),
    )  # fmt: skip
    assert plain.stdout == with_debugger


PARAMETERS = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(n, pair, out):
        i = cuda.grid(1)
        out[i] = n + pair[1]  # use

    out = np.zeros(8)
    kernel[2, 4](3, (10, 20), out)
    print(*out)
"""


def test_a_parameter_that_is_set_keeps_its_value_in_other_threads(tmp_path):
    with debugging(tmp_path, PARAMETERS) as client:
        client.break_at("use", cudasim={"threads": "1"})
        client.run()
        client.wait("use")
        frame = client.frames()[0]["id"]
        client.ask("setExpression", expression="n", value="100", frameId=frame)
        client.go("continue", "use")
        assert client.value("n") == "3"  # of the next block
        assert client.go_to_end() == "23.0 120.0 23.0 23.0 23.0 23.0 23.0 23.0\n"
