"""Steps backwards through the debug server: what was recorded on the way forwards is seen again on the way back."""

import time

import pytest
from debug_session import debugging, plain_output

POLICIES = ("forward", "reverse", "random")

EVERYTHING = """
    import numpy as np
    from numba import cuda

    @cuda.jit(device=True)
    def mix(value, turn):
        for k in range(2):
            value = value * 3 + turn
        return value

    @cuda.jit
    def kernel(x, out, sum, order):
        i = cuda.grid(1)
        t = cuda.threadIdx.x
        s = cuda.shared.array(64, np.int64)
        s[t] = x[i]  # begin
        cuda.syncthreads()
        other = s[63 - t]  # other
        place = cuda.atomic.add(sum, 0, 1)
        order[place] = i
        got = cuda.shfl_down_sync(0xFFFFFFFF, other, 1)
        total = mix(got, place)
        if total % 2 == 1:
            total += 1000
        s[t] = total
        cuda.syncthreads()
        out[i] = s[63 - t]
        out[i] += place  # end

    x = np.arange(128, dtype=np.int64)
    out = np.zeros_like(x)
    sum = np.zeros(1, np.int64)
    order = np.zeros_like(x)
    kernel[2, 64](x, out, sum, order)
    print(out.sum(), (out * np.arange(128)).sum(), (order * np.arange(128)).sum())
"""


def seen(client):
    """Where the focus is, its variables, and all memory."""
    frames = client.frames()
    focus = client.focus()
    place = [(frame["name"], frame["line"]) for frame in frames]
    variables = {
        (level, name): variable["value"]
        for level, frame in enumerate(frames)
        if frame.get("presentationHint") != "subtle"
        for scope in ("Locals", "Arguments")
        for name, variable in client.scope(scope, frame=level).items()
    }
    kernel = next(level for level, frame in enumerate(frames) if frame["name"] == "kernel")
    memory = [client.value(f"list({name})", frame=kernel) for name in ("out", "sum", "order")]
    if ("s" in {name for _, name in variables}) and frames[0]["name"] == "kernel":
        memory.append(client.value("list(s)"))
    return focus["block"], focus["thread"], place, variables, memory


@pytest.mark.parametrize("policy", POLICIES)
def test_reverse_steps_equal_the_trace_forwards(tmp_path, policy):
    options = {"CUDASIM_POLICY": policy, "CUDASIM_SEED": "3"}
    with debugging(tmp_path, EVERYTHING, **options) as client:
        client.break_at("begin", cudasim={"threads": "37", "blocks": "1"})
        client.run()
        client.wait("begin")
        client.break_at()
        trace = [seen(client)]
        while trace[-1][2][0][1] != client.line("end"):
            client.go("stepIn", reason="step")
            trace.append(seen(client))
        assert len(trace) > 18
        for expected in reversed(trace[:-1]):
            client.go("stepBack", reason="step", cudasim={"kind": "in"})
            assert seen(client) == expected
        # Forwards again, the thread itself sees the same. Others may be elsewhere: they have just gone on.
        for expected in trace[1:]:
            client.go("stepIn", reason="step")
            assert seen(client)[:3] == expected[:3]
        assert client.go_to_end() == plain_output(tmp_path, EVERYTHING, **options)


def test_a_value_changed_in_the_past_decides_a_branch(tmp_path):
    with debugging(tmp_path, EVERYTHING) as client:
        client.break_at("begin", cudasim={"threads": "5", "blocks": "0"})
        client.run()
        client.wait("begin")
        for _ in range(5):
            client.go("next")
        assert client.value("other") == "58"
        while client.frames()[0]["line"] != client.line("other"):
            client.go("stepBack")
        client.ask("setExpression", expression="s[58]", value="1000001", frameId=client.frames()[0]["id"])
        client.break_at("end", cudasim={"threads": "5", "blocks": "0"})
        client.go("continue", mark="end")
        assert client.value("other") == "1000001"
        # The change is part of the past now.
        client.go("stepBack", cudasim={"kind": "over"})
        assert client.value("other") == "1000001"


def test_what_was_printed_is_not_printed_again(tmp_path):
    code = """
        from numba import cuda
        import numpy as np

        @cuda.jit
        def kernel(out):
            i = cuda.grid(1)
            print("thread", i)
            out[i] = i  # here
            print("again", i)

        out = np.zeros(64)
        kernel[2, 32](out)
        print("end", out.sum())
    """
    with debugging(tmp_path, code) as client:
        client.break_at("here", cudasim={"threads": "20", "blocks": "1"})
        client.run()
        client.wait("here")
        client.go("stepBack")
        client.go("stepBack")
        client.go("stepBack")
        client.go("continue", mark="here")
        output = client.go_to_end()
    assert output == plain_output(tmp_path, code)
    assert output.count("thread 52\n") == 1


def test_from_an_error_back_to_its_cause(tmp_path):
    code = """
        from numba import cuda
        import numpy as np

        @cuda.jit
        def kernel(x):
            i = cuda.grid(1)
            index = i
            for k in range(10):
                index += k * i  # grows
                x[index] = 1  # fails

        kernel[1, 32](np.zeros(100))
    """
    with debugging(tmp_path, code) as client:
        client.run()
        client.wait("fails", reason="exception")
        assert int(client.value("index")) >= 100
        client.go("stepBack", mark="fails")
        client.go("stepBack", mark="grows")
        assert int(client.value("index")) < 100
        # Where it was before that loop began, by a condition.
        client.break_at("grows", condition="k == 0", cudasim={"threads": client.value("threadIdx.x")})
        client.go("reverseContinue", mark="grows", reason="breakpoint")
        assert client.value("index") == client.value("i")
        # Forwards the same error comes again.
        client.break_at()
        client.go("continue", mark="fails", reason="exception")


LONG = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x):
        i = cuda.grid(1)
        total = 0
        for k in range(60):
            total += (k * i) % 7
        x[i] += total  # store

    x = np.arange(1 << 20)
    kernel[x.size // 256, 256](x)
    print(x.sum())
"""


@pytest.mark.alone
def test_the_way_back_is_short_in_a_long_launch(tmp_path):
    """Checkpoints: a million threads have run, a reverse step takes only what is behind the last one."""
    with debugging(tmp_path, LONG) as client:
        client.break_at("store", cudasim={"threads": "255", "blocks": "4095"})
        client.run()
        begin = time.perf_counter()
        client.wait("store")
        forward = time.perf_counter() - begin
        seconds = []
        for _ in range(5):
            begin = time.perf_counter()
            client.go("stepBack", reason="step")
            seconds.append(time.perf_counter() - begin)
        assert client.value("k") in ("57", "58", "59")
        assert sorted(seconds)[2] < forward / 2, (forward, seconds)
        client.break_at("store", cudasim={"threads": "0", "blocks": "0"})
        client.go("reverseContinue", mark="store", reason="breakpoint")
        assert client.focus()["block"] == [0, 0, 0]
        client.break_at()
        assert client.go_to_end() == plain_output(tmp_path, LONG)


@pytest.mark.parametrize(("limit", "reason"), [("0", "switched off"), ("1K", "only 1024 may be used")])
def test_without_a_history_it_is_said(tmp_path, limit, reason):
    with debugging(tmp_path, EVERYTHING, CUDASIM_HISTORY=limit) as client:
        client.break_at("begin")
        client.run()
        client.wait("begin")
        assert reason in client.refused("stepBack", threadId=1)
        assert reason in client.refused("reverseContinue", threadId=1)
        client.break_at()
        client.go_to_end()


def test_wrong_requests_are_refused(tmp_path):
    with debugging(tmp_path, EVERYTHING) as client:
        assert client.refused("stepBack", threadId=1) == "no kernel is stopped"
        client.break_at("begin", cudasim={"threads": "3", "blocks": "0"})
        client.run()
        client.wait("begin")
        assert "no kind of step back" in client.refused("stepBack", threadId=1, cudasim={"kind": "up"})
        client.focus(thread=60)
        assert client.refused("stepBack", threadId=1) == "the thread has not started"
        client.break_at()
        client.go_to_end()


SHARED = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        t = cuda.threadIdx.x
        s = cuda.shared.array(64, np.int64)
        s[t] = x[i]  # fill
        cuda.syncthreads()
        if t == 9:
            s[17] = 5  # nine
        cuda.syncthreads()
        if t == 40:
            s[17] = 6  # forty
        cuda.syncthreads()
        out[i] = s[63 - t]  # end

    x = np.arange(128, dtype=np.int64)
    out = np.zeros_like(x)
    kernel[2, 64](x, out)
    print(out.sum())
"""


@pytest.fixture
def at_the_end(tmp_path):
    """The program, stopped in thread 2 of block 1, at its last line."""
    with debugging(tmp_path, SHARED) as client:
        client.break_at("end", cudasim={"threads": "2", "blocks": "1"})
        client.run()
        client.wait("end")
        yield client


def data_id(client, expression):
    frame = client.frames()[0]["id"]
    return client.ask("dataBreakpointInfo", name=expression, frameId=frame)["dataId"]


def test_who_wrote_an_element_is_listed(at_the_end):
    client = at_the_end
    before = seen_place(client)
    client.ask("cudasim/writes", dataId=data_id(client, "s[17]"))
    body = client.event("stopped")
    writes = body["cudasim"]["writes"]
    assert [(one["block"], one["thread"], one["line"]) for one in writes] == [
        ([1, 0, 0], [40, 0, 0], client.line("forty")),
        ([1, 0, 0], [9, 0, 0], client.line("nine")),
        ([1, 0, 0], [17, 0, 0], client.line("fill")),
    ]
    assert [one["new"] for one in writes] == ["6", "5", "81"]
    assert [one["old"] for one in writes][:2] == ["5", "81"]
    assert body["cudasim"]["writesInAll"] == 3
    assert seen_place(client) == before
    client.ask("cudasim/writes", dataId=data_id(client, "out"))
    body = client.event("stopped")
    assert body["cudasim"]["writesInAll"] >= 64  # of block 0, at least
    assert len(body["cudasim"]["writes"]) <= 100
    client.break_at()
    assert client.go_to_end() == plain_output(client.script.parent, SHARED)


def test_back_to_the_last_change_of_a_watched_element(at_the_end):
    client = at_the_end
    client.ask(
        "setDataBreakpoints", breakpoints=[{"dataId": data_id(client, "s[17]"), "accessType": "write"}]
    )
    for mark, thread, old, new in (("forty", 40, "5", "6"), ("nine", 9, "81", "5")):
        body = client.go("reverseContinue", mark=mark, reason="data breakpoint")
        assert client.focus()["thread"] == [thread, 0, 0]
        (watch,) = body["cudasim"]["watches"]
        assert (watch["old"], watch["new"]) == (old, new)
        assert client.value("s[17]") == old  # the statement is about to begin
    # Forwards the same thread writes it again.
    body = client.go("continue", reason="data breakpoint")
    assert body["cudasim"]["watches"][0]["new"] == "5"
    client.ask("setDataBreakpoints", breakpoints=[])
    client.break_at()
    assert client.go_to_end() == plain_output(client.script.parent, SHARED)


def test_backwards_from_a_watched_store_comes_in_front_of_it_first(tmp_path):
    with debugging(tmp_path, SHARED) as client:
        client.break_at("fill", cudasim={"threads": "0", "blocks": "0"})
        client.run()
        client.wait("fill")
        client.ask(
            "setDataBreakpoints", breakpoints=[{"dataId": data_id(client, "s[17]"), "accessType": "write"}]
        )
        client.break_at()
        forwards = []
        while not forwards or forwards[-1][0] != client.line("forty"):
            body = client.go("continue", reason="data breakpoint")["cudasim"]
            forwards.append((body["line"], body["watches"][0]["old"], body["watches"][0]["new"]))
        for line, old, new in reversed(forwards):
            body = client.go("reverseContinue", reason="data breakpoint")["cudasim"]
            assert (body["line"], body["watches"][0]["old"], body["watches"][0]["new"]) == (line, old, new)
            assert client.value("s[17]") == old
        # From a store whose watch is gone the way back leads on.
        client.go("continue", reason="data breakpoint")
        client.ask("setDataBreakpoints", breakpoints=[])
        client.go("reverseContinue", reason="step")
        assert client.go_to_end() == plain_output(tmp_path, SHARED)


def test_a_step_back_from_a_watched_store_comes_to_its_statement(tmp_path):
    with debugging(tmp_path, SHARED) as client:
        client.break_at("fill", cudasim={"threads": "0", "blocks": "0"})
        client.run()
        client.wait("fill")
        client.ask(
            "setDataBreakpoints", breakpoints=[{"dataId": data_id(client, "s[17]"), "accessType": "write"}]
        )
        client.break_at()
        while client.go("continue", reason="data breakpoint")["cudasim"]["line"] != client.line("forty"):
            pass
        client.go("next")
        client.go("stepBack", mark="forty")
        assert client.focus()["thread"] == [40, 0, 0]
        client.ask("setDataBreakpoints", breakpoints=[])
        client.go("stepBack")
        assert client.go_to_end() == plain_output(tmp_path, SHARED)


def seen_place(client):
    return client.focus(), [(frame["name"], frame["line"]) for frame in client.frames()]
