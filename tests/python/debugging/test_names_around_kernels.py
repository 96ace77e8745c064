"""Expressions that name what a kernel sees around it: constants, variables of enclosing functions, device functions, `cuda.grid()`."""

import pytest
from debug_session import debugging

PROGRAM = """
    import numpy as np
    from numba import cuda

    TILE = 16
    TABLE = np.array([1.5, 2.5])

    @cuda.jit(device=True)
    def square(x):
        return x * x

    @cuda.jit(device=True)
    def distance(x, y):
        return square(x - y) + TABLE[1] + cuda.threadIdx.x

    @cuda.jit(device=True)
    def guarded(x):
        cuda.syncthreads()
        return x

    def make(offset, later):
        scale = 10

        @cuda.jit
        def kernel(x, out):
            i = cuda.grid(1)
            out[i] = distance(x[i], offset) * scale  # use
            if later:
                out[i] = guarded(unset)

        if offset < 0:
            unset = 1
        return kernel

    x = np.arange(8.0)
    out = np.zeros(8)
    make(4.0, False)[2, 4](x, out)
    print(*out)
"""


@pytest.fixture
def stopped(tmp_path):
    """The program, stopped in thread 1 of block 1."""
    with debugging(tmp_path, PROGRAM) as client:
        client.break_at("use", cudasim={"threads": "1", "blocks": "1"})
        client.run()
        client.wait("use")
        yield client


def test_constants_and_enclosing_variables_have_values(stopped):
    assert stopped.value("TILE * 2 + scale") == "42"
    assert stopped.value("TABLE") == "[1.5, 2.5]"
    assert stopped.value("offset") == "4.0"


def test_device_functions_are_called_with_the_threads_registers(stopped):
    assert stopped.value("square(x[i])") == "25.0"
    assert stopped.value("distance(x[i], offset)") == "4.5"  # (5 - 4)² + 2.5 + threadIdx.x
    assert stopped.value("distance") == "<device function distance>"


def test_device_functions_of_modules_are_called(tmp_path):
    (tmp_path / "helpers.py").write_text(
        "from numba import cuda\n\n@cuda.jit(device=True)\ndef plus(x, y):\n    return x + y\n"
    )
    program = PROGRAM.replace("TILE = 16", "import helpers").replace("scale = 10", "scale = helpers")
    program = program.replace("* scale  # use", "+ scale.plus(x[i], 1)  # use")
    with debugging(tmp_path, program) as client:
        client.break_at("use")
        client.run()
        client.wait("use")
        assert client.value("helpers.plus(2, 3) + scale.plus(1, 1)") == "7"


def test_positions_in_the_grid_are_those_of_the_thread(stopped):
    assert stopped.value("cuda.grid(1), cuda.gridsize(1)") == "(5, 8)"
    assert stopped.value("cuda.grid(2)") == "(5, 0)"
    assert stopped.value("cuda.threadIdx.x") == "1"
    assert "1, 2 or 3" in stopped.refused(
        "evaluate", expression="cuda.grid(4)", frameId=stopped.frames()[0]["id"]
    )


def test_what_kernels_alone_can_do_says_so(stopped):
    frame = stopped.frames()[0]["id"]
    assert "cuda.syncthreads is for kernels" in stopped.refused(
        "evaluate", expression="guarded(1)", frameId=frame
    )
    assert "unset" in stopped.refused("evaluate", expression="unset", frameId=frame)


def test_what_lies_around_a_kernel_is_not_set(stopped):
    frame = stopped.frames()[0]["id"]
    message = stopped.refused("setExpression", expression="TILE", value="3", frameId=frame)
    assert "TILE is no variable of the kernel's" in message
    assert stopped.value("TILE") == "16"
    assert "read-only" in stopped.refused("setExpression", expression="TABLE[0]", value="3", frameId=frame)
    assert "special registers cannot be set" in stopped.refused(
        "setExpression", expression="laneid", value="3", frameId=frame
    )
    stopped.go_to_end()


def test_the_kernels_own_variables_hide_them(tmp_path):
    program = PROGRAM.replace("i = cuda.grid(1)\n", "i = cuda.grid(1)\n            TILE = 5\n").replace(
        "* scale  # use", "* scale * TILE  # use"
    )
    with debugging(tmp_path, program) as client:
        client.break_at("use")
        client.run()
        client.wait("use")
        assert client.value("TILE") == "5"
