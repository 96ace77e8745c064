"""Watches of variables and of local memory while the launch goes back: the frame is found again, and the changes on the way back are
those on the way forwards."""

import pytest
from debug_session import debugging, plain_output

POLICIES = ("forward", "reverse", "random")

#: A kernel with waits; without its local array threads are coroutines, with it they run on fibers.
KERNEL = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        t = cuda.threadIdx.x
        s = cuda.shared.array(64, np.int64)
        OWN
        best = 0  # best
        for k in range(3):
            s[t] = x[i] + best * k
            cuda.syncthreads()
            best = cuda.shfl_xor_sync(0xFFFFFFFF, s[63 - t], k + 1)
            own[k + 1] = best
            cuda.syncthreads()
        out[i] = best  # end

    x = np.arange(1, 129, dtype=np.int64)
    out = np.zeros_like(x)
    kernel[2, 64](x, out)
    print(out.sum(), (out * np.arange(128)).sum())
"""

WITHOUT_FIBERS = KERNEL.replace("OWN", "pass").replace("own[k + 1] = best", "pass")
ON_FIBERS = KERNEL.replace("OWN", "own = cuda.local.array(4, np.int64)")

RECURSION = """
    import numpy as np
    from numba import cuda

    @cuda.jit(device=True)
    def fibonacci(n):
        own = cuda.local.array(2, np.int64)
        own[0] = n
        own[1] = -n  # first
        if n > 1:
            own[0] = fibonacci(n - 1)
            own[1] = fibonacci(n - 2)
            n = own[0] + own[1]
        return n  # last

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = fibonacci(3 + i % 4)  # call

    out = np.zeros(96, np.int64)
    kernel[3, 32](out)
    print(out.sum(), out[:4])
"""


def watch(client, *names):
    """Of the innermost function of the thread in focus."""
    frame = client.frames()[0]["id"]
    ids = [client.ask("dataBreakpointInfo", name=name, frameId=frame)["dataId"] for name in names]
    client.ask("setDataBreakpoints", breakpoints=[{"dataId": each} for each in ids])


def changes(body):
    """What a stop says of watches: where, what, and the values before and after."""
    about = body["cudasim"]
    return [
        (about["block"], about["thread"], each["expression"], each["line"], each["old"], each["new"])
        for each in about["watches"]
        if each["access"] != "end"
    ]


def along(client, command, count):
    return [changes(client.go(command, reason="data breakpoint")) for _ in range(count)]


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("program", [WITHOUT_FIBERS, ON_FIBERS], ids=["coroutines", "fibers"])
def test_changes_of_a_variable_on_the_way_back(tmp_path, program, policy):
    with debugging(tmp_path, program, CUDASIM_POLICY=policy, CUDASIM_SEED="5") as client:
        client.break_at("best", cudasim={"threads": "37", "blocks": "1"})
        client.run()
        client.wait("best")
        watch(client, "best")
        client.break_at("end", cudasim={"threads": "37", "blocks": "1"})
        forwards = along(client, "continue", 4)
        assert [each[0][4] for each in forwards][:2] == ["<not assigned>", "0"]
        client.go("continue", mark="end", reason="breakpoint")
        for _ in range(2):
            assert along(client, "reverseContinue", 4) == forwards[::-1]
            assert client.value("best") == "0"
            client.go("reverseContinue", reason="step")  # the launch begins here
            # The watch is still there, although the thread has not begun.
            assert along(client, "continue", 4) == forwards
            client.go("continue", mark="end", reason="breakpoint")
        client.ask("setDataBreakpoints", breakpoints=[])
        client.break_at()
        assert client.go_to_end() == plain_output(tmp_path, program)


@pytest.mark.parametrize("policy", POLICIES)
def test_changes_of_a_local_array_on_the_way_back(tmp_path, policy):
    with debugging(tmp_path, ON_FIBERS, CUDASIM_POLICY=policy, CUDASIM_SEED="5") as client:
        client.break_at("best", cudasim={"threads": "37", "blocks": "1"})
        client.run()
        client.wait("best")
        watch(client, "own[1:4]")
        client.break_at("end", cudasim={"threads": "37", "blocks": "1"})
        forwards = along(client, "continue", 3)
        client.go("continue", mark="end", reason="breakpoint")
        assert along(client, "reverseContinue", 3) == forwards[::-1]
        client.go("reverseContinue", reason="step")
        assert along(client, "continue", 3) == forwards
        client.ask("setDataBreakpoints", breakpoints=[])
        client.break_at()
        assert client.go_to_end() == plain_output(tmp_path, ON_FIBERS)


@pytest.mark.parametrize(
    "name, count, next_change",
    [("n", 0, [("2", "1")]), ("own[0]", 1, [("2", "1")]), ("own", 2, [("2", "1")])],
)
def test_a_frame_among_many_of_its_function(tmp_path, name, count, next_change):
    """fibonacci(2), called by fibonacci(4): another call as deep, fibonacci(3), has come and gone."""
    with debugging(tmp_path, RECURSION) as client:
        client.break_at("last", cudasim={"threads": "2", "blocks": "1"}, condition="n == 1 and own[0] == 1")
        client.run()
        calls = 0
        while True:
            client.wait("last")
            calls += len(fibonacci(client)) == 4
            if calls == 3:
                break
            client.ask("continue", threadId=1)
        client.break_at()
        caller = fibonacci(client)[1]["id"]
        assert client.ask("evaluate", expression="own", frameId=caller)["result"] == "[2, -2]"
        data_id = client.ask("dataBreakpointInfo", name=name, frameId=caller)["dataId"]
        client.ask("setDataBreakpoints", breakpoints=[{"dataId": data_id}])
        back = []
        while (body := client.go("reverseContinue"))["reason"] == "data breakpoint":
            back.append(changes(body))
            assert len(fibonacci(client)) in (3, 4)  # the watched frame, or what it has called for the value
        assert [each[0][5] for each in back] == ["-2", "2"][-count:][:count]
        assert len(back) == count
        assert along(client, "continue", count) == back[::-1]
        # What the frame had still to do, or its end.
        assert [each[4:] for each in changes(client.go("continue"))] == next_change
        client.ask("setDataBreakpoints", breakpoints=[])
        assert client.go_to_end() == plain_output(tmp_path, RECURSION)


def fibonacci(client):
    return [frame for frame in client.frames() if frame["name"] == "fibonacci"]


def test_a_variable_across_checkpoints_of_a_long_kernel(tmp_path):
    """Passes from several checkpoints, most of which lie within the kernel's only block."""
    program = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(out):
        rare = 1  # rare
        sum = 0
        for k in range(3_000_000):
            sum += k & rare
            if k % 1_000_000 == 7:
                rare = k
        out[cuda.threadIdx.x] = sum  # end

    out = np.zeros(2, np.int64)
    kernel[1, 2](out)
    print(out)
    """
    with debugging(tmp_path, program) as client:
        client.break_at("rare", cudasim={"threads": "1"})
        client.run()
        client.wait("rare")
        watch(client, "rare")
        client.break_at("end", cudasim={"threads": "1"})
        forwards = along(client, "continue", 4)
        client.go("continue", mark="end", reason="breakpoint")
        assert along(client, "reverseContinue", 4) == forwards[::-1]
        client.ask("setDataBreakpoints", breakpoints=[])
        client.break_at()
        assert client.go_to_end() == plain_output(tmp_path, program)
