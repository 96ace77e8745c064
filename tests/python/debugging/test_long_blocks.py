"""Launches of few blocks that run for long: what stops must not change, and how far going back has to run again."""

import time

import pytest
from debug_session import debugging
from test_debug_backwards import plain_output, seen

RACY = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x, n):
        i = cuda.grid(1)
        for j in range(4000):
            v = x[0]
            x[0] = v * 31 + i  # race
            cuda.atomic.add(n, 0, 1)
        x[1] = x[1] * 7 + i

    x = cuda.to_device(np.ones(2, np.int64))
    n = cuda.to_device(np.zeros(1, np.int64))
    kernel[2, 64](x, n)
    print(x.copy_to_host().tolist())
"""


@pytest.mark.parametrize("policy", ["forward", "reverse", "random"])
@pytest.mark.parametrize("condition", ["j == 3", "j == 2000"])
def test_results_of_a_race_do_not_depend_on_stops(tmp_path, policy, condition):
    options = {"CUDASIM_POLICY": policy, "CUDASIM_SEED": "3"}
    with debugging(tmp_path, RACY, **options) as client:
        client.break_at("race", condition=condition, cudasim={"threads": "50", "blocks": "1"})
        client.run()
        client.wait("race")
        assert client.go_to_end() == plain_output(tmp_path, RACY, **options)


@pytest.mark.parametrize("policy", ["forward", "reverse", "random"])
def test_threads_that_lose_their_turns_take_their_steps_back(tmp_path, policy):
    options = {"CUDASIM_POLICY": policy, "CUDASIM_SEED": "3"}
    with debugging(tmp_path, RACY, **options) as client:

        def here():
            return client.focus()["thread"], client.value("j"), client.value("v"), client.value("list(x)")

        client.break_at("race", condition="j == 3000", cudasim={"threads": "50", "blocks": "1"})
        client.run()
        client.wait("race")
        client.break_at()
        trace = [here()]
        for _ in range(8):
            client.go("next")
            trace.append(here())
        for expected in reversed(trace[:-1]):
            client.go("stepBack", cudasim={"kind": "over"})
            assert here() == expected


COOPERATIVE = """
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(out, sum, order):
        g = cuda.cg.this_grid()
        i = cuda.grid(1)
        for k in range(4):
            sum[0] = sum[0] * 31 + i  # begin
            out[i] = sum[0]
            g.sync()
            v = out[(i + 37) % out.size]
            order[1] = order[1] * 3 + v
            g.sync()

    out = np.zeros(128, np.int64)
    sum = np.ones(2, np.int64)
    order = np.zeros(2, np.int64)
    kernel[4, 32](out, sum, order)
    print(out.tolist(), sum.tolist(), order.tolist())
"""


@pytest.mark.parametrize("policy", ["forward", "reverse", "random"])
def test_cooperative_launches_go_back(tmp_path, policy):
    options = {"CUDASIM_POLICY": policy, "CUDASIM_SEED": "7"}
    with debugging(tmp_path, COOPERATIVE, **options) as client:
        client.break_at("begin", cudasim={"threads": "13", "blocks": "2"})
        client.run()
        client.wait("begin")
        client.break_at()
        trace = [seen(client)]
        for _ in range(16):
            client.go("next")
            trace.append(seen(client))
        for expected in reversed(trace[:-1]):
            client.go("stepBack", cudasim={"kind": "over"})
            assert seen(client) == expected
        assert client.go_to_end() == plain_output(tmp_path, COOPERATIVE, **options)


@pytest.mark.alone
def test_going_back_in_one_long_block_costs_little(tmp_path):
    code = """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def kernel(a, n):
            k = 0
            x = 0
            seen = cuda.local.array(4, np.int64)
            for slot in range(4):
                seen[slot] = slot
            while k < n:
                x = (x * 5 + k) % 1000003
                seen[k % 4] = x  # remembers
                k += 1
            a[0] = x + seen[0]  # end

        a = np.zeros(1, np.int64)
        kernel[1, 1](a, 60_000_000)
        print(a[0])
    """
    with debugging(tmp_path, code) as client:
        client.break_at("end")
        begin = time.monotonic()
        client.run()
        client.wait("end")
        forwards = time.monotonic() - begin
        last = int(client.value("x"))
        assert client.value("list(seen)")[1:-1].split(", ")[3] == str(last)  # 60,000,000 - 1 is 3 modulo 4
        begin = time.monotonic()
        for _ in range(4):
            client.go("stepBack")
        # Four steps run the launch again eight times. From its beginning that would take eight times as long.
        assert time.monotonic() - begin < forwards
        assert client.frames()[0]["line"] == client.line("remembers") - 1
        assert client.value("k") == "59999999"
        before = int(client.value("x"))
        assert (before * 5 + 59999999) % 1000003 == last
        client.break_at()
        output = client.go_to_end()
    assert output == plain_output(tmp_path, code)


def test_a_value_that_was_set_is_there_again_when_the_launch_comes_back(tmp_path):
    code = """
        import numpy as np
        from numba import cuda

        @cuda.jit
        def kernel(x):
            i = cuda.grid(1)
            a = i + 50
            if a > 40:  # decides
                b = a * 2
            else:
                b = a + 1  # other
            x[i] = b

        x = np.zeros(8, np.int64)
        kernel[1, 8](x)
        print(x.tolist())
    """
    with debugging(tmp_path, code) as client:
        client.break_at("decides", cudasim={"threads": "5"})
        client.run()
        client.wait("decides")
        frame = client.frames()[0]["id"]
        client.ask("setExpression", expression="a", value="3", frameId=frame)
        client.ask("setExpression", expression="x[7]", value="9", frameId=frame)
        client.go("next", mark="other")
        client.go("stepBack", mark="decides")
        assert client.value("a") == "3"
        assert client.value("x[7]") == "9"
        client.go("next", mark="other")
        client.break_at()
        assert client.go_to_end() == "[100, 102, 104, 106, 108, 4, 112, 114]\n"


@pytest.mark.parametrize(
    ("body", "options"),
    [
        ("n += 1; x[1] = n  # turns", {"CUDASIM_TIME_LIMIT": "1"}),
        ("n = x[0]  # turns", {}),
    ],
    ids=["time limit", "livelock"],
)
def test_from_an_endless_loop_one_can_go_back(tmp_path, body, options):
    code = f"""
        import numpy as np
        from numba import cuda

        @cuda.jit
        def kernel(x):
            n = 0
            while x[0] == 0:
                {body}

        try:
            kernel[1, 2](np.zeros(2, np.int64))
        except Exception as error:
            print(type(error).__name__)
    """
    with debugging(tmp_path, code, **options) as client:
        client.run()
        client.wait(reason="exception")
        lines = {client.line("turns"), client.line("turns") - 1}
        assert client.frames()[0]["line"] in lines
        before = int(client.value("n"))
        for _ in range(4):
            client.go("stepBack", reason="step")
            assert client.frames()[0]["line"] in lines
        assert int(client.value("n")) in ({0} if not options else {before - 2, before - 1, before - 3})
        client.go("continue", reason="exception")  # it comes to its end again
        assert client.go_to_end().endswith("Error\n")
