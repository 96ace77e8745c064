"""Compiled code keeps variables in registers from one statement to the next where no stop is made. A value that is set while the thread
is not at a statement, or not in the function, is read all the same."""

import pytest
from debug_session import debugging

CODE = """
    import numpy as np
    from numba import cuda, int64

    @cuda.jit
    def loop(out):
        total = 0
        for k in range(5):
            out[k] = total  # store
            total += k
        out[5] = total

    @cuda.jit
    def exchange(out):
        t = cuda.threadIdx.x
        own = cuda.local.array(2, np.int64)
        own[0] = t
        value = t * 10
        cuda.syncthreads()  # barrier
        value += own[0]
        out[t] = value

    @cuda.jit(device=True)
    def down(n):
        if n <= 0:
            return int64(0)  # bottom
        return int64(1) + down(n - 1)

    @cuda.jit
    def deep(out):
        value = int64(5)
        depth = down(3)
        out[0] = value
        out[1] = depth

    for kernel, threads in ((loop, 1), (exchange, 4), (deep, 1)):
        out = np.zeros(6, np.int64)
        kernel[1, threads](out)
        print(kernel.__name__, *out)
"""


@pytest.fixture
def program(tmp_path):
    with debugging(tmp_path, CODE) as client:
        yield client


def put(program, name, value, frame=0):
    frames = program.frames()
    program.ask("setExpression", expression=name, value=str(value), frameId=frames[frame]["id"])


def test_a_variable_is_set_in_the_middle_of_a_statement(program):
    program.break_at("store", cudasim={"temporary": True})
    program.run()
    program.wait("store")
    data_id = program.ask("dataBreakpointInfo", name="out[3]", frameId=program.frames()[0]["id"])["dataId"]
    program.ask("setDataBreakpoints", breakpoints=[{"dataId": data_id, "accessType": "write"}])
    program.go(reason="data breakpoint")
    put(program, "total", 100)
    program.ask("setDataBreakpoints", breakpoints=[])
    assert "loop 0 0 1 3 103 107\n" in program.go_to_end()


def test_a_variable_of_a_thread_that_waits_is_set(program):
    program.break_at("barrier", cudasim={"threads": "2"})
    program.run()
    program.wait("barrier")
    program.focus(thread=[0, 0, 0])
    assert program.focus()["state"] == "at barrier"
    put(program, "value", 1000)
    program.break_at()
    assert "exchange 1000 11 22 33 0 0\n" in program.go_to_end()


def test_a_variable_of_the_calling_function_is_set(program):
    program.break_at("bottom")
    program.run()
    program.wait("bottom")
    frames = [frame["name"] for frame in program.frames()]
    put(program, "value", 50, frame=frames.index("deep"))
    program.break_at()
    assert "deep 50 3 0 0 0 0\n" in program.go_to_end()
