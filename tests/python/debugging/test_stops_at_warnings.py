"""Warnings stop a launch where somebody asks for their kind: in front of what they are about, once for each place."""

import pytest
from debug_session import debugging, plain_output

#: `WAIT`: what makes threads loop, coroutines, or fibers.
DIVISIONS = """
    import warnings
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x, y, out):
        i = cuda.grid(1)
        WAIT
        a = x[i - 1]  # wraps
        b = y[i] - 3.0
        out[i] = a / b  # divides
        out[i] += 1  # last

    warnings.simplefilter("ignore")
    x = np.arange(64, dtype=np.float64)
    out = np.zeros(64)
    kernel[2, 32](x, x % 32, out)
    print(out)
"""

WAITS = {
    "loop": "pass",
    "coroutines": "cuda.syncthreads()",
    "fibers": "own = cuda.local.array(2, np.int64); own[i % 2] = i; cuda.syncthreads()",
}

EARLY = """
    import warnings
    import numpy as np
    from numba import cuda

    @cuda.jit
    def kernel(x, out):
        i = cuda.threadIdx.x
        s = cuda.shared.array(32, np.int64)
        if i > 29:
            return
        s[i] = x[i]  # store
        cuda.syncthreads()  # wait
        out[i] += s[29 - i]  # read

    warnings.simplefilter("ignore")
    out = np.zeros(32, np.int64)
    for repeat in range(2):
        try:
            kernel[2, 32](np.arange(32), out)
        except Exception as error:
            print(type(error).__name__)
    print(out)
"""


@pytest.mark.parametrize("wait", WAITS)
def test_a_warning_stops_in_front_of_what_it_is_about(tmp_path, wait):
    program = DIVISIONS.replace("WAIT", WAITS[wait])
    with debugging(
        tmp_path, program, filters=("negative-index", "float-division"), CUDASIM_WRAP="warn"
    ) as client:
        client.run()
        stop = client.wait("wraps", "exception")
        assert (stop["description"], stop["cudasim"]["thread"]) == ("negative-index", [0, 0, 0])
        assert stop["text"].startswith("warning: index -1 wraps around to element 63")
        assert client.ask("exceptionInfo", threadId=1)["description"] == stop["text"]
        assert client.value("i") == "0"
        assert "a" not in client.scope("Locals")
        client.go("next", reason="step")
        assert client.value("a") == "63.0"
        stop = client.go(mark="divides", reason="exception")
        assert (stop["description"], stop["cudasim"]["thread"]) == ("float-division", [3, 0, 0])
        assert (client.value("a"), client.value("b"), client.value("out[3]")) == ("2.0", "0.0", "0.0")
        # The same places in block 1 are not told of again.
        assert client.go_to_end() == plain_output(tmp_path, program)


@pytest.mark.parametrize("wait", WAITS)
def test_back_and_forwards_over_warnings(tmp_path, wait):
    """Where the thread was held at a warning, and stepped from there, it is held and stepped again."""
    program = DIVISIONS.replace("WAIT", WAITS[wait])
    with debugging(tmp_path, program, filters=("float-division",), CUDASIM_WRAP="warn") as client:
        client.break_at("wraps", cudasim={"threads": "3", "blocks": "0"})
        client.run()
        client.wait("wraps")
        client.go("next", reason="step")
        client.go("next", mark="divides", reason="step")
        assert client.go("next", mark="divides")["reason"] == "exception"
        client.go("next", mark="last", reason="step")
        client.go("stepBack", mark="divides")
        client.go("stepBack")
        client.go("stepBack", mark="wraps")
        assert client.value("i") == "3"
        client.go("next", reason="step")
        client.go("next", mark="divides", reason="step")
        assert client.go("next", mark="divides")["reason"] == "exception"
        # From within the statement, back to where it begins.
        client.go("stepBack", mark="divides", reason="step")
        client.ask("setExpression", expression="b", value="0.5", frameId=client.frames()[0]["id"])
        client.go("next", mark="last", reason="step")
        assert client.value("out[3]") == "4.0"


@pytest.mark.parametrize("wait", WAITS)
def test_a_thread_held_at_a_warning_is_held_there_again(tmp_path, wait):
    """Another thread moved meanwhile, and steps back."""
    program = DIVISIONS.replace("WAIT", WAITS[wait])
    with debugging(tmp_path, program, filters=("float-division",), CUDASIM_WRAP="warn") as client:
        client.break_at("divides", cudasim={"threads": "3", "blocks": "0"})
        client.run()
        client.wait("divides")
        assert client.go("next", mark="divides")["reason"] == "exception"
        client.focus(thread=[5, 0, 0])
        while client.go("next")["cudasim"]["line"] != client.line("last"):
            pass
        assert client.value("(out[3], out[5], i)") == "(0.0, 2.0, 5)"
        client.go("stepBack", mark="divides")
        assert client.value("(out[3], out[5], i)") == "(0.0, 0.0, 5)"
        client.focus(thread=[3, 0, 0])
        assert client.value("(a, b)") == "(2.0, 0.0)"
        assert client.go("next", mark="last")["reason"] == "step"
        assert client.value("(out[3], out[5])") == "(inf, 0.0)"


@pytest.mark.parametrize("strict", [False, True], ids=["warning", "error"])
def test_threads_that_ended_early_are_told_of_at_the_barrier(tmp_path, strict):
    filters = ("errors",) if strict else ("barrier-early-exit",)
    with debugging(tmp_path, EARLY, filters=filters, CUDASIM_STRICT=str(int(strict))) as client:
        client.run()
        for _ in range(2):
            stop = client.wait("wait", "exception")
            assert stop["description"] == "barrier-early-exit"
            assert stop["text"].startswith("error: 2 threads of 32" if strict else "warning: 2 threads of 32")
            assert client.value("s[:30].sum()") == str(sum(range(30)))
            client.go("next", mark="read", reason="step")
            client.go("stepBack", mark="wait")
            client.go("stepBack", mark="store")
            client.go("next", mark="wait")
            assert client.go("next", mark="wait")["reason"] == "exception"
            client.ask("continue", threadId=1)
        assert client.end() == plain_output(tmp_path, EARLY, CUDASIM_STRICT=str(int(strict)))


@pytest.mark.parametrize("filters", [("errors",), ("integer-division",)])
def test_warnings_stop_nobody_who_has_not_asked(tmp_path, filters):
    with debugging(tmp_path, EARLY, filters=filters) as client:
        client.run()
        client.end()
        assert not client.stops()
