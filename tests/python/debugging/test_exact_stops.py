"""Stops that are exactly where they are said to be: of threads that have not started, at errors, deadlocks and loops."""

import time

import pytest
from debug_session import debugging, numbers

STARTS = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x, n, factor, pair, point):
        i = cuda.grid(1)
        n += 1  # assigned
        x[i] = n * factor + pair[1] + point.a  # store

    point = np.zeros(1, np.dtype([("a", np.int64), ("b", np.float32)]))
    point[0]["a"], point[0]["b"] = 7, 1.5
    x = np.zeros(8, np.float64)
    kernel[2, 4](x, 3, 2.5, (1, 4.5), cuda.to_device(point)[0])
    print(*x)
"""


@pytest.mark.parametrize(("block", "thread"), [(0, 3), (1, 2)])
def test_arguments_of_a_thread_that_has_not_started(tmp_path, block, thread):
    with debugging(tmp_path, STARTS) as client:
        client.break_at("store", cudasim={"threads": "1", "blocks": "0"})
        client.run()
        client.wait("store")
        assert client.value("n") == "4"
        client.focus(block=block, thread=thread)
        assert client.frames()[0]["name"] == "kernel (not started)"
        arguments = client.scope("Arguments")
        assert {name: one["value"] for name, one in arguments.items() if name in ("n", "factor", "pair")} == {
            "n": "3", "factor": "2.5", "pair": "(1, 4.5)"}  # fmt: skip
        assert client.scope("Locals") == {}
        assert client.value("n") == "3"
        elements = client.children(arguments["x"]["variablesReference"])
        assert [one["value"] for one in elements.values()][:2] == ["21.5", "0.0"]
        members = client.children(arguments["point"]["variablesReference"])
        assert members["a"]["value"] == "7"
        # Once it has started they are its own.
        client.go("stepIn")
        client.go("next")
        client.go("next", mark="store")
        assert client.value("n") == "4"


GRID = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if cuda.blockIdx.x != 2:
            x[i] = i
            cuda.cg.this_grid().sync()  # wait
        x[i] += 1

    x = np.zeros(12, np.int64)
    try:
        kernel[3, 4](x)
    except Exception as error:
        print("raised", error)
"""


@pytest.mark.parametrize("breaks", [False, True])
def test_a_deadlock_at_a_barrier_of_the_grid_stops_with_all_threads_there(tmp_path, breaks):
    with debugging(tmp_path, GRID) as client:
        if breaks:
            client.break_at("wait", cudasim={"threads": "0", "blocks": "0"})
        client.run()
        if breaks:
            client.wait("wait", "breakpoint")
            stop = client.go(reason="exception")
        else:
            stop = client.wait(reason="exception")
        assert "ended without reaching the grid barrier" in stop["text"], stop
        groups = client.ask("cudasim/groups")["groups"]
        waiting = [
            (group["blocks"], group["threads"], group["line"])
            for group in groups
            if group["state"] == "at barrier"
        ]
        assert waiting == [("0..1", "0..3", client.line("wait"))], groups
        client.focus(block=1, thread=2)
        assert client.value("i") == "6"
        assert "no thread can go on" in client.refused("next", threadId=1)
        client.go("stepBack")
        stop = client.go(reason="exception")
        assert "grid barrier" in stop["text"]
        assert "raised" in client.go_to_end()


FAILS = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x, total):
        i = cuda.grid(1)
        total[0] += i
        x[i] = i  # fill
        total[0] += 1  # count
        x[i + 2] = 50 + i  # store

    x, total = np.zeros(12, np.int64), np.zeros(1, np.int64)
    try:
        kernel[3, 4](x, total)
    except IndexError as error:
        print("raised", error)
"""


def place(client):
    frames = [(frame["name"], frame["line"]) for frame in client.frames()]
    states = [
        (group["state"], group["blocks"], group["threads"])
        for group in client.ask("cudasim/groups")["groups"]
    ]
    return client.focus(), frames, states, client.value("x.tolist()"), client.value("total[0]")


def writes(client, name):
    data = client.ask("dataBreakpointInfo", name=name)["dataId"]
    client.ask("cudasim/writes", dataId=data)
    return client.wait()


def test_who_wrote_it_at_an_error_comes_back_to_the_error(tmp_path):
    with debugging(tmp_path, FAILS) as client:
        client.break_at("count", cudasim={"threads": "0", "blocks": "2"})
        client.run()
        client.wait("count")
        # A thread that runs before its turn fails first.
        client.focus(thread=2)
        stop = client.go("stepIn")
        for _ in range(8):
            if stop["reason"] == "exception":
                break
            stop = client.go("next")
        assert stop["reason"] == "exception", stop
        before, text = place(client), stop["text"]
        for element, writers in (
            ("x[10]", [([2, 0, 0], [2, 0, 0], "fill")]),
            ("x[9]", [([1, 0, 0], [3, 0, 0], "store")]),
        ):
            again = writes(client, element)
            written = [(one["block"], one["thread"], one["line"]) for one in again["cudasim"]["writes"]]
            assert written == [(block, thread, client.line(mark)) for block, thread, mark in writers]
            assert (again["reason"], again["text"]) == ("exception", text)
            assert client.ask("exceptionInfo", threadId=1)["description"] == text
            assert place(client) == before
            assert "notes" not in again["cudasim"]
        # The statement has not run, and does not fail again.
        client.go("stepBack", mark="store")
        client.break_at()
        client.go(reason="exception")
        assert client.go_to_end().startswith("raised")


def test_who_wrote_it_within_a_statement_comes_back_there(tmp_path):
    with debugging(tmp_path, FAILS) as client:
        client.break_at("fill", cudasim={"threads": "2", "blocks": "1"})
        client.run()
        client.wait("fill")
        data = client.ask("dataBreakpointInfo", name="x[6]")["dataId"]
        client.ask("setDataBreakpoints", breakpoints=[{"dataId": data, "accessType": "write"}])
        client.break_at()
        client.go(reason="data breakpoint")
        before = place(client)
        again = writes(client, "x[6]")
        assert [one["thread"] for one in again["cudasim"]["writes"]] == [[2, 0, 0], [0, 0, 0]]
        assert place(client) == before
        client.ask("setDataBreakpoints", breakpoints=[])


def test_who_wrote_it_at_a_deadlock_comes_back_to_the_deadlock(tmp_path):
    with debugging(tmp_path, GRID) as client:
        client.run()
        stop = client.wait(reason="exception")
        again = writes(client, "x[5]")
        assert [one["line"] for one in again["cudasim"]["writes"]] == [client.line("wait") - 1]
        assert (again["reason"], again["text"]) == ("exception", stop["text"])
        assert "no thread can go on" in client.refused("next", threadId=1)
        assert "raised" in client.go_to_end()


LOOPS = """
    import numpy as np
    from numba import cuda

    @cuda.jit(device=True)
    def counted(n):
        while n < 10:  # while
            n += 3
        return n

    @cuda.jit(device=True)
    def summed(x):
        for k in range(x.size):  # for
            x[k] += 1
        return x[0]

    @cuda.jit
    def kernel(x):
        while x[0] < 5:  # kernel
            x[0] += counted(0) - 11
        x[1] = counted(1) + summed(x)

    x = np.zeros(3, np.int64)
    kernel[1, 1](x)
    print(*x)
"""


@pytest.mark.parametrize(
    ("name", "mark", "calls"), [("counted", "while", 6), ("summed", "for", 1), ("kernel", "kernel", 1)]
)
def test_a_function_that_begins_with_a_loop_stops_once_for_each_call(tmp_path, name, mark, calls):
    with debugging(tmp_path, LOOPS) as client:
        (found,) = client.ask("setFunctionBreakpoints", breakpoints=[{"name": name}])["breakpoints"]
        client.run()
        for call in range(calls):
            client.wait(mark, "function breakpoint") if call == 0 else client.go(
                mark=mark, reason="function breakpoint"
            )
        assert client.go_to_end() == "6 1 1\n".replace("6 1 1", expected(LOOPS))


def expected(code):
    """What the kernel leaves in x, computed here."""
    x = [0, 0, 0]

    def counted(n):
        while n < 10:
            n += 3
        return n

    while x[0] < 5:
        x[0] += counted(0) - 11
    first = counted(1)
    x = [each + 1 for each in x]
    x[1] = first + x[0]
    return " ".join(map(str, x))


def test_a_line_breakpoint_on_a_loops_head_stops_in_every_round(tmp_path):
    with debugging(tmp_path, LOOPS) as client:
        client.break_at("while")
        client.run()
        client.wait("while")
        assert client.value("n") == "0"
        client.go(mark="while", reason="breakpoint")
        assert client.value("n") == "3"


LONG = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        if i < 60:
            x[1] += 1
        else:
            while x[0] == 0:  # head
                x[2] += 1  # count

    x = cuda.to_device(np.zeros(3, np.int64))
    kernel[8, 10](x)
    print("ends", x.copy_to_host()[0])
"""


@pytest.mark.parametrize(("seconds", "said"), [(0.1, "about as far"), (4.0, "not as far")])
def test_a_pause_within_a_long_block_says_whether_it_is_as_far(tmp_path, seconds, said):
    with debugging(tmp_path, LONG) as client:
        client.run()
        client.event("cudasim/launch")
        time.sleep(seconds)
        client.ask("pause", threadId=1)
        stop = client.wait(reason="pause")
        (note,) = stop["cudasim"]["notes"]
        assert said in note, note
        frame = client.frames()[0]["id"]
        client.ask("setExpression", expression="x[0]", value="1", frameId=frame)
        assert numbers(client.go_to_end()) == [1]
